#include "src/analyze/table_notes.h"

#include <array>

namespace crosscut::analyze {
namespace {

using Counts = std::array<int64_t, trace::kDetails>;  // steps that show so much, or more

std::string Sentence(const Counts& steps, Shows shows) {
  const auto part = [&](int detail) { return std::to_string(steps[detail]); };
  const std::string of = "of " + part(0) + " steps";
  const int64_t left_out = steps[1] - steps[2];
  const auto from = [&](int detail, const char* why) {
    return steps[detail] == steps[0] ? "" : of + ", the rows come from " + part(detail) + why;
  };
  switch (shows) {
    case Shows::kFacts: return "";
    case Shows::kTime:
      if (steps[2] == steps[0]) return "";
      if (left_out == 0) {
        return of + ", " + std::to_string(steps[0] - steps[1]) +
               " are control steps: their time is layer control, and nothing in them is counted";
      }
      return of + ", " + std::to_string(steps[0] - steps[1]) + " are control steps and " +
             std::to_string(left_out) +
             " were left out by the budget: their time is layer control; nothing in control steps "
             "is counted, and of the others what the program marks";
    case Shows::kMarks: return from(1, ": nothing is recorded in control steps");
    case Shows::kBoundary:
      return from(2, left_out == 0
                         ? ": nothing is recorded in control steps"
                         : ": control steps and those that the budget left out have none");
    case Shows::kOperators: return from(3, ", those with operators");
    case Shows::kEverything: return from(4, ", those recorded with everything");
    case Shows::kSpans: break;
  }
  if (steps[4] == steps[0]) return "";
  return of + ", operators come from " + part(3) +
         ", what was recorded only with everything from " + part(4) +
         (left_out == 0 ? "" : ", calls of native code from " + part(2)) + ", the rest from " +
         part(1);
}

}  // namespace

std::vector<std::string> StepNotes(const trace::Trace& trace, const Context& context, Shows shows) {
  std::vector<std::string> out;
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    Counts at_least{};
    for (const trace::Step& s : trace.processes[p].steps) {
      for (int detail = 0; detail <= trace::DetailOf(s.level); ++detail) ++at_least[detail];
    }
    if (at_least[0] == 0) continue;
    const std::string sentence = Sentence(at_least, shows);
    if (!sentence.empty()) out.push_back(context.trace().title({p}) + ": " + sentence);
  }
  return out;
}

}  // namespace crosscut::analyze
