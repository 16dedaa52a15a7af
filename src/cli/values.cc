#include "src/cli/values.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>

#include "src/base/quantity.h"

namespace crosscut::cli {
namespace {

std::string Plain(double number) {
  char text[40];
  snprintf(text, sizeof text, "%.15g", number);
  return text;
}

}  // namespace

Check Seconds(double least, double most) {
  const auto check = [=](std::string& text) -> std::string {
    double seconds = 0;
    if (!base::ParseSeconds(text.c_str(), &seconds) || !(seconds >= least && seconds <= most)) {
      return text + " is no time from " + Plain(least) + " to " + Plain(most) +
             " seconds; write 10, 10s, 500ms, 2m, 1h or 1d";
    }
    text = Plain(seconds);
    return "";
  };
  return check;
}

Check WholeNumber(uint64_t least, uint64_t most) {
  const auto check = [=](const std::string& text) -> std::string {
    uint64_t number = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error == std::errc() && stop == end && number >= least && number <= most) return "";
    return text + " is no whole number from " + std::to_string(least) + " to " +
           std::to_string(most);
  };
  return check;
}

Check StepNumber() {
  return [](const std::string& value) -> std::string {
    const bool digits = !value.empty() && value.size() < 19 &&
                        value.find_first_not_of("0123456789") == std::string::npos;
    return digits ? "" : value + " is no number of a step; write 17 or 17,42";
  };
}

Check Mebibytes(double least, double most) {
  const auto check = [=](std::string& text) -> std::string {
    double mib = 0;
    if (!base::ParseMebibytes(text.c_str(), &mib) || !(mib >= least && mib <= most)) {
      return text + " is no size from " + Plain(least) + " to " + Plain(most) +
             " MiB; write 64, 64M or 2G";
    }
    text = Plain(std::floor(mib));
    return "";
  };
  return check;
}

Check Percent(double most) {
  const auto check = [=](std::string& text) -> std::string {
    char* end = nullptr;
    const double percent = std::strtod(text.c_str(), &end);
    const std::string_view unit = end;
    const bool number =
        end != text.c_str() && std::isfinite(percent) && percent >= 0 && percent <= most;
    if (!number || !(unit.empty() || unit == "%" || unit == " %")) {
      return text + " is no percentage from 0 " +
             (std::isfinite(most) ? "to " + Plain(most) : "up") + "; write 5% or 2.5%";
    }
    text = Plain(percent);
    return "";
  };
  return check;
}

}  // namespace crosscut::cli
