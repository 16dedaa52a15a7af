#include "src/analyze/table_notes.h"

#include <array>

namespace crosscut::analyze {
namespace {

constexpr int kLevels = 4;
using Counts = std::array<int64_t, kLevels>;  // steps at that level or above

std::string Sentence(const Counts& steps, Shows shows) {
  const auto part = [&](int level) { return std::to_string(steps[level]); };
  const std::string of = "of " + part(0) + " steps";
  switch (shows) {
    case Shows::kFacts: return "";
    case Shows::kTime:
      if (steps[1] == steps[0]) return "";
      return of + ", " + std::to_string(steps[0] - steps[1]) +
             " are control steps: their time is layer control, and nothing in them is counted";
    case Shows::kBoundary:
      if (steps[1] == steps[0]) return "";
      return of + ", the rows come from " + part(1) + ": nothing is recorded in control steps";
    case Shows::kOperators:
      if (steps[2] == steps[0]) return "";
      return of + ", the rows come from " + part(2) + ", those with operators";
    case Shows::kEverything:
      if (steps[3] == steps[0]) return "";
      return of + ", the rows come from " + part(3) + ", those recorded with everything";
    case Shows::kSpans: break;
  }
  if (steps[3] == steps[0]) return "";
  return of + ", operators come from " + part(2) +
         ", what was recorded only with everything from " + part(3) + ", the rest from " + part(1);
}

}  // namespace

std::vector<std::string> StepNotes(const trace::Trace& trace, const Context& context, Shows shows) {
  std::vector<std::string> out;
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    Counts at_least{};
    for (const trace::Step& s : trace.processes[p].steps) {
      for (int level = 0; level <= s.level && level < kLevels; ++level) ++at_least[level];
    }
    if (at_least[0] == 0) continue;
    const std::string sentence = Sentence(at_least, shows);
    if (!sentence.empty()) out.push_back(context.process_title({p}) + ": " + sentence);
  }
  return out;
}

}  // namespace crosscut::analyze
