#include "src/report/cells.h"
#include "src/report/html_parts.h"
#include "src/report/numbers.h"
#include "src/report/shown_text.h"
#include "src/report/verdict_words.h"

namespace crosscut::report {
namespace {

constexpr size_t kMostProcesses = 4;  // beside the first

std::string Line(const char* what, const std::string& html) {
  return std::string("<div><dt>") + what + "</dt><dd>" + html + "</dd></div>";
}

// " Table: What a step is made of", which leads there; "" where there is none.
std::string TableLink(const std::string& table) {
  if (table.empty()) return "";
  return " <a href=\"#table-" + EscapeHtml(table) + "\">Table: " + EscapeHtml(TableTitle(table)) +
         "</a>";
}

std::string GainHtml(const Cells& cells, size_t row, std::string_view time) {
  if (cells.Text("cause", row) == "none") return "";
  const GainWords gain = GainWordsOf(cells, row);
  if (!gain.known) return gain.most;
  return gain.most + " of " + std::string(time) +
         (gain.half.empty() ? "" : "; at half its cost " + gain.half) +
         ": an upper bound, as if nothing else took its place";
}

std::string EvidenceHtml(const Cells& cells, size_t row) {
  return EscapeHtml(cells.Text("evidence", row), kMaxPageSentence) +
         TableLink(std::string(cells.Text("table", row)));
}

// The first cause in full.
std::string FirstHtml(const ReportData& data, const Cells& cells, size_t row) {
  std::string out = "<p class=\"answer\">" + EscapeHtml(WhoseVerdict(data)) +
                    EscapeHtml(cells.Text("headline", row), kMaxPageSentence) + "</p><dl>";
  const std::string blame = EscapeHtml(cells.Text("blame", row), kMaxPageSentence);
  if (!blame.empty()) out += Line("Where", "<code>" + blame + "</code>");
  const std::string evidence = EvidenceHtml(cells, row);
  if (!evidence.empty()) out += Line("Evidence", evidence);
  const std::string gain = GainHtml(cells, row, TimeOfVerdict(data, cells.Text("process", row)));
  if (!gain.empty()) out += Line("Can save", gain);
  const std::string action = EscapeHtml(cells.Text("action", row), kMaxPageSentence);
  if (!action.empty()) out += Line("Try", action);
  const std::string_view process = cells.Text("process", row);
  for (const std::string& text : RequestsTexts(data, process)) {
    out += Line("Requests", EscapeHtml(text, kMaxPageSentence) + TableLink("requests"));
  }
  for (const std::string& text : FindingsOfSteps(data, process)) {
    out += Line("Steps", EscapeHtml(text, kMaxPageSentence));
  }
  const std::string nothing = NothingRepeatsText(data, process);
  if (!nothing.empty()) out += Line("Steps", EscapeHtml(nothing));
  return out + "</dl>";
}

std::string OtherHtml(const Cells& cells, size_t row, const std::string& before) {
  std::string out =
      "<li>" + EscapeHtml(before) + EscapeHtml(cells.Text("headline", row), kMaxPageSentence);
  const std::string blame = EscapeHtml(cells.Text("blame", row), kMaxPageSentence);
  if (!blame.empty()) out += " <code>" + blame + "</code>";
  return out + TableLink(std::string(cells.Text("table", row))) + "</li>";
}

}  // namespace

std::string VerdictHtml(const ReportData& data, const ProcessTitles& titles) {
  const Cells cells(data.Find("verdict"));
  const size_t gaps = data.gaps.size();
  if (cells.rows() == 0) return "";
  std::string out = "<section id=\"verdict\" class=\"verdict\"><h2>Verdict</h2>";
  if (gaps > 0) {
    out += "<p class=\"note\">" + FormatCount(gaps) + (gaps == 1 ? " thing is" : " things are") +
           " missing from this recording or uncertain: <a href=\"#gaps\">read this, too</a>.</p>";
  }
  // In the table's order: by process, and by rank in each.
  const std::string_view first = cells.Text("process", 0);
  out += FirstHtml(data, cells, 0);
  std::string also, elsewhere;
  size_t processes = 0;
  for (size_t row = 1; row < cells.rows(); ++row) {
    if (cells.Text("process", row) == first) {
      also += OtherHtml(cells, row, "");
    } else if (cells.Int("rank", row) == 1 && ++processes <= kMostProcesses) {
      elsewhere += OtherHtml(cells, row, titles.Of(cells.Text("process", row)) + ": ");
    }
  }
  if (!also.empty()) out += "<h3>Also</h3><ul>" + also + "</ul>";
  if (!elsewhere.empty()) out += "<h3>Other processes</h3><ul>" + elsewhere + "</ul>";
  if (processes > kMostProcesses) {
    out += "<p class=\"note\"><a href=\"#table-verdict\">" +
           FormatCount(processes - kMostProcesses) + " more processes</a></p>";
  }
  return out + "</section>\n";
}

}  // namespace crosscut::report
