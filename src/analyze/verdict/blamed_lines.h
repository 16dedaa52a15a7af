// Lines of the program, and the time that is put down to them.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "src/trace/trace.h"

namespace crosscut::analyze {

enum class LineKind : uint8_t {
  kNone,        // nothing tells
  kOwn,         // of the program's own code
  kImport,      // an import, with the line that asked for it, if one did
  kLibrary,     // Python code of which no line is the program's own
  kExit,        // the interpreter ends: it frees objects, and no line runs
  kNativeExit,  // behind the interpreter's end: destructors of native libraries
  kPreempted,   // none: it is ready, and has no processor
};

struct Line {
  LineKind kind = LineKind::kNone;
  trace::StringId text;  // "models/net.py:41 forward"; none where the kind has none
  friend bool operator==(const Line&, const Line&) = default;
  friend bool operator<(const Line& a, const Line& b) {
    return a.kind != b.kind ? a.kind < b.kind : a.text.value < b.text.value;
  }
};
// Whether samples tell it.
inline bool IsSampled(LineKind kind) {
  return kind != LineKind::kNone && kind != LineKind::kPreempted;
}
// Whether it is a line of the program's own, be it for an import.
inline bool IsOwnLine(LineKind kind) { return kind == LineKind::kOwn || kind == LineKind::kImport; }
// Whether it names something that the program may change: its line, or a phase of its life.
inline bool MayBeBlamed(const Line& line) {
  return IsSampled(line.kind) && line.kind != LineKind::kLibrary;
}
// "models/net.py:41 forward", "train.py:3 <module> (imports)", "(interpreter exit)", "(no
// processor)"; "" for kNone.
std::string LineText(const trace::Trace& trace, const Line& line);
// The kind in tables: "line", "import", "library", "exit"; "none".
const char* LineKindName(LineKind kind);

// "models/net.py:41" of "models/net.py:41 forward": all of a text that has no such number. Names of
// files and folders may hold blanks.
std::string_view NumberOfLine(std::string_view line);
// "net.py:41 forward", as stacks have it.
std::string_view FrameOfLine(std::string_view line);

// What is put down to a line.
struct Blamed {
  int64_t ns = 0, samples = 0;
  double variance = 0;  // of ns, in ns^2: how well the samples tell this line from others

  void Add(const Blamed& more) {
    ns += more.ns;
    samples += more.samples;
    variance += more.variance;
  }
  void Take(const Blamed& less) {
    ns -= less.ns;
    samples -= less.samples;
    variance -= less.variance;
  }
};
// So much of it, from 0 to 1.
Blamed PartOf(const Blamed& blamed, double part);

// Half of the 95 % interval of its time, in ns.
double ReachOf(const Blamed& blamed);
// 95 % bounds of its time, of which there is `whole_ns` at most.
struct LineBounds {
  int64_t low_ns, high_ns;
};
LineBounds LineBoundsOf(const Blamed& blamed, int64_t whole_ns);

// With the time of which no line is known, so the lines of a stretch of time add up to it.
using BlamedLines = std::map<Line, Blamed>;

// Time of which samples tell something more, by place.
struct Told {
  Blamed all;
  BlamedLines lines;
  void Add(const Line& line, const Blamed& blamed) {
    all.Add(blamed);
    lines[line].Add(blamed);
  }
};
// So much of each line.
Told PartOf(const Told& told, double part);
// The lines with `ns` in all, divided as their own time is.
BlamedLines Scaled(const Told& told, int64_t ns);

}  // namespace crosscut::analyze
