// torch.profiler's options that change its traces, of a run that stands for one (crosscut.torch).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/trace/trace.h"

namespace crosscut::exporting {

struct ProfileOptions {
  explicit ProfileOptions(const trace::Trace& trace);

  bool is_profile = false;      // of torch.profiler's kind: it has the number of a trace
  bool with_overloads = false;  // operators are called with their overload
  bool adjusts_steps = false;   // a step begins with the first Python function in it

  std::string NameOf(const trace::Trace& trace, const trace::Name& name) const;
};

// What an operator got by name, a JSON object, as Kineto writes it: each with its JSON; None for
// texts with quotes, of lists those of texts.
std::vector<std::pair<std::string, std::string>> NamedInputs(std::string_view json);

}  // namespace crosscut::exporting
