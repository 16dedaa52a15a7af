#include "src/analyze/devices/device_tables.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>

#include "src/analyze/amounts.h"
#include "src/analyze/columns.h"
#include "src/analyze/devices/device_work.h"
#include "src/analyze/quantiles.h"

namespace crosscut::analyze {
namespace {

constexpr unsigned kCompute = 1U << static_cast<int>(WorkType::kComputation);
constexpr unsigned kComm = 1U << static_cast<int>(WorkType::kCommunication);
constexpr unsigned kCopies = 1U << static_cast<int>(WorkType::kCopy);

// Time in which a set of types was at work that `wanted` says yes to.
template <class Wanted>
int64_t Sum(const TypeSums& sums, Wanted wanted) {
  int64_t ns = 0;
  for (unsigned set = 1; set < sums.size(); ++set) {
    if (wanted(set)) ns += sums[set];
  }
  return ns;
}

int64_t Busy(const TypeSums& sums) {
  return Sum(sums, [](unsigned) { return true; });
}

// Calls `row` for each process with work.
template <class Row>
void ForEachProcess(const Context& context, Row row) {
  for (const ProcessWork& work : context.Shared<DeviceWork>().processes) {
    const trace::Interval extent = ExtentOf(work.events);
    if (extent.begin_ns > extent.end_ns) continue;
    row(context.process_label(work.process), extent.end_ns - extent.begin_ns,
        SumTypes(work.events));
  }
}

std::string SetText(unsigned set) {
  std::string text;
  for (int type = 0; type < kWorkTypes; ++type) {
    if ((set & 1U << type) == 0) continue;
    if (!text.empty()) text += '+';
    text += NameOf(static_cast<WorkType>(type));
  }
  return text;
}

std::string_view NameText(const trace::Trace& trace, const DeviceEvent& event) {
  return trace.text(trace.name(trace.tracks[event.track.value].spans.name[event.span]).text);
}

// "Memcpy HtoD (Pageable -> Device)" is "Memcpy HtoD".
std::string_view KindOfCopy(std::string_view name) { return name.substr(0, name.find(" (")); }

}  // namespace

Table DeviceTimelineTable(const trace::Trace&, const Context& context) {
  Texts process;
  Integers total, computation, comm, copy, busy, idle;
  ForEachProcess(context, [&](const std::string& label, int64_t span_ns, const TypeSums& sums) {
    process.push_back(label);
    total.push_back(span_ns);
    computation.push_back(Sum(sums, [](unsigned set) { return (set & kCompute) != 0; }));
    comm.push_back(
        Sum(sums, [](unsigned set) { return (set & kComm) != 0 && (set & kCompute) == 0; }));
    copy.push_back(Sum(sums, [](unsigned set) { return set == kCopies; }));
    busy.push_back(Busy(sums));
    idle.push_back(span_ns - busy.back());
  });
  return MakeTable("device_timeline", MakeColumn("process", process), MakeColumn("total_ns", total),
                   MakeColumn("computation_ns", computation), MakeColumn("exposed_comm_ns", comm),
                   MakeColumn("exposed_copy_ns", copy), MakeColumn("busy_ns", busy),
                   MakeColumn("idle_ns", idle));
}

Table TemporalBreakdownTable(const trace::Trace&, const Context& context) {
  Texts process;
  Integers span, compute, other, idle;
  ForEachProcess(context, [&](const std::string& label, int64_t span_ns, const TypeSums& sums) {
    process.push_back(label);
    span.push_back(span_ns);
    compute.push_back(Sum(sums, [](unsigned set) { return (set & kCompute) != 0; }));
    other.push_back(Busy(sums) - compute.back());
    idle.push_back(span_ns - Busy(sums));
  });
  return MakeTable("temporal_breakdown", MakeColumn("process", process),
                   MakeColumn("span_ns", span), MakeColumn("compute_ns", compute),
                   MakeColumn("non_compute_ns", other), MakeColumn("idle_ns", idle));
}

Table KernelTypesTable(const trace::Trace&, const Context& context) {
  Texts process, types;
  Integers ns;
  ForEachProcess(context, [&](const std::string& label, int64_t, const TypeSums& sums) {
    for (unsigned set = 1; set < sums.size(); ++set) {
      if (sums[set] == 0) continue;
      process.push_back(label);
      types.push_back(SetText(set));
      ns.push_back(sums[set]);
    }
  });
  return MakeTable("kernel_types", MakeColumn("process", process), MakeColumn("types", types),
                   MakeColumn("ns", ns));
}

Table CommOverlapTable(const trace::Trace&, const Context& context) {
  Texts process;
  Integers comm, overlapped;
  ForEachProcess(context, [&](const std::string& label, int64_t, const TypeSums& sums) {
    process.push_back(label);
    comm.push_back(Sum(sums, [](unsigned set) { return (set & kComm) != 0; }));
    overlapped.push_back(
        Sum(sums, [](unsigned set) { return (set & kComm) != 0 && (set & kCompute) != 0; }));
  });
  return MakeTable("comm_overlap", MakeColumn("process", process), MakeColumn("comm_ns", comm),
                   MakeColumn("overlapped_ns", overlapped));
}

Table KernelsTable(const trace::Trace& trace, const Context& context) {
  std::map<std::pair<uint32_t, WorkType>, std::vector<int64_t>> lengths;  // by text
  for (const ProcessWork& work : context.Shared<DeviceWork>().processes) {
    for (const DeviceEvent& event : work.events) {
      if (!event.work()) continue;
      const trace::NameId name = trace.tracks[event.track.value].spans.name[event.span];
      lengths[{trace.name(name).text.value, event.type}].push_back(event.end_ns - event.begin_ns);
    }
  }
  struct Kernel {
    trace::StringId name;
    WorkType type;
    int64_t total;
    std::vector<int64_t>* lengths;
  };
  std::vector<Kernel> kernels;
  for (auto& [key, of] : lengths) {
    kernels.push_back(
        {{key.first}, key.second, std::accumulate(of.begin(), of.end(), int64_t{0}), &of});
  }
  std::stable_sort(kernels.begin(), kernels.end(),
                   [](const Kernel& a, const Kernel& b) { return a.total > b.total; });
  Texts name, type;
  Integers count, total, min, mean, p50, max;
  for (const Kernel& kernel : kernels) {
    std::sort(kernel.lengths->begin(), kernel.lengths->end());
    const auto n = static_cast<int64_t>(kernel.lengths->size());
    name.emplace_back(trace.text(kernel.name));
    type.emplace_back(NameOf(kernel.type));
    count.push_back(n);
    total.push_back(kernel.total);
    min.push_back(kernel.lengths->front());
    mean.push_back((kernel.total + n / 2) / n);
    p50.push_back((*kernel.lengths)[RankOf(kernel.lengths->size(), 50)]);
    max.push_back(kernel.lengths->back());
  }
  return MakeTable("kernels", MakeColumn("name", name), MakeColumn("type", type),
                   MakeColumn("count", count), MakeColumn("total_ns", total),
                   MakeColumn("min_ns", min), MakeColumn("mean_ns", mean),
                   MakeColumn("p50_ns", p50), MakeColumn("max_ns", max));
}

Table CopiesTable(const trace::Trace& trace, const Context& context) {
  struct Copies {
    int64_t count = 0, bytes = 0, ns = 0, unknown = 0;
    double best = 0;
  };
  const trace::StringId key = trace.strings.Find("bytes");
  std::map<std::pair<uint32_t, std::string_view>, Copies> kinds;
  for (const ProcessWork& work : context.Shared<DeviceWork>().processes) {
    for (const DeviceEvent& event : work.events) {
      if (event.type != WorkType::kCopy) continue;
      Copies& c = kinds[{work.process.value, KindOfCopy(NameText(trace, event))}];
      const int64_t ns = event.end_ns - event.begin_ns;
      const int64_t bytes =
          key.valid() ? NumberArg(trace.tracks[event.track.value], event.span, key) : kMissing;
      ++c.count;
      c.ns += ns;
      if (bytes == kMissing) {
        ++c.unknown;
        continue;
      }
      AddTo(&c.bytes, bytes);
      if (ns > 0)
        c.best = std::max(c.best, static_cast<double>(bytes) * 1e9 / static_cast<double>(ns));
    }
  }
  Texts process, kind;
  Integers count, bytes, total;
  Reals mean, best;
  for (const auto& [which, c] : kinds) {
    const bool known = c.unknown == 0 && c.bytes != kTooMuch;
    process.push_back(context.process_label({which.first}));
    kind.emplace_back(which.second);
    count.push_back(c.count);
    bytes.push_back(known ? c.bytes : kMissing);
    total.push_back(c.ns);
    mean.push_back(known && c.ns > 0
                       ? static_cast<double>(c.bytes) * 1e9 / static_cast<double>(c.ns)
                       : __builtin_nan(""));
    best.push_back(known && c.best > 0 ? c.best : __builtin_nan(""));
  }
  return MakeTable("copies", MakeColumn("process", process), MakeColumn("kind", kind),
                   MakeColumn("count", count), MakeColumn("bytes", bytes),
                   MakeColumn("total_ns", total), MakeColumn("mean_bytes_per_s", mean),
                   MakeColumn("max_bytes_per_s", best));
}

namespace {

// What the recorder of the trace says of a copy's bandwidth, else what follows from its bytes; NaN
// where neither is known.
class Bandwidth {
 public:
  explicit Bandwidth(const trace::Trace& trace)
      : trace_(trace), stated_(trace.strings.Find("memory bandwidth (GB/s)")) {}

