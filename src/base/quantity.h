// Numbers, times and sizes as people write them, for options and environment variables, whatever
// locale the program has set. No exceptions.
#pragma once

#include <cstddef>

namespace crosscut::base {

// A decimal number in front of *end; 0 with *end == text where there is none.
double ReadNumber(const char* text, const char** end);
// As printf's %.6g writes it.
void WriteNumber(double number, char* text, size_t size);

// "10", "10s", "2m", "1.5h", "500ms", "20us", "1d": sets *seconds, which a plain number is. False
// where the text is none of these; *seconds is unchanged then.
bool ParseSeconds(const char* text, double* seconds);

// "64", "512K", "2G", "1.5GiB": sets *mib, the mebibytes that a plain number is. K, M, G and T are
// powers of 1024, also as KB or KiB, in either case. False where the text is none of these; *mib is
// unchanged then.
bool ParseMebibytes(const char* text, double* mib);

}  // namespace crosscut::base
