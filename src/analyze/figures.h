// Times and shares as the sentences of verdicts and findings have them.
#pragma once

#include <cstdint>
#include <string>

namespace crosscut::analyze {

// "412 ns", "1.23 ms", "117 s": three digits that count, whole ns below 1 µs.
std::string TimeText(int64_t ns);
// "0.899 s of 1.37 s": both in the unit of the whole, where the part is not too small for that.
std::string TimeOfText(int64_t part, int64_t whole);
// "1.5 GiB", "17 bytes".
std::string BytesText(int64_t bytes);
// Of a share, which is 1 for the whole: "78 %"; below 10 % with a decimal: "9.5 %".
std::string ShareText(double share);
// With as many decimals as its error leaves: "78 %", "78.3 %" from below 0.5 points on.
std::string ShareText(double share, double error);

}  // namespace crosscut::analyze
