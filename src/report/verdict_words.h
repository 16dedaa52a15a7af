// What text and page say of a verdict's gain, of requests and beside steps, in the same words.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "src/report/cells.h"
#include "src/report/data.h"

namespace crosscut::report {

struct GainWords {
  bool known = true;
  // "74 % at most (95 %: 70 % to 78 %)", with as many digits as the interval leaves; where zero is
  // in that, "not known: between 0 % and 83 %".
  std::string most;
  // "37 %", for the program's own purpose, operators and devices: nobody's cost nothing. Else "".
  std::string half;
};
// Of a row of table `verdict`.
GainWords GainWordsOf(const Cells& verdict, size_t row);

// What shares of the process's verdict are of: "the steps", "the time with requests", "the time".
std::string_view TimeOfVerdict(const ReportData& data, std::string_view process);

// "serve.py (pid 7): ", of whom the first verdict is, where that does not go without saying: others
// have verdicts, too, or another process started it. Else "".
std::string WhoseVerdict(const ReportData& data);

// A sentence for each of the process's kinds of requests, three at most: "2,000 requests of
// GET /predict: median 3.10 ms, 99 % within 12.0 ms, 4.2 at a time (9 at most); ...". The last
// tells where they take less than half of the time from the first to the last.
std::vector<std::string> RequestsTexts(const ReportData& data, std::string_view process);
// What the tables step_changes and beside_steps find of the process's steps and beside them: a
// sentence of each at most.
std::vector<std::string> FindingsOfSteps(const ReportData& data, std::string_view process);
// How to mark what repeats, where nothing that does was found in the process, or only requests that
// are not what it does; else "".
std::string NothingRepeatsText(const ReportData& data, std::string_view process);

}  // namespace crosscut::report
