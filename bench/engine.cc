// The overlap engine on one core: a process of 64 threads and 8 device streams, 20 M intervals,
// keyed by operation and layer set, without and with the probes of every host span accounted;
// beside it a bare radix sort of the same boundaries, which no method that puts all of them in
// order can undercut by much.
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <random>

#include "bench/harness.h"
#include "src/analyze/accounting/overlap.h"
#include "src/trace/trace.h"

namespace crosscut::bench {
namespace {

constexpr int kThreads = 64, kStreams = 8, kNames = 300, kSteps = 1000;
constexpr size_t kIntervals = 20'000'000;
constexpr size_t kPerTrack = kIntervals / (kThreads + kStreams);
constexpr int kRounds = 9;

class SyntheticTrace {
 public:
  SyntheticTrace() {
    trace::Process process;
    process.key = trace_.strings.Intern("p1-1");
    process.lead = {0};
    trace_.processes.push_back(process);
    AddNames();
    for (int t = 0; t < kThreads; ++t) AddThread();
    for (int t = 0; t < kStreams; ++t) AddStream();
    for (const trace::Track& track : trace_.tracks) {
      trace_.processes[0].end_ns = std::max(trace_.processes[0].end_ns, track.end_ns);
    }
    AddSteps();
  }

  const trace::Trace& trace() const { return trace_; }
  // From now on every host span was recorded by a probe of known cost.
  void AddProbes() {
    const trace::StringId probe = trace_.strings.Intern("op");
    trace_.processes[0].probes = {{probe, 12'000, 30'000, 38'000, 46'000, 1000}};
    for (trace::Name& name : trace_.names) {
      if (name.layer != trace::Layer::kDevice) name.probe = probe;
    }
  }
  size_t intervals() const {
    size_t n = 0;
    for (const trace::Track& track : trace_.tracks) n += track.spans.size();
    return n;
  }

 private:
  void AddNames() {
    constexpr trace::Layer kLayers[] = {trace::Layer::kFramework, trace::Layer::kPython,
                                        trace::Layer::kNative,    trace::Layer::kRuntime,
                                        trace::Layer::kData,      trace::Layer::kIdle};
    for (int i = 0; i < kNames; ++i) {
      trace::Name name;
      name.text = trace_.strings.Intern("span " + std::to_string(i));
      name.layer = kLayers[i % 6];
      trace_.names.push_back(name);
    }
    for (const char* text : {"data", "forward", "backward", "optimizer"}) {
      operations_.push_back({static_cast<uint32_t>(trace_.names.size())});
      trace_.names.push_back(
          {trace_.strings.Intern(text), trace::Kind::kOperation, trace::Layer::kNone, false, {}});
    }
    kernel_ = {static_cast<uint32_t>(trace_.names.size())};
    trace_.names.push_back(
        {trace_.strings.Intern("kernel"), trace::Kind::kSpan, trace::Layer::kDevice, false, {}});
  }

  int64_t Length(double median_ns) {
    return 1 + std::llround(median_ns * std::exp(0.8 * normal_(random_)));
  }
  trace::NameId SomeName() { return {static_cast<uint32_t>(random_() % kNames)}; }

  trace::Track& NewTrack() {
    trace_.tracks.emplace_back();
    trace::Track& track = trace_.tracks.back();
    track.process = {0};
    track.os_id = static_cast<int64_t>(trace_.tracks.size());
    return track;
  }
  trace::SpanIndex Begin(trace::Track& track, trace::NameId name, trace::SpanIndex parent) {
    track.spans.begin_ns.push_back(now_);
    track.spans.end_ns.push_back(now_);
    track.spans.name.push_back(name);
    track.spans.parent.push_back(parent);
    return static_cast<trace::SpanIndex>(track.spans.size() - 1);
  }
  void Gap() { now_ += Length(300); }

  // Operations of some 200 spans: modules of ops of 1 to 4 leaves.
  void AddThread() {
    trace::Track& track = NewTrack();
    track.base_at_ns = {0};
    track.base = {trace::Layer::kPython};
    for (now_ = 0; track.spans.size() < kPerTrack; Gap()) {
      const auto operation = Begin(track, operations_[random_() % 4], trace::kNoSpan);
      for (int module = 0; module < 6; ++module) AddModule(track, operation);
      track.spans.end_ns[operation] = now_;
    }
    track.end_ns = now_;
  }
  void AddModule(trace::Track& track, trace::SpanIndex parent) {
    Gap();
    const auto module = Begin(track, SomeName(), parent);
    for (int i = 0; i < 10; ++i) {
      Gap();
      const auto op = Begin(track, SomeName(), module);
      for (uint64_t leaf = 1 + random_() % 4; leaf > 0; --leaf) {
        Gap();
        const auto span = Begin(track, SomeName(), op);
        now_ += Length(3000);
        track.spans.end_ns[span] = now_;
      }
      Gap();
      track.spans.end_ns[op] = now_;
    }
    Gap();
    track.spans.end_ns[module] = now_;
  }
  void AddStream() {
    trace::Track& track = NewTrack();
    track.kind = trace::TrackKind::kDevice;
    track.device = 0;
    for (now_ = 0; track.spans.size() < kPerTrack; Gap()) {
      const auto span = Begin(track, kernel_, trace::kNoSpan);
      now_ += Length(2500);
      track.spans.end_ns[span] = now_;
    }
    track.end_ns = now_;
  }
  void AddSteps() {
    trace::Process& process = trace_.processes[0];
    const trace::StringId kind = trace_.strings.Intern("step");
    for (int64_t i = 0; i < kSteps; ++i) {
      process.steps.push_back(
          {i, process.end_ns * i / kSteps, process.end_ns * (i + 1) / kSteps, kind, 3, false});
    }
  }

