#include "src/report/html_verdict.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "src/report/cells.h"
#include "src/report/numbers.h"
#include "src/report/shown_text.h"

namespace crosscut::report {
namespace {

std::string Share(double share) { return FormatPercent(share, 1, true); }

std::string Line(const char* what, const std::string& html) {
  return std::string("<div><dt>") + what + "</dt><dd>" + html + "</dd></div>";
}

std::string GainHtml(const Cells& cells, size_t row) {
  const double gain = cells.Real("gain_share", row);
  if (!std::isfinite(gain)) return "";
  std::string out = "at most " + Share(gain) + " of the steps";
  const double low = cells.Real("gain_low_share", row), high = cells.Real("gain_high_share", row);
  if (std::isfinite(low) && std::isfinite(high)) {
    out += " (" + Share(low) + " to " + Share(high) + ")";
  }
  return out + ": an upper bound, as if nothing else took its place";
}

std::string EvidenceHtml(const Cells& cells, size_t row) {
  std::string out = EscapeHtml(cells.Text("evidence", row), kMaxPageSentence);
  const std::string table(cells.Text("table", row));
  if (table.empty()) return out;
  return out + (out.empty() ? "" : " ") + "<a href=\"#table-" + EscapeHtml(table) + "\">Table " +
         EscapeHtml(table) + "</a>";
}

// The cause in full.
std::string FirstHtml(const Cells& cells, size_t row) {
  std::string out = "<p class=\"answer\">" +
                    EscapeHtml(cells.Text("headline", row), kMaxPageSentence) + "</p><dl>";
  const std::string blame = EscapeHtml(cells.Text("blame", row), kMaxPageSentence);
  if (!blame.empty()) out += Line("Where", "<code>" + blame + "</code>");
  const std::string evidence = EvidenceHtml(cells, row);
  if (!evidence.empty()) out += Line("Evidence", evidence);
  const std::string gain = GainHtml(cells, row);
  if (!gain.empty()) out += Line("Can save", gain);
  const std::string action = EscapeHtml(cells.Text("action", row), kMaxPageSentence);
  if (!action.empty()) out += Line("Do next", action);
  return out + "</dl>";
}

std::string OtherHtml(const Cells& cells, size_t row) {
  std::string out = "<li>" + EscapeHtml(cells.Text("headline", row), kMaxPageSentence);
  const std::string blame = EscapeHtml(cells.Text("blame", row), kMaxPageSentence);
  if (!blame.empty()) out += " <code>" + blame + "</code>";
  const std::string table(cells.Text("table", row));
  if (!table.empty()) {
    out += " <a href=\"#table-" + EscapeHtml(table) + "\">Table " + EscapeHtml(table) + "</a>";
  }
  return out + "</li>";
}

}  // namespace

std::string VerdictHtml(const analyze::Table* verdict, size_t gaps, const ProcessTitles& titles) {
  const Cells cells(verdict);
  if (cells.rows() == 0) return "";
  std::string out = "<section id=\"verdict\" class=\"verdict\"><h2>Verdict</h2>";
  if (gaps > 0) {
    out += "<p class=\"note\">" + FormatCount(static_cast<int64_t>(gaps)) +
           (gaps == 1 ? " thing is" : " things are") +
           " missing from this recording or uncertain: <a href=\"#gaps\">read this, too</a>.</p>";
  }
  std::vector<std::string_view> processes;  // in the table's order
  for (size_t row = 0; row < cells.rows(); ++row) {
    const std::string_view process = cells.Text("process", row);
    if (std::find(processes.begin(), processes.end(), process) == processes.end()) {
      processes.push_back(process);
    }
  }
  for (const std::string_view process : processes) {
    std::vector<size_t> rows;
    for (size_t row = 0; row < cells.rows(); ++row) {
      if (cells.Text("process", row) == process) rows.push_back(row);
    }
    std::stable_sort(rows.begin(), rows.end(), [&](size_t a, size_t b) {
      return cells.Int("rank", a) < cells.Int("rank", b);
    });
    if (processes.size() > 1) out += "<h3>" + EscapeHtml(titles.Of(process)) + "</h3>";
    out += FirstHtml(cells, rows[0]);
    if (rows.size() == 1) continue;
    out += "<ol start=\"2\">";
    for (size_t i = 1; i < rows.size(); ++i) out += OtherHtml(cells, rows[i]);
    out += "</ol>";
  }
  return out + "</section>\n";
}

}  // namespace crosscut::report