  double Of(const DeviceEvent& event, int64_t bytes) const {
    const trace::Track& track = trace_.tracks[event.track.value];
    const std::string_view text =
        stated_.valid() ? TextArg(trace_, track, event.span, stated_) : "";
    double gb = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), gb).ec == std::errc()) {
      return gb * 1e9;
    }
    const int64_t whole = stated_.valid() ? NumberArg(track, event.span, stated_) : kMissing;
    if (whole != kMissing) return static_cast<double>(whole) * 1e9;
    const int64_t ns = event.end_ns - event.begin_ns;
    if (bytes == kMissing || ns == 0) return __builtin_nan("");
    return static_cast<double>(bytes) * 1e9 / static_cast<double>(ns);
  }

 private:
  const trace::Trace& trace_;
  trace::StringId stated_;
};

}  // namespace

Table DeviceEventsTable(const trace::Trace& trace, const Context& context) {
  const trace::StringId bytes_key = trace.strings.Find("bytes");
  const Bandwidth of(trace);
  Reals bandwidth;
  Texts process, type, name, launch, thread;
  Integers device, stream, begin, end, bytes, launch_begin, launch_end;
  for (const ProcessWork& work : context.Shared<DeviceWork>().processes) {
    for (const DeviceEvent& event : work.events) {
      process.push_back(context.process_label(work.process));
      device.push_back(event.device);
      stream.push_back(event.stream);
      type.emplace_back(NameOf(event.type));
      name.emplace_back(NameText(trace, event));
      begin.push_back(event.begin_ns);
      end.push_back(event.end_ns);
      bytes.push_back(bytes_key.valid()
                          ? NumberArg(trace.tracks[event.track.value], event.span, bytes_key)
                          : kMissing);
      bandwidth.push_back(of.Of(event, bytes.back()));
      const bool known = event.launched();
      const trace::Interval call = known ? IntervalOf(trace, event.launch_track, event.launch)
                                         : trace::Interval{kMissing, kMissing};
      launch.emplace_back(
          known ? trace.text(
                      trace.name(trace.tracks[event.launch_track.value].spans.name[event.launch])
                          .text)
                : "");
      thread.push_back(known ? context.track_label(event.launch_track) : "");
      launch_begin.push_back(call.begin_ns);
      launch_end.push_back(call.end_ns);
    }
  }
  return MakeTable("device_events", MakeColumn("process", process), MakeColumn("device", device),
                   MakeColumn("stream", stream), MakeColumn("type", type), MakeColumn("name", name),
                   MakeColumn("begin_ns", begin), MakeColumn("end_ns", end),
                   MakeColumn("bytes", bytes), MakeColumn("bytes_per_s", bandwidth),
                   MakeColumn("launch", launch), MakeColumn("launch_thread", thread),
                   MakeColumn("launch_begin_ns", launch_begin),
                   MakeColumn("launch_end_ns", launch_end));
}

}  // namespace crosscut::analyze