  trace::Trace trace_;
  std::vector<trace::NameId> operations_;
  trace::NameId kernel_;
  std::mt19937_64 random_{1};
  std::normal_distribution<double> normal_;
  int64_t now_ = 0;
};

// Least significant digit first, as many 11-bit passes as the times have digits.
class RadixSort {
 public:
  explicit RadixSort(const trace::Trace& trace) {
    uint64_t latest = 0;
    for (uint64_t t = 0; t < trace.tracks.size(); ++t) {
      const trace::Spans& spans = trace.tracks[t].spans;
      for (size_t i = 0; i < spans.size(); ++i) {
        const auto begin = static_cast<uint64_t>(spans.begin_ns[i]);
        const auto end = static_cast<uint64_t>(spans.end_ns[i]);
        unsorted_.push_back(begin << kPayloadBits | t << 1);
        unsorted_.push_back(end << kPayloadBits | t << 1 | 1);
        latest = std::max(latest, end);
      }
    }
    top_ = kPayloadBits + 64 - std::countl_zero(latest);
    scratch_.resize(unsorted_.size());
  }

  double NsPerInterval() {
    data_ = unsorted_;
    const int64_t begin = CpuNs();
    for (int shift = kPayloadBits; shift < top_; shift += kDigitBits) Pass(shift);
    const int64_t ns = CpuNs() - begin;
    if (!std::is_sorted(data_.begin(), data_.end(), [](uint64_t a, uint64_t b) {
          return a >> kPayloadBits < b >> kPayloadBits;
        })) {
      std::fprintf(stderr, "bench_engine: the radix sort does not sort\n");
      std::exit(1);
    }
    return static_cast<double>(ns) * 2 / static_cast<double>(data_.size());
  }

 private:
  static constexpr int kPayloadBits = 16, kDigitBits = 11;

  void Pass(int shift) {
    constexpr uint64_t kMask = (1 << kDigitBits) - 1;
    std::array<uint32_t, 1 << kDigitBits> at{};
    for (const uint64_t word : data_) ++at[word >> shift & kMask];
    uint32_t sum = 0;
    for (uint32_t& slot : at) {
      const uint32_t count = slot;
      slot = sum;
      sum += count;
    }
    for (const uint64_t word : data_) scratch_[at[word >> shift & kMask]++] = word;
    data_.swap(scratch_);
  }

  std::vector<uint64_t> unsorted_, data_, scratch_;
  int top_ = 0;
};

double Overlap(const SyntheticTrace& synthetic, const analyze::NameCodes& names,
               const analyze::ProcessEvents& events, size_t* cells) {
  const trace::Trace& trace = synthetic.trace();
  const std::vector<analyze::ProcessTracks> tracks = analyze::TracksByProcess(trace);
  const int64_t begin = CpuNs();
  const analyze::ProcessOverlap overlap =
      analyze::ComputeOverlap(trace, names, tracks[0], events, {0});
  const int64_t ns = CpuNs() - begin;
  *cells = overlap.cells.size();
  if (overlap.window_ns != trace.processes[0].end_ns) {
    std::fprintf(stderr, "bench_engine: the cells do not add up to the window\n");
    std::exit(1);
  }
  return static_cast<double>(ns) / static_cast<double>(synthetic.intervals());
}

void PrintSpeed(const char* name, const std::vector<double>& ns_per_interval) {
  std::vector<double> speed;
  for (const double ns : ns_per_interval) speed.push_back(1e3 / ns);
  Print("engine", name, speed, "M intervals/s");
}

void Run() {
  SyntheticTrace synthetic;
  const analyze::NameCodes names(synthetic.trace());
  synthetic.AddProbes();
  const analyze::NameCodes probed(synthetic.trace());
  const analyze::ProcessEvents events(synthetic.trace().processes[0]);
  RadixSort sort(synthetic.trace());
  size_t cells = 0;
  const Rounds ns =
      Interleave("engine: ns per interval",
                 {{"bare radix sort of the boundaries", [&] { return sort.NsPerInterval(); }},
                  {"the same again (A/A)", [&] { return sort.NsPerInterval(); }},
                  {"overlap by operation and layer set",
                   [&] { return Overlap(synthetic, names, events, &cells); }},
                  {"the same with every probe accounted",
                   [&] { return Overlap(synthetic, probed, events, &cells); }}},
                 kRounds);
  PrintSpeed("keyed overlap", ns[2]);
  PrintSpeed("keyed overlap, probes accounted", ns[3]);
  Print("engine", "intervals", static_cast<double>(synthetic.intervals()) / 1e6, "M");
  Print("engine", "cells", static_cast<double>(cells), "");
}

}  // namespace
}  // namespace crosscut::bench

int main() { crosscut::bench::Run(); }
