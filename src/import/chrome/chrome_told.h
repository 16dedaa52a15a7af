// What the reader of Chrome traces left out, repaired or guessed, and the sentences about it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace crosscut::import {

struct ChromeTold {
  uint64_t timeless = 0;     // events whose times are missing or out of range
  uint64_t far = 0;          // events of a time that cannot be
  uint64_t negative = 0;     // durations below 0
  uint64_t endless = 0;      // begins without an end
  uint64_t lone_ends = 0;    // ends without a begin
  uint64_t lost_args = 0;    // ends whose begin is on another row, or a step's
  uint64_t outlive = 0;      // spans that outlive the one around them
  uint64_t beside = 0;       // spans of threads on further tracks: they overlap too many others
  uint64_t cut_off = 0;      // spans that overlap more others than there is room for
  uint64_t end_rounded = 0;  // spans that end later than the one around them by rounding
  uint64_t cut_steps = 0;    // steps that were not over when the next began
  uint64_t no_numbers = 0;   // values of counters that are no numbers that fit
  uint64_t halves = 0;       // halves of characters, as escapes in texts
  uint64_t rounded = 0;      // values of counters with decimals
  uint64_t dangling = 0;     // ends of arrows without another end
  uint64_t unsure = 0;       // pieces of device work that fit several processes
  uint64_t same_launch = 0;  // launches with the correlation of another of their process
  uint64_t no_work = 0;      // spans of XProf's whose row turned out to be such a one behind them
  uint64_t others = 0;       // events of phases that are not read
  std::string strange;       // categories that are not known, with their counts

  // What to say, the counts first. `words` are as base::Counted() takes them; a sentence without a
  // count has 0 and is said as it is.
  struct Sentence {
    uint64_t count;
    std::string words;
  };
  std::vector<Sentence> Sentences() const;
};

// Categories that are not known: how many spans each has.
class StrangeCategories {
 public:
  void Add(std::string_view category);
  bool any() const { return !counts_.empty() || bare_ > 0; }
  // "1200 (foo 1000, bar 200)"; "" where there are none. Counts spans without a category if `bare`.
  std::string Text(bool bare) const;

 private:
  std::map<std::string, uint64_t, std::less<>> counts_;
  uint64_t more_ = 0;  // of categories beyond those that are counted each
  uint64_t bare_ = 0;
};

}  // namespace crosscut::import
