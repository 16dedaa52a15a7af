#include "src/analyze/devices/collective_table.h"

#include <algorithm>
#include <map>

#include "src/analyze/columns.h"
#include "src/analyze/devices/device_work.h"

namespace crosscut::analyze {
namespace {

struct Rank {
  int64_t collectives = 0, waited = 0, last = 0, made_wait = 0;
};

}  // namespace

Table StragglersTable(const trace::Trace& trace, const Context& context) {
  // By name: each process's lengths, in order of begin.
  std::map<uint32_t, std::map<uint32_t, std::vector<int64_t>>> names;
  for (const ProcessWork& work : context.Shared<DeviceWork>().processes) {
    for (const DeviceEvent& event : work.events) {
      if (event.type != WorkType::kCommunication) continue;
      const trace::NameId name = trace.tracks[event.track.value].spans.name[event.span];
      names[trace.name(name).text.value][work.process.value].push_back(event.end_ns -
                                                                       event.begin_ns);
    }
  }
  std::map<uint32_t, Rank> ranks;
  for (const auto& [name, lengths] : names) {
    size_t common = SIZE_MAX;
    for (const auto& [process, of] : lengths) common = std::min(common, of.size());
    if (lengths.size() < 2) continue;
    for (size_t i = 0; i < common; ++i) {
      const auto shortest =
          std::min_element(lengths.begin(), lengths.end(),
                           [i](const auto& a, const auto& b) { return a.second[i] < b.second[i]; });
      for (const auto& [process, of] : lengths) {
        Rank& rank = ranks[process];
        const int64_t waited = of[i] - shortest->second[i];
        ++rank.collectives;
        rank.waited += waited;
        ranks[shortest->first].made_wait += waited;
      }
      ++ranks[shortest->first].last;
    }
  }
  Texts process;
  Integers collectives, waited, last, made_wait;
  for (const auto& [which, rank] : ranks) {
    process.push_back(context.process_label({which}));
    collectives.push_back(rank.collectives);
    waited.push_back(rank.waited);
    last.push_back(rank.last);
    made_wait.push_back(rank.made_wait);
  }
  return MakeTable("stragglers", MakeColumn("process", process),
                   MakeColumn("collectives", collectives), MakeColumn("waited_ns", waited),
                   MakeColumn("last_count", last), MakeColumn("made_wait_ns", made_wait));
}

}  // namespace crosscut::analyze
