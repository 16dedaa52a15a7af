// Where the instructions of a Python function stand in its source: a code object's co_linetable,
// decoded. Formats: Objects/lnotab_notes.txt (CPython 3.10), Objects/locations.md (3.11 on).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace crosscut::samples {

struct LineRange {
  int32_t end;   // first byte of code behind it
  int32_t line;  // 0: none
};
// In order of code. A table that ends early or is damaged gives what stands before that place.
std::vector<LineRange> DecodeLines(std::string_view table, int first_line);
// The line of the instruction at a byte of the code; 0 where there is none.
int32_t LineAt(const std::vector<LineRange>& ranges, int32_t instruction);

}  // namespace crosscut::samples
