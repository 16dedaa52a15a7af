#include "src/report/testing/sample_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <utility>

namespace crosscut::report {
namespace {

using analyze::Column;
using analyze::Integers;
using analyze::Table;
using analyze::Texts;
using trace::Layer;

constexpr int64_t kOrigin = 5'000'000'000'000;
constexpr int64_t kStepNs = 24'000'000;

// The same numbers on every machine.
class Random {
 public:
  uint64_t Below(uint64_t bound) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return (state_ >> 33) % bound;
  }

 private:
  uint64_t state_ = 42;
};

struct StepRow {
  int64_t begin, end;
  bool control;
};

class Sample {
 public:
  explicit Sample(const SampleOptions& options) : options_(options) {}

  ReportData Make() {
    MakeSteps();
    ReportData data;
    data.title = Name("train.py");
    data.facts = {{"Recorded", Name("2026-11-21 11:04 UTC")},
                  {"Machine", "16 cores, Linux"},
                  {"Python", "3.11.7"}};
    if (options_.gaps) {
      data.gaps = {Name("Process worker-2 (pid 4243) was killed; its last 3.2 ms are known up to "
                        "the last word it wrote."),
                   "1,204 events were dropped on thread pool-3 between 4.1 s and 4.3 s: full."};
    }
    const Texts steps = {ProcessName(0)};
    data.tables = {Operations(), PartWork(),  Functions(), Threads(),       Steps(),
                   Outliers(),   Processes(), Overhead(),  OverheadCheck(), Drops(),
                   Sources(),    Clocks(),    Verdict()};
    data.tables.push_back({"samples", {{"line", Texts()}}, {}});
    data.tables.push_back({"window_parts", {{"process", steps}, {"part", Texts{"steps"}}}, {}});
    data.timeline = MakeTimeline();
    return data;
  }

 private:
  std::string Name(const std::string& own) {
    return options_.names.empty() ? own : options_.names[next_++ % options_.names.size()];
  }
  // A name that is the same wherever it is asked for.
  std::string Fixed(const std::string& own) {
    if (options_.names.empty()) return own;
    size_t sum = 0;
    for (const char c : own) sum = sum * 31 + static_cast<unsigned char>(c);
    return options_.names[sum % options_.names.size()];
  }
  std::string ProcessName(size_t process) {
    return Fixed(process == 0 ? "train.py" : "worker-" + std::to_string(process));
  }
  int64_t RunNs() const { return steps_.back().end - kOrigin + 180'000'000; }

  void MakeSteps() {
    int64_t at = kOrigin + 900'000'000;
    for (size_t i = 0; i < options_.steps; ++i) {
      int64_t length = kStepNs + static_cast<int64_t>(random_.Below(2'500'000));
      if (i == 0) length *= 6;
      if (random_.Below(60) == 0)
        length = length * 2 + static_cast<int64_t>(random_.Below(30'000'000));
      if (options_.huge_last && i + 1 == options_.steps) length *= 80;
      const bool control = i % 60 >= 30 && i % 60 < 33;
      steps_.push_back({at, at + (control ? length * 96 / 100 : length), control});
      at = steps_.back().end + 150'000;
    }
  }

  struct Cell {
    const char* operation;
    const char* layers;
    int device;
    int64_t permille;
  };
  std::vector<Cell> Cells(size_t process) const {
    if (process > 0) {
      return {{"fetch", "data", 0, 300},  {"fetch", "native+python", 0, 90},
              {"fetch", "python", 0, 60}, {"", "idle", 0, 520},
              {"", "python", 0, 20},      {"", "", 0, 10}};
    }
    return {{"forward", "framework", 0, 120},
            {"forward", "framework", 1, 70},
            {"forward", "framework+python", 1, 25},
            {"forward", "python", 0, 45},
            {"forward", "runtime", 1, 20},
            {"backward", "framework", 0, 160},
            {"backward", "framework+native", 1, 120},
            {"backward", "", 1, 35},
            {"backward", "python", 0, 12},
            {"optimizer", "framework", 0, 80},
            {"optimizer", "framework+python", 0, 30},
            {"optimizer", "runtime", 1, 18},
            {"optimizer", "overhead", 0, 4},
            {"data", "idle", 0, 60},
            {"data", "python", 0, 25},
            {"data", "comm+python", 0, 14},
            {"evaluate", "simulator", 0, 40},
            {"evaluate", "framework", 0, 26},
            {"forward", "control", 0, 22},
            {"backward", "control", 0, 26},
            {"", "python", 0, 28},
            {"", "native", 0, 16},
            {"", "", 0, 4}};
  }

