// What a trace says of itself is missing, guessed or repaired, in sentences: the one list for every
// report, and for every file that is exported.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "src/trace/trace.h"

namespace crosscut::trace {

// "a (pid 7)", or "3 processes, such as a (pid 7),".
std::string Whose(uint64_t processes, const std::string& first);

// Sentences that differ only in their process are one: "3 processes, such as a (pid 7), are late".
class ByProcess {
 public:
  // Of the process that people know by that title. `before` and `after` stand around it, with words
  // for one process and for several, as base::Counted has them; `told` follows as it is. `after`
  // begins with a space, or is empty.
  void Add(const std::string& title, std::string_view before, std::string_view after,
           const std::string& told = "");
  // In the order of the first of each.
  void Tell(std::vector<std::string>* out) const;

 private:
  struct Sentence {
    std::string first, before, after, told;
    uint64_t processes;
  };
  std::vector<Sentence> sentences_;
  std::map<std::tuple<std::string, std::string, std::string>, size_t> index_;  // of `sentences_`
};

// Most serious first: the trace's own gaps, incomplete processes, sources that failed, what plugins
// had not handed over, losses by reason and time, missing ranks, repairs, spans outside the window.
// None twice.
std::vector<std::string> Gaps(const Trace& trace);

// "3 events missing (full)", for where it stands in time.
std::string Missing(const Trace& trace, const Loss& loss);

// To the millisecond: "2.050 s".
std::string Seconds(int64_t ns);

}  // namespace crosscut::trace
