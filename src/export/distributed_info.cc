#include "src/export/distributed_info.h"

#include <charconv>
#include <string_view>

namespace crosscut::exporting {
namespace {

struct Place {
  int64_t rank = -1, world_size = 0;
  std::string_view info;  // a JSON object; "": none
};

int64_t Number(std::string_view text) {
  int64_t value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Place PlaceOf(const trace::Trace& trace, const trace::Process& process) {
  Place place;
  for (const auto& [key, value] : process.meta) {
    const std::string_view name = trace.text(key), text = trace.text(value);
    if (name == "rank") place.rank = Number(text);
    if (name == "world_size") place.world_size = Number(text);
    if (name == "distributedInfo" && text.starts_with('{')) place.info = text;
  }
  return place;
}

// Whether `a` is to be told rather than `b`.
bool Before(const Place& a, const Place& b) {
  if (a.info.empty() != b.info.empty()) return b.info.empty();
  return a.rank >= 0 && (b.rank < 0 || a.rank < b.rank);
}

}  // namespace

std::string DistributedInfo(const trace::Trace& trace) {
  Place best;
  for (const trace::Process& process : trace.processes) {
    const Place place = PlaceOf(trace, process);
    if (Before(place, best)) best = place;
  }
  if (!best.info.empty()) return std::string(best.info);
  if (best.rank < 0 || best.world_size <= best.rank) return R"({"rank": 0, "world_size": 1})";
  return "{\"rank\": " + std::to_string(best.rank) +
         ", \"world_size\": " + std::to_string(best.world_size) + "}";
}

}  // namespace crosscut::exporting