  // A tenth of what the process that has steps does is its start-up.
  Table PartWork() {
    Texts process, part, work, what, layers;
    Integers device, ns, corrected;
    const auto add = [&](size_t p, const char* of, const Cell& cell, int64_t tenths) {
      process.push_back(ProcessName(p));
      part.push_back(of);
      work.push_back(*cell.operation ? Fixed(cell.operation) : "");
      what.push_back(*cell.operation ? "operation" : "");
      layers.push_back(cell.layers);
      device.push_back(cell.device);
      ns.push_back(RunNs() / 10'000 * cell.permille * tenths);
      corrected.push_back(ns.back() - (cell.permille > 20 ? ns.back() / 40 : 0));
    };
    for (size_t p = 0; p <= options_.workers; ++p) {
      for (const Cell& cell : Cells(p)) {
        const bool control = std::string_view(cell.layers) == "control";
        const bool steps = p == 0 && !control;
        if (steps) add(p, "start-up", cell, 1);
        add(p, steps ? "steps" : control ? "control steps" : "whole window", cell, steps ? 9 : 10);
      }
    }
    return {"part_work",
            {{"process", process},
             {"part", part},
             {"work", work},
             {"what", what},
             {"layers", layers},
             {"device", device},
             {"ns", ns},
             {"corrected_ns", corrected}},
            {}};
  }

  Table Operations() {
    Texts process, operation;
    std::array<Integers, 9> columns;
    for (size_t p = 0; p <= options_.workers; ++p) {
      std::vector<std::pair<std::string, std::array<int64_t, 9>>> rows;
      for (const Cell& cell : Cells(p)) AddCell(cell, &rows);
      for (const auto& [name, values] : rows) {
        process.push_back(ProcessName(p));
        operation.push_back(name.empty() ? "" : Fixed(name));
        for (size_t i = 0; i < values.size(); ++i) columns[i].push_back(values[i]);
      }
    }
    constexpr const char* kNames[] = {"count",      "wall_ns",    "host_ns",
                                      "overlap_ns", "device_ns",  "idle_ns",
                                      "unknown_ns", "control_ns", "corrected_ns"};
    Table table{"operations", {{"process", process}, {"operation", operation}}, {}};
    for (size_t i = 0; i < columns.size(); ++i) table.columns.push_back({kNames[i], columns[i]});
    Integers overhead = columns[1];
    for (size_t i = 0; i < overhead.size(); ++i) overhead[i] -= columns[8][i];
    table.columns.push_back({"overhead_ns", overhead});
    return table;
  }

  void AddCell(const Cell& cell,
               std::vector<std::pair<std::string, std::array<int64_t, 9>>>* rows) const {
    auto row = std::find_if(rows->begin(), rows->end(),
                            [&](const auto& r) { return r.first == cell.operation; });
    if (row == rows->end()) {
      rows->push_back({cell.operation, {static_cast<int64_t>(options_.steps)}});
      row = rows->end() - 1;
    }
    const std::string layers = cell.layers;
    const int64_t ns = RunNs() / 1000 * cell.permille;
    const int kind = layers == "idle"      ? 5
                     : layers == "control" ? 7
                     : layers.empty()      ? (cell.device ? 4 : 6)
                     : cell.device         ? 3
                                           : 2;
    row->second[1] += ns;
    row->second[kind] += ns;
    row->second[8] += ns - (cell.permille > 20 ? ns / 40 : 0);
  }

  Table Functions() {
    constexpr const char* kLayers[] = {"framework", "python", "native", "runtime", "data"};
    constexpr const char* kNames[] = {"aten::addmm", "Linear.forward", "numpy.ndarray.sum",
                                      "clEnqueueNDRangeKernel", "Dataset.__getitem__"};
    Texts layer, name;
    std::array<Integers, 7> columns;
    for (size_t i = 0; i < options_.functions; ++i) {
      layer.push_back(kLayers[i % 5]);
      name.push_back(Name(std::string(kNames[i % 5]) + (i < 5 ? "" : "_" + std::to_string(i))));
      const int64_t count = 400 * static_cast<int64_t>(1 + random_.Below(40));
      const int64_t p50 = 900 + static_cast<int64_t>(random_.Below(90'000));
      const int64_t total = count * p50 * 11 / 10;
      const std::array<int64_t, 7> values = {count, total,   total * 7 / 10, p50 / 3,
                                             p50,   p50 * 4, p50 * 19};
      for (size_t k = 0; k < 7; ++k) columns[k].push_back(values[k]);
    }
    return {"functions",
            {{"layer", layer},
             {"name", name},
             {"count", columns[0]},
             {"total_ns", columns[1]},
             {"self_ns", columns[2]},
             {"min_ns", columns[3]},
             {"p50_ns", columns[4]},
             {"p99_ns", columns[5]},
             {"max_ns", columns[6]}},
            {}};
  }

  Table Threads() {
    Texts process, thread, operation, layer;
    Integers ns;
    for (int i = 0; i < 9; ++i) {
      process.push_back(ProcessName(0));
      thread.push_back(Name(i == 0 ? "main" : "pool-" + std::to_string(i)));
      operation.push_back(Fixed("forward"));
      layer.push_back(i % 2 ? "native" : "framework");
      ns.push_back(RunNs() / (i + 2));
    }
    return {"threads",
            {{"process", process},
             {"thread", thread},
             {"operation", operation},
             {"layer", layer},
             {"ns", ns}},
            {}};
  }

  Table Steps() {
    Texts process, kind;
    Integers number, begin, end, control;
    for (size_t i = 0; i < steps_.size(); ++i) {
      process.push_back(ProcessName(0));
      kind.push_back(options_.names.empty() ? "step" : Fixed("step"));
      number.push_back(static_cast<int64_t>(i));
      begin.push_back(steps_[i].begin);
      end.push_back(steps_[i].end);
      control.push_back(steps_[i].control ? 1 : 0);
    }
    return {"steps",
            {{"process", process},
             {"step", number},
             {"kind", kind},
             {"begin_ns", begin},
             {"end_ns", end},
             {"control", control}},
            {}};
  }

  Table Outliers() {
    Texts process, kind, layers;
    Integers number, wall, median, grew;
    for (size_t i = 0; i < steps_.size() && number.size() < 50; ++i) {
      const int64_t length = steps_[i].end - steps_[i].begin;
      if (length < kStepNs * 3 / 2) continue;
      process.push_back(ProcessName(0));
      number.push_back(static_cast<int64_t>(i));
      kind.push_back(options_.names.empty() ? "step" : Fixed("step"));
      wall.push_back(length);
      median.push_back(kStepNs + 1'250'000);
      layers.push_back(i % 2 ? "idle" : "framework+python");
      grew.push_back(length - kStepNs);
    }
    return {"outliers",
            {{"process", process},
             {"step", number},
             {"kind", kind},
             {"wall_ns", wall},
             {"median_ns", median},
             {"layers", layers},
             {"grew_ns", grew}},
            {}};
  }

  Table Processes() {
    Texts process, name;
    Integers pid, start, wall, complete;
    for (size_t p = 0; p <= options_.workers; ++p) {
      process.push_back(ProcessName(p));
      name.push_back(Name("python"));
      pid.push_back(4241 + static_cast<int64_t>(p));
      start.push_back(kOrigin + (p > 0 ? 700'000'000 : 0));
      wall.push_back(RunNs() - (p > 0 ? 800'000'000 : 0));
      complete.push_back(p != 2);
    }
    return {"processes",
            {{"process", process},
             {"pid", pid},
             {"name", name},
             {"start_ns", start},
             {"wall_ns", wall},
             {"complete", complete}},
            {}};
  }

  Table Overhead() {
    return {"overhead",
            {{"probe", Texts{"boundary", "op", Name("operation"), "drain"}},
             {"count", Integers{412'000, 96'000, 2'400, 210}},
             {"inside_ns", Integers{11, 65, 120, 0}},
             {"outside_ns", Integers{14, 48, 90, 0}},
             {"total_ns", Integers{10'300'000, 10'848'000, 504'000, 8'100'000}},
             {"low_ns", Integers{9'100'000, 9'700'000, 430'000, 8'100'000}},
             {"high_ns", Integers{11'900'000, 12'200'000, 610'000, 8'100'000}}},
            {Name("The drain works on a thread of its own.")}};
  }
  Table OverheadCheck() {
    return {"overhead_check",
            {{"process", Texts{ProcessName(0)}},
             {"checked", Integers{1}},
             {"message", Texts{Name("checked")}},
             {"control_steps", Integers{63}},
             {"inflation", analyze::Reals{1.021}},
             {"inflation_low", analyze::Reals{1.015}},
             {"inflation_high", analyze::Reals{1.027}},
             {"cost", analyze::Reals{0.0206}},
             {"cost_low", analyze::Reals{0.0147}},
             {"cost_high", analyze::Reals{0.0263}}},
            {}};
  }
  Table Drops() {
    return {"drops",
            {{"process", Texts{ProcessName(0)}},
             {"thread", Texts{Name("pool-3")}},
             {"reason", Texts{Name("full")}},
             {"count", Integers{1204}},
             {"begin_ns", Integers{kOrigin + 4'100'000'000}},
             {"end_ns", Integers{kOrigin + 4'300'000'000}}},
            {}};
  }
  Table Sources() {
    return {"sources",
            {{"name", Texts{Name("pytorch"), Name("pycalls")}},
             {"version", Texts{Name("2.13.0"), Name("0.1.0")}},
             {"state", Texts{"on", "on"}},
             {"message", Texts{Name(""), Name("boundary of torch, numpy")}}},
            {}};
  }
  Table Verdict() {
    const double unknown = std::nan("");
    return {"verdict",
            {{"process", Texts{ProcessName(0), ProcessName(0)}},
             {"rank", Integers{1, 2}},
             {"cause", Texts{Name("input"), Name("gc")}},
             {"headline", Texts{Name("The steps wait for input: 46 % of their time."),
                                Name("Garbage collection takes 4 % of the steps.")}},
             {"share", analyze::Reals{0.46, 0.04}},
             {"gain_share", analyze::Reals{0.42, unknown}},
             {"gain_low_share", analyze::Reals{0.4, unknown}},
             {"gain_high_share", analyze::Reals{0.44, unknown}},
             {"blame", Texts{Name("train.py:33"), ""}},
             {"evidence", Texts{Name("The lead waited 210 times in DataLoader.__next__."), ""}},
             {"table", Texts{"operations", "functions"}},
             {"action", Texts{Name("Give the DataLoader more workers."), ""}}},
            {}};
  }
  Table Clocks() {
    return {"clocks",
            {{"clock", Texts{Name("CLOCK_MONOTONIC"), Name("CLOCK_REALTIME")}},
             {"anchors", Integers{12, 12}},
             {"error_ns", Integers{48, 320}}},
            {}};
  }

  uint32_t Text(const std::string& text) {
    auto& texts = timeline_.texts;
    const auto found = std::find(texts.begin(), texts.end(), text);
    if (found != texts.end()) return static_cast<uint32_t>(found - texts.begin());
    texts.push_back(text);
    return static_cast<uint32_t>(texts.size() - 1);
  }

  // What runs at this part of a step: {operation, name, layer}.
  struct Part {
    const char* operation;
    const char* name;
    Layer layer;
  };
  Part PartAt(size_t process, size_t track, int64_t at) const {
    const auto step = std::upper_bound(steps_.begin(), steps_.end(), at,
                                       [](int64_t t, const StepRow& s) { return t < s.begin; });
    const bool inside = step != steps_.begin() && at < (step - 1)->end;
    const int64_t part =
        inside ? 1000 * (at - (step - 1)->begin) / ((step - 1)->end - (step - 1)->begin) : -1;
    if (process > 0) {
      return part % 300 < 90 ? Part{"fetch", "Dataset.__getitem__", Layer::kData}
                             : Part{nullptr, "Queue.get", Layer::kIdle};
    }
    if (track == 9) {
      return part > 180 && part < 800 ? Part{"forward", "gemm", Layer::kDevice}
                                      : Part{nullptr, nullptr, Layer::kNone};
    }
    if (track > 0) {
      return part > 380 && part < 760 && (part + static_cast<int64_t>(track) * 7) % 40 < 25
                 ? Part{"backward", "parallel_for", Layer::kNative}
                 : Part{nullptr, "wait", Layer::kIdle};
    }
    if (part < 0) return {nullptr, "main", Layer::kPython};
    if ((step - 1)->control) return {"forward", nullptr, Layer::kControl};
    if (part < 90) return {"data", "DataLoader.__next__", Layer::kIdle};
    if (part < 380) {
      return part % 50 < 14 ? Part{"forward", "Block.forward", Layer::kPython}
                            : Part{"forward", "aten::addmm", Layer::kFramework};
    }
    if (part < 800) return {"backward", "AddmmBackward0", Layer::kFramework};
    return part % 40 < 9 ? Part{"optimizer", "Adam.step", Layer::kPython}
                         : Part{"optimizer", "aten::_foreach_add_", Layer::kFramework};
  }

  analyze::TimelineLevel MakeLevel(size_t process, size_t track, size_t tiles) {
    analyze::TimelineLevel level;
    level.tile_ns = RunNs() / static_cast<int64_t>(tiles) + 1;
    constexpr int kProbes = 8;
    for (size_t i = 0; i < tiles; ++i) {
      std::array<int, trace::kLayerCount> hits{};
      Part last{};
      for (int probe = 0; probe < kProbes; ++probe) {
        const int64_t at =
            kOrigin + static_cast<int64_t>(i) * level.tile_ns + level.tile_ns * probe / kProbes;
        const Part part = PartAt(process, track, at);
        ++hits[static_cast<size_t>(part.layer)];
        if (part.layer != Layer::kNone) last = part;
      }
      if (hits[0] == kProbes) continue;
      analyze::TimelineTile tile;
      tile.index = static_cast<uint32_t>(i);
      if (last.name != nullptr) tile.name = Text(Fixed(last.name));
      if (last.operation != nullptr) tile.operation = Text(Fixed(last.operation));
      tile.spans = 3 + random_.Below(20);
      for (size_t k = 1; k < hits.size(); ++k) {
        tile.share[k] = static_cast<uint8_t>(255 * hits[k] / kProbes);
      }
      level.tiles.push_back(tile);
    }
    return level;
  }

  analyze::TimelineTrack MakeTrack(size_t process, size_t track) {
    analyze::TimelineTrack out;
    out.track = static_cast<uint32_t>(process * 100 + track);
    out.device = process == 0 && track == 9;
    out.lead = track == 0;
    out.ours = process == 0 && track == 8;
    out.name = Name(out.lead     ? "main"
                    : out.device ? "device 0, stream 7"
                    : out.ours   ? "crosscut-drain"
                                 : "pool-" + std::to_string(track));
    out.begin_ns = kOrigin + (process > 0 ? 700'000'000 : 0);
    out.end_ns = kOrigin + RunNs();
    std::vector<size_t> sizes;
    for (size_t tiles = options_.finest_tiles; tiles >= 100; tiles /= 4) sizes.push_back(tiles);
    for (auto tiles = sizes.rbegin(); tiles != sizes.rend(); ++tiles) {
      out.levels.push_back(MakeLevel(process, track, *tiles));
    }
    return out;
  }

  analyze::TimelineDetail MakeDetail(const std::string& title, const StepRow& step) {
    analyze::TimelineDetail detail;
    detail.title = title;
    detail.begin_ns = step.begin;
    detail.end_ns = step.end;
    for (const uint32_t track : {0u, 1u, 9u}) {
      analyze::TimelineDetailTrack out;
      out.track = track;
      if (track == 0) {
        out.spans.push_back(
            {step.begin, step.end, Text(Fixed("step")), 0, Layer::kNone, trace::Kind::kStep});
      }
      AddSpans(step, &out);
      detail.tracks.push_back(std::move(out));
    }
    return detail;
  }

  // An operation over each stretch of equal parts of a step, small spans and their children in it.
  void AddSpans(const StepRow& step, analyze::TimelineDetailTrack* out) {
    const int64_t size = (step.end - step.begin) / static_cast<int64_t>(options_.detail_spans);
    const uint16_t base = out->track == 0 ? 1 : 0;
    const char* operation = nullptr;
    size_t open = 0;
    for (int64_t at = step.begin; at + size <= step.end; at += size) {
      const Part part = PartAt(0, out->track, at);
      if (part.operation != operation) {
        operation = part.operation;
        if (operation != nullptr) {
          open = out->spans.size();
          out->spans.push_back(
              {at, at, Text(Fixed(operation)), base, Layer::kNone, trace::Kind::kOperation});
        }
      }
      if (operation != nullptr) out->spans[open].end_ns = at + size;
      if (part.layer == Layer::kNone || part.name == nullptr) continue;
      const auto depth = static_cast<uint16_t>(base + (operation != nullptr ? 1 : 0));
      const bool framework = part.layer == Layer::kFramework;
      out->spans.push_back({at, at + size - size / 9, Text(Fixed(part.name)), depth, part.layer,
                            trace::Kind::kSpan, framework ? 0 : analyze::kNoText,
                            framework ? 34 : 0});
      if (random_.Below(3) != 0) continue;
      out->spans.push_back({at + size / 8, at + size / 2, Text(Fixed("aten::empty")),
                            static_cast<uint16_t>(depth + 1), Layer::kFramework,
                            trace::Kind::kSpan});
    }
  }

  analyze::Timeline MakeTimeline() {
    timeline_.begin_ns = kOrigin;
    timeline_.end_ns = kOrigin + RunNs();
    for (size_t p = 0; p <= options_.workers; ++p) {
      analyze::TimelineProcess process;
      process.process = static_cast<uint32_t>(p);
      process.name = ProcessName(p);
      process.begin_ns = kOrigin + (p > 0 ? 700'000'000 : 0);
      process.end_ns = timeline_.end_ns;
      const size_t tracks = p > 0 ? 2 : options_.device ? 10 : 9;
      for (size_t t = 0; t < tracks; ++t) process.tracks.push_back(MakeTrack(p, t));
      timeline_.processes.push_back(std::move(process));
    }
    timeline_.processes[0].paused = {{kOrigin + 500'000'000, kOrigin + 640'000'000}};
    const auto slowest = std::max_element(
        steps_.begin() + 1, steps_.end(),
        [](const StepRow& a, const StepRow& b) { return a.end - a.begin < b.end - b.begin; });
    timeline_.details = {
        MakeDetail(Name("step 41, typical"), steps_[41]),
        MakeDetail(Name("step " + std::to_string(slowest - steps_.begin()) + ", slowest"),
                   *slowest)};
    for (const size_t step : {0u, 7u, 19u}) {
      timeline_.details.push_back(MakeDetail(
          Name("step " + std::to_string(step) + ", typical of those with the boundary only"),
          steps_[step]));
    }
    timeline_.args = {{Text(Fixed("Input Dims")), Text(Fixed("[[64, 512], [512, 128]]"))}};
    if (options_.device) AddFlows();
    timeline_.omitted_tracks = 3;
    return std::move(timeline_);
  }

  // From the first operator of the first detail to its first kernel and to one that is not kept.
  void AddFlows() {
    uint32_t number = 0, from = analyze::kNoText;
    for (const analyze::TimelineDetailTrack& track : timeline_.details[0].tracks) {
      for (const analyze::TimelineSpan& span : track.spans) {
        if (from == analyze::kNoText && span.layer == Layer::kFramework) from = number;
        if (span.layer == Layer::kDevice) {
          timeline_.flows = {{from, number}, {from, analyze::kNoText}};
          return;
        }
        ++number;
      }
    }
  }

  const SampleOptions& options_;
  Random random_;
  size_t next_ = 0;
  std::vector<StepRow> steps_;
  analyze::Timeline timeline_;
};

}  // namespace

ReportData SampleReport(const SampleOptions& options) { return Sample(options).Make(); }

}  // namespace crosscut::report
