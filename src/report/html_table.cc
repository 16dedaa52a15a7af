#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/base/lists.h"
#include "src/report/html_parts.h"
#include "src/report/numbers.h"
#include "src/report/shown_text.h"
#include "src/report/table_text.h"
#include "src/trace/trace.h"

namespace crosscut::report {
namespace {

using analyze::Column;
using analyze::Integers;
using analyze::Reals;
using analyze::Table;
using analyze::TableEntry;
using analyze::Texts;

bool Ends(std::string_view text, std::string_view tail) { return text.ends_with(tail); }

bool IsLayers(std::string_view name) { return name == "layers" || name == "layer"; }

// Whole numbers that name something and are not amounts.
bool IsName(std::string_view name) {
  return name == "pid" || name == "parent" || name == "tid" || name == "step" ||
         name == "device_id" || name == "level" || name == "version";
}

bool IsKnownLayer(std::string_view text) {
  for (int i = 1; i < trace::kLayerCount; ++i) {
    if (text == trace::LayerName(static_cast<trace::Layer>(i))) return true;
  }
  return false;
}

std::string EmptyName(std::string_view column) {
  if (column == "operation") return "(no operation)";
  if (IsLayers(column)) return "(nothing known)";
  if (column == "launch_operations") return "(no operation)";
  return "";
}

std::string IntegerText(std::string_view name, int64_t value, int64_t origin) {
  if (value == analyze::kMissing) return "–";
  if (name == "device") return value != 0 ? "busy" : "";
  if (name == "control") return value != 0 ? "control" : "";
  if (name == "complete" || name == "checked") return value != 0 ? "yes" : "no";
  if (name == "after_switch") return value != 0 ? "yes" : "";
  if (IsTime(name) || name == "at_ns" || Ends(name, "_at_ns")) return FormatNs(value - origin);
  if (name == "ns" || Ends(name, "_ns")) return value == 0 ? "0" : FormatNs(value);
  if (IsName(name)) return std::to_string(value);
  return FormatCount(value);
}

// A contract's column name as a heading: "self_ns" is "self"; the contract's name is its title.
std::string Heading(std::string_view column) {
  std::string text(column);
  if (IsTime(column)) {
    text = column == "begin_ns" || column == "start_ns" ? "from" : "to";
  } else if (column == "ns") {
    text = "time";
  } else if (Ends(column, "_ns")) {
    text.resize(text.size() - 3);
  }
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

// For each row the number of its process in order of appearance; all 0 without such a column.
std::vector<size_t> ProcessOfRows(const Table& table) {
  std::vector<size_t> numbers(table.rows());
  const Column* column = table.Find("process");
  const auto* processes = column == nullptr ? nullptr : std::get_if<Texts>(&column->cells);
  if (processes == nullptr) return numbers;
  std::unordered_map<std::string_view, size_t> known;
  for (size_t row = 0; row < numbers.size(); ++row) {
    numbers[row] = known.try_emplace((*processes)[row], known.size()).first->second;
  }
  return numbers;
}

// Largest first, the rows of a process together.
std::vector<size_t> ShownRows(const Table& table, const TableEntry& entry) {
  std::vector<size_t> rows(table.rows());
  std::iota(rows.begin(), rows.end(), size_t{0});
  const Column* by = entry.largest_by == nullptr ? nullptr : table.Find(entry.largest_by);
  if (const auto* sizes = by == nullptr ? nullptr : std::get_if<Integers>(&by->cells)) {
    const std::vector<size_t> process = ProcessOfRows(table);
    std::stable_sort(rows.begin(), rows.end(), [&](size_t a, size_t b) {
      return process[a] != process[b] ? process[a] < process[b] : (*sizes)[a] > (*sizes)[b];
    });
  }
  if (rows.size() > kMaxPageRows) rows.resize(kMaxPageRows);
  return rows;
}

std::string HeadHtml(const Table& table, const TableEntry& entry) {
  std::string out = "<thead><tr>";
  for (const Column& column : table.columns) {
    const bool number = !std::holds_alternative<Texts>(column.cells);
    const bool sorted = entry.largest_by != nullptr && column.name == entry.largest_by &&
                        table.Find("process") == nullptr;
    out += "<th scope=\"col\"";
    if (number) out += " class=\"n\"";
    if (sorted) out += " aria-sort=\"descending\"";
    out +=
        " title=\"" + EscapeHtml(column.name) + "\">" + EscapeHtml(Heading(column.name)) + "</th>";
  }
  return out + "</tr></thead>";
}

// Whether its cells are keys of processes.
bool IsProcess(const Column& column) {
  const std::string_view name = column.name;
  return std::holds_alternative<Texts>(column.cells) &&
         (name == "process" || name == "processes" || name == "parent" || Ends(name, "_process") ||
          Ends(name, "_processes"));
}

// The key itself is what a table on the command line has: it shows when pointed at.
std::string ProcessHtml(const Column& column, size_t row, const ProcessTitles& titles) {
  const std::string& key = std::get<Texts>(column.cells)[row];
  const std::string title = titles.OfAll(key);
  if (key.empty() || title == key) return "<td>" + EscapeHtml(key) + "</td>";
  return "<td class=\"who\" title=\"" + EscapeHtml(key) + "\">" + EscapeHtml(title) + "</td>";
}

std::string CellHtml(const Column& column, size_t row, int64_t origin) {
  const std::string text = CellText(column, row, origin);
  if (const auto* texts = std::get_if<Texts>(&column.cells)) {
    if (IsLayers(column.name)) return "<td>" + LayersHtml((*texts)[row]) + "</td>";
    const std::string& value = (*texts)[row];
    const bool absent = value.empty() && !text.empty();
    return (absent ? "<td class=\"none\">" : "<td>") + EscapeHtml(text) + "</td>";
  }
  // The exact value: what sorting compares and what a reader may want to copy.
  return "<td class=\"n\" data-v=\"" + CsvNumber(column, row) + "\">" + EscapeHtml(text) + "</td>";
}

}  // namespace

bool IsTime(std::string_view column) {
  return column == "begin_ns" || column == "end_ns" || column == "start_ns";
}

std::string CellText(const Column& column, size_t row, int64_t origin) {
  if (const auto* v = std::get_if<Integers>(&column.cells)) {
    return IntegerText(column.name, (*v)[row], origin);
  }
  if (const auto* v = std::get_if<Reals>(&column.cells)) {
    const double value = (*v)[row];
    if (!std::isfinite(value)) return "–";
    char text[48];
    std::snprintf(text, sizeof text, "%.4g", value);
    return text;
  }
  const std::string& text = std::get<Texts>(column.cells)[row];
  return text.empty() ? EmptyName(column.name) : text;
}

std::string LayersHtml(const std::string& layers) {
  if (layers.empty()) return "<span class=\"none\">(nothing known)</span>";
  if (layers.size() > kMaxPageText) return EscapeHtml(layers);
  return base::Joined(base::Split(layers, '+'), " + ", [](std::string_view layer) {
    const std::string key =
        IsKnownLayer(layer) ? "<i class=\"key k-" + std::string(layer) + "\"></i>" : "";
    return key + EscapeHtml(layer);
  });
}

std::string TableHtml(const Table& table, const analyze::TableEntry& entry, int64_t origin,
                      const ProcessTitles& titles) {
  const std::vector<size_t> rows = ShownRows(table, entry);
  const std::string title = entry.title == nullptr ? table.name : entry.title;
  std::string out = "<details class=\"table\" id=\"table-" + EscapeHtml(table.name) + "\"" +
                    (entry.unfolded && table.rows() > 0 ? " open" : "") + "><summary><h3>" +
                    EscapeHtml(title) + "</h3> <span class=\"count\">" + FormatCount(table.rows()) +
                    (table.rows() == 1 ? " row" : " rows") + "</span></summary>";
  if (entry.explanation != nullptr) {
    out += "<p class=\"explain\">" + EscapeHtml(entry.explanation, kMaxPageSentence) + "</p>";
  }
  for (const std::string& note : table.notes) {
    out += "<p class=\"note\">" + EscapeHtml(note, kMaxPageSentence) + "</p>";
  }
  if (!rows.empty()) {
    out += "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"" +
           EscapeHtml(title) + "\"><table data-by=\"" +
           EscapeHtml(entry.largest_by == nullptr ? "" : entry.largest_by) + "\">" +
           HeadHtml(table, entry) + "<tbody>";
    for (const size_t row : rows) {
      out += "<tr>";
      for (const Column& column : table.columns) {
        const bool own_keys = table.name == "processes" && column.name == "process";
        const bool titled = !own_keys && IsProcess(column);
        out += titled ? ProcessHtml(column, row, titles) : CellHtml(column, row, origin);
      }
      out += "</tr>\n";
    }
    out += "</tbody></table></div>";
  }
  if (rows.size() < table.rows()) {
    out += "<p class=\"more\">These are the first " + FormatCount(rows.size()) + " of " +
           FormatCount(table.rows()) + " rows. All of them: <code>crosscut table RUN " +
           EscapeHtml(table.name) + "</code></p>";
  }
  return out + "</details>\n";
}

}  // namespace crosscut::report
