#include "src/export/profile_options.h"

#include <simdjson.h>

#include <algorithm>

namespace crosscut::exporting {

ProfileOptions::ProfileOptions(const trace::Trace& trace) {
  if (trace.processes.empty()) return;
  for (const auto& [key, value] : trace.processes.front().meta) {
    const std::string_view fact = trace.text(key);
    is_profile |= fact == "trace_id";
    with_stack |= fact == "json:with_stack";
    with_overloads |= fact == "json:capture_overload_names";
    adjusts_steps |= fact == "json:adjust_profiler_step";
  }
}

std::string ProfileOptions::NameOf(const trace::Trace& trace, const trace::Name& name) const {
  const std::string_view overload = trace.text(name.overload);
  std::string text(trace.text(name.text));
  if (with_overloads && !overload.empty()) text.append(".").append(overload);
  return text;
}

std::vector<std::pair<std::string, std::string>> NamedInputs(std::string_view json) {
  std::vector<std::pair<std::string, std::string>> written;
  simdjson::dom::parser parser;
  simdjson::dom::object named;
  if (parser.parse(json).get(named)) return written;
  for (const auto& [name, value] : named) {
    std::string_view text;
    simdjson::dom::array list;
    const bool quotes = !value.get(text) && text.find('"') != std::string_view::npos;
    const bool of_texts = value.get(list) || std::all_of(list.begin(), list.end(),
                                                         [](auto one) { return one.is_string(); });
    // Kineto takes an input of this name for the number of a stream, and drops what is none.
    if (of_texts && (name != "stream" || value.is_int64())) {
      written.emplace_back(name, quotes ? "\"None\"" : std::string(simdjson::minify(value)));
    }
  }
  return written;
}

}  // namespace crosscut::exporting
