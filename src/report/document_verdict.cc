#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "src/base/shown_text.h"
#include "src/report/cells.h"
#include "src/report/document_parts.h"
#include "src/report/numbers.h"
#include "src/report/verdict_words.h"

namespace crosscut::report {
namespace {

constexpr size_t kMostProcesses = 4;  // beside the first

// "dl.py:8 Slow.__getitem__ (1.07 s of 1.36 s, 31.4 ms a step)."
std::string BlameText(const Cells& verdict, size_t row) {
  const std::string blame = base::ShownText(verdict.Text("blame", row));
  const std::string evidence = base::ShownText(verdict.Text("evidence", row));
  return blame.empty() ? "Evidence: " + evidence + "."
                       : "Largest part: " + blame + " (" + evidence + ").";
}

// What it can gain, and what to try.
std::string GainText(const Cells& verdict, size_t row, std::string_view time) {
  const GainWords gain = GainWordsOf(verdict, row);
  const std::string of = std::string(time) + " would be shorter by ";
  std::string out = gain.known ? "If this cost nothing, " + of + gain.most
                               : "What " + of + "if this cost nothing is " + gain.most;
  if (!gain.half.empty()) out += "; at half its cost by " + gain.half;
  return out + ". Try: " + base::ShownText(verdict.Text("action", row)) + ".";
}

// "Start-up took 2.55 s, most of it train.py:1 <module> (2.10 s); ..." for a process with steps.
std::string PartsText(const ReportData& data, std::string_view process) {
  const Cells parts(data.Find("window_parts")), work(data.Find("part_work"));
  std::string out;
  for (size_t row = 0; row < parts.rows(); ++row) {
    const std::string_view part = parts.Text("part", row);
    if (parts.Text("process", row) != process || part == "whole window") continue;
    const int64_t count = parts.Int("count", row);
    out += out.empty() ? "The whole window: " : "; ";
    if (count != analyze::kMissing) out += FormatCount(count) + " ";
    out += part.substr(0, part.size() - (count == 1 ? 1 : 0));  // "1 step"
    out += " " + TimeText(parts.Int("wall_ns", row));
    if (count != analyze::kMissing) continue;  // steps
    std::string most;                          // of the part's work, which stands together
    int64_t most_ns = 0, of_this = 0;
    std::string_view name;
    for (size_t w = 0; w < work.rows(); ++w) {
      if (work.Text("process", w) != process || work.Text("part", w) != part) continue;
      if (work.Text("work", w) != name) of_this = 0;
      name = work.Text("work", w);
      of_this += work.Int("ns", w);
      if (!name.empty() && of_this > most_ns) most = base::ShownText(name), most_ns = of_this;
    }
    if (10 * most_ns > parts.Int("wall_ns", row))
      out += " (" + most + " " + TimeText(most_ns) + ")";
  }
  return out.empty() ? out : out + ".";
}

}  // namespace

void AddVerdict(const ReportData& data, Document* out) {
  const Cells verdict(data.Find("verdict"));
  if (verdict.rows() == 0) return;
  Section& section = out->verdict;
  section.heading = "Verdict";
  const std::string_view first = verdict.Text("process", 0);
  section.before.push_back(WhoseVerdict(data) + base::ShownText(verdict.Text("headline", 0)));
  section.before.push_back(BlameText(verdict, 0));
  if (verdict.Text("cause", 0) != "none") {
    section.before.push_back(GainText(verdict, 0, TimeOfVerdict(data, first)));
  }
  for (const std::string& text : RequestsTexts(data, first)) section.before.push_back(text);
  size_t processes = 0;
  for (size_t row = 1; row < verdict.rows(); ++row) {
    const std::string blame = base::ShownText(verdict.Text("blame", row));
    const std::string headline = base::ShownText(verdict.Text("headline", row));
    if (verdict.Text("process", row) == first) {
      std::string also = headline;
      if (!also.starts_with("Python")) {
        also[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(also[0])));
      }
      section.before.push_back("Also: " + also +
                               (blame.empty() ? "" : " Largest part: " + blame + "."));
    } else if (verdict.Int("rank", row) == 1 && processes++ < kMostProcesses) {
      section.before.push_back(ProcessName(data, verdict.Text("process", row)) + ": " + headline +
                               (blame.empty() ? "" : " Largest part: " + blame + "."));
    }
  }
  if (processes > kMostProcesses) {
    section.before.push_back(FormatCount(processes - kMostProcesses) +
                             " more processes: table verdict.");
  }
  for (const std::string& text : FindingsOfSteps(data, first)) section.before.push_back(text);
  const std::string parts = PartsText(data, first);
  if (!parts.empty()) section.before.push_back(parts);
  const std::string nothing = NothingRepeatsText(data, first);
  if (!nothing.empty()) section.before.push_back(nothing);
}

}  // namespace crosscut::report
