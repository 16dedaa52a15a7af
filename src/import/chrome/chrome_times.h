// Finds events of a Chrome trace that state an impossible time: 0 or less among times of day, or
// years away from all others. Such events would stretch the window over decades.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "src/import/chrome/chrome_rows.h"

namespace crosscut::import {

// The times that are possible, both ends included.
struct ChromeTimes {
  int64_t first_ns = INT64_MIN, last_ns = INT64_MAX;
  bool Has(int64_t at_ns) const { return at_ns >= first_ns && at_ns <= last_ns; }
};

// The range around the median begin of the rows' spans and instants: a week to either side, or more
// if the middle half of the begins is spread wide (8 times its width). It leaves out 0 and less if
// the median lies above an hour and above that spread.
ChromeTimes TimesOf(const std::pmr::deque<ChromeRow>& rows);

// Takes what lies at other times out of a row; returns how much.
uint64_t LeaveOutFar(const ChromeTimes& times, ChromeRow* row);

}  // namespace crosscut::import
