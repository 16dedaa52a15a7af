#include "src/analyze/testing/test_trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "src/trace/found.h"
#include "src/trace/text.h"

namespace crosscut::analyze::testing {

using trace::Kind;
using trace::Layer;

trace::ProcessId TestTrace::Process(std::string_view key, int64_t start, int64_t end) {
  trace::Process p;
  p.key = trace_.strings.Intern(key);
  p.start_ns = start;
  p.end_ns = end;
  trace_.processes.push_back(p);
  return {static_cast<uint32_t>(trace_.processes.size() - 1)};
}

trace::TrackId TestTrace::Thread(trace::ProcessId process, std::string_view name) {
  trace::Track t;
  t.process = process;
  t.name = trace_.strings.Intern(name);
  t.os_id = static_cast<int64_t>(trace_.tracks.size()) + 100;
  t.begin_ns = trace_.processes[process.value].start_ns;
  t.end_ns = trace_.processes[process.value].end_ns;
  trace_.tracks.push_back(std::move(t));
  return {static_cast<uint32_t>(trace_.tracks.size() - 1)};
}

trace::TrackId TestTrace::Device(trace::ProcessId process, std::string_view name) {
  const trace::TrackId id = Thread(process, name);
  track(id).kind = trace::TrackKind::kDevice;
  track(id).device = 0;
  return id;
}

trace::NameId TestTrace::Name(std::string_view text, Kind kind, Layer layer, bool waits,
                              std::string_view probe) {
  trace::Name name = {trace_.strings.Intern(text), kind, layer, waits, {}};
  if (!probe.empty()) name.probe = trace_.strings.Intern(probe);
  for (uint32_t i = 0; i < trace_.names.size(); ++i) {
    const trace::Name& n = trace_.names[i];
    if (n.text == name.text && n.kind == kind && n.layer == layer && n.waits == waits &&
        n.probe == name.probe) {
      return {i};
    }
  }
  trace_.names.push_back(name);
  return {static_cast<uint32_t>(trace_.names.size() - 1)};
}

trace::NameId TestTrace::FoundName(std::string_view text) {
  trace::Name name = {trace_.strings.Intern(text), Kind::kOperation, Layer::kNone};
  name.found = true;
  for (uint32_t i = 0; i < trace_.names.size(); ++i) {
    if (trace_.names[i].found && trace_.names[i].text == name.text) return {i};
  }
  trace_.names.push_back(name);
  return {static_cast<uint32_t>(trace_.names.size() - 1)};
}

void TestTrace::Span(trace::TrackId id, int64_t begin, int64_t end, trace::NameId name) {
  trace::Spans& spans = track(id).spans;
  spans.begin_ns.push_back(begin);
  spans.end_ns.push_back(end);
  spans.name.push_back(name);
  spans.parent.push_back(trace::kNoSpan);
}

void TestTrace::Spans(trace::TrackId track, Layer layer, Pairs spans) {
  const trace::NameId name = Name(trace::LayerName(layer), Kind::kSpan, layer);
  for (const auto& [begin, end] : spans) Span(track, begin, end, name);
}

trace::TrackId TestTrace::Category(trace::ProcessId process, Layer layer, Pairs spans) {
  const trace::TrackId track = Thread(process);
  Spans(track, layer, spans);
  return track;
}

trace::TrackId TestTrace::DeviceSpans(trace::ProcessId process, Pairs spans) {
  const trace::TrackId track = Device(process);
  Spans(track, Layer::kDevice, spans);
  return track;
}

trace::TrackId TestTrace::Lead(trace::ProcessId process, std::string_view name) {
  const trace::TrackId track = Thread(process, name);
  trace_.processes[process.value].lead = track;
  return track;
}

void TestTrace::Step(trace::ProcessId id, int64_t begin, int64_t end, uint8_t level,
                     bool after_switch) {
  auto& steps = process(id).steps;
  steps.push_back({static_cast<int64_t>(steps.size()), begin, end, trace_.strings.Intern("step"),
                   level, after_switch});
}

trace::Trace& TestTrace::Finish() {
  for (trace::Track& t : trace_.tracks) {
    std::vector<uint32_t> order(t.spans.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      const auto& s = t.spans;
      return s.begin_ns[a] != s.begin_ns[b] ? s.begin_ns[a] < s.begin_ns[b]
                                            : s.end_ns[a] > s.end_ns[b];
    });
    trace::Spans sorted;
    std::vector<trace::SpanIndex> open;
    for (const uint32_t i : order) {
      const int64_t begin = t.spans.begin_ns[i];
      while (!open.empty() && sorted.end_ns[open.back()] <= begin) open.pop_back();
      sorted.begin_ns.push_back(begin);
      sorted.end_ns.push_back(t.spans.end_ns[i]);
      sorted.name.push_back(t.spans.name[i]);
      sorted.parent.push_back(open.empty() ? trace::kNoSpan : open.back());
      open.push_back(static_cast<trace::SpanIndex>(sorted.size() - 1));
    }
    t.spans = std::move(sorted);
  }
  trace::PlaceFound(&trace_);
  return trace_;
}

