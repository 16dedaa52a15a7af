#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "src/analyze/columns.h"
#include "src/analyze/devices/device_work.h"
#include "src/analyze/devices/tables.h"

namespace crosscut::analyze {
namespace {

constexpr int64_t kSamples[] = {1'000'000, 10'000'000, 100'000'000, 1'000'000'000};

struct Device {
  std::string label;
  trace::Interval window;
  std::vector<trace::Interval> busy;  // disjoint, in order
};

std::vector<Device> DevicesOf(const trace::Trace& trace, const Context& context) {
  std::vector<Device> out;
  Device all = {"(all)", {INT64_MAX, INT64_MIN}, {}};
  for (const ProcessWork& work : context.Shared<DeviceWork>().processes) {
    const trace::Process& p = trace.processes[work.process.value];
    const trace::Interval window = {p.start_ns, p.end_ns};
    std::vector<trace::Interval> busy = BusyIntervals(work, window);
    if (busy.empty()) continue;
    all.window = {std::min(all.window.begin_ns, window.begin_ns),
                  std::max(all.window.end_ns, window.end_ns)};
    all.busy.insert(all.busy.end(), busy.begin(), busy.end());
    out.push_back({context.process_label(work.process), window, std::move(busy)});
  }
  if (out.size() < 2) return out;
  all.busy = UnionOf(std::move(all.busy), all.window);
  out.insert(out.begin(), std::move(all));
  return out;
}

int64_t BusySamples(const Device& device, int64_t length_ns) {
  int64_t count = 0, next = 0;  // the first sample that was not counted yet
  for (const trace::Interval& one : device.busy) {
    const int64_t first = std::max(next, (one.begin_ns - device.window.begin_ns) / length_ns);
    next = std::max(next, (one.end_ns - 1 - device.window.begin_ns) / length_ns + 1);
    count += next - std::min(first, next);
  }
  return count;
}

double Percent(int64_t part, int64_t whole) {
  return 100 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

Table DeviceUtilizationTable(const trace::Trace& trace, const Context& context) {
  TableRows table("device_utilization", Text("process"), Integer("window_ns"), Integer("busy_ns"),
                  Real("busy_percent"), Integer("sample_ns"), Integer("samples"),
                  Integer("busy_samples"), Real("sampled_percent"));
  for (const Device& device : DevicesOf(trace, context)) {
    const int64_t window_ns = device.window.end_ns - device.window.begin_ns;
    const int64_t busy_ns = LengthOf(device.busy);
    for (const int64_t length : kSamples) {
      const int64_t samples = (window_ns + length - 1) / length;
      const int64_t busy_samples = BusySamples(device, length);
      table.Add(device.label, window_ns, busy_ns, Percent(busy_ns, window_ns), length, samples,
                busy_samples, Percent(busy_samples, samples));
    }
  }
  return table.Make();
}

}  // namespace crosscut::analyze
