#include "src/export/distributed_info.h"

#include "src/trace/ranks.h"

namespace crosscut::exporting {
namespace {

// Whether `a` is to be told rather than `b`.
bool Before(const trace::Rank& a, const trace::Rank& b) {
  if (a.info.empty() != b.info.empty()) return b.info.empty();
  return a.rank >= 0 && (b.rank < 0 || a.rank < b.rank);
}

}  // namespace

std::string DistributedInfo(const trace::Trace& trace) {
  trace::Rank best;
  for (const trace::Process& process : trace.processes) {
    const trace::Rank rank = trace::RankOf(trace, process);
    if (Before(rank, best)) best = rank;
  }
  if (!best.info.empty()) return std::string(best.info);
  if (best.rank < 0 || best.world_size <= best.rank) return R"({"rank": 0, "world_size": 1})";
  return "{\"rank\": " + std::to_string(best.rank) +
         ", \"world_size\": " + std::to_string(best.world_size) + "}";
}

}  // namespace crosscut::exporting