namespace {

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  TestTrace Make() {
    const trace::ProcessId p = trace_.Process("p", Below(5), 40 + Below(60));
    const int64_t threads = Below(5);
    for (int64_t i = 0; i < threads; ++i) AddThread(p, i == 0 && Below(5) > 0);
    for (int64_t i = Below(3); i > 0; --i) AddDevice(p);
    for (int64_t i = Below(3); i > 0; --i) {
      trace_.process(p).paused.push_back(Some(0, 110));
    }
    int64_t at = Below(30);
    for (int64_t i = Below(8); i > 0; --i) {
      const int64_t end = at + Below(12);
      trace_.Step(p, at, end, static_cast<uint8_t>(Below(5)));
      at = end + (Below(2) ? 0 : Below(6));
    }
    for (int64_t i = Below(4); i > 2; --i) AddAsync(p);
    return std::move(trace_);
  }

 private:
  int64_t Below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  trace::Interval Some(int64_t begin, int64_t end) {
    const int64_t a = begin + Below(end - begin + 1), b = begin + Below(end - begin + 1);
    return {std::min(a, b), std::max(a, b)};
  }

  void Fill(trace::TrackId track, int64_t begin, int64_t end, int depth) {
    for (int64_t at = begin + Below(4); at <= end && depth < 5;) {
      const int64_t stop = std::min(end, at + Below(30 / (depth + 1)));
      trace_.Span(track, at, stop, SomeName());
      if (Below(3) > 0) Fill(track, at, stop, depth + 1);
      at = stop + Below(7);
      if (at == stop && Below(2)) ++at;
    }
  }
  trace::NameId SomeName() {
    const auto layer = static_cast<Layer>(Below(trace::kLayerCount));
    const int64_t kind = Below(8);
    const std::string text(1, static_cast<char>('a' + Below(4)));
    if (kind < 2 && Below(3) == 0) return trace_.FoundName(text);
    if (kind < 2) return trace_.Name(text, Kind::kOperation, Layer::kNone, Below(9) == 0);
    if (kind == 2) return trace_.Name(text, Kind::kPhase, Layer::kNone);
    return trace_.Name(text, Kind::kSpan, layer, Below(3) == 0);
  }
  void AddThread(trace::ProcessId p, bool lead) {
    const trace::TrackId t = lead ? trace_.Lead(p) : trace_.Thread(p);
    trace::Track& track = trace_.track(t);
    if (Below(2)) {
      const trace::Interval life = Some(0, 110);
      track.begin_ns = life.begin_ns;
      track.end_ns = life.end_ns;
    }
    track.ours = !lead && Below(8) == 0;
    for (int64_t at = Below(20); Below(3) > 0; at += Below(40)) {
      track.base_at_ns.push_back(at);
      track.base.push_back(static_cast<Layer>(Below(trace::kLayerCount)));
    }
    Fill(t, 0, 110, 0);
  }
  void AddDevice(trace::ProcessId p) { Fill(trace_.Device(p), 0, 110, 0); }
  void AddAsync(trace::ProcessId p) {
    const trace::TrackId t = trace_.Thread(p);
    trace_.track(t).kind = trace::TrackKind::kAsync;
    Fill(t, 0, 110, 0);
  }

  std::mt19937_64 random_;
  TestTrace trace_;
};

}  // namespace

TestTrace RandomTrace(uint64_t seed) { return Generator(seed).Make(); }

trace::Trace Parse(std::string_view text) {
  Result<trace::Trace> trace = trace::ParseText(text);
  EXPECT_TRUE(trace.ok()) << trace.status().message();
  return trace.ok() ? std::move(*trace) : trace::Trace();
}

Table Compute(const trace::Trace& trace, std::string_view name) {
  const Context context(trace);
  Result<Table> table = ComputeTable(trace, context, name);
  EXPECT_TRUE(table.ok()) << table.status().message();
  return table.ok() ? std::move(*table) : Table();
}

std::vector<std::string> Rows(const trace::Trace& trace, std::string_view name) {
  const Table table = Compute(trace, name);
  std::vector<std::string> rows(table.rows());
  for (const Column& column : table.columns) {
    for (size_t i = 0; i < rows.size(); ++i) {
      if (!rows[i].empty()) rows[i] += ' ';
      if (const auto* texts = std::get_if<Texts>(&column.cells)) {
        rows[i] += (*texts)[i].empty() ? "-" : (*texts)[i];
      } else if (const auto* integers = std::get_if<Integers>(&column.cells)) {
        rows[i] += (*integers)[i] == kMissing ? "?" : std::to_string((*integers)[i]);
      } else {
        rows[i] += std::to_string(std::get<Reals>(column.cells)[i]);
      }
    }
  }
  return rows;
}

}  // namespace crosscut::analyze::testing
