// Code objects of Python, known by address, as names of frames: "train.py:41 main". Code that ended
// may leave its address to other code, so each is looked at again whenever it is met. No GIL.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "line_table.h"
#include "own_code.h"

namespace crosscut::samples {

struct Frame {
  const void* code;     // a code object, or what stood in its place
  int32_t instruction;  // byte of its code that runs
  bool operator==(const Frame&) const = default;
};

// How much of a thread's stack is there. The values stand in logs.
enum class Part : uint8_t {
  kWhole,
  kInner,    // it is deeper
  kChanged,  // it changed while it was read: frames are missing
};

// Whether a thread has the GIL. The first two values stand in logs.
enum class Gil : uint8_t { kReleased, kHeld, kUnknown };

// Names' ids, as crosscut_intern() gives them.
struct Stack {
  std::vector<uint32_t> frames;  // innermost first
  uint32_t own_line = 0;         // the innermost line of the program's own code; 0: none
  Part part = Part::kWhole;
  Gil gil = Gil::kUnknown;
};

class CodeTable {
 public:
  explicit CodeTable(OwnCode own = {}) : own_(std::move(own)) {}
  // Names the frames, innermost first; those that run no code object, or one that cannot be read,
  // are left out: false then.
  bool Name(std::span<const Frame> frames, Stack* stack);

 private:
  // What tells one code object from another at its address.
  struct Identity {
    const void *type, *filename, *name, *lines;
    int first_line;
    bool operator==(const Identity&) const = default;
  };
  struct Line {
    int32_t number;
    uint32_t name, own_name;  // 0: not asked for yet
  };
  struct Function {
    Identity identity;
    std::string path, name;
    bool shown = true;
    Owner owner = Owner::kOther;
    std::vector<LineRange> ranges;
    std::vector<Line> lines;  // those that were met
  };
  static Identity IdentityOf(const void* head);
  bool Describe(const Identity& identity, Function* function) const;
  static Line& LineOf(Function* function, int32_t instruction);

  OwnCode own_;
  std::unordered_map<const void*, Function> functions_;
  std::vector<char> heads_;
};

}  // namespace crosscut::samples
