// Numbers as text: times, counts and shares for people, reals for programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace crosscut::report {

// "412 ns", "1.234 ms", "12.35 s": four significant digits, whole ns below 1 µs, whole seconds from
// 10,000 s on.
std::string FormatNs(int64_t ns);
std::string FormatCount(int64_t count);  // "1,234,567"
inline std::string FormatCount(size_t count) { return FormatCount(static_cast<int64_t>(count)); }
// "12.3 %"; "1.25 %" below 10 % unless `short_form`. "" where `whole` is 0 or one of them is NaN.
std::string FormatPercent(double part, double whole, bool short_form = false);
// For programs: whole numbers exactly ("12345678901"), others to 15 digits, which calculating them
// leaves right ("0.333333333333333"). "" where it is not finite.
std::string RealText(double value);

}  // namespace crosscut::report
