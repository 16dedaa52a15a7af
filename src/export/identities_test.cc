#include "src/export/identities.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "src/trace/builder.h"

namespace crosscut::exporting {
namespace {

constexpr int64_t kIds[] = {0, 1, 1, 7, -3, INT32_MAX, int64_t{1} << 31, INT64_MAX, INT64_MIN};

bool Holds(int64_t id) { return id > 0 && id <= INT32_MAX; }

TEST(Identities, AreUniqueAndTheOwnOnesWhereTheyCanBe) {
  std::mt19937 random(45);
  for (int round = 0; round < 500; ++round) {
    trace::Builder builder;
    for (size_t p = random() % 6; p > 0; --p) {
      const trace::ProcessId process = builder.AddProcess("p" + std::to_string(p));
      builder.process(process).pid = kIds[random() % std::size(kIds)];
      for (size_t t = random() % 6; t > 0; --t) {
        const auto kind = random() % 4 == 0 ? trace::TrackKind::kDevice : trace::TrackKind::kThread;
        builder.AddTrack(process, kind).track().os_id = kIds[random() % std::size(kIds)];
      }
    }
    const trace::Trace trace = builder.Finish();
    const Identities identities(trace);
    std::set<int64_t> pids, taken;
    for (uint32_t p = 0; p < trace.processes.size(); ++p) {
      const int64_t own = trace.processes[p].pid, pid = identities.pid(p);
      EXPECT_TRUE(Holds(pid) && pids.insert(pid).second);
      EXPECT_TRUE(pid == own || !Holds(own) || taken.contains(own));
      taken.insert(own);
    }
    std::set<std::pair<uint32_t, int64_t>> tids, taken_tids;
    for (uint32_t t = 0; t < trace.tracks.size(); ++t) {
      const trace::Track& track = trace.tracks[t];
      const int64_t tid = identities.tid(t);
      if (track.kind == trace::TrackKind::kDevice) {
        EXPECT_EQ(tid, track.os_id);
        continue;
      }
      EXPECT_TRUE(Holds(tid) && tids.insert({track.process.value, tid}).second);
      const bool before = taken_tids.contains({track.process.value, track.os_id});
      EXPECT_TRUE(tid == track.os_id || !Holds(track.os_id) || before);
      taken_tids.insert({track.process.value, track.os_id});
    }
  }
}

trace::NameId NameOf(const char* text, trace::Builder* builder) {
  trace::Name name;
  name.text = builder->Text(text);
  return builder->AddName(name);
}

TEST(Identities, NoTimeOfTheTraceIsBelowZeroWithTheShift) {
  for (const int64_t earliest : {5, -70}) {
    trace::Builder builder;
    const trace::ProcessId process = builder.AddProcess("p");
    builder.AddTrack(process, trace::TrackKind::kThread).SpanAt(10, 20, NameOf("span", &builder));
    builder.AddTrack(process, trace::TrackKind::kThread).Instant(8, NameOf("mark", &builder));
    builder.Count(process, NameOf("count", &builder), earliest, 1);
    EXPECT_EQ(Identities(builder.Finish()).shift_ns(), std::max<int64_t>(0, -earliest));
  }
}

}  // namespace
}  // namespace crosscut::exporting
