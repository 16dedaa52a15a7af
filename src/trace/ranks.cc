#include "src/trace/ranks.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

namespace crosscut::trace {
namespace {

int64_t NumberIn(std::string_view text) {
  int64_t value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

void TakeInfo(Rank* rank) {
  simdjson::dom::parser parser;
  simdjson::dom::element info;
  if (parser.parse(rank->info).get(info)) return;
  int64_t number = 0;
  if (rank->rank < 0 && !info["rank"].get(number)) rank->rank = number;
  if (!info["pg_count"].get(number)) rank->groups = number;
  if (rank->world_size <= 0 && !info["world_size"].get(number)) rank->world_size = number;
}

}  // namespace

Rank RankOf(const Trace& trace, const Process& process) {
  Rank rank;
  for (const auto& [key, value] : process.meta) {
    const std::string_view name = trace.text(key), text = trace.text(value);
    if (name == "rank") rank.rank = NumberIn(text);
    if (name == "world_size") rank.world_size = NumberIn(text);
    if (name == "rank_from") rank.from = text;
    if (name == "distributedInfo" && text.starts_with('{')) rank.info = text;
  }
  if (!rank.info.empty()) TakeInfo(&rank);
  return rank;
}

// Processes that state no size are of the largest job that has no launcher.
std::vector<Job> JobsOf(const Trace& trace) {
  std::vector<Rank> ranks;
  int64_t largest = 0;
  for (const Process& process : trace.processes) {
    ranks.push_back(RankOf(trace, process));
    if (ranks.back().from.empty()) largest = std::max(largest, ranks.back().world_size);
  }
  std::map<std::pair<std::string_view, int64_t>, Job> jobs;
  for (const Rank& rank : ranks) {
    const int64_t size = rank.world_size > 0 || !rank.from.empty() ? rank.world_size : largest;
    if (rank.rank < 0 || rank.rank >= size) continue;
    Job& job = jobs[{rank.from, size}];
    job.world_size = size;
    job.ranks.insert(rank.rank);
  }
  std::vector<Job> all;
  for (auto& [key, job] : jobs) all.push_back(std::move(job));
  return all;
}

}  // namespace crosscut::trace
