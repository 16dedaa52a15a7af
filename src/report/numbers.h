// Times, counts and shares for people.
#pragma once

#include <cstdint>
#include <string>

namespace crosscut::report {

// "412 ns", "1.234 ms", "12.35 s": four significant digits, whole ns below 1 µs, whole seconds from
// 10,000 s on.
std::string FormatNs(int64_t ns);
std::string FormatCount(int64_t count);  // "1,234,567"
// "12.3 %"; "1.25 %" below 10 % unless `short_form`. "" where `whole` is 0 or one of them is NaN.
std::string FormatPercent(double part, double whole, bool short_form = false);

}  // namespace crosscut::report
