// The views of a report, each as one text. Names in what they show may hold anything: on a terminal
// they hide nothing, in Markdown and on a page they stay text.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "src/report/data.h"
#include "src/report/document.h"

namespace crosscut::report {

// The report for a terminal.
struct TextOptions {
  int width = 100;     // columns; at least 80 are used
  bool color = false;  // ANSI bold and dim
  bool whole = false;  // cuts no name, however wide a line gets: for what is no terminal
};
// UTF-8 without any control characters except newlines and, with `color`, escapes for bold and dim.
std::string RenderText(const ReportData& data, const TextOptions& options);
std::string RenderText(const Document& document, const TextOptions& options);

// GitHub-flavoured Markdown.
std::string RenderMarkdown(const ReportData& data);
std::string RenderMarkdown(const Document& document);

// One JSON object: title, facts, gaps and every table in full.
std::string RenderReportJson(const ReportData& data);
// The same for tables that were rendered one by one, so that no two of them are held at once.
// `data` then has none, and `tables` is what AddTableJson made.
std::string RenderReportJson(const ReportData& data, std::string tables);
// Appends a table to `tables`.
void AddTableJson(const analyze::Table& table, std::string* tables);

// The short report for other programs and agents, of these tables of `data`: what ran, what bounds
// it, what to ask next. JSON of at most kMaxSummary bytes. Each section names its table, how many
// rows that has, and has the first of them, with the table's own columns and exact cells (missing
// ones are null). Where it would get too long, sections have fewer rows and texts end in an
// ellipsis.
inline constexpr size_t kMaxSummary = 8192;
std::span<const std::string_view> SummaryTables();
std::string RenderSummaryJson(const ReportData& data);

// An HTML page, UTF-8: one file that opens from the disk, requests nothing from the network, and
// stays below 5 MB however long the run. Its tables are readable without scripts, also those that
// it does not know.
std::string RenderHtml(const ReportData& data);
// A page that compares two runs, A and B: `answer` in a sentence, the tables of `data` and its
// gaps, and steps of `base` (A) and `run` (B) laid under each other. Of these two it needs the
// timelines, the tables `processes` and `steps`, and the gaps. Its size is that of both timelines.
std::string RenderComparisonHtml(const ReportData& data, const std::string& answer,
                                 const ReportData& base, const ReportData& run);

}  // namespace crosscut::report
