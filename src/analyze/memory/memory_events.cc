#include "src/analyze/memory/memory_events.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "src/trace/memory_marks.h"
#include "src/trace/spans_around.h"

namespace crosscut::analyze {
namespace {

using trace::kNoSpan;
using trace::SpanIndex;

constexpr std::string_view kModule = "nn.Module: ";

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
        marks_(trace) {}

  std::vector<DeviceMemory> Collect();

 private:
  void Take(uint32_t track);
  DeviceMemory& Of(trace::ProcessId process, const trace::MemoryMark& mark);
  trace::NameId NameOf(trace::TrackId track, SpanIndex span) const {
    return trace_.tracks[track.value].spans.name[span];
  }
  MemoryOwner OwnerOf(trace::TrackId track, SpanIndex span, int64_t at);
  void Match(DeviceMemory* memory, bool allocator);

  const trace::Trace& trace_;
  trace::OpenSpansByTrack open_;
  trace::SpansAround operations_, operators_, modules_;
  const trace::MemoryMarks marks_;
  // By process, allocator's name, type and index.
  std::map<std::tuple<uint32_t, std::string_view, int64_t, int64_t>, DeviceMemory> devices_;
  std::map<uint32_t, std::vector<int64_t>> unseen_;  // by process: from when on
};

DeviceMemory& Collector::Of(trace::ProcessId process, const trace::MemoryMark& mark) {
  const auto [found, added] =
      devices_.try_emplace({process.value, trace_.text(mark.allocator), mark.type, mark.index});
  if (added) {
    found->second.process = process;
    found->second.device = marks_.DeviceText(mark);
  }
  return found->second;
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
    if (marks_.IsUnseen(track.instants.name[i])) {
      unseen_[track.process.value].push_back(track.instants.at_ns[i]);
    }
    const bool failed = marks_.IsFailure(track.instants.name[i]);
    if (!failed && !marks_.IsChange(track.instants.name[i])) continue;
    const trace::MemoryMark mark = marks_.Read(track.instant_args, i);
    if (!mark.bytes) continue;
    DeviceMemory& memory = Of(track.process, mark);
    const int64_t at = track.instants.at_ns[i], total = mark.total.value_or(kMissing);
    const SpanIndex span = open_.of({index}).InnermostAt(at);
    if (failed) {
      memory.failures.push_back({at,
                                 *mark.bytes,
                                 total,
                                 mark.reserved.value_or(kMissing),
                                 {index},
                                 OwnerOf({index}, span, at)});
    } else {
      memory.changes.push_back({at, *mark.bytes, total, mark.address, {index}, span});
    }
  }
}

// A block whose address is handed out again was freed, though that was not seen. Of those that an
// allocator has while nobody looks at it, it is not known how long they lived.
void Collector::Match(DeviceMemory* memory, bool allocator) {
  std::vector<int64_t> unseen;
  if (allocator) unseen = unseen_[memory->process.value];
  std::sort(unseen.begin(), unseen.end());
  auto next = unseen.begin();
  const auto before = [](const auto& a, const auto& b) { return a.at_ns < b.at_ns; };
  std::stable_sort(memory->failures.begin(), memory->failures.end(), before);
  std::stable_sort(memory->changes.begin(), memory->changes.end(), before);
  std::unordered_map<int64_t, size_t> live;
  const auto end = [&](size_t block, int64_t at, size_t change) {
    memory->blocks[block].end_ns = at;
    memory->blocks[block].ended = change;
  };
  const auto end_unseen_before = [&](int64_t at, size_t change) {
    for (; next != unseen.end() && *next < at; ++next) {
      for (const auto& [address, block] : live) end(block, *next, change);
      live.clear();
    }
  };
  for (size_t i = 0; i < memory->changes.size(); ++i) {
    const MemoryChange& change = memory->changes[i];
    if (change.address == 0) continue;
    end_unseen_before(change.at_ns, i);
    if (const auto block = live.find(change.address); block != live.end()) {
      end(block->second, change.at_ns, i);
      live.erase(block);
    }
    if (change.bytes < 0) continue;
    live.emplace(change.address, memory->blocks.size());
    memory->blocks.push_back({change.at_ns, INT64_MAX, change.bytes,
                              OwnerOf(change.track, change.span, change.at_ns), i, SIZE_MAX});
  }
  end_unseen_before(INT64_MAX, memory->changes.size());
}

std::vector<DeviceMemory> Collector::Collect() {
  if (!marks_.any()) return {};
  for (uint32_t i = 0; i < trace_.tracks.size(); ++i) Take(i);
  std::vector<DeviceMemory> out;
  for (auto& [where, memory] : devices_) {
    Match(&memory, !std::get<1>(where).empty());
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
  Peak most = {now, changes.empty() ? kMissing : changes.front().at_ns, 0};
  for (size_t i = 0; i < changes.size(); ++i) {
    now = changes[i].TotalAfter(now);
    if (now > most.bytes) most = {now, changes[i].at_ns, i + 1};
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
