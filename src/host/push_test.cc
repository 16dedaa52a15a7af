// What a plugin pushes through crosscut_host, word by word, as docs/format.md has it.
#include <gtest/gtest.h>
#include <time.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "crosscut/crosscut.h"
#include "src/collect/scratch.h"
#include "src/collect/test_ring.h"
#include "src/host/push_table.h"

namespace crosscut::host {
namespace {

using record::ChunkRing;
using record::Recorder;
using record::testing::Event;
using record::testing::EventsIn;
using record::testing::Words;

std::vector<std::string> told;
std::vector<int64_t> costs;

class PushTest : public record::testing::CollectTest {
 protected:
  PushTest() {
    told.clear();
    costs.clear();
    hooks_.tell = [](const char* name, const char* version, const char* state, const char* why) {
      told.push_back(std::string(name) + "|" + version + "|" + state + "|" + why);
    };
    hooks_.probe_cost = [](uint32_t probe, const int64_t* figures) {
      costs = {int64_t{probe}};
      costs.insert(costs.end(), figures, figures + 5);
    };
    ring_ = Record(16);
  }

  // The table of a plugin, which stays.
  PushTable* NewTable(const char* name = "chip", const char* options = "") {
    static std::vector<std::unique_ptr<PushTable>> tables;
    return tables.emplace_back(std::make_unique<PushTable>(name, options, &hooks_)).get();
  }
  static const crosscut_host& HostOf(const PushTable* table) {
    return *reinterpret_cast<const crosscut_host*>(table->extension());
  }
  // What `push` writes on a thread of its own.
  template <class Push>
  std::vector<Event> Pushed(Push push) {
    std::thread(push).join();
    return EventsIn(*ring_);
  }
  // Events of the session stream with that code.
  std::vector<Words> Session(uint64_t code) const {
    std::vector<Words> out;
    for (const Event& event : EventsIn(*ring_, /*of_session=*/true)) {
      if (event.words[0] == code) out.push_back(event.words);
    }
    return out;
  }
  // "key=value" of the facts that were told.
  std::vector<std::string> Facts() const {
    std::vector<std::string> out;
    for (const Words& words : Session(format::kMeta)) {
      const auto* text = reinterpret_cast<const char*>(words.data() + 4);
      out.push_back(std::string(text, words[1]) + "=" +
                    std::string(text + (words[1] + 7) / 8 * 8, words[2]));
    }
    return out;
  }
  static std::string TextOf(uint64_t id) {
    const auto& name = Recorder::Get().stream().names().Get(static_cast<uint32_t>(id));
    return {name.text, name.bytes};
  }

