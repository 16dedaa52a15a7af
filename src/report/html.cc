#include <algorithm>

#include "src/analyze/tables.h"
#include "src/report/html_parts.h"
#include "src/report/numbers.h"
#include "src/report/page_bundle.h"
#include "src/report/process_titles.h"
#include "src/report/shown_text.h"
#include "src/report/views.h"

namespace crosscut::report {
namespace {

using analyze::Table;

constexpr char kGapsTable[] = "gaps";  // stands on top of the page

std::string HeadHtml(const ReportData& data) {
  std::string out =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "script-src '";
  out += kPageScriptHash;
  out += "'; style-src '";
  out += kPageStyleHash;
  out +=
      "'; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<meta name=\"referrer\" content=\"no-referrer\">\n<title>";
  out += EscapeHtml(data.title.empty() ? "Crosscut" : data.title + " – Crosscut");
  out += "</title>\n<style>";
  out += kPageStyle;
  return out + "</style></head>\n";
}

std::string GapsHtml(const std::vector<std::string>& gaps, const char* heading) {
  if (gaps.empty()) return "";
  std::string out = "<section id=\"gaps\" class=\"gaps\" aria-label=\"What is missing\"><h2>" +
                    std::string(heading) + "</h2><ul>";
  constexpr size_t kShown = 6;  // the most serious stand first; the rest is folded
  const size_t shown = gaps.size() > kShown + 2 ? kShown : gaps.size();
  const size_t last = std::min(gaps.size(), size_t{500});
  for (size_t i = 0; i < last; ++i) {
    if (i == shown) {
      out += "</ul><details><summary>" + FormatCount(gaps.size() - shown) + " more</summary><ul>";
    }
    out += "<li>" + EscapeHtml(gaps[i], kMaxPageSentence) + "</li>";
  }
  if (last < gaps.size()) {
    out += "<li>… all of them: <code>crosscut table RUN gaps</code></li>";
  }
  return out + (shown < gaps.size() ? "</ul></details></section>\n" : "</ul></section>\n");
}

std::string TitleHtml(const ReportData& data) {
  std::string out = "<header class=\"top\"><p class=\"brand\">Crosscut</p><h1>" +
                    EscapeHtml(data.title.empty() ? "A recorded run" : data.title) + "</h1>";
  if (!data.facts.empty()) {
    out += "<dl class=\"facts\">";
    for (const auto& [name, value] : data.facts) {
      out += "<div><dt>" + EscapeHtml(name) + "</dt><dd>" + EscapeHtml(value) + "</dd></div>";
    }
    out += "</dl>";
  }
  return out + "</header>\n";
}

std::string CellsLeftOut(const ReportData& data) {
  const Table* work = data.Find("part_work");
  if (work == nullptr || work->rows() <= kMaxPageCells) return "";
  return "<p class=\"note\">The bars are made of the " + FormatCount(kMaxPageCells) +
         " largest of " + FormatCount(work->rows()) +
         " rows; <code>crosscut table RUN part_work</code> has all of them.</p>";
}

// A section that the script fills, and shows where there is something to show.
std::string SectionHtml(const char* id, const char* title) {
  return "<section id=\"" + std::string(id) + "\" class=\"chart\" hidden><h2>" + title +
         "</h2></section>\n";
}

std::string ChartsHtml(const ReportData& data, const ProcessTitles& titles) {
  std::string out =
      "<noscript><p class=\"note\">The charts need scripts; every number stands in the tables "
      "below.</p></noscript>\n<section id=\"time\" class=\"chart\" hidden>"
      "<h2>Where the time went</h2>" +
      CellsLeftOut(data) + "</section>\n";
  if (!data.timeline.processes.empty()) {
    out += SectionHtml("timeline", "Timeline");
  }
  out += SectionHtml("pace", "Steps over time") + SectionHtml("compare", "Step against step") +
         SectionHtml("flame", "Flame graph of steps");
  out += ProcessesHtml({data.Find("phases"), data.Find("processes"), data.Find("utilization")},
                       PageOrigin(data));
  return out + MemoryHtml(data.Find("memory_timeline"), PageOrigin(data), titles);
}

std::string TablesHtml(const ReportData& data, const ProcessTitles& titles) {
  const int64_t origin = PageOrigin(data);
  std::string out = "<section id=\"tables\"><h2>Tables</h2>\n" + TableListHtml(data, kGapsTable) +
                    "<div class=\"cards\">\n";
  for (const Table& table : data.tables) {
    if (table.name == kGapsTable || table.rows() == 0) continue;
    const analyze::TableEntry* entry = analyze::FindTable(table.name);
    out += TableHtml(table, entry == nullptr ? analyze::TableEntry() : *entry, origin, titles);
  }
  return out + "</div></section>\n";
}

// What else shows the run. The commands name it as the page's facts do.
std::string ElsewhereHtml(const ReportData& data) {
  const std::string run = EscapeHtml(data.Run());
  return "<section id=\"elsewhere\" class=\"chart\"><h2>Other tools</h2><ul>"
         "<li>Perfetto, with every span of the run: <code>crosscut export " +
         run +
         " -o run.pftrace</code>, then open the file at <code>ui.perfetto.dev</code>. The viewer "
         "reads the file inside the browser and sends it nowhere. Without a network, the viewer "
         "works in a browser that showed it before.</li>"
         "<li>Chromium's own viewer, which needs no network: <code>crosscut export " +
         run +
         " -o run.json.gz</code>, then load the file in <code>chrome://tracing</code>.</li>"
         "<li>Every number of this page stands in a table. All rows of one: <code>crosscut table " +
         run +
         " NAME</code>; "
         "<code>crosscut table</code> lists the names.</li></ul></section>\n";
}

// The page around its sections; `last` stands below the tables. `json`: the elements that hold its
// data.
std::string PageHtml(const ReportData& data, const std::string& sections, const std::string& last,
                     const std::string& json) {
  std::string out = HeadHtml(data);
  out += "<body><a class=\"skip\" href=\"#tables\">Skip to the tables</a>\n<main>\n";
  out += TitleHtml(data);
  out += sections;
  out += TablesHtml(data, ProcessTitles(data));
  out += last;
  out +=
      "</main>\n<footer><p>Made by Crosscut. This file loads nothing from the network.</p>"
      "</footer>\n";
  out += json;
  out += "<script>";
  out += kPageScript;
  out += "</script></body></html>\n";
  return out;
}

std::string DataHtml(const char* id, const ReportData& data) {
  return "<script type=\"application/json\" id=\"" + std::string(id) + "\">" + PageJson(data) +
         "</script>";
}

}  // namespace

std::string RenderHtml(const ReportData& data) {
  const ProcessTitles titles(data);
  std::string top = VerdictHtml(data, titles);
  top += GapsHtml(data.gaps, top.empty() ? "Read this first" : "What is missing or uncertain");
  if (data.gaps.empty()) {
    top += "<p class=\"whole\">Nothing is known to be missing from this recording.</p>\n";
  }
  top += HeadlineHtml(data) + ContentsHtml(data);
  return PageHtml(data, top + ChartsHtml(data, titles), ElsewhereHtml(data),
                  DataHtml("data", data));
}

std::string RenderComparisonHtml(const ReportData& data, const std::string& answer,
                                 const ReportData& base, const ReportData& run) {
  std::string top =
      "<section id=\"verdict\" class=\"verdict\"><h2>Verdict</h2><p class=\"answer\">" +
      EscapeHtml(answer, kMaxPageSentence) + "</p></section>\n";
  std::vector<std::string> gaps = data.gaps;
  for (const std::string& gap : base.gaps) gaps.push_back("A: " + gap);
  for (const std::string& gap : run.gaps) gaps.push_back("B: " + gap);
  top += GapsHtml(gaps, "What differs or is missing") + ContentsHtml(data);
  return PageHtml(data, top + SectionHtml("compare", "Step against step"), "",
                  DataHtml("data", base) + DataHtml("data-other", run));
}

}  // namespace crosscut::report
