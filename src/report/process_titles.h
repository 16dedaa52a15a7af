// Processes as people know them, by the keys that tables name them with.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "src/report/data.h"

namespace crosscut::report {

class ProcessTitles {
 public:
  ProcessTitles() = default;  // knows none
  explicit ProcessTitles(const ReportData& data) : ProcessTitles(data.Find("processes")) {}
  explicit ProcessTitles(const analyze::Table* processes);  // the table of that name, or null
  // "train.py (pid 4711)", with its key behind it where another process is called so, too; the key
  // alone where the program is not known. Not cleaned.
  std::string Of(std::string_view key) const;
  // The same of keys joined by '+'.
  std::string OfAll(std::string_view keys) const;

 private:
  std::map<std::string, std::string, std::less<>> titles_;
};

}  // namespace crosscut::report
