#include <utility>
#include <vector>

#include "src/analyze/tables.h"
#include "src/report/html_parts.h"
#include "src/report/numbers.h"
#include "src/report/shown_text.h"

namespace crosscut::report {
namespace {

using analyze::Table;
using analyze::TableEntry;

std::string Item(const std::string& section, const std::string& text, bool drawn_by_script) {
  return std::string(drawn_by_script ? "<li hidden>" : "<li>") + "<a href=\"#" + section + "\">" +
         text + "</a></li>";
}

bool HasRows(const ReportData& data, std::string_view name) {
  const Table* table = data.Find(name);
  return table != nullptr && table->rows() > 0;
}

// Titles of empty tables by the sentence that says how their rows would be recorded, in the order
// of the tables; "" for those that every recording has.
using ByRemedy = std::vector<std::pair<std::string, std::string>>;

void AddEmpty(const Table& table, bool has_steps, ByRemedy* all) {
  const TableEntry* entry = analyze::FindTable(table.name);
  const std::string remedy(entry == nullptr ? "" : entry->WhyEmpty(has_steps));
  const std::string title = "<span id=\"table-" + EscapeHtml(table.name) + "\" title=\"" +
                            EscapeHtml(table.name) + "\">" + EscapeHtml(TableTitle(table.name)) +
                            "</span>";
  for (auto& [sentence, titles] : *all) {
    if (sentence != remedy) continue;
    titles += ", " + title;
    return;
  }
  all->emplace_back(remedy, title);
}

std::string EmptyHtml(const ByRemedy& all, int64_t count) {
  if (count == 0) return "";
  std::string out = "<details class=\"empty\"><summary>" + FormatCount(count) +
                    (count == 1 ? " table has no rows and is" : " tables have no rows and are") +
                    " not shown: which, and how they would be recorded</summary>"
                    "<ul>";
  for (const auto& [sentence, titles] : all) {
    out += "<li>" + titles + ": " +
           (sentence.empty() ? "nothing of this kind happened in what was recorded"
                             : EscapeHtml(sentence, kMaxPageSentence)) +
           ".</li>";
  }
  return out + "</ul></details>\n";
}

}  // namespace

std::string TableTitle(const std::string& table) {
  const TableEntry* entry = analyze::FindTable(table);
  return entry == nullptr || entry->title == nullptr ? table : entry->title;
}

std::string ContentsHtml(const ReportData& data) {
  std::string out = "<nav class=\"contents\" aria-label=\"Contents\"><ul>";
  if (HasRows(data, "verdict")) out += Item("verdict", "Verdict", false);
  out += Item("time", "Where the time went", true);
  out += Item("timeline", "Timeline", true);
  out += Item("pace", "Steps", true);
  out += Item("compare", "Step against step", true);
  out += Item("flame", "Flame graph", true);
  out += Item("phases", "Processes", true);
  out += Item("memory", "Memory", true);
  out += Item("tables", "Tables", false);
  return out + Item("elsewhere", "Other tools", false) + "</ul></nav>\n";
}

std::string TableListHtml(const ReportData& data, std::string_view skipped) {
  std::string out;
  ByRemedy empty;
  int64_t count = 0;
  for (const Table& table : data.tables) {
    if (table.name == skipped) continue;
    if (table.rows() == 0) {
      AddEmpty(table, HasRows(data, "steps"), &empty);
      ++count;
      continue;
    }
    out += "<li><a href=\"#table-" + EscapeHtml(table.name) + "\">" +
           EscapeHtml(TableTitle(table.name)) + "</a> <span class=\"count\">" +
           FormatCount(table.rows()) + "</span></li>";
  }
  if (!out.empty()) out = "<ul class=\"tables\">" + out + "</ul>\n";
  return out + EmptyHtml(empty, count);
}

}  // namespace crosscut::report
