#include <algorithm>
#include <cstdlib>
#include <map>
#include <span>
#include <string>

#include "src/analyze/amounts.h"
#include "src/analyze/columns.h"
#include "src/analyze/tables.h"
#include "src/compare/divide.h"
#include "src/compare/tables.h"

namespace crosscut::compare {
namespace {

using Names = std::vector<const char*>;

struct Keyed {
  const char *name, *source;
  Names keys, figures;
};

const std::vector<Keyed>& AllKeyed() {
  static const std::vector<Keyed> all = {
      {"diff_functions", "functions", {"layer", "name"}, {"count", "self_ns", "total_ns"}},
      {"diff_kernels", "kernels", {"name", "type"}, {"count", "total_ns"}},
      {"diff_launches", "launches", {"launch"}, {"count", "device_ns", "host_ns"}},
      {"diff_copies", "copies", {"kind"}, {"count", "bytes", "total_ns"}},
      {"diff_inputs",
       "operators",
       {"layer", "name", "overload", "input_dims"},
       {"count", "self_ns"}},
      {"diff_modules", "modules", {"module"}, {"count", "self_ns", "device_ns", "total_ns"}},
      {"diff_samples", "samples", {"line", "library", "function"}, {"count", "ns"}},
      {"diff_memory",
       "memory",
       {"device"},
       {"allocations", "frees", "peak_bytes", "allocated_bytes"}},
  };
  return all;
}

using Key = std::vector<std::string>;
using Figures = std::vector<int64_t>;

void AddRun(const Run& run, const Keyed& keyed, std::map<Key, Figures>* sums) {
  const auto table = analyze::ComputeTable(*run.trace, *run.context, keyed.source);
  if (!table.ok()) return;
  for (size_t row = 0; row < table->rows(); ++row) {
    Key key;
    for (const char* column : keyed.keys) key.push_back(table->texts(column)[row]);
    Figures& figures = (*sums)[key];
    figures.resize(keyed.figures.size());
    for (size_t f = 0; f < keyed.figures.size(); ++f) {
      const int64_t cell = table->integers(keyed.figures[f])[row];
      analyze::AddTo(&figures[f], cell == analyze::kMissing ? analyze::kTooMuch : cell);
    }
  }
}

std::map<Key, Figures> SideOf(std::span<const Run> runs, const Keyed& keyed) {
  std::map<Key, Figures> sums;
  for (const Run& run : runs) AddRun(run, keyed, &sums);
  for (auto& [key, figures] : sums) {
    for (int64_t& figure : figures) {
      figure = figure == analyze::kTooMuch
                   ? analyze::kMissing
                   : DivideExactly({figure}, static_cast<int64_t>(runs.size())).front();
    }
  }
  return sums;
}

struct Row {
  Key key;
  Both<bool> there;
  Both<Figures> figures;

  // B - A; kMissing where one of them is not known.
  int64_t Change(size_t f) const {
    const int64_t of_a = figures.a[f], of_b = figures.b[f];
    return of_a == analyze::kMissing || of_b == analyze::kMissing ? analyze::kMissing : of_b - of_a;
  }
  int64_t Size() const {  // of the change of its last figure
    const int64_t change = Change(figures.a.size() - 1);
    return change == analyze::kMissing ? 0 : std::abs(change);
  }
};

std::vector<Row> RowsOf(const Sides& sides, const Keyed& keyed) {
  std::map<Key, Row> rows;
  for (const auto& [key, figures] : SideOf(sides.a, keyed)) {
    rows[key].there.a = true;
    rows[key].figures.a = figures;
  }
  for (const auto& [key, figures] : SideOf(sides.b, keyed)) {
    rows[key].there.b = true;
    rows[key].figures.b = figures;
  }
  std::vector<Row> out;
  for (auto& [key, row] : rows) {
    row.key = key;
    row.figures.a.resize(keyed.figures.size());
    row.figures.b.resize(keyed.figures.size());
    out.push_back(std::move(row));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Row& x, const Row& y) { return x.Size() > y.Size(); });
  return out;
}

analyze::Table MakeKeyed(const Sides& sides, const Keyed& keyed) {
  std::vector<std::string> names;
  for (const std::string name : keyed.figures) {
    for (const char* side : {"a_", "b_", "change_"}) names.push_back(side + name);
  }
  analyze::TableRows table(keyed.name, analyze::Several<analyze::Text>(keyed.keys),
                           analyze::Text("found"), analyze::Several<analyze::Integer>(names));
  for (const Row& row : RowsOf(sides, keyed)) {
    Figures figures;
    for (size_t f = 0; f < keyed.figures.size(); ++f) {
      figures.insert(figures.end(), {row.figures.a[f], row.figures.b[f], row.Change(f)});
    }
    table.Add(row.key, row.there.a && row.there.b ? "both" : row.there.a ? "A" : "B", figures);
  }
  return table.Make();
}

}  // namespace

std::vector<analyze::Table> KeyedTables(const Sides& sides) {
  std::vector<analyze::Table> out;
  for (const Keyed& keyed : AllKeyed()) out.push_back(MakeKeyed(sides, keyed));
  return out;
}

}  // namespace crosscut::compare
