// The texts of a timeline, each once, and the arguments of its spans within a budget.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/analyze/timeline/timeline.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

// Fills `timeline`.texts and .args, which must outlive it.
class TimelineTexts {
 public:
  TimelineTexts(const trace::Trace& trace, Timeline& timeline, size_t max_arg_bytes)
      : trace_(trace),
        timeline_(timeline),
        of_name_(trace.names.size(), kNoText),
        bytes_left_(max_arg_bytes) {}

  // The index of a name's text. `name` is a NameId's value; kNoText stays kNoText.
  uint32_t OfName(uint32_t name);
  // The index of the span's arguments in Timeline::args; kNoText where it has none, kArgsLeftOut
  // where the budget is used up.
  uint32_t ArgsOf(const trace::Track& track, trace::SpanIndex span);

 private:
  uint32_t OfString(trace::StringId text);
  uint32_t OfNumber(int64_t number);
  uint32_t Add(std::string text);

  const trace::Trace& trace_;
  Timeline& timeline_;
  std::vector<uint32_t> of_name_;
  std::unordered_map<uint32_t, uint32_t> of_string_;
  std::unordered_map<std::string, uint32_t> of_number_;
  std::map<std::vector<uint32_t>, uint32_t> of_args_;
  size_t bytes_left_;
};

}  // namespace crosscut::analyze
