#include <simdjson.h>

#include "src/base/shell_word.h"
#include "src/import/native/native_facts.h"

namespace crosscut::import {

bool FillRun(const std::string& json, trace::Trace* trace) {
  simdjson::dom::parser parser;
  simdjson::dom::object run;
  if (parser.parse(json).get(run) != simdjson::SUCCESS) return false;
  int64_t started = 0;
  if (run["started_realtime_ns"].get(started) == simdjson::SUCCESS) {
    trace->started_realtime_ns = started;
  }
  simdjson::dom::array words;
  std::string_view text;
  if (run["machine"].get(text) == simdjson::SUCCESS) trace->machine = text;
  if (run["command"].get(words) == simdjson::SUCCESS) {
    for (simdjson::dom::element word : words) {
      if (word.get(text) != simdjson::SUCCESS) continue;
      trace->command += (trace->command.empty() ? "" : " ") + base::ShellWord(text);
    }
  } else if (run["command"].get(text) == simdjson::SUCCESS) {
    trace->command = text;
  }
  return true;
}

}  // namespace crosscut::import
