#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>

#include "src/analyze/amounts.h"
#include "src/analyze/columns.h"
#include "src/analyze/devices/device_work.h"
#include "src/analyze/devices/tables.h"
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

int64_t Computing(const TypeSums& sums) {
  return Sum(sums, [](unsigned set) { return (set & kCompute) != 0; });
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

// "Memcpy HtoD (Pageable -> Device)" is "Memcpy HtoD".
std::string_view KindOfCopy(std::string_view name) { return name.substr(0, name.find(" (")); }

}  // namespace

Table DeviceTimelineTable(const trace::Trace&, const Context& context) {
  TableRows table("device_timeline", Text("process"), Integer("total_ns"),
                  Integer("computation_ns"), Integer("exposed_comm_ns"), Integer("exposed_copy_ns"),
                  Integer("busy_ns"), Integer("idle_ns"));
  ForEachProcess(context, [&](const std::string& label, int64_t span_ns, const TypeSums& sums) {
    table.Add(label, span_ns, Computing(sums),
              Sum(sums, [](unsigned set) { return (set & kComm) != 0 && (set & kCompute) == 0; }),
              Sum(sums, [](unsigned set) { return set == kCopies; }), Busy(sums),
              span_ns - Busy(sums));
  });
  return table.Make();
}

Table TemporalBreakdownTable(const trace::Trace&, const Context& context) {
  TableRows table("temporal_breakdown", Text("process"), Integer("span_ns"), Integer("compute_ns"),
                  Integer("non_compute_ns"), Integer("idle_ns"));
  ForEachProcess(context, [&](const std::string& label, int64_t span_ns, const TypeSums& sums) {
    table.Add(label, span_ns, Computing(sums), Busy(sums) - Computing(sums), span_ns - Busy(sums));
  });
  return table.Make();
}

Table KernelTypesTable(const trace::Trace&, const Context& context) {
  TableRows table("kernel_types", Text("process"), Text("types"), Integer("ns"));
  ForEachProcess(context, [&](const std::string& label, int64_t, const TypeSums& sums) {
    for (unsigned set = 1; set < sums.size(); ++set) {
      if (sums[set] == 0) continue;
      table.Add(label, SetText(set), sums[set]);
    }
  });
  return table.Make();
}

Table CommOverlapTable(const trace::Trace&, const Context& context) {
  TableRows table("comm_overlap", Text("process"), Integer("comm_ns"), Integer("overlapped_ns"));
  ForEachProcess(context, [&](const std::string& label, int64_t, const TypeSums& sums) {
    table.Add(label, Sum(sums, [](unsigned set) { return (set & kComm) != 0; }),
              Sum(sums, [](unsigned set) { return (set & kComm) != 0 && (set & kCompute) != 0; }));
  });
  return table.Make();
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
  TableRows table("kernels", Text("name"), Text("type"), Integer("count"), Integer("total_ns"),
                  Integer("min_ns"), Integer("mean_ns"), Integer("p50_ns"), Integer("max_ns"));
  for (const Kernel& kernel : kernels) {
    std::sort(kernel.lengths->begin(), kernel.lengths->end());
    const auto n = static_cast<int64_t>(kernel.lengths->size());
    table.Add(trace.text(kernel.name), NameOf(kernel.type), n, kernel.total,
              kernel.lengths->front(), (kernel.total + n / 2) / n,
              (*kernel.lengths)[RankOf(kernel.lengths->size(), 50)], kernel.lengths->back());
  }
  return table.Make();
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
      Copies& c = kinds[{work.process.value, KindOfCopy(trace.span_text(event.track, event.span))}];
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
  TableRows table("copies", Text("process"), Text("kind"), Integer("count"), Integer("bytes"),
                  Integer("total_ns"), Real("mean_bytes_per_s"), Real("max_bytes_per_s"));
  for (const auto& [which, c] : kinds) {
    const bool known = c.unknown == 0 && c.bytes != kTooMuch;
    table.Add(context.process_label({which.first}), which.second, c.count,
              known ? c.bytes : kMissing, c.ns,
              known && c.ns > 0 ? static_cast<double>(c.bytes) * 1e9 / static_cast<double>(c.ns)
                                : __builtin_nan(""),
              known && c.best > 0 ? c.best : __builtin_nan(""));
  }
  return table.Make();
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
  const Bandwidth bandwidth(trace);
  TableRows table("device_events", Text("process"), Integer("device"), Integer("stream"),
                  Text("type"), Text("name"), Integer("begin_ns"), Integer("end_ns"),
                  Integer("bytes"), Real("bytes_per_s"), Text("launch"), Text("launch_thread"),
                  Integer("launch_begin_ns"), Integer("launch_end_ns"));
  for (const ProcessWork& work : context.Shared<DeviceWork>().processes) {
    for (const DeviceEvent& event : work.events) {
      const int64_t bytes = bytes_key.valid()
                                ? NumberArg(trace.tracks[event.track.value], event.span, bytes_key)
                                : kMissing;
      const bool known = event.launched();
      const trace::Interval call = known ? IntervalOf(trace, event.launch_track, event.launch)
                                         : trace::Interval{kMissing, kMissing};
      table.Add(context.process_label(work.process), event.device, event.stream, NameOf(event.type),
                trace.span_text(event.track, event.span), event.begin_ns, event.end_ns, bytes,
                bandwidth.Of(event, bytes),
                known ? trace.span_text(event.launch_track, event.launch) : "",
                known ? context.track_label(event.launch_track) : "", call.begin_ns, call.end_ns);
    }
  }
  return table.Make();
}

}  // namespace crosscut::analyze
