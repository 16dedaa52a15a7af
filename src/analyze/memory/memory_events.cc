#include "src/analyze/memory/memory_events.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "src/trace/spans_around.h"

namespace crosscut::analyze {
namespace {

using trace::kNoSpan;
using trace::SpanIndex;

constexpr std::string_view kModule = "nn.Module: ";

struct Arguments {
  int64_t bytes = kMissing, type = 0, index = -1, total = kMissing, reserved = 0, address = 0;
};

class Collector {
 public:
  explicit Collector(const trace::Trace& trace)
      : trace_(trace),
        open_(trace),
        operations_(trace,
                    [this](trace::TrackId track, SpanIndex span) {
                      return trace_.name(NameOf(track, span)).kind == trace::Kind::kOperation;
                    }),
        operators_(trace,
                   [this](trace::TrackId track, SpanIndex span) {
                     return IsOperator(trace_, NameOf(track, span));
                   }),
        modules_(trace,
                 [this](trace::TrackId track, SpanIndex span) {
                   const trace::Name& name = trace_.name(NameOf(track, span));
                   return name.kind != trace::Kind::kOperation &&
                          trace_.text(name.text).starts_with(kModule) &&
                          !IsOperator(trace_, NameOf(track, span));
                 }),
        changed_(trace.strings.Find("[memory]")),
        failed_(trace.strings.Find("[OutOfMemory]")),
        keys_{trace.strings.Find("Bytes"),          trace.strings.Find("Device Type"),
              trace.strings.Find("Device Id"),      trace.strings.Find("Total Allocated"),
              trace.strings.Find("Total Reserved"), trace.strings.Find("Addr")} {}

  std::vector<DeviceMemory> Collect();

 private:
  void Take(uint32_t track);
  Arguments Read(const trace::Args& args, uint32_t instant) const;
  DeviceMemory& Of(trace::ProcessId process, const Arguments& found);
  trace::NameId NameOf(trace::TrackId track, SpanIndex span) const {
    return trace_.tracks[track.value].spans.name[span];
  }
  MemoryOwner OwnerOf(trace::TrackId track, SpanIndex span, int64_t at);
  void Match(DeviceMemory* memory);

  const trace::Trace& trace_;
  trace::OpenSpansByTrack open_;
  trace::SpansAround operations_, operators_, modules_;
  const trace::StringId changed_, failed_;
  const trace::StringId keys_[6];
  std::map<std::tuple<uint32_t, int64_t, int64_t>, DeviceMemory> devices_;
};

Arguments Collector::Read(const trace::Args& args, uint32_t instant) const {
  Arguments found;
  int64_t* const values[] = {&found.bytes, &found.type,     &found.index,
                             &found.total, &found.reserved, &found.address};
  for (const trace::Arg& arg : args.of(instant)) {
    if (arg.is_text) continue;
    for (size_t k = 0; k < std::size(keys_); ++k) {
      if (arg.key == keys_[k]) *values[k] = arg.value;
    }
  }
  return found;
}

DeviceMemory& Collector::Of(trace::ProcessId process, const Arguments& found) {
  DeviceMemory& memory = devices_[{process.value, found.type, found.index}];
  memory.process = process;
  memory.type = found.type;
  memory.index = found.index;
  return memory;
}

MemoryOwner Collector::OwnerOf(trace::TrackId id, SpanIndex span, int64_t at) {
  const auto name = [&](trace::TrackId track, SpanIndex found) {
    return found == kNoSpan ? trace::NameId() : NameOf(track, found);
  };
  MemoryOwner owner;
  owner.operation = name(id, operations_.Of(id, span));
  owner.op = name(id, operators_.Of(id, span));
  owner.module = name(id, modules_.Of(id, span));
  const trace::TrackId lead = trace_.processes[trace_.tracks[id.value].process.value].lead;
  if (owner.operation.valid() || !lead.valid() || lead == id) return owner;
  owner.operation = name(lead, operations_.Of(lead, open_.of(lead).InnermostAt(at)));
  return owner;
}

void Collector::Take(uint32_t index) {
  const trace::Track& track = trace_.tracks[index];
  for (uint32_t i = 0; i < track.instants.at_ns.size(); ++i) {
    const trace::StringId name = trace_.name(track.instants.name[i]).text;
    if (name != changed_ && name != failed_) continue;
    const Arguments found = Read(track.instant_args, i);
    if (found.bytes == kMissing) continue;
    DeviceMemory& memory = Of(track.process, found);
    const int64_t at = track.instants.at_ns[i];
    const SpanIndex span = open_.of({index}).InnermostAt(at);
    if (name == failed_) {
      memory.failures.push_back(
          {at, found.bytes, found.total, found.reserved, {index}, OwnerOf({index}, span, at)});
    } else {
      memory.changes.push_back({at, found.bytes, found.total, found.address, {index}, span});
    }
  }
}

// A block whose address is handed out again was freed, though that was not seen.
void Collector::Match(DeviceMemory* memory) {
  const auto before = [](const auto& a, const auto& b) { return a.at_ns < b.at_ns; };
  std::stable_sort(memory->failures.begin(), memory->failures.end(), before);
  std::stable_sort(memory->changes.begin(), memory->changes.end(), before);
  std::unordered_map<int64_t, size_t> live;
  for (const MemoryChange& change : memory->changes) {
    if (change.address == 0) continue;
    if (const auto block = live.find(change.address); block != live.end()) {
      memory->blocks[block->second].end_ns = change.at_ns;
      live.erase(block);
    }
    if (change.bytes < 0) continue;
    live.emplace(change.address, memory->blocks.size());
    memory->blocks.push_back(
        {change.at_ns, INT64_MAX, change.bytes, OwnerOf(change.track, change.span, change.at_ns)});
  }
}

std::vector<DeviceMemory> Collector::Collect() {
  if (!changed_.valid() && !failed_.valid()) return {};
  for (uint32_t i = 0; i < trace_.tracks.size(); ++i) Take(i);
  std::vector<DeviceMemory> out;
  for (auto& [where, memory] : devices_) {
    Match(&memory);
    out.push_back(std::move(memory));
  }
  return out;
}

}  // namespace

int64_t DeviceMemory::start_bytes() const {
  if (changes.empty() || changes.front().total == kMissing) return 0;
  return Without(changes.front().total, changes.front().bytes);
}

DeviceMemory::Peak DeviceMemory::peak() const {
  int64_t now = start_bytes();
  Peak most = {now, changes.empty() ? kMissing : changes.front().at_ns};
  for (const MemoryChange& change : changes) {
    now = change.TotalAfter(now);
    if (now > most.bytes) most = {now, change.at_ns};
  }
  return most;
}

bool IsOperator(const trace::Trace& trace, trace::NameId id) {
  const trace::Name& name = trace.name(id);
  if (name.kind != trace::Kind::kSpan) return false;
  if (name.layer == trace::Layer::kNone) return !trace.text(name.text).starts_with(kModule);
  return name.layer == trace::Layer::kFramework || name.layer == trace::Layer::kComm;
}

MemoryUse::MemoryUse(const trace::Trace& trace) : devices(Collector(trace).Collect()) {}

}  // namespace crosscut::analyze
