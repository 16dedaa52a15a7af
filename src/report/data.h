// What the views of one run show: tables, and the sentences around them. Every number in a view is
// in one of these tables.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/analyze/table.h"
#include "src/analyze/timeline/timeline.h"

namespace crosscut::report {

class ProcessTitles;

struct ReportData {
  std::string title;  // what ran: "train.py"
  // What else identifies the run; views show it under the title in this order: {"Recorded", "..."}.
  std::vector<std::pair<std::string, std::string>> facts;
  std::vector<std::string> gaps;       // analyze::Gaps(): the first lines of every view
  std::vector<analyze::Table> tables;  // in the order in which views list them
  analyze::Timeline timeline;          // empty where a view needs none
  // Made by ProcessName() when it is first asked: of very many processes that takes long.
  mutable std::shared_ptr<const ProcessTitles> titles;

  // The table of that name; null where there is none.
  const analyze::Table* Find(std::string_view name) const {
    for (const analyze::Table& t : tables) {
      if (t.name == name) return &t;
    }
    return nullptr;
  }
  // What commands name the run by: the fact "Run".
  std::string Run() const {
    for (const auto& [name, value] : facts) {
      if (name == "Run") return value;
    }
    return "RUN";
  }
};

}  // namespace crosscut::report
