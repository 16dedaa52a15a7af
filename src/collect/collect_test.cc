// Ring, recorder, clock and names without a session: a ring of their own, no drain but one that the
// test starts.
#include <errno.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "crosscut/crosscut.h"
#include "src/base/process.h"
#include "src/base/testing/emulator.h"
#include "src/collect/clock.h"
#include "src/collect/recorder.h"
#include "src/collect/test_ring.h"

namespace crosscut::record {
namespace {

using testing::CollectTest;
using testing::SlotCounts;

constexpr uint32_t kName = format::kFirstNameCode;
constexpr size_t kWordsInChunk = format::kRingChunkWords - format::kRingChunkHeaderWords;

struct Found {
  uint64_t events = 0, dropped = 0;
  int64_t depth = 0;
  std::vector<uint64_t> ticks;  // of begins and ends
  std::vector<uint64_t> begun;  // their names
};

// What stands in the ring, by track.
std::map<uint32_t, Found> Read(const ChunkRing& ring) {
  std::map<uint32_t, Found> found;
  std::map<uint64_t, const uint64_t*> fills;
  for (uint32_t i = 0; i < ring.prepared(); ++i) {
    const uint64_t* chunk = ring.chunk(i);
    const uint64_t state = format::RingLoad(chunk[format::kChunkState]);
    if (format::ChunkState(state) >= format::kChunkActive) fills[format::ChunkFill(state)] = chunk;
  }
  for (const auto& [fill, chunk] : fills) {
    auto track = static_cast<uint32_t>(chunk[format::kChunkTrack]);
    format::TickReader ticks(chunk[format::kChunkBaseTick]);
    const size_t end = format::PublishedEnd(chunk);
    for (size_t at = format::kRingChunkHeaderWords; at < end;) {
      const auto code = static_cast<uint16_t>(chunk[at] & format::kCodeMask);
      const uint64_t tick = ticks.Next(chunk[at]);
      if (code == format::kThread) track = static_cast<uint32_t>(chunk[at + 1]);
      Found& own = found[track];
      if (code == format::kDrop) own.dropped += chunk[at + 2];
      const bool begins = code >= format::kFirstNameCode;
      if (begins || code == format::kEnd) {
        ++own.events;
        own.depth += begins ? 1 : -1;
        own.ticks.push_back(tick);
        if (begins) own.begun.push_back(code);
      }
      at += format::EventLength({chunk, end}, at);
    }
  }
  return found;
}

using ChunkRingTest = CollectTest;

TEST_F(ChunkRingTest, EveryChunkCanBeClaimedThoughFewWerePreparedAndNobodyDrains) {
  ChunkRing* ring = NewRing(40);
  EXPECT_EQ(ring->prepared(), ChunkRing::kFirstPrepared);
  std::set<uint64_t*> claimed;
  errno = 4711;
  while (uint64_t* chunk = ring->Claim(1, 1, false)) EXPECT_TRUE(claimed.insert(chunk).second);
  EXPECT_EQ(errno, 4711);
  EXPECT_EQ(claimed.size(), 40u - ChunkRing::kReservedForSession);
  EXPECT_TRUE(ring->exhausted());
  EXPECT_NE(ring->Claim(0, 1, true), nullptr);
  EXPECT_NE(ring->Claim(0, 1, true), nullptr);
  EXPECT_EQ(ring->Claim(0, 1, true), nullptr);
}

TEST_F(ChunkRingTest, ThreadsThatClaimAtOnceGetDifferentChunksAndFills) {
  constexpr uint64_t kChunks = 200;
  ChunkRing* ring = NewRing(kChunks);
  std::vector<std::vector<uint64_t*>> got(4);
  std::vector<std::thread> threads;
  for (auto& mine : got) {
    threads.emplace_back([&mine, ring] {
      while (uint64_t* chunk = ring->Claim(1, 1, false)) mine.push_back(chunk);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<uint64_t*> chunks;
  std::set<uint64_t> fills;
  size_t total = 0;
  for (const auto& mine : got) {
    total += mine.size();
    for (uint64_t* chunk : mine) {
      chunks.insert(chunk);
      fills.insert(format::ChunkFill(chunk[format::kChunkState]));
    }
  }
  EXPECT_EQ(total, chunks.size());
  EXPECT_EQ(total, fills.size());
  EXPECT_LE(total, kChunks - ChunkRing::kReservedForSession);
  EXPECT_GE(total, kChunks - ChunkRing::kReservedForSession - threads.size());
}

TEST_F(ChunkRingTest, FullChunksComeBackCleanInTheOrderTheyWerePushed) {
  ChunkRing* ring = NewRing(12);
  std::vector<uint64_t*> pushed;
  for (int i = 0; i < 5; ++i) {
    uint64_t* chunk = ring->Claim(3, 7, false);
    format::RingStore<uint64_t>(chunk[format::kRingChunkHeaderWords], 1);
    format::RingStore<uint64_t>(chunk[format::kRingChunkWords - 1], 1);
    pushed.push_back(chunk);
    ring->PushFull(chunk);
  }
  uint32_t indices[12];
  ASSERT_EQ(ring->TakeFull(indices), 5u);
  EXPECT_EQ(ring->TakeFull(indices + 5), 0u);
  const uint32_t clean = ring->clean();
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(ring->chunk(indices[i]), pushed[i]);
    ring->Recycle(indices[i]);
    EXPECT_EQ(format::PublishedEnd(pushed[i]), size_t{format::kRingChunkHeaderWords});
    EXPECT_EQ(pushed[i][format::kRingChunkWords - 1], 0u);
  }
  EXPECT_EQ(ring->clean(), clean + 5);
}

TEST_F(ChunkRingTest, AChunkIsPushedOnceAndNoStrangersIs) {
  ChunkRing* ring = NewRing(12);
  uint64_t* chunk = ring->Claim(3, 7, false);
  uint64_t stranger = 0;
  ring->PushFull(&stranger);
  for (int i = 0; i < 2; ++i) ring->PushFull(chunk);
  uint32_t indices[12];
  ASSERT_EQ(ring->TakeFull(indices), 1u);
  EXPECT_EQ(ring->chunk(indices[0]), chunk);
}

// A chunk of one event, full.
uint64_t* PushOne(ChunkRing* ring, uint32_t track) {
  uint64_t* chunk = ring->Claim(track, 7, false);
  if (chunk == nullptr) return nullptr;
  format::RingStore<uint64_t>(chunk[format::kRingChunkHeaderWords], 7 << 16 | kName);
  ring->PushFull(chunk);
  return chunk;
}

TEST_F(ChunkRingTest, AFlightRecorderClaimsItsOldestFullChunkWhereNoneIsClean) {
  ChunkRing* ring = NewRing(12);
  ring->KeepNewest();
  constexpr int kRoom = 12 - static_cast<int>(ChunkRing::kReservedForSession);
  std::vector<uint64_t*> pushed;
  for (int i = 0; i < 3 * kRoom; ++i) {
    pushed.push_back(PushOne(ring, 3));
    ASSERT_NE(pushed.back(), nullptr);
    if (i >= kRoom) {
      EXPECT_EQ(pushed[i], pushed[i - kRoom]);
    }
  }
  EXPECT_EQ(SlotCounts(*ring), 2u * kRoom);
  for (int i = 2 * kRoom; i < 3 * kRoom; ++i) {
    EXPECT_EQ(ring->chunk(ring->TakeOldest()), pushed[i]);
  }
  EXPECT_EQ(ring->TakeOldest(), ChunkRing::kNone);
  EXPECT_EQ(ring->Claim(3, 7, false), nullptr) << "taken ones are still somebody's";
}

TEST_F(ChunkRingTest, AFlightRecordersSessionChunksAndHeldOnesAreNotTaken) {
  ChunkRing* ring = NewRing(12);
  ring->KeepNewest();
  uint64_t* session = ring->Claim(0, 7, true);
  uint64_t* held = ring->Claim(3, 7, false);
  ring->Hold(held);
  ring->PushFull(session);
  ring->PushFull(held);
  uint64_t* other = PushOne(ring, 3);
  EXPECT_EQ(ring->chunk(ring->TakeOldest()), other);
  EXPECT_EQ(ring->TakeOldest(), ChunkRing::kNone);
  ring->Release(held);
  EXPECT_EQ(ring->chunk(ring->TakeOldest()), held);
  uint32_t indices[12];
  ASSERT_EQ(ring->TakeFull(indices), 1u);
  EXPECT_EQ(ring->chunk(indices[0]), session);
}

TEST_F(ChunkRingTest, AThreadThatFindsFewChunksLeftCallsTheDrainOncePerPass) {
  ChunkRing* ring = NewRing(40);
  std::atomic<uint32_t> wake{0};
  ring->SetDrain(&wake);
  while (ring->Claim(1, 1, false) != nullptr) {
  }
  EXPECT_EQ(wake.load(), 1u);
  ring->AnswerCall();
  EXPECT_EQ(ring->Claim(1, 1, false), nullptr);
  EXPECT_EQ(wake.load(), 2u);
}

using RecorderTest = CollectTest;

TEST_F(RecorderTest, ThreadsBeyondTheRing_KeptAndDroppedMakeUpWhatWasMarked) {
  ChunkRing* ring = Record(16);
  constexpr int kSpans = 40'000;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < kSpans; ++i) {
        crosscut_begin(kName);
        crosscut_end();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  uint64_t events = 0;
  for (const auto& [track, found] : Read(*ring)) {
    if (track == 0) continue;
    events += found.events;
    EXPECT_LE(found.dropped, 2u * kSpans);
  }
  EXPECT_EQ(events + SlotCounts(*ring), 4u * 2 * kSpans);
  EXPECT_GT(events, 13 * kWordsInChunk);
}

// Threads overwrite each other's chunks while another reads what is being written, as a drain does.
TEST_F(RecorderTest, AFlightRecorderWithoutADrain_KeepsTheNewestAndCountsTheRest) {
  ChunkRing* ring = NewRing(24);
  ring->KeepNewest();
  ASSERT_TRUE(Recorder::Get().BeginSession(ring, 4 << 20));
  Recorder::Get().SetPhase(Phase::kOn, ClockNow());
  std::atomic<bool> enough{false};
  std::atomic<uint64_t> marked{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&enough, &marked] {
      uint64_t spans = 0;
      for (; spans < 40'000 || !enough.load(std::memory_order_relaxed); ++spans) {
        crosscut_begin(kName);
        crosscut_end();
      }
      marked += 2 * spans;
    });
  }
  for (int looks = 0; looks < 500;) {
    Recorder::Get().ForEachOpenChunk([&](uint64_t* chunk) {
      ring->Hold(chunk);
      const uint64_t state = format::RingLoad(chunk[format::kChunkState]);
      if (format::ChunkState(state) == format::kChunkActive) {
        const size_t end = format::PublishedEnd(chunk);
        EXPECT_GE(format::PublishedEnd(chunk), end) << "it was cleared";
        ++looks;
      }
      ring->Release(chunk);
    });
    if (looks % 8 != 0 || ring->clean() > 4) continue;
    const uint32_t oldest = ring->TakeOldest();
    if (oldest != ChunkRing::kNone) ring->Overwrite(oldest);
  }
  enough.store(true);
  for (std::thread& thread : threads) thread.join();
  uint64_t events = 0;
  for (const auto& [track, found] : Read(*ring)) {
    if (track == 0) continue;
    events += found.events;
    EXPECT_TRUE(std::is_sorted(found.ticks.begin(), found.ticks.end()));
    EXPECT_EQ(found.dropped, 0u) << "for want of a chunk";
  }
  EXPECT_EQ(events + SlotCounts(*ring), marked.load());
  EXPECT_GT(events, 8 * kWordsInChunk);
}

TEST_F(ChunkRingTest, LossesOfAnySlotCount) {
  ChunkRing* ring = NewRing(4);
  EXPECT_FALSE(ring->HasLosses());
  format::RingDropSlot* first = ring->DropSlotFor(7, format::kDropFull, 1);
  format::RingDropSlot* second = ring->DropSlotFor(8, format::kDropFull, 1);
  ASSERT_NE(first, second);
  format::RingStore<uint64_t>(second->count, 3);
  format::RingStore<uint64_t>(first->track, 0);  // its thread has told and ended
  EXPECT_TRUE(ring->HasLosses());
}

TEST_F(RecorderTest, SpansOverAHiddenPhase_StayBalanced) {
  ChunkRing* ring = Record(16);
  std::thread([] {
    crosscut_begin(kName);
    Recorder::Get().SetPhase(Phase::kControl, ClockNow());
    for (int i = 0; i < 10; ++i) {
      crosscut_begin(kName);
      crosscut_end();
    }
    crosscut_end();
    crosscut_begin(kName);
    Recorder::Get().SetPhase(Phase::kOn, ClockNow());
    crosscut_begin(kName);
    crosscut_end();
    crosscut_end();
  }).join();
  const auto tracks = Read(*ring);
  ASSERT_EQ(tracks.size(), 1u);
  const Found& found = tracks.begin()->second;
  EXPECT_EQ(found.events, 6u);
  EXPECT_EQ(found.depth, 0);
}

TEST_F(RecorderTest, AThreadWhoseFirstEventsAreHidden_RemembersThem) {
  ChunkRing* ring = Record(16);
  Recorder::Get().SetPhase(Phase::kControl, ClockNow());
  std::thread([] {
    crosscut_begin(kName);
    crosscut_begin(kName);
    Recorder::Get().SetPhase(Phase::kOn, ClockNow());
    crosscut_end();
    crosscut_end();
  }).join();
  const auto tracks = Read(*ring);
  ASSERT_EQ(tracks.size(), 1u);
  EXPECT_EQ(tracks.begin()->second.events, 4u);
  EXPECT_EQ(tracks.begin()->second.depth, 0);
}

TEST_F(RecorderTest, WhatBeganHidden_GoesOnWhereItWasOnFirstThoughTheThreadMarkedNothing) {
  ChunkRing* ring = Record(16);
  std::vector<uint64_t> on;
  const auto switch_on = [&] {
    on.push_back(ClockNow());
    Recorder::Get().SetPhase(Phase::kOn, on.back());
  };
  std::thread([&] {
    crosscut_instant(kName);
    Recorder::Get().SetPhase(Phase::kControl, ClockNow());
    crosscut_begin(kName);
    switch_on();
    Recorder::Get().SetPhase(Phase::kControl, ClockNow());
    switch_on();
    Recorder::Get().SetPhase(Phase::kControl, ClockNow());
    crosscut_begin(kName);
    switch_on();
    Recorder::Get().SetPhase(Phase::kControl, ClockNow());
    switch_on();
    crosscut_end();
    crosscut_end();
  }).join();
  const auto tracks = Read(*ring);
  const Found& found = tracks.begin()->second;
  EXPECT_EQ(found.depth, 0);
  const auto spans_ticks = std::vector(found.ticks.end() - 4, found.ticks.end());
  EXPECT_EQ(spans_ticks[0], on[0]);
  EXPECT_EQ(spans_ticks[1], on[2]);
}

TEST_F(RecorderTest, InAHiddenPhase_EndsMeetTheSpansThatTheyWouldMeetOtherwise) {
  const auto name = [](const char* text, format::NameAttributes attributes) {
    return Recorder::Get().stream().Intern(text, attributes.Pack());
  };
  const uint32_t operation = name("op", {format::kKindOperation});
  const uint32_t probe = name("probe", {format::kKindText});
  const uint32_t source = name("src", {format::kKindSpan, format::kLayerNative, 0, probe});
  const uint32_t user = name("usr", {format::kKindSpan, format::kLayerNative});
  const uint32_t scope =
      name("scope", {format::kKindSpan, format::kLayerNone, format::kFlagCrosses, probe});
  ChunkRing* ring = Record(16);
  std::vector<int64_t> depths;
  const auto hidden = [&](auto events) {
    std::thread([&] {
      crosscut_begin(user);
      Recorder::Get().SetPhase(Phase::kControl, ClockNow());
      events();
      Recorder::Get().SetPhase(Phase::kOn, ClockNow());
      crosscut_instant(user);  // writes what is still open
    }).join();
    depths.push_back(std::prev(Read(*ring).end())->second.depth);
  };
  hidden([&] {  // a plain end passes the operation by and ends the span begun before
    crosscut_begin(operation);
    crosscut_end();
  });
  hidden([&] {  // a source's span goes on when the operation below it ends, a user's does not
    crosscut_begin(operation);
    crosscut_begin(source);
    crosscut_begin(user);
    crosscut_end_named(operation);
  });
  hidden([&] {  // an operation goes on when the span below it ends
    crosscut_begin(source);
    crosscut_begin(operation);
    crosscut_end_named(source);
  });
  hidden([&] {  // a plain end passes by what crosses, too, and that ends alone
    crosscut_begin(source);
    crosscut_begin(scope);
    crosscut_end();
    crosscut_begin(source);
    crosscut_end_named(scope);
  });
  EXPECT_EQ(depths, (std::vector<int64_t>{1, 2, 2, 2}));
}

TEST_F(RecorderTest, SpansBegunHidden_HaveTheirNamesAsFarAsTheseAreKept) {
  ChunkRing* ring = Record(16);
  const uint32_t user = Recorder::Get().stream().Intern(
      "usr", format::NameAttributes{format::kKindSpan, format::kLayerNative}.Pack());
  for (const uint32_t count : {1u, kHiddenNames, kHiddenNames + 1, 3 * kHiddenNames}) {
    std::thread([&] {
      Recorder::Get().SetPhase(Phase::kControl, ClockNow());
      for (uint32_t i = 0; i < count; ++i) crosscut_begin(user);
      Recorder::Get().SetPhase(Phase::kOn, ClockNow());
      crosscut_instant(user);  // writes what is still open
    }).join();
    std::vector<uint64_t> names(count, Recorder::Get().stream().unnamed());
    std::fill_n(names.begin(), std::min(count, kHiddenNames), user);
    EXPECT_EQ(std::prev(Read(*ring).end())->second.begun, names) << count;
  }
}

TEST_F(RecorderTest, EdgesOfOneInstant_HaveItsTickAcrossTheEndsOfChunks) {
  ChunkRing* ring = Record(16);
  std::vector<uint64_t> begun;
  std::thread([&] {
    for (uint32_t i = 0; begun.size() < 2 * kWordsInChunk; ++i) {
      const uint64_t tick = crosscut_now();
      const uint32_t edges = 1 + i % 7;
      for (uint32_t k = 0; k < edges; ++k) crosscut_begin_at(kName, tick);
      for (uint32_t k = 0; k < edges; ++k) crosscut_end_named_at(kName, tick);
      begun.insert(begun.end(), edges, tick);
    }
  }).join();
  const std::map<uint32_t, Found> found = Read(*ring);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.begin()->second.ticks, begun);  // of ends by name Read() keeps none
  EXPECT_EQ(found.begin()->second.dropped, 0u);
}

TEST_F(RecorderTest, WithNoSession_NothingIsWritten) {
  ChunkRing* ring = Record(16);
  Recorder::Get().SetPhase(Phase::kOff, ClockNow());
  std::thread([] {
    EXPECT_FALSE(crosscut_recording());
    crosscut_begin(kName);
    crosscut_end();
  }).join();
  EXPECT_TRUE(Read(*ring).empty());
}

TEST_F(RecorderTest, AForkedChild_IsOffWithNoHandlerAtAll) {
  if (base::UnderEmulator()) GTEST_SKIP() << "qemu takes MADV_WIPEONFORK and does nothing";
  Record(16);
  crosscut_begin(kName);
  EXPECT_TRUE(crosscut_recording());
  const pid_t child = fork();
  if (child == 0) _exit(crosscut_recording() ? 1 : 0);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  crosscut_end();
}

uint64_t scripted_tick;
int64_t scripted_step;
uint64_t Scripted() { return scripted_tick += static_cast<uint64_t>(scripted_step); }

TEST_F(RecorderTest, AClockThatStepsBack_IsRecordedAsItWasReadAndNeverAsAWrap) {
  scripted_tick = (uint64_t{1} << 48) - 500;  // the stored bits wrap on the way
  scripted_step = 10;
  ClockInjectForTest(&Scripted);
  EXPECT_FALSE(ClockIsInline());
  ChunkRing* ring = Record(16);
  std::vector<uint64_t> read;
  std::thread([&read] {
    for (int i = 0; i < 300; ++i) {
      scripted_step = i % 50 == 49 ? -1000 : 10;
      crosscut_begin(kName);
      read.push_back(scripted_tick);
      scripted_step = 10;
      crosscut_end();
      read.push_back(scripted_tick);
    }
  }).join();
  const auto tracks = Read(*ring);
  ASSERT_EQ(tracks.size(), 1u);
  EXPECT_EQ(tracks.begin()->second.ticks, read);
}

// After it a stamp's 48 bits could as well be those of a small step back.
constexpr uint64_t kSilence = (uint64_t{1} << 48) - (uint64_t{1} << 40);

TEST_F(RecorderTest, ASilenceOfDaysBetweenSessions_IsNotTakenForAStepBack) {
  scripted_tick = 1000;
  scripted_step = 10;
  ClockInjectForTest(&Scripted);
  ChunkRing* ring = NewRing(16);
  std::vector<uint64_t> read, starts;
  std::thread([&] {
    for (int session = 0; session < 3; ++session) {
      ASSERT_TRUE(Recorder::Get().BeginSession(ring, 4 << 20));
      const uint64_t tick = ClockNow();
      starts.push_back(tick);
      (void)Recorder::Get().stream().Write(tick, format::kStart, &tick, 1);
      Recorder::Get().SetPhase(Phase::kOn, ClockNow());
      for (int i = 0; i < 5; ++i) {
        crosscut_begin(kName);
        read.push_back(scripted_tick);
        crosscut_end();
        read.push_back(scripted_tick);
      }
      Recorder::Get().SetPhase(Phase::kOff, ClockNow());
      scripted_tick += kSilence;
    }
  }).join();
  const auto tracks = Read(*ring);
  ASSERT_EQ(tracks.size(), 2u);
  EXPECT_EQ(tracks.rbegin()->second.ticks, read);
  std::vector<uint64_t> found;
  for (uint32_t i = 0; i < ring->prepared(); ++i) {
    const uint64_t* chunk = ring->chunk(i);
    const uint64_t state = format::RingLoad(chunk[format::kChunkState]);
    if (format::ChunkState(state) < format::kChunkActive || chunk[format::kChunkTrack] != 0)
      continue;
    format::TickReader ticks(chunk[format::kChunkBaseTick]);
    const size_t end = format::PublishedEnd(chunk);
    for (size_t at = format::kRingChunkHeaderWords; at < end;) {
      const uint64_t tick = ticks.Next(chunk[at]);
      if ((chunk[at] & format::kCodeMask) == format::kStart) found.push_back(tick);
      at += format::EventLength({chunk, end}, at);
    }
  }
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, starts);
}

}  // namespace
}  // namespace crosscut::record
