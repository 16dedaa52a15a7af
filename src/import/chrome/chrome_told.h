// What a reader of Chrome traces left out, repaired or guessed, and the sentences that say so.
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
  uint64_t lost_args = 0;    // ends with arguments, of begins that have some
  uint64_t outlive = 0;      // spans that go on after the one around them
  uint64_t beside = 0;       // spans of threads that overlap too many others to be cut
  uint64_t cut_off = 0;      // spans that overlap too many others
  uint64_t end_rounded = 0;  // spans whose ends are off by what times are rounded by
  uint64_t cut_steps = 0;    // steps that are not over where the next begins
  uint64_t no_numbers = 0;   // values of counters
  uint64_t rounded = 0;      // values of counters
  uint64_t dangling = 0;     // ends of arrows
  uint64_t unsure = 0;       // pieces of device work that fit several processes
  uint64_t same_launch = 0;  // launches with the correlation of another of their process
  uint64_t others = 0;       // events of phases that are not read
  std::string strange;       // categories that nobody knows, with their counts

  std::vector<std::string> Sentences() const;
};

// Categories that nobody knows: how many spans each has.
class StrangeCategories {
 public:
  void Add(std::string_view category);
  bool any() const { return !counts_.empty() || bare_ > 0; }
  // "1200 (foo 1000, bar 200)". Spans without a category count where `bare` says so.
  std::string Text(bool bare) const;

 private:
  std::map<std::string, uint64_t, std::less<>> counts_;
  uint64_t more_ = 0;  // of categories beyond those that are counted each
  uint64_t bare_ = 0;
};

}  // namespace crosscut::import
