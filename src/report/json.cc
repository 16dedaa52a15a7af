#include <utility>

#include "src/base/lists.h"
#include "src/report/table_text.h"
#include "src/report/views.h"

namespace crosscut::report {

std::string RenderReportJson(const ReportData& data) {
  std::string tables;
  for (const analyze::Table& table : data.tables) AddTableJson(table, &tables);
  return RenderReportJson(data, std::move(tables));
}

void AddTableJson(const analyze::Table& table, std::string* tables) {
  *tables += tables->empty() ? "\n" : ",\n";
  WriteJson(table, [tables](std::string_view part) { *tables += part; });
}

std::string RenderReportJson(const ReportData& data, std::string tables) {
  const auto fact = [](const auto& one) {
    return JsonText(one.first) + ": " + JsonText(one.second);
  };
  tables.insert(0, "{\"title\": " + JsonText(data.title) + ",\n\"facts\": {" +
                       base::Joined(data.facts, ", ", fact) + "},\n\"gaps\": [" +
                       base::Joined(data.gaps, ", ", JsonText) + "],\n\"tables\": [");
  tables += "]}\n";
  return tables;
}

}  // namespace crosscut::report
