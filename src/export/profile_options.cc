#include "src/export/profile_options.h"

#include <simdjson.h>

#include <algorithm>

namespace crosscut::exporting {
namespace {

// "Net.forward (train.py:7)" as Kineto has it, "train.py(7): forward"; other texts as they are.
std::string FunctionText(std::string_view text) {
  const size_t place = text.rfind(" ("), colon = text.rfind(':');
  if (!text.ends_with(')') || place == text.npos || colon == text.npos || colon < place) {
    return std::string(text);
  }
  const std::string_view line = text.substr(colon + 1, text.size() - colon - 2);
  if (line.empty() || line.find_first_not_of("0123456789") != line.npos) return std::string(text);
  const std::string_view file = text.substr(place + 2, colon - place - 2);
  const std::string_view name = text.substr(0, place);
  return std::string(file) + "(" + std::string(line) +
         "): " + std::string(name.substr(name.rfind('.') + 1));
}

}  // namespace

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
  const bool function = with_stack && name.kind == trace::Kind::kSpan &&
                        name.layer == trace::Layer::kPython && name.probe.valid();
  std::string text =
      function ? FunctionText(trace.text(name.text)) : std::string(trace.text(name.text));
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
