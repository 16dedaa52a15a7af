#include "src/report/json.h"

#include <utility>

#include "src/report/table_text.h"

namespace crosscut::report {

std::string RenderReportJson(const ReportData& data) {
  std::string tables;
  for (const analyze::Table& table : data.tables) AddTableJson(table, &tables);
  return RenderReportJson(data, std::move(tables));
}

void AddTableJson(const analyze::Table& table, std::string* tables) {
  *tables += tables->empty() ? "\n" : ",\n";
  *tables += RenderJson(table);
}

std::string RenderReportJson(const ReportData& data, std::string tables) {
  std::string out = "{\"title\": " + JsonText(data.title) + ",\n\"facts\": {";
  for (size_t i = 0; i < data.facts.size(); ++i) {
    out += (i == 0 ? "" : ", ") + JsonText(data.facts[i].first) + ": " +
           JsonText(data.facts[i].second);
  }
  out += "},\n\"gaps\": [";
  for (size_t i = 0; i < data.gaps.size(); ++i) {
    out += (i == 0 ? "" : ", ") + JsonText(data.gaps[i]);
  }
  out += "],\n\"tables\": [";
  tables.insert(0, out);
  tables += "]}\n";
  return tables;
}

}  // namespace crosscut::report
