#include "src/report/verdict_words.h"

#include <cmath>

#include "src/analyze/figures.h"

namespace crosscut::report {
namespace {

constexpr double kZero = 0.005;  // what the interval may reach down to, and still be known

}  // namespace

GainWords GainWordsOf(const Cells& verdict, size_t row) {
  const double gain = verdict.Real("gain_share", row);
  const double low = verdict.Real("gain_low_share", row);
  const double high = verdict.Real("gain_high_share", row);
  const bool bounded = std::isfinite(low) && std::isfinite(high);
  if (!std::isfinite(gain) || (bounded && low < kZero && high > kZero)) {
    return {false, "not known: between 0 % and " + analyze::ShareText(bounded ? high : 1), ""};
  }
  const auto text = [&](double share) {
    return bounded ? analyze::ShareText(share, (high - low) / 2) : analyze::ShareText(share);
  };
  GainWords out = {true, text(gain) + " at most", ""};
  if (bounded) out.most += " (95 %: " + text(low) + " to " + text(high) + ")";
  const std::string_view cause = verdict.Text("cause", row);
  if (cause == "framework" || cause == "device") out.half = text(gain / 2);
  return out;
}

}  // namespace crosscut::report
