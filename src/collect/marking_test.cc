// What each marking function writes, word by word, as docs/format.md has it.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "crosscut/crosscut.h"
#include "src/collect/test_ring.h"

namespace crosscut::record {
namespace {

using testing::CollectTest;
using testing::Event;
using testing::EventsIn;
using testing::Words;

constexpr uint32_t kName = 0x123, kWide = 70'000, kOther = 71'000;
constexpr uint64_t kFirstTick = 1000;

uint64_t clock_tick;
uint64_t Rising() { return clock_tick += 10; }

class MarkingTest : public CollectTest {
 protected:
  MarkingTest() {
    clock_tick = kFirstTick;
    ClockInjectForTest(&Rising);
  }
  // What `mark` writes on a thread of its own, and the tick of the clock's last reading.
  template <class Mark>
  std::vector<Event> Marked(Mark mark) {
    ChunkRing* ring = Record(16);
    std::thread(mark).join();
    return EventsIn(*ring);
  }
};

TEST_F(MarkingTest, EachFunctionWritesItsCodeAndItsWords) {
  const uint32_t unnamed = Recorder::Get().stream().unnamed();
  const auto minus = [](int64_t value) { return static_cast<uint64_t>(value); };
  int there = 0;
  const auto address = reinterpret_cast<uintptr_t>(&there);
  const crosscut_memory change = {1, 2, 0xabc, -64, 1 << 20, 2 << 20};
  const crosscut_memory asked = {1, -1, 0, 4096, 1 << 10, 2 << 10};
  struct Case {
    void (*mark)(const void* of);
    const void* of;
    Words want;
  };
  const std::vector<Case> cases = {
      {[](const void*) { crosscut_begin(kName); }, nullptr, {kName}},
      {[](const void*) { crosscut_begin(0xffff); }, nullptr, {0xffff}},
      {[](const void*) { crosscut_begin(0x10000); }, nullptr, {0x02, 0x10000}},
      {[](const void*) { crosscut_begin(0x100); }, nullptr, {0x100}},
      {[](const void*) { crosscut_begin(0xff); }, nullptr, {unnamed}},
      {[](const void*) { crosscut_end(); }, nullptr, {0x01}},
      {[](const void*) { crosscut_end_named(kWide); }, nullptr, {0x03, kWide}},
      {[](const void*) { crosscut_end_named(7); }, nullptr, {0x03, unnamed}},
      {[](const void*) { crosscut_instant(kName); }, nullptr, {0x04, kName}},
      {[](const void*) { crosscut_counter(kName, -5); }, nullptr, {0x05, kName, minus(-5)}},
      {[](const void*) { crosscut_arg(kName, -6); }, nullptr, {0x06, kName, minus(-6)}},
      {[](const void*) { crosscut_arg_name(kName, kWide); }, nullptr, {0x07, kName, kWide}},
      {[](const void*) { crosscut_flow_out(9); }, nullptr, {0x08, 9}},
      {[](const void*) { crosscut_flow_in(9); }, nullptr, {0x09, 9}},
      {[](const void*) { crosscut_span_at(kWide, 3, 4); }, nullptr, {0x0a, kWide, 3, 4}},
      {[](const void* at) { crosscut_allocated(at, 77); }, &there, {0x0d, address, 77}},
      {[](const void* at) { crosscut_freed(at); }, &there, {0x0e, address}},
      {[](const void* at) { crosscut_freed_at(at, 5); }, &there, {0x0f, address, 5}},
      {[](const void* at) { crosscut_memory_changed(static_cast<const crosscut_memory*>(at)); },
       &change,
       {0x16, uint64_t{1} << 32 | 2, 0xabc, minus(-64), 1 << 20, 2 << 20}},
      {[](const void* at) { crosscut_out_of_memory(static_cast<const crosscut_memory*>(at)); },
       &asked,
       {0x17, uint64_t{1} << 32 | 0xffffffff, 4096, 1 << 10, 2 << 10}},
      {[](const void*) { crosscut_running(kWide, 3, 0); },
       nullptr,
       {0x1f, kWide | uint64_t{3} << 32}},
      {[](const void*) { crosscut_running(kName, 0xffffffff, 1); },
       nullptr,
       {0x1f, kName | uint64_t{0xffffffff} << 32}},
      {[](const void*) { crosscut_base(CROSSCUT_PYTHON); }, nullptr, {0x12, 1}},
  };
  const std::vector<Event> got = Marked([&] {
    for (const Case& one : cases) one.mark(one.of);
    crosscut_base(CROSSCUT_LAYER_NONE);
  });
  ASSERT_EQ(got.size(), cases.size() + 1);
  for (size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(got[i].words, cases[i].want) << i << ": " << got[i];
    EXPECT_GT(got[i].tick, i == 0 ? kFirstTick : got[i - 1].tick) << "a reading of its own";
  }
}

TEST_F(MarkingTest, WhatIsToldWithATickHasIt) {
  uint64_t lost = 0;
  const std::vector<Event> got = Marked([&lost] {
    crosscut_instant(kName);  // the ticks that follow lie behind this one
    crosscut_begin_at(kName, 5000);
    crosscut_begin_at(kWide, 5000);
    crosscut_begin_at(7, 5001);
    crosscut_end_named_at(kWide, 5001);
    crosscut_end_named_at(7, 5002);
    crosscut_go_on_at(kOther, 5003, 4711, 2);
    crosscut_value_lost();
    lost = clock_tick;
  });
  const uint32_t unnamed = Recorder::Get().stream().unnamed();
  ASSERT_EQ(got.size(), 9);
  EXPECT_EQ(got[1], (Event{5000, {kName}}));
  EXPECT_EQ(got[2], (Event{5000, {0x02, kWide}}));
  EXPECT_EQ(got[3], (Event{5001, {unnamed}}));
  EXPECT_EQ(got[4], (Event{5001, {0x03, kWide}}));
  EXPECT_EQ(got[5], (Event{5002, {0x03, unnamed}}));
  EXPECT_EQ(got[6], (Event{5003, {0x02, kOther}}));
  EXPECT_EQ(got[7], (Event{5003, {0x2a, 4711, 2}}));
  EXPECT_EQ(got[8].words, (Words{0x15, format::kDropValue, 1, lost - 10, lost - 10}));
}

TEST_F(MarkingTest, AnAsynchronousEndIsAnInstantWithItsNumberInControlStepsToo) {
  ChunkRing* ring = Record(16);
  std::thread([] {
    crosscut_begin(kName);
    Recorder::Get().SetPhase(Phase::kControl, ClockNow());
    crosscut_async_end(kWide, -42);
    crosscut_instant(kName);  // which is not recorded
  }).join();
  const std::vector<Event> got = EventsIn(*ring);
  ASSERT_EQ(got.size(), 3);
  EXPECT_EQ(got[1].words, (Words{0x04, kWide}));
  ASSERT_EQ(got[2].words.size(), 3);
  EXPECT_EQ(got[2].tick, got[1].tick);
  EXPECT_EQ(got[2].words[0], 0x06);
  EXPECT_EQ(got[2].words[2], static_cast<uint64_t>(-42));
  const NameEntry& key =
      Recorder::Get().stream().names().Get(static_cast<uint32_t>(got[2].words[1]));
  EXPECT_EQ(std::string(key.text, key.bytes), "async end");
  EXPECT_EQ(key.attributes & 0xff, format::kKindText);
}

uint32_t Key(const char* text) {
  return Recorder::Get().stream().Intern(text, format::NameAttributes{format::kKindText}.Pack());
}

// Where the clock is a function's, nothing is marked inline.
TEST_F(MarkingTest, ARequestIsInstantsWithItsNumberAndWhatItRan) {
  const uint32_t unnamed = Recorder::Get().stream().unnamed();
  for (const bool may_be_inline : {false, true}) {
    if (may_be_inline) ClockInjectForTest(nullptr);
    int64_t one = 0, other = 0;
    const std::vector<Event> got = Marked([&] {
      one = crosscut_request_begin(kName);
      other = crosscut_request_begin(7);
      crosscut_request_end(kWide, one, 1234);
      crosscut_request_end(kOther, other, 0);
      crosscut_request_end(kWide, other, -1);
      crosscut_request_end(kWide, 0, 5);  // of none
    });
    EXPECT_GT(one, int64_t{1} << 62);
    EXPECT_EQ(other, one + 1);
    const uint64_t async = Key("async"), end = Key("async end"), ran = Key("running_ns");
    const auto first = static_cast<uint64_t>(one), second = static_cast<uint64_t>(other);
    const std::vector<std::vector<Words>> want = {
        {{0x04, kName}, {0x06, async, first}},
        {{0x04, unnamed}, {0x06, async, second}},
        {{0x04, kWide}, {0x06, end, first}, {0x06, ran, 1234}},
        {{0x04, kOther}, {0x06, end, second}, {0x06, ran, 0}},
        {{0x04, kWide}, {0x06, end, second}}};
    size_t at = 0;
    for (const std::vector<Words>& words : want) {
      const size_t begin = at;
      for (const Words& event : words) {
        ASSERT_LT(at, got.size());
        EXPECT_EQ(got[at].words, event) << at << ": " << got[at];
        EXPECT_EQ(got[at++].tick, got[begin].tick);
      }
      EXPECT_TRUE(begin == 0 || got[begin].tick > got[begin - 1].tick);
    }
    EXPECT_EQ(at, got.size());
  }
}

TEST_F(MarkingTest, ARequestIsMarkedInControlStepsAndNotInPauses) {
  int64_t control = 0, paused = 1, off = 1;
  ChunkRing* ring = Record(16);
  std::thread([&] {
    crosscut_instant(kName);
    Recorder::Get().SetPhase(Phase::kControl, ClockNow());
    control = crosscut_request_begin(kName);
    Recorder::Get().SetPhase(Phase::kPaused, ClockNow());
    paused = crosscut_request_begin(kName);
    Recorder::Get().SetPhase(Phase::kOff, ClockNow());
    off = crosscut_request_begin(kName);
  }).join();
  EXPECT_NE(control, 0);
  EXPECT_EQ(paused, 0);
  EXPECT_EQ(off, 0);
  const std::vector<Event> got = EventsIn(*ring);
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(got[1].words, (Words{0x04, kName}));
  EXPECT_EQ(got[2].words, (Words{0x06, Key("async"), static_cast<uint64_t>(control)}));
}

TEST_F(MarkingTest, IdsOfFlowsAreNotGivenTwice) {
  const uint64_t first = crosscut_flow_id();
  EXPECT_EQ(crosscut_flow_id(), first + 1);
  EXPECT_EQ(crosscut_flow_id(), first + 2);
}

TEST_F(MarkingTest, AThreadTellsWhoItIsBeforeItsFirstEvent) {
  ChunkRing* ring = NewRing(16);
  ASSERT_TRUE(Recorder::Get().BeginSession(ring, 4 << 20));
  Recorder::Get().SetPhase(Phase::kOn, ClockNow());
  pid_t os_id = 0;
  uint32_t track = 0;
  std::thread([&] {
    Recorder::Get().MarkOurs();
    crosscut_base(CROSSCUT_DATA);
    crosscut_begin(kName);
    os_id = gettid();
    track = Recorder::Get().TrackOfThisThread();
    EXPECT_EQ(Recorder::OsIdOfThisThread(), os_id);
  }).join();
  const uint64_t* chunk = nullptr;
  for (uint32_t i = 0; i < ring->prepared() && chunk == nullptr; ++i) {
    if (ring->chunk(i)[format::kChunkTrack] == track) chunk = ring->chunk(i);
  }
  ASSERT_NE(chunk, nullptr);
  const uint64_t* at = chunk + format::kRingChunkHeaderWords;
  EXPECT_EQ(at[0] & 0xffff, 0x10);
  EXPECT_EQ(at[1], track);
  EXPECT_EQ(at[2], static_cast<uint64_t>(os_id));
  EXPECT_EQ(at[3], 5 | format::kThreadIsOurs) << "no main thread, not seen before";
  EXPECT_EQ(at[4], at[0] >> 16);
  EXPECT_EQ(at[5] & 0xffff, kName);
  EXPECT_EQ(at[6] & 0xffff, 0x11) << "it has ended";
  EXPECT_EQ(at[7], 0);
}

}  // namespace
}  // namespace crosscut::record
