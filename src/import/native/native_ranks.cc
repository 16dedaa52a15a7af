#include <algorithm>
#include <string>
#include <string_view>

#include "src/base/counted.h"
#include "src/import/native/native_facts.h"

namespace crosscut::import {
namespace {

std::string_view Fact(const trace::Trace& trace, const trace::Process& process,
                      std::string_view key) {
  for (const auto& [name, value] : process.meta) {
    if (trace.text(name) == key) return trace.text(value);
  }
  return "";
}

std::string_view RankOf(const trace::Trace& trace, const trace::Process& process) {
  const std::string_view size = Fact(trace, process, "world_size");
  return size.empty() || size == "1" ? "" : Fact(trace, process, "rank");
}

// Whether `child` is its parent's helper, as a loader's worker is: the same rank of as many, by the
// same launcher or because it runs its parent's program.
bool Helps(const trace::Trace& trace, const trace::Process& child) {
  if (!child.parent.valid()) return false;
  const trace::Process& parent = trace.processes[child.parent.value];
  const auto same = [&](std::string_view key) {
    return Fact(trace, child, key) == Fact(trace, parent, key);
  };
  const std::string_view method = trace.text(child.start_method);
  const bool new_program = method == "subprocess" || method == "exec";
  return same("rank") && (same("rank_from") || (same("world_size") && !new_program));
}

// Whether another launcher speaks of one of its children.
bool Launches(const trace::Trace& trace, trace::ProcessId process) {
  const std::string_view from = Fact(trace, trace.processes[process.value], "rank_from");
  for (const trace::Process& child : trace.processes) {
    if (child.parent != process || RankOf(trace, child).empty() || Helps(trace, child)) continue;
    if (Fact(trace, child, "rank_from") != from) return true;
  }
  return false;
}

// Whether Python's multiprocessing calls a process so: "SpawnProcess-1 (work)".
bool IsDefault(std::string_view name) {
  constexpr std::string_view kMethods[] = {"", "Fork", "Spawn", "ForkServer"};
  constexpr std::string_view kKinds[] = {"Process-", "PoolWorker-"};
  for (const std::string_view method : kMethods) {
    if (!name.starts_with(method)) continue;
    for (const std::string_view kind : kKinds) {
      if (name.substr(method.size()).starts_with(kind)) return true;
    }
  }
  return false;
}

bool IsRank(const trace::Trace& trace, trace::ProcessId id) {
  const trace::Process& process = trace.processes[id.value];
  const std::string_view own_name = Fact(trace, process, "process_name");
  if (RankOf(trace, process).empty() || !(own_name.empty() || IsDefault(own_name))) return false;
  return !Helps(trace, process) && !Launches(trace, id);
}

// The name of an actor of Ray that has none of its own but states a rank; "" for all others.
std::string ActorName(const trace::Trace& trace, const trace::Process& process) {
  const std::string_view rank = RankOf(trace, process);
  if (rank.empty() || Fact(trace, process, "role") != "actor") return "";
  if (!Fact(trace, process, "actor_name").empty()) return "";
  return std::string(Fact(trace, process, "actor_class")) + " (rank " + std::string(rank) + ")";
}

// Whether the track ends inside an operation that nothing ended.
bool EndsAtWork(const trace::Trace& trace, const trace::Track& track, int64_t end_ns) {
  if (track.unfinished == 0) return false;
  for (size_t i = 0; i < track.spans.size(); ++i) {
    const bool operation = trace.name(track.spans.name[i]).scope();
    if (operation && track.spans.end_ns[i] >= end_ns) return true;
  }
  return false;
}

// Ray ends its workers when nobody needs them any more, in their sleep.
bool SleptAtItsEnd(const trace::Trace& trace, trace::ProcessId id) {
  const trace::Process& process = trace.processes[id.value];
  const std::string_view role = Fact(trace, process, "role");
  if ((role != "actor" && role != "worker") || Fact(trace, process, "ray_version").empty() ||
      !EndedWithoutStopping(trace, process)) {
    return false;
  }
  return std::none_of(trace.tracks.begin(), trace.tracks.end(), [&](const trace::Track& track) {
    return track.process == id && EndsAtWork(trace, track, process.end_ns);
  });
}

}  // namespace

void NameRanks(trace::Trace* trace) {
  for (uint32_t i = 0; i < trace->processes.size(); ++i) {
    trace::Process& process = trace->processes[i];
    if (const std::string name = ActorName(*trace, process); !name.empty()) {
      process.name = trace->strings.Intern(name);
    } else if (IsRank(*trace, trace::ProcessId{i})) {
      process.name = trace->strings.Intern("rank " + std::string(RankOf(*trace, process)));
    }
  }
}

std::string ExplainWorkers(trace::Trace* trace) {
  int count = 0;
  for (uint32_t i = 0; i < trace->processes.size(); ++i) {
    if (!SleptAtItsEnd(*trace, trace::ProcessId{i})) continue;
    trace->processes[i].complete = true;
    trace->processes[i].why_incomplete = trace->strings.Intern("");
    ++count;
  }
  if (count == 0) return "";
  return "Ray ended " + base::Counted(static_cast<uint64_t>(count), "{worker|workers}") +
         " without a word, none of them at work: all that was recorded is here.";
}

}  // namespace crosscut::import
