#include "src/report/process_titles.h"

#include <vector>

#include "src/base/lists.h"
#include "src/report/cells.h"

namespace crosscut::report {

ProcessTitles::ProcessTitles(const analyze::Table* table) {
  const Cells processes(table);
  std::map<std::string, int> called;
  std::vector<std::string> titles;
  for (size_t row = 0; row < processes.rows(); ++row) {
    std::string title(processes.Text("name", row));
    const int64_t pid = processes.Int("pid", row);
    if (title.empty()) title = processes.Text("process", row);
    if (pid > 0) title += " (pid " + std::to_string(pid) + ")";
    ++called[title];
    titles.push_back(std::move(title));
  }
  for (size_t row = 0; row < titles.size(); ++row) {
    const std::string key(processes.Text("process", row));
    titles_[key] = titles[row] + (called[titles[row]] > 1 ? " " + key : "");
  }
}

std::string ProcessTitles::Of(std::string_view key) const {
  const auto at = titles_.find(key);
  return at == titles_.end() ? std::string(key) : at->second;
}

std::string ProcessTitles::OfAll(std::string_view keys) const {
  return base::Joined(base::Split(keys, '+'), " + ",
                      [this](std::string_view key) { return Of(key); });
}

}  // namespace crosscut::report
