#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/columns.h"
#include "src/analyze/verdict/process_lines.h"
#include "src/analyze/verdict/tables.h"

namespace crosscut::analyze {
namespace {

struct LineRow {
  Line line;
  trace::Layer layer;
  Blamed blamed;
  LineBounds bounds;
};

std::vector<LineRow> RowsOf(const Context& context, uint32_t process, uint32_t track) {
  const trace::Interval life = LifeOf(context.trace(), {track});
  BusyCursor paused(context.Shared<Accounting>().events[process].pauses);
  const std::unique_ptr<LineCursor> lines = LinesOfThread(context, {track});
  std::map<std::pair<Line, trace::Layer>, Blamed> sums;
  int64_t lived_ns = 0;
  for (int64_t at = life.begin_ns, until; at < life.end_ns; at = until) {
    const LineStretch& stretch = lines->At(at);
    const bool pauses = paused.At(at);
    until = std::min({life.end_ns, stretch.end_ns, paused.Until(at)});
    if (pauses) continue;
    lived_ns += until - at;
    const trace::Layer layer = stretch.control ? trace::Layer::kControl : stretch.state.layer;
    sums[{stretch.line, layer}].Add(stretch.BlamedFor(at, until));
  }
  std::vector<LineRow> rows;
  for (const auto& [of, blamed] : sums) {
    rows.push_back({of.first, of.second, blamed, {kMissing, kMissing}});
    if (IsSampled(of.first.kind)) rows.back().bounds = LineBoundsOf(blamed, lived_ns);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.blamed.ns > b.blamed.ns; });
  return rows;
}

}  // namespace

Table LinesTable(const trace::Trace& trace, const Context& context) {
  const ThreadFacts& facts = context.Shared<ThreadFacts>();
  TableRows table("lines", Text("process"), Text("thread"), Text("line"), Text("what"),
                  Text("layer"), Integer("ns"), Integer("low_ns"), Integer("high_ns"),
                  Integer("samples"));
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    for (const uint32_t t : context.Shared<Accounting>().tracks[p].host) {
      if (facts.samples[t].empty()) continue;
      for (const LineRow& r : RowsOf(context, p, t)) {
        table.Add(context.process_label({p}), context.track_label({t}), LineText(trace, r.line),
                  LineKindName(r.line.kind), trace::LayerName(r.layer), r.blamed.ns,
                  r.bounds.low_ns, r.bounds.high_ns, r.blamed.samples);
      }
    }
  }
  return table.Make();
}

}  // namespace crosscut::analyze
