// A run directory that `crosscut import` made: the files that others wrote, as they were, and a
// run.json that lists them.
#include <simdjson.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/counted.h"
#include "src/base/file.h"
#include "src/format/run_json.h"
#include "src/import/chrome/chrome_rows.h"
#include "src/import/importer.h"
#include "src/trace/merge.h"

namespace crosscut::import {
namespace {

constexpr size_t kMostBytes = 16 << 20;  // of run.json

Result<std::string> RunJson(const std::string& dir) {
  return base::ReadSmallFile(dir + "/run.json", kMostBytes);
}

// The files that run.json lists; false where it lists none.
bool Listed(const std::string& json, std::vector<std::string>* files) {
  simdjson::dom::parser parser;
  simdjson::dom::object run;
  simdjson::dom::array listed;
  if (parser.parse(json).get(run) != simdjson::SUCCESS ||
      run["imported"].get(listed) != simdjson::SUCCESS) {
    return false;
  }
  for (simdjson::dom::element element : listed) {
    std::string_view name;
    if (element.get(name) == simdjson::SUCCESS) files->emplace_back(name);
  }
  return true;
}

// What an exporter writes again of one file, and of several together cannot: ids clash.
class NotKept {
 public:
  void Take(const trace::Kept& kept) {
    if (kept.format == "xspace") ++spaces_;
    kept.events.ForEach([this](std::string_view event) { events_ += InTheTrace(event) ? 0 : 1; },
                        [](uint32_t) {});
    for (const auto& [key, value] : kept.facts) {
      if (std::find(std::begin(kWrittenAnew), std::end(kWrittenAnew), key) !=
          std::end(kWrittenAnew))
        continue;
      if (first_) {
        facts_of_first_[key] = value;
      } else {
        const auto at = facts_of_first_.find(key);
        facts_ += at == facts_of_first_.end() || at->second != value ? 1 : 0;
      }
    }
    first_ = false;
  }
  void Tell(std::vector<std::string>* gaps) const {
    const auto say = [gaps](uint64_t count, const char* words) {
      if (count > 0) gaps->push_back(base::Counted(count, words));
    };
    say(events_,
        "{event|events} of the files {has|have} no place in a run of several files, so an export "
        "leaves {it|them} out (metadata except names, asynchronous events, objects, marks of a "
        "whole trace).");
    say(facts_,
        "{fact|facts} beside the events of later files {is|are} in no export, which has the first "
        "file's.");
    say(spaces_,
        "{profile is|profiles are} here without {its|their} programs (HLO) and the properties of "
        "{its|their} devices.");
  }

 private:
  // Arrows, counters, steps and names are.
  bool InTheTrace(std::string_view event) {
    simdjson::dom::element element;
    std::string_view phase, name;
    double time = 0;
    const simdjson::padded_string text(event);
    if (parser_.parse(text).get(element) || element["ph"].get(phase)) return false;
    if (element["name"].get(name)) name = "";
    if (phase == "M") {
      return name == "process_name" || name == "thread_name" || name == "process_labels";
    }
    if (element["ts"].get(time)) return false;
    return phase == "s" || phase == "t" || phase == "f" || phase == "C" ||
           (phase == "X" && name.starts_with(kChromeStep));
  }

  static constexpr std::string_view kWrittenAnew[] = {"traceName", "crosscutGaps", "schemaVersion",
                                                      "displayTimeUnit", "baseTimeNanoseconds"};

  simdjson::dom::parser parser_;
  std::map<std::string, std::string> facts_of_first_;
  bool first_ = true;
  uint64_t events_ = 0, facts_ = 0, spaces_ = 0;
};

}  // namespace

bool SniffImported(const Input& input) {
  if (!input.directory) return false;
  std::vector<std::string> files;
  const auto json = RunJson(input.path);
  // One that cannot be read may list some: it is asked again, and says so.
  return json.ok() ? Listed(*json, &files) : json.status().code() != Status::Code::kNotFound;
}

Result<trace::Trace> MakeImported(const Input& input) {
  std::vector<std::string> files;
  const auto json = RunJson(input.path);
  if (!json.ok()) return json.status();
  const std::string problem = format::ProblemOfRun(*json);
  if (!problem.empty()) return Status::Invalid(input.path + "/run.json: " + problem);
  if (!Listed(*json, &files) || files.empty()) {
    return Status::Corrupt(input.path + "/run.json: it lists no file");
  }
  trace::Trace whole;
  NotKept not_kept;
  const Purpose purpose = files.size() > 1 ? Purpose::kExport : input.purpose;  // to count it
  for (size_t i = 0; i < files.size(); ++i) {
    if (files[i].empty() || files[i][0] == '.' || files[i].find('/') != std::string::npos) {
      return Status::Corrupt(input.path + "/run.json: '" + files[i] +
                             "' is not a file of this run");
    }
    auto trace = Import(input.path + "/" + files[i], purpose);
    if (!trace.ok()) return trace.status();
    not_kept.Take(trace->kept);
    if (i == 0) {
      whole = std::move(*trace);
    } else {
      trace::Append(std::move(*trace), &whole);
    }
  }
  if (files.size() > 1) not_kept.Tell(&whole.gaps);
  return whole;
}

}  // namespace crosscut::import
