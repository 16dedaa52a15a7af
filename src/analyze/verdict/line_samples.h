// What samples saw of the program's lines, and when.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "src/analyze/context.h"
#include "src/analyze/verdict/blamed_lines.h"

namespace crosscut::analyze {

// What samples saw of each line: of a trace, made once.
class LineSamples {
 public:
  struct OfLine {
    enum class In : uint8_t { kNotKnown, kTurns, kAlone };  // kAlone: in what stands for itself
    struct Seen {
      int64_t at_ns;
      uint32_t thread;  // its track
      In in;
    };
    std::vector<Seen> seen;
    // Of them: it ran Python, or it did anything else; who waits by a lock may wait for the GIL.
    int64_t in_python = 0, elsewhere = 0;
    std::map<uint32_t, int64_t> covered_ns;  // in the part that is told, by StringId of the stack
  };

  explicit LineSamples(const Context& context);
  // Calls visit(of_line) for what threads of that process saw; where they were never there, and
  // others work for it, for what those of each other one did.
  template <class Visit>
  void ForEach(uint32_t process, const Line& line, Visit visit) const {
    const auto at = lines_.find(line);
    if (at == lines_.end()) return;
    const auto own = at->second.find(process);
    if (own != at->second.end()) return visit(own->second);
    for (const auto& [other, of_line] : at->second) visit(of_line);
  }

 private:
  std::map<Line, std::map<uint32_t, OfLine>> lines_;  // by process
};

}  // namespace crosscut::analyze
