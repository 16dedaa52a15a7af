#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "src/base/shown_text.h"
#include "src/report/cells.h"
#include "src/report/document_parts.h"
#include "src/report/numbers.h"
#include "src/report/process_titles.h"
#include "src/report/shown_text.h"
#include "src/report/work.h"

namespace crosscut::report {
namespace {

struct ProcessTime {
  std::string key;
  int64_t excluded_ns = 0;
  ProcessWork of;                          // the longest first
  std::vector<std::string> layer_columns;  // longest first
};

std::vector<std::string> LongestLayers(const std::vector<Work>& all, size_t most) {
  std::map<std::string, int64_t> sums;
  for (const Work& work : all) {
    for (const auto& [layers, ns] : work.layers) sums[layers] += ns;
  }
  std::vector<std::pair<int64_t, std::string>> order;
  for (const auto& [layers, ns] : sums) {
    if (ns > 0) order.emplace_back(-ns, layers);
  }
  std::sort(order.begin(), order.end());
  std::vector<std::string> out;
  const size_t shown = order.size() <= most + 1 ? order.size() : most;
  for (size_t i = 0; i < shown; ++i) out.push_back(order[i].second);
  // Whether a device worked at all is worth a column, however short.
  const auto device = [](const std::string& layers) { return layers.ends_with("device"); };
  if (std::any_of(out.begin(), out.end(), device)) return out;
  const auto first = std::find_if(order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                                  [&](const auto& entry) { return device(entry.second); });
  if (first != order.end()) out.push_back(first->second);
  return out;
}

// Sums up what does not fit into `most` rows.
void FoldSmall(std::vector<Work>* all, size_t most) {
  std::stable_sort(all->begin(), all->end(),
                   [](const Work& a, const Work& b) { return a.wall_ns > b.wall_ns; });
  if (all->size() <= most) return;
  Work rest;
  rest.name = "(" + FormatCount(all->size() - most + 1) + " others)";
  for (size_t i = most - 1; i < all->size(); ++i) {
    rest.wall_ns += (*all)[i].wall_ns;
    rest.corrected_ns += (*all)[i].corrected_ns;
    for (const auto& [layers, ns] : (*all)[i].layers) rest.layers[layers] += ns;
  }
  all->resize(most - 1);
  all->push_back(std::move(rest));
}

ProcessTime TimeOf(const ReportData& data, size_t process_row, const DocumentOptions& options) {
  const Cells processes(data.Find("processes"));
  ProcessTime out;
  out.key = processes.Text("process", process_row);
  out.excluded_ns = processes.Int("excluded_ns", process_row);
  out.of = WorkOf(data, out.key);
  FoldSmall(&out.of.work, options.operations);
  out.layer_columns = LongestLayers(out.of.work, options.layer_columns);
  return out;
}

std::vector<std::string> RowOf(const ProcessTime& time, const Work& work, bool has_rest) {
  std::vector<std::string> row = {
      work.name,
      FormatPercent(static_cast<double>(work.wall_ns), static_cast<double>(time.of.wall_ns)),
      FormatNs(work.wall_ns), FormatNs(work.corrected_ns)};
  int64_t rest = work.wall_ns;
  for (const std::string& layers : time.layer_columns) {
    const auto at = work.layers.find(layers);
    const int64_t ns = at == work.layers.end() ? 0 : at->second;
    rest -= ns;
    row.push_back(ns == 0 ? "-" : FormatNs(ns));
  }
  if (has_rest) row.push_back(rest == 0 ? "-" : FormatNs(rest));
  return row;
}

// ", forked by pid 4711"; "" for the process that the run began with.
std::string HowStarted(const ReportData& data, size_t process_row) {
  const Cells processes(data.Find("processes"));
  const std::string_view parent = processes.Text("parent", process_row);
  for (size_t row = 0; row < processes.rows() && !parent.empty(); ++row) {
    if (processes.Text("process", row) != parent) continue;
    const std::string how = base::ShownText(processes.Text("start_method", process_row));
    return ", started by pid " + std::to_string(processes.Int("pid", row)) +
           (how.empty() ? "" : " (" + how + ")");
  }
  return "";
}

Section SectionOf(const ReportData& data, const ProcessTime& time, size_t row) {
  Section section;
  section.heading = (time.of.part == "steps"      ? "Where the steps' time went: "
                     : time.of.part == "requests" ? "Where the time with requests went: "
                                                  : "Where the time went: ") +
                    ProcessName(data, time.key) + HowStarted(data, row);
  Work total;
  total.name = "in all";
  size_t shown = 0;
  for (const Work& work : time.of.work) {
    total.wall_ns += work.wall_ns;
    total.corrected_ns += work.corrected_ns;
    for (const auto& [layers, ns] : work.layers) total.layers[layers] += ns;
  }
  for (const auto& [layers, ns] : total.layers) shown += ns > 0;
  const bool has_rest = shown > time.layer_columns.size();
  section.grid.heads = {{"what", false}, {"share"}, {"wall time"}, {"corrected"}};
  for (const std::string& layers : time.layer_columns) section.grid.heads.push_back({layers});
  if (has_rest) section.grid.heads.push_back({"other"});
  for (const Work& work : time.of.work) {
    section.grid.rows.push_back(RowOf(time, work, has_rest));
  }
  section.grid.rows.push_back(RowOf(time, total, has_rest));
  section.grid.last_is_total = true;
  if (time.excluded_ns > 0) {
    section.after.push_back(
        "Paused time, which no number here includes: " + FormatNs(time.excluded_ns) + ".");
  }
  return section;
}

// Processes without a grid of their own, a row each.
Section OthersSection(const ReportData& data, const std::vector<size_t>& rows) {
  const Cells processes(data.Find("processes"));
  Section section;
  section.heading = "Other processes";
  section.grid.heads = {{"process", false}, {"started by", false}, {"wall time"}, {"corrected"}};
  constexpr size_t kMost = 20;
  for (size_t i = 0; i < std::min(rows.size(), kMost); ++i) {
    const size_t row = rows[i];
    section.grid.rows.push_back({ProcessName(data, processes.Text("process", row)),
                                 base::ShownText(processes.Text("start_method", row)),
                                 TimeText(processes.Int("wall_ns", row)),
                                 TimeText(processes.Int("corrected_ns", row))});
  }
  if (rows.size() > kMost) {
    section.after.push_back(FormatCount(rows.size() - kMost) + " more: table processes.");
  }
  return section;
}

}  // namespace

std::string TimeText(int64_t ns) { return ns == analyze::kMissing ? "-" : FormatNs(ns); }

std::string CountText(int64_t count) {
  return count == analyze::kMissing ? "-" : FormatCount(count);
}

std::string ProcessName(const ReportData& data, std::string_view key) {
  if (data.titles == nullptr) data.titles = std::make_shared<const ProcessTitles>(data);
  return base::ShownText(data.titles->Of(key));
}

void AddTime(const ReportData& data, const DocumentOptions& options, Document* out) {
  const Cells processes(data.Find("processes"));
  // As in the verdict; what it does not speak of, such as a launcher of ranks, comes behind.
  const Cells verdict(data.Find("verdict"));
  std::map<std::string_view, size_t> spoken;
  for (size_t row = 0; row < verdict.rows(); ++row) {
    spoken.emplace(verdict.Text("process", row), row);
  }
  std::vector<std::pair<size_t, int64_t>> place;  // by row: in the verdict, then the longest
  std::vector<size_t> order(processes.rows());
  for (size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
    const auto at = spoken.find(processes.Text("process", i));
    place.emplace_back(at == spoken.end() ? SIZE_MAX : at->second, -processes.Int("wall_ns", i));
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return place[a] < place[b]; });
  const size_t full = std::min(order.size(), options.processes);
  for (size_t i = 0; i < full; ++i) {
    out->sections.push_back(SectionOf(data, TimeOf(data, order[i], options), order[i]));
    if (i == 0) {
      out->sections.back().before = {
          "A row is an operation, or outside of them the program's line by the sample next to it. "
          "A "
          "column is the layers that worked at that moment (a+b: both at once). Every instant "
          "counts once, so rows and columns add up. Corrected: without what recording itself "
          "cost."};
    }
  }
  if (full < order.size()) {
    out->sections.push_back(
        OthersSection(data, {order.begin() + static_cast<ptrdiff_t>(full), order.end()}));
  }
}

}  // namespace crosscut::report
