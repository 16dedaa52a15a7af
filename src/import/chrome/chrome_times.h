// What of a Chrome trace states a time that cannot be: 0 or less among times of day, years away
// from all else. Such events would stretch the window over decades.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "src/import/chrome/chrome_rows.h"

namespace crosscut::import {

// The times that may be, both included.
struct ChromeTimes {
  int64_t first_ns = INT64_MIN, last_ns = INT64_MAX;
  bool Has(int64_t at_ns) const { return at_ns >= first_ns && at_ns <= last_ns; }
};

// Around the middle of where the rows' spans and instants begin: within a week, those at or below 0
// within an hour, and always within eight times what holds the middle half of them.
ChromeTimes TimesOf(const std::pmr::deque<ChromeRow>& rows);

// Takes out of a row what is at other times; how much.
uint64_t LeaveOutFar(const ChromeTimes& times, ChromeRow* row);

}  // namespace crosscut::import
