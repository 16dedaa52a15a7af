#include "src/analyze/memory_table.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "src/analyze/columns.h"

namespace crosscut::analyze {
namespace {

// PyTorch's c10::DeviceType.
constexpr std::string_view kDevices[] = {"cpu", "cuda", "mkldnn",       "opengl", "opencl", "ideep",
                                         "hip", "fpga", "maia",         "xla",    "vulkan", "metal",
                                         "xpu", "mps",  "meta",         "hpu",    "ve",     "lazy",
                                         "ipu", "mtia", "privateuseone"};

struct Change {
  int64_t at_ns, bytes, total;  // total: kMissing where it is not told
};
struct Where {
  uint32_t process;
  int64_t type, index;
  bool operator<(const Where& other) const {
    return std::tie(process, type, index) < std::tie(other.process, other.type, other.index);
  }
};

class Changes {
 public:
  explicit Changes(const trace::Trace& trace)
      : trace_(trace),
        bytes_(trace.strings.Find("Bytes")),
        type_(trace.strings.Find("Device Type")),
        index_(trace.strings.Find("Device Id")),
        total_(trace.strings.Find("Total Allocated")) {
    const trace::StringId name = trace.strings.Find("[memory]");
    if (!name.valid() || !bytes_.valid()) return;
    for (const trace::Track& track : trace.tracks) Take(track, name);
    for (auto& [where, changes] : by_device) {
      std::stable_sort(changes.begin(), changes.end(),
                       [](const Change& a, const Change& b) { return a.at_ns < b.at_ns; });
    }
  }

  std::map<Where, std::vector<Change>> by_device;

 private:
  void Take(const trace::Track& track, trace::StringId wanted) {
    const trace::Args& args = track.instant_args;
    size_t arg = 0;
    for (uint32_t i = 0; i < track.instants.at_ns.size(); ++i) {
      while (arg < args.size() && args.span[arg] < i) ++arg;
      if (trace_.name(track.instants.name[i]).text != wanted) continue;
      int64_t bytes = kMissing, type = 0, index = -1, total = kMissing;
      for (size_t a = arg; a < args.size() && args.span[a] == i; ++a) {
        if (args.is_text[a]) continue;
        if (args.key[a] == bytes_) bytes = args.value[a];
        if (args.key[a] == type_) type = args.value[a];
        if (args.key[a] == index_) index = args.value[a];
        if (args.key[a] == total_) total = args.value[a];
      }
      if (bytes == kMissing) continue;
      by_device[{track.process.value, type, index}].push_back(
          {track.instants.at_ns[i], bytes, total});
    }
  }

  const trace::Trace& trace_;
  trace::StringId bytes_, type_, index_, total_;
};

std::string DeviceText(int64_t type, int64_t index) {
  std::string text = type >= 0 && type < static_cast<int64_t>(std::size(kDevices))
                         ? std::string(kDevices[type])
                         : "device type " + std::to_string(type);
  if (index >= 0) text += ":" + std::to_string(index);
  return text;
}

}  // namespace

Table MemoryTable(const trace::Trace& trace, const Context& context) {
  const Changes changes(trace);
  Texts process, device;
  Integers allocations, frees, allocated, freed, start, peak, peak_at, end;
  for (const auto& [where, of] : changes.by_device) {
    int64_t counts[2] = {}, bytes[2] = {};
    const bool told = of.front().total != kMissing;
    int64_t now = told ? of.front().total - of.front().bytes : 0;
    int64_t most = now, at = of.front().at_ns;
    start.push_back(now);
    for (const Change& change : of) {
      const int freeing = change.bytes < 0 ? 1 : 0;
      ++counts[freeing];
      bytes[freeing] += change.bytes < 0 ? -change.bytes : change.bytes;
      now = change.total != kMissing ? change.total : now + change.bytes;
      if (now > most) most = now, at = change.at_ns;
    }
    process.push_back(context.process_label({where.process}));
    device.push_back(DeviceText(where.type, where.index));
    allocations.push_back(counts[0]);
    frees.push_back(counts[1]);
    allocated.push_back(bytes[0]);
    freed.push_back(bytes[1]);
    peak.push_back(most);
    peak_at.push_back(at);
    end.push_back(now);
  }
  return MakeTable("memory", MakeColumn("process", process), MakeColumn("device", device),
                   MakeColumn("allocations", allocations), MakeColumn("frees", frees),
                   MakeColumn("allocated_bytes", allocated), MakeColumn("freed_bytes", freed),
                   MakeColumn("start_bytes", start), MakeColumn("peak_bytes", peak),
                   MakeColumn("peak_at_ns", peak_at), MakeColumn("end_bytes", end));
}

}  // namespace crosscut::analyze
