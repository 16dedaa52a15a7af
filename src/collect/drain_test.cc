// The drain beside threads that record: what it puts into the log.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "crosscut/crosscut.h"
#include "src/collect/test_drain.h"

namespace crosscut::record {
namespace {

using testing::DrainTest;
using testing::Event;
using testing::EventsIn;
using testing::kName;
using testing::kWordsInChunk;
using testing::Logged;
using testing::LoggedNames;
using testing::MarkSpans;
using testing::NamesIn;
using testing::Ns;
using testing::passes;
using testing::SlotCounts;
using testing::SpansIn;

TEST_F(DrainTest, WhatThreadsMark_StandsInTheLogWhenItQuits) {
  RecordAndDrain(32);
  constexpr uint64_t kSpans = 50'000;
  std::vector<std::thread> threads;  // each marks a name of its own
  for (uint32_t name = kName; name < kName + 2; ++name) {
    threads.emplace_back([name] {
      for (uint64_t i = 0; i < kSpans / 1000; ++i) {
        MarkSpans(name, 1000);
        usleep(1000);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Flush();
  Quit();
  auto spans = SpansIn(ReadLog());
  ASSERT_EQ(spans[kName].size(), 1);
  ASSERT_EQ(spans[kName + 1].size(), 1);
  EXPECT_NE(spans[kName].begin()->first, spans[kName + 1].begin()->first);
  EXPECT_EQ(spans[kName].begin()->second, kSpans);
  EXPECT_EQ(spans[kName + 1].begin()->second, kSpans);
}

// Threads that end leave chunks in which others go on: those of two tracks.
TEST_F(DrainTest, ChunksThatSeveralThreadsWrote_GiveEachItsOwnInOrder) {
  RecordAndDrain(128);
  constexpr uint32_t kThreads = 300, kLong = kName + kThreads;
  // All that is marked has room in the ring, however slow the drain is.
  std::atomic<uint32_t> begun{0};
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      for (uint32_t turn = 0; turn < kThreads; ++turn) {
        while (begun <= turn) usleep(50);
        MarkSpans(kLong + i, 100);
      }
    });
  }
  for (uint32_t i = 0; i < kThreads; ++i) {
    ++begun;
    std::thread(MarkSpans, kName + i, 1 + i % 70 * 10).join();
    if (i % 50 == 0) Flush();
  }
  for (std::thread& thread : threads) thread.join();
  Quit();
  const std::vector<Logged> events = ReadLog();
  auto spans = SpansIn(events);
  std::set<uint32_t> tracks;
  for (uint32_t i = 0; i < kThreads; ++i) {
    ASSERT_EQ(spans[kName + i].size(), 1) << i;
    EXPECT_EQ(spans[kName + i].begin()->second, 1 + i % 70 * 10);
    tracks.insert(spans[kName + i].begin()->first);
  }
  EXPECT_EQ(tracks.size(), kThreads);
  for (const uint32_t name : {kLong, kLong + 1}) {
    EXPECT_EQ(spans[name].begin()->second, 100 * kThreads);
  }
  std::map<uint32_t, uint64_t> last;
  std::map<uint32_t, int> ended;
  for (const Logged& event : events) {
    if (event.track == 0) continue;
    EXPECT_GE(event.tick, last[event.track]) << "track " << event.track;
    last[event.track] = event.tick;
    ended[event.track] += static_cast<int>(event.words[0] == format::kThreadEnd);
  }
  int ends = 0;
  for (const uint32_t track : tracks) {
    EXPECT_LE(ended[track], 1);
    ends += ended[track];
  }
  EXPECT_GE(ends, int{kThreads} - 30) << "who finds a chunk full to its last words tells none";
}

TEST_F(DrainTest, EachFlushAnchorsBothClocks_AndOtherPassesOneASecond) {
  struct Reading {
    uint64_t tick;
    int64_t ns[2];
  };
  const auto read = [] { return Reading{ClockNow(), {Ns(CLOCK_MONOTONIC), Ns(CLOCK_REALTIME)}}; };
  constexpr size_t kFlushes = 5;
  const int64_t begin = Ns(CLOCK_MONOTONIC);
  RecordAndDrain(16);
  std::vector<std::pair<Reading, Reading>> around;
  for (size_t i = 0; i < kFlushes; ++i) {
    usleep(30'000);  // with passes of its own in between
    const Reading before = read();
    Flush();
    around.push_back({before, read()});
  }
  Quit();
  const int64_t seconds = (Ns(CLOCK_MONOTONIC) - begin) / 1'000'000'000;
  std::map<uint64_t, size_t> count;
  std::vector<size_t> met(2 * kFlushes);
  for (const Logged& event : ReadLog()) {
    if (event.words[0] != format::kAnchor) continue;
    ASSERT_EQ(event.words.size(), 5);
    const uint64_t clock = event.words[1];
    ++count[clock];
    const auto ns = static_cast<int64_t>(event.words[3]);
    const auto error = static_cast<int64_t>(event.words[4]);
    EXPECT_GT(error, 0);
    for (size_t i = 0; i < kFlushes; ++i) {
      const auto& [before, after] = around[i];
      if (event.words[2] < before.tick || event.words[2] > after.tick) continue;
      const size_t which = clock == format::kClockRealtime ? 1 : 0;
      EXPECT_GE(ns, before.ns[which]);
      EXPECT_LE(ns, after.ns[which]);
      ++met[2 * i + which];
    }
  }
  ASSERT_EQ(count.size(), 2);
  for (const size_t anchors : met) EXPECT_GE(anchors, 1);
  // Those of the flushes, of the first pass, of the end, and of each second.
  for (const auto& [clock, anchors] : count) EXPECT_LE(anchors, kFlushes + 2 + seconds);
}

TEST_F(DrainTest, ItsOwnWorkIsASpanOfOverheadOnATrackOfItsOwn) {
  RecordAndDrain(16);
  const uint64_t before = ClockNow();
  Flush();
  Flush();
  const uint64_t after = ClockNow();
  Quit();
  const std::vector<Logged> events = ReadLog();
  const LoggedNames names = NamesIn(events);
  std::set<uint64_t> spans;
  for (auto [at, end] = names.ids.equal_range("drain"); at != end; ++at) {
    const format::NameAttributes& name = names.attributes.at(at->second);
    if (name.kind != format::kKindSpan) continue;
    EXPECT_EQ(name.layer, format::kLayerOverhead);
    EXPECT_EQ(name.flags, 0);
    ASSERT_EQ(names.attributes.count(name.probe), 1) << "the probe has a name";
    const format::NameAttributes text = {format::kKindText};
    EXPECT_EQ(names.attributes.at(name.probe).Pack(), text.Pack());
    spans.insert(at->second);
  }
  ASSERT_EQ(spans.size(), 1);
  size_t inside = 0;
  uint64_t last = 0;
  uint32_t track = 0;
  for (const Logged& event : events) {
    if (event.words[0] == format::kThread && (event.words[3] & format::kThreadIsOurs) != 0) {
      track = event.track;
    }
    if (event.words[0] != format::kSpanAt || spans.count(event.words[1]) == 0) continue;
    EXPECT_EQ(event.track, track);
    EXPECT_GE(event.words[2], last) << "one after the other";
    EXPECT_GE(event.words[3], event.words[2]);
    last = event.words[3];
    inside += event.words[2] >= before && last <= after ? 1 : 0;
  }
  EXPECT_EQ(inside, 2) << "a span for each flush, and no other had anything to do";
}

TEST_F(DrainTest, TheProcessesUseIsCountedTwiceASecond) {
  [[maybe_unused]] const ChunkRing* ring = RecordAndDrain(16);
  const int64_t cpu = Ns(CLOCK_PROCESS_CPUTIME_ID), begin = Ns(CLOCK_MONOTONIC);
  Flush();
  Flush();  // too soon for another
  usleep(520'000);
  MarkSpans(kName, 100'000);
  Flush();
  long pages = 0;
  FILE* const file = fopen("/proc/self/statm", "re");
  ASSERT_EQ(fscanf(file, "%*d %ld", &pages), 1);
  fclose(file);
  const int64_t cpu_after = Ns(CLOCK_PROCESS_CPUTIME_ID);
  const int64_t took = Ns(CLOCK_MONOTONIC) - begin;
  Quit();
  const std::vector<Logged> events = ReadLog();
  const LoggedNames names = NamesIn(events);
  std::map<std::string, std::vector<std::pair<uint64_t, int64_t>>> counters;
  for (const Logged& event : events) {
    if (event.words[0] != format::kCounter) continue;
    for (const auto& [text, id] : names.ids) {
      if (id == event.words[1]) {
        counters[text].emplace_back(event.tick, static_cast<int64_t>(event.words[2]));
      }
    }
  }
  ASSERT_EQ(counters.size(), 3);
  for (const char* name : {"crosscut.cpu_ns", "crosscut.peak_bytes", "crosscut.resident_bytes"}) {
    const auto& values = counters[name];
    const uint64_t id = names.ids.find(name)->second;
    EXPECT_EQ(names.attributes.at(id).Pack(), format::NameAttributes{}.Pack());
    EXPECT_GE(values.size(), 2);
    EXPECT_LE(values.size(), static_cast<size_t>(2 + took / 500'000'000));
    const double apart = 0.49e9 / ClockNsPerTick();
    for (size_t i = 1; i < values.size(); ++i) {
      EXPECT_GT(static_cast<double>(values[i].first - values[i - 1].first), apart);
    }
  }
  int64_t last = 0;
  for (const auto& [tick, ns] : counters["crosscut.cpu_ns"]) {
    EXPECT_GT(ns, last);
    last = ns;
  }
  EXPECT_GT(last, cpu);
  EXPECT_LT(last, cpu_after);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their memory comes and goes
  const int64_t rest = pages * sysconf(_SC_PAGESIZE) - int64_t{ring->prepared()} * 65536;
  EXPECT_NEAR(static_cast<double>(counters["crosscut.resident_bytes"].back().second),
              static_cast<double>(rest), 8 << 20);
#endif
}

// For eight passes like the busiest of late, and 16 at least: not for all that there ever was.
TEST_F(DrainTest, CleanChunksArePreparedForWhatIsClaimedBetweenItsPasses) {
  ChunkRing* ring = RecordAndDrain(1024);
  for (int round = 0; round < 60; ++round) {
    MarkSpans(kName, kWordsInChunk / 2 + 1);  // a chunk, and now and then another one
    Flush();
  }
  EXPECT_GE(ring->claimed(), 60u);
  EXPECT_GE(ring->clean(), 16u);
  EXPECT_LE(ring->clean(), 64u);
  Quit();
}

// What the one before had to do makes no difference.
TEST_F(DrainTest, EachSessionBeginsWithAnchorsWithWhatTheProcessTakesAndWithFewChunks) {
  for (int session = 0; session < 2; ++session) {
    ChunkRing* ring = RecordAndDrain(1024);
    drain_->Ask(Drain::kStarted);
    ASSERT_TRUE(drain_->Await(60'000));
    std::set<uint64_t> clocks;
    for (const Event& event : EventsIn(*ring, /*of_session=*/true)) {
      if (event.words[0] == format::kAnchor) clocks.insert(event.words[1]);
    }
    EXPECT_EQ(clocks, (std::set<uint64_t>{format::kClockMonotonic, format::kClockRealtime}));
    for (int i = 0; i < 5; ++i) Flush();
    EXPECT_LE(ring->clean(), 64u);
    MarkSpans(kName, 20 * kWordsInChunk);
    Quit();
    const std::vector<Logged> events = ReadLog();
    const LoggedNames names = NamesIn(events);
    for (const char* name : {"crosscut.cpu_ns", "crosscut.resident_bytes"}) {
      const uint64_t id = names.ids.find(name)->second;
      EXPECT_TRUE(std::any_of(events.begin(), events.end(), [id](const Logged& event) {
        return event.words[0] == format::kCounter && event.words[1] == id;
      })) << name;
    }
    unlink(log().c_str());
  }
}

// More of them than the ring has room for.
TEST_F(DrainTest, FactsAndLongNamesAreInTheLogInTheirOrder) {
  RecordAndDrain(16);
  SessionStream& stream = Recorder::Get().stream();
  const std::string longest(60'000, 'n');
  const uint32_t id = stream.Intern(longest, 7);
  constexpr uint64_t kFacts = 300;
  for (uint64_t i = 0; i < kFacts; ++i) {
    EXPECT_TRUE(stream.WriteMeta("a fact", std::string(4000 + i, 'v')));
    if (i % 5 == 0) Flush();
  }
  Quit();
  const std::vector<Logged> events = ReadLog();
  uint64_t next = 0;
  for (const Logged& event : events) {
    if (event.words[0] != format::kMeta) continue;
    EXPECT_EQ(event.words[1], 6u);
    EXPECT_EQ(event.words[2], 4000 + next++);
  }
  EXPECT_EQ(next, kFacts);
  const LoggedNames names = NamesIn(events);
  const auto found = names.ids.find(longest);
  ASSERT_NE(found, names.ids.end());
  EXPECT_EQ(found->second, id);
  EXPECT_EQ(names.attributes.at(id).Pack(), 7u);
}

// By the clock: what is younger is there, and of the older what stands in the same chunk.
TEST_F(DrainTest, ASnapshotOfSoMuchTimeReachesBackSoFar) {
  static std::atomic<uint64_t> now;
  constexpr uint64_t kSpans = 6 * kWordsInChunk, kKeep = kSpans;  // half of the ticks
  now = 1'000'000;
  ClockInjectForTest([] { return ++now; });
  ChunkRing* ring = NewRing(24);
  ring->KeepNewest();
  ASSERT_TRUE(Recorder::Get().BeginSession(ring, 4 << 20));
  Recorder::Get().SetPhase(Phase::kOn, ClockNow());
  DrainOptions options;
  options.ring = ring;
  options.flight_recorder = true;
  options.keep_ticks = kKeep;
  Start(options);
  std::thread(MarkSpans, kName, kSpans).join();
  const uint64_t before = now;
  Flush();
  const uint64_t after = now;
  Quit();
  uint64_t first = UINT64_MAX, last = 0, events = 0;
  for (const Logged& event : ReadLog()) {
    if (event.words[0] != kName && event.words[0] != format::kEnd) continue;
    first = std::min(first, event.tick);
    last = std::max(last, event.tick);
    ++events;
  }
  EXPECT_EQ(events + SlotCounts(*ring), 2 * kSpans);
  EXPECT_LE(first, after - kKeep);
  EXPECT_GT(first, before - kKeep - kWordsInChunk - 5000) << "a chunk, and who else took ticks";
  EXPECT_LT(last, before);
}

TEST_F(DrainTest, ASnapshotHoldsAllThatIsKeptOrTheNewestOfIt) {
  constexpr uint64_t kSpans = 6 * kWordsInChunk;
  for (const uint64_t keep_ticks : {uint64_t{0}, uint64_t{1}, UINT64_MAX}) {
    ChunkRing* ring = NewRing(24);
    ring->KeepNewest();
    ASSERT_TRUE(Recorder::Get().BeginSession(ring, 4 << 20));
    Recorder::Get().SetPhase(Phase::kOn, ClockNow());
    DrainOptions options;
    options.ring = ring;
    options.flight_recorder = true;
    options.keep_ticks = keep_ticks;
    Start(options);
    const uint64_t begin = ClockNow();
    std::thread(MarkSpans, kName, kSpans).join();
    Flush();
    Quit();
    auto spans = SpansIn(ReadLog());
    ASSERT_EQ(spans[kName].size(), 1);
    const uint64_t kept = spans[kName].begin()->second;
    if (keep_ticks == 1) {
      EXPECT_GE(kept, 1);
      EXPECT_LE(kept, kWordsInChunk) << "two chunks, each with as many begins as ends";
    } else {
      EXPECT_EQ(kept, kSpans) << keep_ticks << " since " << begin;
      EXPECT_EQ(SlotCounts(*ring), 0);
    }
    if (keep_ticks == 1) {
      uint64_t events = 0;
      for (const Logged& event : ReadLog()) {
        events += event.words[0] == kName || event.words[0] == format::kEnd ? 1 : 0;
      }
      EXPECT_EQ(events + SlotCounts(*ring), 2 * kSpans);
    }
    unlink(log().c_str());
  }
}

}  // namespace
}  // namespace crosscut::record
