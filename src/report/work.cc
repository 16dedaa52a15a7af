#include "src/report/work.h"

#include "src/base/shown_text.h"
#include "src/report/cells.h"

namespace crosscut::report {
namespace {

// That repeats, if there is one.
std::string_view PartOf(const ReportData& data, std::string_view process) {
  const Cells parts(data.Find("window_parts"));
  for (size_t row = 0; row < parts.rows(); ++row) {
    if (parts.Text("process", row) != process) continue;
    for (const std::string_view part : {"steps", "requests"}) {
      if (parts.Text("part", row) == part) return part;
    }
  }
  return "";
}

// The sum of what is known.
void AddKnown(int64_t ns, int64_t* sum) {
  if (ns != analyze::kMissing) *sum += ns;
}

}  // namespace

std::string LayersText(std::string_view layers, bool device) {
  if (layers.empty()) return device ? "device" : "unknown";
  return std::string(layers) + (device ? "+device" : "");
}

ProcessWork WorkOf(const ReportData& data, std::string_view process) {
  const Cells rows(data.Find("part_work"));
  ProcessWork out;
  out.part = PartOf(data, process);
  std::map<std::string, size_t, std::less<>> known;
  for (size_t row = 0; row < rows.rows(); ++row) {
    if (rows.Text("process", row) != process) continue;
    if (!out.part.empty() && rows.Text("part", row) != out.part) continue;
    const std::string_view name = rows.Text("work", row);
    const auto [at, added] = known.try_emplace(
        std::string(rows.Text("what", row)) + " " + std::string(name), out.work.size());
    if (added) {
      out.work.emplace_back().name = name.empty() ? "(no line seen)" : base::ShownText(name);
    }
    Work& work = out.work[at->second];
    AddKnown(rows.Int("ns", row), &work.wall_ns);
    AddKnown(rows.Int("corrected_ns", row), &work.corrected_ns);
    AddKnown(rows.Int("ns", row),
             &work.layers[LayersText(rows.Text("layers", row), rows.Int("device", row) == 1)]);
    AddKnown(rows.Int("ns", row), &out.wall_ns);
  }
  return out;
}

}  // namespace crosscut::report
