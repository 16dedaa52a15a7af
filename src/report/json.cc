#include "src/report/json.h"

#include "src/report/table_text.h"

namespace crosscut::report {

std::string RenderReportJson(const ReportData& data) {
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
  for (size_t i = 0; i < data.tables.size(); ++i) {
    out += (i == 0 ? "\n" : ",\n") + RenderJson(data.tables[i]);
  }
  return out + "]}\n";
}

}  // namespace crosscut::report
