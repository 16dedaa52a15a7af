#include "src/import/native/native_ranks.h"

#include <string>
#include <string_view>

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

// Whether another launcher speaks of one of its children.
bool Launches(const trace::Trace& trace, trace::ProcessId process) {
  const std::string_view from = Fact(trace, trace.processes[process.value], "rank_from");
  for (const trace::Process& child : trace.processes) {
    if (child.parent != process || RankOf(trace, child).empty()) continue;
    if (Fact(trace, child, "rank_from") != from) return true;
  }
  return false;
}

bool IsRank(const trace::Trace& trace, trace::ProcessId id) {
  const trace::Process& process = trace.processes[id.value];
  const std::string_view rank = RankOf(trace, process);
  if (rank.empty() || !Fact(trace, process, "process_name").empty()) return false;
  if (process.parent.valid() && RankOf(trace, trace.processes[process.parent.value]) == rank &&
      Fact(trace, trace.processes[process.parent.value], "rank_from") ==
          Fact(trace, process, "rank_from")) {
    return false;
  }
  return !Launches(trace, id);
}

}  // namespace

void NameRanks(trace::Trace* trace) {
  for (uint32_t i = 0; i < trace->processes.size(); ++i) {
    if (!IsRank(*trace, trace::ProcessId{i})) continue;
    trace::Process& process = trace->processes[i];
    process.name = trace->strings.Intern("rank " + std::string(RankOf(*trace, process)));
  }
}

}  // namespace crosscut::import