  static Hooks hooks_;
  ChunkRing* ring_;
};
Hooks PushTest::hooks_ = {};

constexpr crosscut_track TrackOf(int64_t device, uint64_t queue, uint32_t clock = 0) {
  return {sizeof(crosscut_track), device, queue, clock, "Queue", "CHIP 9000"};
}

TEST_F(PushTest, EachPushIsAnEventWithItsWords) {
  PushTable* const table = NewTable();
  const crosscut_host& host = HostOf(table);
  table->Accept(true);
  const crosscut_track one = TrackOf(0, 1), two = TrackOf(0, 2);
  const uint32_t track = host.track(host.host, &one), other = host.track(host.host, &two);
  const uint32_t name = host.name(host.host, "kernel", SIZE_MAX, CROSSCUT_ON_DEVICE, 0);
  const uint32_t key = host.word(host.host, "grid of", 4);
  ASSERT_NE(track, 0);
  ASSERT_NE(other, track);
  EXPECT_EQ(TextOf(key), "grid");
  const std::vector<Event> got = Pushed([&] {
    host.span(host.host, track, name, -5, 6);
    host.arg(host.host, key, -7);
    host.arg_word(host.host, key, name);
    host.flow_in(host.host, 99);
    host.instant(host.host, other, name, 8);
    host.arg(host.host, key, 1);
    host.counter(host.host, track, name, 9, -10);
    host.lost(host.host, other, 11, 12, -13);
    // Under id 0 there is nothing.
    host.span(host.host, 0, name, 1, 2);
    host.span(host.host, track, 0, 1, 2);
    host.instant(host.host, track, 0, 1);
    host.counter(host.host, track, 0, 1, 2);
    host.flow_in(host.host, 0);
    host.begin(host.host, name);  // what follows belongs to it
    host.arg(host.host, key, 3);
    host.arg_word(host.host, key, key);
    host.flow_in(host.host, 98);
    const uint64_t flow = host.flow_out(host.host);
    EXPECT_NE(flow, 0);
    EXPECT_EQ(host.flow_out(host.host), flow + 1);
    host.end(host.host);
  });
  const auto minus = [](int64_t value) { return static_cast<uint64_t>(value); };
  std::vector<Words> want = {{0x18, track, name, minus(-5), 6},
                             {0x1b, track, key, minus(-7)},
                             {0x1c, track, key, name},
                             {0x1d, track, 99},
                             {0x19, other, name, 8},
                             {0x1b, other, key, 1},
                             {0x1a, track, name, 9, minus(-10)},
                             {0x1e, other, 11, 12, minus(-13)},
                             {name},
                             {0x06, key, 3},
                             {0x07, key, key},
                             {0x09, 98}};
  ASSERT_EQ(got.size(), want.size() + 3);
  for (size_t i = 0; i < want.size(); ++i) EXPECT_EQ(got[i].words, want[i]) << i << ": " << got[i];
  EXPECT_EQ(got[12].words[0], 0x08);
  EXPECT_EQ(got[13].words, (Words{0x08, got[12].words[1] + 1}));
  EXPECT_EQ(got[14].words, Words{0x01});
}

TEST_F(PushTest, OutsideOfStartAndStopNothingIsRecordedAndSpansStayPaired) {
  PushTable* const table = NewTable();
  const crosscut_host& host = HostOf(table);
  const crosscut_track one = TrackOf(0, 1);
  const uint32_t track = host.track(host.host, &one);
  const uint32_t name = host.name(host.host, "call", 4, CROSSCUT_ON_HOST_RUNTIME, 0);
  const std::vector<Event> got = Pushed([&] {
    host.span(host.host, track, name, 1, 2);
    host.lost(host.host, track, 1, 2, 3);
    EXPECT_EQ(host.flow_out(host.host), 0);
    host.begin(host.host, name);
    host.begin(host.host, name);
    table->Accept(true);
    host.begin(host.host, 0);
    host.end(host.host);
    host.end(host.host);
    host.end(host.host);  // of those that were not recorded
    host.begin(host.host, name);
    table->Accept(false);
    host.begin(host.host, name);
    host.end(host.host);
    host.end(host.host);  // of the one that was
  });
  ASSERT_EQ(got.size(), 2);
  EXPECT_EQ(got[0].words, Words{name});
  EXPECT_EQ(got[1].words, Words{0x01});
}

TEST_F(PushTest, WhileItIsCalibratedPushesCostAndAreKeptNowhere) {
  PushTable* const table = NewTable();
  const crosscut_host& host = HostOf(table);
  const crosscut_track one = TrackOf(0, 1);
  const uint32_t track = host.track(host.host, &one), name = host.word(host.host, "x", 1);
  const std::vector<Event> got = Pushed([&] {
    record::ThreadState* const scratch = record::EnterScratch();
    const uint64_t* const begin = scratch->position;
    host.span(host.host, track, name, 1, 2);
    EXPECT_EQ(scratch->position, begin);
    PushTable::Calibrate(true);
    host.span(host.host, track, name, 1, 2);
    EXPECT_EQ(scratch->position, begin + 5);
    PushTable::Calibrate(false);
    host.span(host.host, track, name, 1, 2);
    EXPECT_EQ(scratch->position, begin + 5);
    record::LeaveScratch(scratch);
  });
  EXPECT_TRUE(got.empty());
}

TEST_F(PushTest, TracksAreToldOnceWithTheDeviceOfTheirPlugin) {
  const crosscut_host &first = HostOf(NewTable("a")), &second = HostOf(NewTable("b"));
  std::vector<uint32_t> tracks;
  for (const int64_t device : {0, 3}) {
    for (const uint64_t queue : {7u, 8u}) {
      const crosscut_track track = TrackOf(device, queue, queue == 8 ? 42 : 0);
      tracks.push_back(first.track(first.host, &track));
      EXPECT_EQ(first.track(first.host, &track), tracks.back()) << "again";
    }
  }
  const crosscut_track other = TrackOf(0, 7);
  tracks.push_back(second.track(second.host, &other));
  crosscut_track small = other;
  small.struct_size = sizeof small - 1;
  EXPECT_EQ(first.track(first.host, &small), 0);
  EXPECT_EQ(first.track(first.host, nullptr), 0);
  const std::vector<Words> got = Session(format::kTrack);
  ASSERT_EQ(got.size(), 5);
  const uint64_t device = got[0][2];
  EXPECT_EQ(device % 1000, 0);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(got[i][1], tracks[i]);
    EXPECT_EQ(got[i][2], i == 4 ? device + 1000 : device + (i < 2 ? 0 : 3));
    EXPECT_EQ(got[i][3], i % 2 == 0 ? 7 : 8);
    EXPECT_EQ(got[i][4], i % 2 == 0 ? uint64_t{CROSSCUT_CLOCK_MONOTONIC} : 42);
    EXPECT_EQ(TextOf(got[i][5]), "Queue");
    EXPECT_EQ(TextOf(got[i][6]), "CHIP 9000");
  }
}

TEST_F(PushTest, OfTracksAndClocksThereAreSoManyAndNoMore) {
  const crosscut_host& host = HostOf(NewTable());
  for (uint64_t queue = 0; queue < PushTable::kMostTracks; ++queue) {
    const crosscut_track track = TrackOf(0, queue);
    ASSERT_NE(host.track(host.host, &track), 0) << queue;
  }
  crosscut_track more = TrackOf(0, PushTable::kMostTracks);
  EXPECT_EQ(host.track(host.host, &more), 0);
  more.queue = 5;
  EXPECT_NE(host.track(host.host, &more), 0) << "which is there";
  for (int clock = 0; clock < PushTable::kMostClocks; ++clock) {
    ASSERT_NE(host.clock(host.host, std::to_string(clock).c_str()), 0);
  }
  EXPECT_EQ(host.clock(host.host, "more"), 0);
  EXPECT_NE(host.clock(host.host, "3"), 0);
}

TEST_F(PushTest, ClocksAreToldWithTheirReadings) {
  PushTable* const table = NewTable();
  const crosscut_host& host = HostOf(table);
  EXPECT_EQ(host.clock(host.host, nullptr), 0);
  const uint32_t clock = host.clock(host.host, "counter"), other = host.clock(host.host, "other");
  EXPECT_EQ(host.clock(host.host, "counter"), clock);
  EXPECT_EQ(other, clock + 1);
  EXPECT_GE(clock, uint32_t{format::kFirstPluginClock});
  EXPECT_TRUE(Session(format::kAnchor).empty()) << "nothing was read";
  host.reading(host.host, clock, 100, -200, 3);
  host.reading(host.host, other + 1, 1, 2, 3);  // there is none
  const uint64_t device = static_cast<uint64_t>(-200);
  EXPECT_EQ(Session(format::kAnchor), (std::vector<Words>{{0x21, clock, device, 100, 3}}));
  const std::string names[] = {"clock:" + std::to_string(clock) + "=chip: counter",
                               "clock:" + std::to_string(other) + "=chip: other"};
  EXPECT_EQ(Facts(), (std::vector<std::string>{names[0], names[1]}));
  // All of it again, into the log of a process that begins one.
  const crosscut_track one = TrackOf(0, 1);
  const uint32_t track = host.track(host.host, &one);
  ring_ = Record(16);
  table->Republish();
  ASSERT_EQ(Session(format::kTrack).size(), 1);
  EXPECT_EQ(Session(format::kTrack)[0][1], track);
  EXPECT_EQ(Session(format::kAnchor), (std::vector<Words>{{0x21, clock, device, 100, 3}}));
  EXPECT_EQ(Facts(), (std::vector<std::string>{names[0], names[1]}));
}

TEST_F(PushTest, SettingsAreThePluginsOwnThenTheEnvironments) {
  setenv("CROSSCUT_PLUGIN_RATE", "from outside", 1);
  setenv("CROSSCUT_PLUGIN_A_B", "both", 1);
  setenv("CROSSCUT_PLUGIN_AB", "", 1);
  const crosscut_host& host = HostOf(NewTable("chip", "mode=x=y,rates=2,on"));
  for (const char* variable : {"RATE", "A_B", "AB"}) {
    unsetenv((std::string("CROSSCUT_PLUGIN_") + variable).c_str());  // it was copied
  }
  EXPECT_STREQ(host.option(host.host, "mode"), "x=y");
  EXPECT_STREQ(host.option(host.host, "rates"), "2");
  EXPECT_STREQ(host.option(host.host, "rate"), "from outside");
  EXPECT_STREQ(host.option(host.host, "a_b"), "both");
  EXPECT_STREQ(host.option(host.host, "ab"), "");
  for (const char* none : {"mod", "modes", "on", "r", "", "x"}) {
    EXPECT_EQ(host.option(host.host, none), nullptr) << none;
  }
  EXPECT_EQ(host.option(host.host, nullptr), nullptr);
  const crosscut_host& own = HostOf(NewTable("chip", "rate=own"));
  EXPECT_STREQ(own.option(own.host, "rate"), "own");
}

TEST_F(PushTest, WhatItTellsReachesItsRowAndItsCostsTheirProbe) {
  PushTable* const table = NewTable();
  const crosscut_host& host = HostOf(table);
  EXPECT_FALSE(table->told());
  host.tell(host.host, "1.2", "missing", "no driver");
  EXPECT_TRUE(table->told());
  EXPECT_EQ(told, std::vector<std::string>{"chip|1.2|missing|no driver"});
  const uint32_t probe = host.probe(host.host, "chip calls");
  host.probe_cost(host.host, probe, 1, 2, 3, 4, 5);
  EXPECT_EQ(costs, (std::vector<int64_t>{int64_t{probe}, 1, 2, 3, 4, 5}));
  const uint32_t name = host.name(host.host, "call", SIZE_MAX, CROSSCUT_ON_HOST_RUNTIME, probe);
  const format::NameAttributes got = Recorder::Get().stream().KindOf(name);
  EXPECT_EQ(got.kind, format::kKindSpan);
  EXPECT_EQ(got.layer, format::kLayerRuntime);
  EXPECT_EQ(got.probe, probe);
  EXPECT_EQ(Recorder::Get().stream().KindOf(probe).kind, format::kKindText);
  EXPECT_EQ(host.name(host.host, nullptr, 3, CROSSCUT_ON_DEVICE, 0), 0);
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  const int64_t before = int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
  const int64_t now = host.now_ns(host.host);
  clock_gettime(CLOCK_MONOTONIC, &t);
  EXPECT_GE(now, before);
  EXPECT_LE(now, int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec);
}

TEST_F(PushTest, OfCallbacksThoseCountThatThePluginKnows) {
  PushTable* const table = NewTable();
  const crosscut_host& host = HostOf(table);
  EXPECT_EQ(host.head.kind, uint32_t{CROSSCUT_EXTENSION_HOST});
  EXPECT_EQ(host.head.version, 1);
  EXPECT_EQ(host.head.magic, CROSSCUT_EXTENSION_MAGIC);
  EXPECT_EQ(host.head.struct_size, sizeof(crosscut_host));
  EXPECT_EQ(host.head.next, nullptr);
  EXPECT_EQ(table->callbacks()->flush, nullptr);
  host.set_callbacks(host.host, nullptr);
  EXPECT_EQ(table->callbacks()->flush, nullptr);
  crosscut_plugin_callbacks all = {
      sizeof all,   this,
      [](void*) {}, [](void*, uint32_t) {},
      [](void*) {}, [](void*, const char*, crosscut_profilers, uint64_t) {}};
  host.set_callbacks(host.host, &all);
  const crosscut_plugin_callbacks* const first = table->callbacks();
  EXPECT_EQ(first->self, this);
  EXPECT_EQ(first->flush, all.flush);
  EXPECT_EQ(first->other_profiler, all.other_profiler);
  all.struct_size = offsetof(crosscut_plugin_callbacks, calibrate);
  host.set_callbacks(host.host, &all);
  EXPECT_EQ(table->callbacks()->set_level, all.set_level);
  EXPECT_EQ(table->callbacks()->calibrate, nullptr) << "an older plugin has none";
  EXPECT_EQ(table->callbacks()->other_profiler, nullptr);
  EXPECT_EQ(first->calibrate, all.calibrate) << "who reads those has them whole";
  all.struct_size = sizeof all + 64;  // a newer one has more
  host.set_callbacks(host.host, &all);
  EXPECT_EQ(table->callbacks()->other_profiler, all.other_profiler);
}

}  // namespace
}  // namespace crosscut::host
