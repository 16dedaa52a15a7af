// Code objects of Python, known by address, as names of frames: "train.py:41 main". Code that ended
// may leave its address to other code, and so may its strings: code that is compiled, run and
// dropped in a loop has the same addresses again and again. So each is compared, with what its
// strings hold, whenever it is met. No GIL.
#pragma once

#include <array>
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

// What an object held, from its length on: of long ones the begin.
struct Kept {
  const void* from = nullptr;
  std::string bytes;
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
    std::array<Kept, 3> kept;  // of file name, name, lines
    size_t kept_at = 0;        // in memory_; 0: it was read right now
    std::string path, name;
    bool shown = true;
    Owner owner = Owner::kOther;
    std::vector<LineRange> ranges;
    std::vector<Line> lines;  // those that were met
  };
  static Identity IdentityOf(const void* head);
  bool Describe(const Identity& identity, Function* function) const;
  static Line& LineOf(Function* function, int32_t instruction);
  // Fills memory_ with the heads of the frames' code objects, one behind the other, and with what
  // the strings of those that are known hold.
  void ReadCode(std::span<const Frame> frames);
  bool HoldsStill(const Function& function) const;

  OwnCode own_;
  std::unordered_map<const void*, Function> functions_;
  std::vector<char> memory_;
};

}  // namespace crosscut::samples
