// The parts of the page: HTML that is readable without scripts, to which scripts add sorting,
// filtering and charts; and the data that they draw. The functions stand in the html_*.cc of their
// names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/analyze/table.h"
#include "src/analyze/table_entry.h"
#include "src/report/data.h"
#include "src/report/process_titles.h"

namespace crosscut::report {

// Longer tables are cut; a line below them says how to get the rest.
inline constexpr size_t kMaxPageRows = 300;
// If there are more steps, only the slowest and the fastest of each group of neighbours stay.
inline constexpr size_t kMaxPageSteps = 6000;
// If `part_work` has more rows, only the largest stay, and the page says so.
inline constexpr size_t kMaxPageCells = 20000;
// If there are more processes or phases, the first ones are drawn, and the page says so.
inline constexpr size_t kMaxProcessLanes = 40;
inline constexpr size_t kMaxDrawnPhases = 1000;
// If there are more processes and devices, those with the highest peaks stay, and the page says so.
inline constexpr size_t kMaxMemoryCharts = 8;

// The first block of the page: what bounds the steps, by how much, and what to do. "" where the
// table verdict is missing or has no rows. The first process's first cause stands in full, with its
// requests; its other causes and the first cause of other processes in a line. The block begins
// with how many sentences say what is missing from the recording.
std::string VerdictHtml(const ReportData& data, const ProcessTitles& titles);

// What ran, how long, where most of the time went, and what Crosscut itself cost: sentences that
// come from the tables; what no table has is left out.
std::string HeadlineHtml(const ReportData& data);

// Links to the sections of a page that shows `data`, as <nav>. Those that a script draws are hidden
// until it has drawn them.
std::string ContentsHtml(const ReportData& data);

// Links to the tables that have rows, and a fold with those that have none and how they would be
// recorded. `skipped` stands elsewhere on the page.
std::string TableListHtml(const ReportData& data, std::string_view skipped);

// The title under which the page has the table of that name; the name where it has none.
std::string TableTitle(const std::string& table);

// A <details> element. `origin` is the zero of the page's times. If `entry` has no title, the
// table's name is the title. Processes are named by `titles`, but for the first column of the table
// `processes`, which has their keys.
std::string TableHtml(const analyze::Table& table, const analyze::TableEntry& entry, int64_t origin,
                      const ProcessTitles& titles = {});

// The words for a cell: units, yes and no, and the words for empty names.
std::string CellText(const analyze::Column& column, size_t row, int64_t origin);

// "framework+python" as text, with a colour key for each known layer.
std::string LayersHtml(const std::string& layers);

// Whether the cells of a column of that name are times of the run's clock.
bool IsTime(std::string_view column);

struct ProcessTables {
  const analyze::Table* phases = nullptr;
  const analyze::Table* processes = nullptr;    // for their names
  const analyze::Table* utilization = nullptr;  // for the strips
};

// RL-Scope's summary view as a picture without a script: a section with a lane for each process,
// each phase as three bars (total, CPU, device) on one time axis, an arrow from a parent to the
// begin of its child, and strips of the CPU, memory and devices that the process used over time. ""
// where there is only one process without phases. Any table may be null; `origin` is the zero of
// the page's times.
std::string ProcessesHtml(const ProcessTables& tables, int64_t origin);

// Memory over time from the table memory_timeline, as pictures without a script: a section with a
// chart for each process and device; "" where nothing was recorded. `origin` is the zero of the
// page's times.
std::string MemoryHtml(const analyze::Table* timeline, int64_t origin,
                       const ProcessTitles& titles = {});

// The zero of the page's times: the begin of the run on the trace's clock, in ns.
int64_t PageOrigin(const ReportData& data);

// The data that the page's script draws, as JSON that is safe inside <script
// type="application/json">. src/report/page/data.ts reads it; the two change together.
std::string PageJson(const ReportData& data);

}  // namespace crosscut::report
