// Options of torch.profiler that change its traces, for a run that stands for one (crosscut.torch).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/trace/trace.h"

namespace crosscut::exporting {

struct ProfileOptions {
  explicit ProfileOptions(const trace::Trace& trace);

  bool is_profile = false;      // like torch.profiler's: it has the id of a trace
  bool with_stack = false;      // it has Python functions, modules among them
  bool with_overloads = false;  // names of operators include their overload
  bool adjusts_steps = false;   // a step begins with the first Python function in it

  // The name as such a trace has it.
  std::string NameOf(const trace::Trace& trace, const trace::Name& name) const;
};

// The named inputs of an operator, a JSON object, as Kineto writes them: pairs of a name and its
// JSON. A text with quotes becomes "None"; of lists, only lists of texts are kept.
std::vector<std::pair<std::string, std::string>> NamedInputs(std::string_view json);

}  // namespace crosscut::exporting
