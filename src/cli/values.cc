#include "src/cli/values.h"

#include <stdlib.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include "src/base/nearest.h"
#include "src/base/quantity.h"

namespace crosscut::cli {
namespace {

std::string Plain(double number) {
  char text[40];
  snprintf(text, sizeof text, "%.15g", number);
  return text;
}

}  // namespace

std::string WordLines(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : "\n") + word;
  return out;
}

CLI::Validator OneOf(std::string what, std::vector<std::string> words) {
  const std::string lines = WordLines(words);
  const auto check = [what = std::move(what), words = std::move(words)](const std::string& text) {
    const bool known = std::find(words.begin(), words.end(), text) != words.end();
    return known ? std::string() : base::UnknownName(what, text, words);
  };
  return {check, lines, kWords};
}

CLI::Validator Suggest(const std::vector<std::string>& words) {
  return {[](std::string&) { return std::string(); }, WordLines(words), kWords};
}

CLI::Validator Seconds(double least, double most) {
  const auto check = [=](std::string& text) -> std::string {
    double seconds = 0;
    if (!base::ParseSeconds(text.c_str(), &seconds) || !(seconds >= least && seconds <= most)) {
      return text + " is no time from " + Plain(least) + " to " + Plain(most) +
             " seconds; write 10, 10s, 500ms, 2m, 1h or 1d";
    }
    text = Plain(seconds);
    return "";
  };
  return {check, ""};
}

CLI::Validator WholeNumber(uint64_t least, uint64_t most) {
  const auto check = [=](const std::string& text) -> std::string {
    uint64_t number = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error == std::errc() && stop == end && number >= least && number <= most) return "";
    return text + " is no whole number from " + std::to_string(least) + " to " +
           std::to_string(most);
  };
  return {check, ""};
}

CLI::Validator StepNumber() {
  return {[](const std::string& value) -> std::string {
            const bool digits = !value.empty() && value.size() < 19 &&
                                value.find_first_not_of("0123456789") == std::string::npos;
            return digits ? "" : value + " is no number of a step; write 17 or 17,42";
          },
          ""};
}

CLI::Validator Mebibytes(double least, double most) {
  const auto check = [=](std::string& text) -> std::string {
    double mib = 0;
    if (!base::ParseMebibytes(text.c_str(), &mib) || !(mib >= least && mib <= most)) {
      return text + " is no size from " + Plain(least) + " to " + Plain(most) +
             " MiB; write 64, 64M or 2G";
    }
    text = Plain(std::floor(mib));
    return "";
  };
  return {check, ""};
}

CLI::Validator Percent() {
  const auto check = [](std::string& text) -> std::string {
    char* end = nullptr;
    const double percent = std::strtod(text.c_str(), &end);
    const std::string_view unit = end;
    const bool number = end != text.c_str() && std::isfinite(percent) && percent >= 0;
    if (!number || !(unit.empty() || unit == "%" || unit == " %")) {
      return text + " is no percentage from 0 up; write 5% or 2.5%";
    }
    text = Plain(percent);
    return "";
  };
  return {check, ""};
}

void RefuseWrongSettings(CLI::App* verb) {
  for (CLI::Option* option : verb->get_options()) {
    const std::string variable = option->get_envname();
    const char* value = variable.empty() ? nullptr : getenv(variable.c_str());
    if (value == nullptr || *value == 0 || option->count() > 0) continue;
    option->add_result(value);
    option->run_callback();
  }
}

}  // namespace crosscut::cli
