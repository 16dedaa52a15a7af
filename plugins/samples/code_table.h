// Code objects of Python, known by address, as names of frames: "train.py:41 main". Code that ended
// may leave its address to other code, so each is looked at again whenever it is met. No GIL.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "line_table.h"

namespace crosscut::samples {

struct Frame {
  const void* code;     // a code object, or what stood in its place
  int32_t instruction;  // byte of its code that runs
};

class CodeTable {
 public:
  // Appends the names' ids, as crosscut_intern() gives them; frames that run no code object, or
  // one that cannot be read, are left out.
  void Name(std::span<const Frame> frames, std::vector<uint32_t>* names);

 private:
  // What tells one code object from another at its address.
  struct Identity {
    const void *type, *filename, *name, *lines;
    int first_line;
    bool operator==(const Identity&) const = default;
  };
  struct Function {
    Identity identity;
    std::string file, name;
    std::vector<LineRange> lines;
    std::vector<std::pair<int32_t, uint32_t>> names;  // by line
  };
  static Identity IdentityOf(const void* head);
  static bool Describe(const Identity& identity, Function* function);
  static uint32_t NameAt(Function* function, int32_t instruction);

  std::unordered_map<const void*, Function> functions_;
  std::vector<char> heads_;
};

}  // namespace crosscut::samples
