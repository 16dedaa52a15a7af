// The recorder where threads are interrupted, hidden, suspended or out of room.
#include "src/collect/recorder.h"

#include <grp.h>
#include <gtest/gtest.h>
#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "crosscut/crosscut.h"
#include "src/base/testing/emulator.h"
#include "src/collect/losses.h"
#include "src/collect/memory.h"
#include "src/collect/scratch.h"
#include "src/collect/slow_path.h"
#include "src/collect/test_ring.h"
#include "src/collect/usage.h"

namespace crosscut::record {
namespace {

using testing::SlotCounts;
using RecorderTest = testing::CollectTest;

constexpr uint32_t kName = format::kFirstNameCode;
constexpr size_t kWordsInChunk = format::kRingChunkWords - format::kRingChunkHeaderWords;

// What a reader makes of a thread's words.
struct Replay {
  std::vector<uint64_t> open;  // names
  uint64_t events = 0;         // begins and ends
  uint64_t others = 0;
  uint64_t told = 0;  // losses, by the stream
  uint64_t last_tick = 0;

  void Read(const uint64_t* chunk) {
    format::TickReader ticks(chunk[format::kChunkBaseTick]);
    const size_t end = format::PublishedEnd(chunk);
    for (size_t at = format::kRingChunkHeaderWords; at < end;) {
      const uint64_t code = chunk[at] & 0xffff, tick = ticks.Next(chunk[at]);
      if (code == format::kThread && (chunk[at + 3] & format::kThreadContinues) == 0) {
        EXPECT_EQ(events, 0) << "it lost its place";
      }
      if (code == format::kDrop) told += chunk[at + 2];
      if (code == format::kMemory) ++others;
      if (code >= kName || code == format::kEnd) {
        ++events;
        EXPECT_GE(tick, last_tick);
        last_tick = tick;
      }
      if (code >= kName) open.push_back(code);
      if (code == format::kEnd) {
        ASSERT_FALSE(open.empty()) << "an end of nothing";
        open.pop_back();
      }
      at += format::EventLength({chunk, end}, at);
    }
  }
  void Drain(ChunkRing* ring) {
    std::vector<uint32_t> full(ring->chunk_count());
    full.resize(ring->TakeFull(full.data()));
    for (const uint32_t index : full) {
      if (ring->chunk(index)[format::kChunkTrack] != 0) Read(ring->chunk(index));
      ring->Recycle(index);
    }
  }
};

// Of a random walk through spans, in control steps and pauses and while the ring is full, a reader
// knows at the end what is open, and of all events that it lacks that they were lost or hidden.
TEST_F(RecorderTest, WhateverWasHiddenOrLost_WhatIsOpenIsRight) {
  uint64_t lost = 0, hidden_phases = 0;
  std::vector<uint32_t> names;
  for (const char* text : {"a", "b", "c", "d", "e", "f"}) {
    names.push_back(Recorder::Get().stream().Intern(text, format::NameAttributes{}.Pack()));
  }
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    ChunkRing* ring = Record(6);
    Replay replay;
    std::vector<uint64_t> open;
    uint64_t marked = 1;
    std::thread([&] {
      std::mt19937_64 random(seed);
      const bool hides = seed % 2 == 0;
      bool hidden = false;
      const crosscut_memory filler = {0, 0, 1, 2, 3, 4};
      for (int i = 0; i < 4000; ++i) {
        const uint64_t draw = random() % 100;
        if (draw < 30 && open.size() < 30) {
          open.push_back(names[random() % 5]);
          crosscut_begin(static_cast<uint32_t>(open.back()));
          ++marked;
        } else if (draw < 60 && !open.empty()) {
          open.pop_back();
          crosscut_end();
          ++marked;
        } else if (draw < 63 && hides) {
          hidden = !hidden;
          const Phase off = random() % 2 == 0 ? Phase::kControl : Phase::kPaused;
          Recorder::Get().SetPhase(hidden ? off : Phase::kOn, ClockNow());
          hidden_phases += hidden ? 1 : 0;
        } else if (draw < 64) {
          replay.Drain(ring);
        } else if (!hides && !hidden) {
          for (int k = 0; k < 100; ++k) crosscut_memory_changed(&filler);
          marked += 100;
        }
      }
      if (hidden) Recorder::Get().SetPhase(Phase::kOn, ClockNow());
      replay.Drain(ring);
      crosscut_begin(names[5]);  // with which all that is owed is told
      open.push_back(names[5]);
      replay.Drain(ring);
      const auto* state = static_cast<const ThreadState*>(crosscut_this_thread);
      replay.Read(state->chunk);
      if (!hides) {
        EXPECT_EQ(replay.told, SlotCounts(*ring)) << "seed " << seed;
        EXPECT_EQ(replay.events + replay.others + replay.told, marked) << "seed " << seed;
        lost += replay.told;
      }
    }).join();
    EXPECT_EQ(replay.open, open) << "seed " << seed;
  }
  EXPECT_GT(lost, 10'000) << "the ring was full";
  EXPECT_GT(hidden_phases, 500);
}

TEST_F(RecorderTest, WhatInterruptsAMarkIsCountedAsLostAndNotWritten) {
  ChunkRing* ring = Record(16);
  const uint64_t payload = kName;
  std::thread([&] {
    crosscut_instant(kName);
    const uint64_t words = Recorder::WordsOfThisThread();
    {
      const SlowPath mark;
      crosscut_begin(kName);
      crosscut_instant(kName);
      EXPECT_FALSE(Recorder::Get().Push(format::kInstant, &payload, 1));
      EXPECT_EQ(Recorder::Get().MarkAlways(0, format::kInstant, &payload, 1), 0);
      EXPECT_EQ(Recorder::Get().TrackOfThisThread(), 0);
      { const SlowPath inner; }
      crosscut_instant(kName);  // the outer one goes on
    }
    EXPECT_EQ(Recorder::WordsOfThisThread(), words);
    crosscut_instant(kName);
    EXPECT_EQ(Recorder::WordsOfThisThread(), words + 2);
  }).join();
  const format::RingDropSlot* slot = nullptr;
  for (size_t i = 0; i < format::kRingDropSlots; ++i) {
    if (ring->drop_slots()[i].count != 0) slot = &ring->drop_slots()[i];
  }
  ASSERT_NE(slot, nullptr);
  EXPECT_EQ(slot->count, 5);
  EXPECT_EQ(slot->reason, uint64_t{format::kDropMemory});
  EXPECT_EQ(slot->track, uint64_t{format::kRingSharedDropTrack} + 1);
  EXPECT_LE(slot->first_tick, slot->last_tick);
  Recorder::Get().SetPhase(Phase::kOff, ClockNow());
  EXPECT_FALSE(CountShared(format::kDropMemory)) << "nothing is recorded";
  EXPECT_EQ(slot->count, 5);
}

TEST_F(RecorderTest, AThreadKnowsHowManyWordsItHasWritten) {
  Record(16);
  std::thread([] {
    crosscut_begin(kName);
    const uint64_t before = Recorder::WordsOfThisThread();
    for (size_t i = 0; i < kWordsInChunk / 4; ++i) crosscut_instant(kName);
    EXPECT_EQ(Recorder::WordsOfThisThread() - before, kWordsInChunk / 2);
    for (size_t i = 0; i < kWordsInChunk / 2; ++i) crosscut_instant(kName);
    const uint64_t words = Recorder::WordsOfThisThread() - before;
    EXPECT_GE(words, kWordsInChunk * 3 / 2);
    EXPECT_LT(words, kWordsInChunk * 3 / 2 + 100) << "heads of chunks and what follows them";
  }).join();
}

TEST_F(RecorderTest, WhatIsMarkedInScratch_StandsNowhere) {
  ChunkRing* ring = Record(16);
  std::thread([ring] {
    crosscut_begin(kName);
    const uint64_t words = Recorder::WordsOfThisThread(), claimed = ring->claimed();
    const size_t mapped = MappedBytes();
    crosscut_thread* const own = crosscut_this_thread;
    EXPECT_FALSE(InScratch());
    ThreadState* const scratch = EnterScratch();
    ASSERT_NE(scratch, nullptr);
    EXPECT_TRUE(InScratch());
    EXPECT_EQ(EnterScratch(), nullptr) << "already there";
    EXPECT_GT(MappedBytes(), mapped);
    EXPECT_EQ(crosscut_this_thread->enabled, ClockIsInline() ? 1 : 2);
    const uint64_t payload = kName;
    for (size_t i = 0; i < 2 * kWordsInChunk; ++i) {
      crosscut_begin(kName);
      crosscut_instant(kName);
      EXPECT_TRUE(Recorder::Get().Push(format::kInstant, &payload, 1));
      EXPECT_NE(Recorder::Get().MarkAlways(0, format::kInstant, &payload, 1), 0);
      ASSERT_GE(scratch->position, scratch->chunk + format::kRingChunkHeaderWords);
      ASSERT_LT(scratch->position, scratch->chunk + format::kRingChunkWords);
    }
    EXPECT_EQ(reinterpret_cast<uintptr_t>(scratch->chunk) % format::kRingChunkBytes, 0);
    crosscut_instant(kName);
    ResetScratch(scratch);
    EXPECT_EQ(scratch->position, scratch->chunk + format::kRingChunkHeaderWords);
    LeaveScratch(scratch);
    EXPECT_EQ(crosscut_this_thread, own);
    EXPECT_EQ(MappedBytes(), mapped);
    EXPECT_EQ(ring->claimed(), claimed);
    EXPECT_EQ(Recorder::WordsOfThisThread(), words);
  }).join();
}

TEST_F(RecorderTest, ASuspendedThreadMarksNothingAndGoesOnAfterwards) {
  ChunkRing* ring = Record(16);
  std::thread([] {
    crosscut_begin(kName);
    const uint64_t words = Recorder::WordsOfThisThread();
    crosscut_thread* const own = SuspendThisThread();
    EXPECT_TRUE(ThisThreadIsSuspended());
    crosscut_begin(kName + 1);
    crosscut_base(CROSSCUT_DATA);
    EXPECT_EQ(Recorder::Get().TrackOfThisThread(), 0);
    crosscut_this_thread = own;
    EXPECT_FALSE(ThisThreadIsSuspended());
    EXPECT_EQ(Recorder::WordsOfThisThread(), words);
    crosscut_end();
    EXPECT_EQ(Recorder::WordsOfThisThread(), words + 1);
  }).join();
  EXPECT_EQ(SlotCounts(*ring), 0) << "nothing of it is a loss";
}

TEST_F(RecorderTest, WhileItClosesOnlyWhatCarriesItsTimeIsWritten) {
  Record(16);
  const uint64_t payload = kName;
  std::thread([&] {
    crosscut_instant(kName);
    const uint64_t words = Recorder::WordsOfThisThread();
    EXPECT_FALSE(Recorder::Get().SomeThreadMarks());
    Recorder::Get().SetPhase(Phase::kClosing, ClockNow());
    EXPECT_EQ(crosscut_this_thread->enabled, 0);
    EXPECT_EQ(Recorder::Get().MarkAlways(0, format::kInstant, &payload, 1), 0);
    EXPECT_TRUE(Recorder::Get().Push(format::kInstant, &payload, 1));
    Recorder::Get().SetPhase(Phase::kOn, ClockNow());
    EXPECT_EQ(Recorder::WordsOfThisThread(), words + 2);
    Recorder::Get().SetPhase(Phase::kOff, ClockNow());
    EXPECT_FALSE(Recorder::Get().Push(format::kInstant, &payload, 1));
  }).join();
}

TEST_F(RecorderTest, WhetherAnotherThreadIsInsideAMarkCanBeTold) {
  Record(16);
  std::atomic<int> turn{0};
  const auto wait_for = [&turn](int value) {
    for (int is = turn; is < value; is = turn) turn.wait(is);
  };
  const auto next = [&turn](int value) {
    turn = value;
    turn.notify_all();
  };
  std::thread other([&] {
    crosscut_instant(kName);
    next(1);
    wait_for(2);
    SetBusy(crosscut_this_thread, 1);
    next(3);
    wait_for(4);
    SetBusy(crosscut_this_thread, 0);
    next(5);
  });
  wait_for(1);
  crosscut_instant(kName);
  EXPECT_FALSE(Recorder::Get().SomeThreadMarks());
  next(2);
  wait_for(3);
  EXPECT_TRUE(Recorder::Get().SomeThreadMarks());
  next(4);
  wait_for(5);
  EXPECT_FALSE(Recorder::Get().SomeThreadMarks());
  other.join();
}

int first_events;

TEST_F(RecorderTest, AForkedChildsFirstEventIsToldOnce) {
  if (base::UnderEmulator()) GTEST_SKIP() << "qemu takes MADV_WIPEONFORK and does nothing";
  Record(16);
  crosscut_begin(kName);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    bool good = !crosscut_recording();
    Recorder::Get().AfterFork([] { ++first_events; });
    good = good && crosscut_recording() && first_events == 0;
    for (int i = 0; i < 3; ++i) crosscut_begin(kName);
    good = good && first_events == 1 && Recorder::Get().ring() == nullptr;
    good = good && Recorder::Get().NewTrack() == 1;  // tracks count from the beginning
    ChunkRing* const own = NewRing(16);  // for which there is what its parent's ring had
    const size_t mapped = MappedBytes();
    good = good && Recorder::Get().BeginSession(own, 4 << 20) && MappedBytes() == mapped;
    Recorder::Get().AfterFork(nullptr);
    good = good && !crosscut_recording();
    _exit(good ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  crosscut_end();
}

#ifndef __SANITIZE_THREAD__  // its own state of the thread is gone in that round, too
// Other keys' destructors run behind ours in the last round, when the thread's state is another's.
TEST_F(RecorderTest, WhatIsMarkedWhenItsThreadIsOverIsLostAndCounted) {
  static int rounds;
  static pthread_key_t key;
  rounds = 0;
  ASSERT_EQ(pthread_key_create(&key,
                               [](void* value) {
                                 if (++rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
                                   pthread_setspecific(key, value);
                                   return;
                                 }
                                 EXPECT_EQ(crosscut_this_thread, EndedState());
                                 crosscut_begin(kName);
                               }),
            0);
  ChunkRing* ring = Record(16);
  std::thread([] {
    pthread_setspecific(key, &rounds);
    crosscut_instant(kName);
  }).join();
  pthread_key_delete(key);
  EXPECT_EQ(rounds, PTHREAD_DESTRUCTOR_ITERATIONS);
  EXPECT_EQ(testing::EventsIn(*ring).size(), 1u);
  EXPECT_EQ(SlotCounts(*ring), 1u);
}

// Until then other keys' destructors record as ever.
TEST_F(RecorderTest, WhatIsMarkedInTheFirstRoundsOfItsThreadsEndIsWritten) {
  static int rounds;
  static pthread_key_t key;
  rounds = 0;
  ASSERT_EQ(pthread_key_create(&key,
                               [](void* value) {
                                 crosscut_instant(kName);
                                 if (++rounds < 2) pthread_setspecific(key, value);
                               }),
            0);
  ChunkRing* ring = Record(16);
  std::thread([] {
    pthread_setspecific(key, &rounds);
    crosscut_instant(kName);
  }).join();
  pthread_key_delete(key);
  EXPECT_EQ(testing::EventsIn(*ring).size(), 3u);
  EXPECT_EQ(SlotCounts(*ring), 0u);
}
#endif

void FillUp(ChunkRing* ring) {
  while (SlotCounts(*ring) == 0) crosscut_instant(kName);
}

void EmptyFull(ChunkRing* ring) {
  std::vector<uint32_t> full(ring->chunk_count());
  full.resize(ring->TakeFull(full.data()));
  for (const uint32_t index : full) ring->Recycle(index);
}

TEST_F(RecorderTest, TheSlotOfAThreadThatHasToldItsLossesIsFreeAgainWhenItEnds) {
  for (const bool tells : {true, false}) {
    ChunkRing* ring = Record(6);
    std::thread([&] {
      crosscut_begin(kName);
      FillUp(ring);
      if (!tells) return;
      EmptyFull(ring);
      crosscut_instant(kName);
    }).join();
    size_t taken = 0;
    for (size_t i = 0; i < format::kRingDropSlots; ++i) {
      const format::RingDropSlot& slot = ring->drop_slots()[i];
      taken += slot.track != 0 || slot.count != 0 || slot.reason != 0 ? 1 : 0;
    }
    EXPECT_EQ(taken, tells ? 0u : 1u);
    EXPECT_EQ(SlotCounts(*ring), tells ? 0u : 1u);
  }
}

TEST_F(RecorderTest, WhatAThreadOwesInOneSessionIsForgottenInTheNext) {
  ChunkRing *full = Record(6), *next = nullptr;
  uint64_t on = 0;
  std::thread([&] {
    crosscut_begin(kName);
    FillUp(full);
    crosscut_end();
    for (int i = 0; i < 2; ++i) crosscut_begin(kName);
    Recorder::Get().SetPhase(Phase::kOff, ClockNow());
    next = Record(16);
    crosscut_instant(kName);
    Recorder::Get().SetPhase(Phase::kControl, ClockNow());
    crosscut_begin(kName);
    on = ClockNow();
    Recorder::Get().SetPhase(Phase::kOn, on);
    crosscut_end();
  }).join();
  const auto got = testing::EventsIn(*next);
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(got[0].words, (testing::Words{format::kInstant, kName}));
  EXPECT_EQ(got[1].words, testing::Words{kName});
  EXPECT_EQ(got[1].tick, on & format::kTickMask);
  EXPECT_EQ(got[2].words, testing::Words{format::kEnd});
  EXPECT_EQ(SlotCounts(*next), 0u);
}

// A thread that had to use the slot of all leaves what others have counted there.
TEST_F(RecorderTest, TheSlotOfAllLossesStaysThoughAThreadThatUsedItEnds) {
  ChunkRing* ring = Record(4);
  for (uint32_t track = 1'000'000; track < 1'000'000 + format::kRingDropSlots; ++track) {
    ring->DropSlotFor(track, format::kDropFull, 1);
  }
  const format::RingDropSlot& shared = ring->drop_slots()[format::kRingDropSlots - 1];
  std::thread([&] {
    uint64_t marked = 0;
    for (; shared.count == 0 && marked < 1'000'000; ++marked) crosscut_instant(kName);
    EXPECT_EQ(shared.count, 1u);
    CountShared(format::kDropMemory, 5);
    EmptyFull(ring);
    crosscut_instant(kName);
  }).join();
  EXPECT_EQ(shared.count, 6u);
  EXPECT_EQ(SlotCounts(*ring), 6u);
  for (const auto& event : testing::EventsIn(*ring)) EXPECT_NE(event.words[0], format::kDrop);
}

// A thread that owes many ends, or few by name, does not go on in a chunk that has no room for all.
TEST_F(RecorderTest, WhatAThreadOwesHasRoomInTheChunkThatItTakesOver) {
  constexpr size_t kLeft = 600;  // words of the chunk that another thread leaves
  const auto left = [] {
    const auto* s = static_cast<const ThreadState*>(crosscut_this_thread);
    return format::kRingChunkWords - static_cast<size_t>(s->position - s->chunk);
  };
  for (const size_t ends : {size_t{100}, kLeft - 100, kLeft, size_t{999}}) {
    ChunkRing* ring = Record(6);
    std::atomic<int> turn{0};
    std::thread other([&] {
      crosscut_instant(kName);
      while (left() > kLeft) crosscut_end();  // of nothing: a word each
      turn = 1;
      turn.notify_all();
      turn.wait(1);
    });
    turn.wait(0);
    std::thread([&] {
      for (uint32_t i = 0; i < 1000; ++i) crosscut_begin(kName);
      while (SlotCounts(*ring) == 0) crosscut_instant(kName);
      for (size_t i = 0; i < ends; ++i) crosscut_end();
      turn = 2;
      turn.notify_all();
      other.join();
      const auto heads = [&] {
        std::vector<uint64_t> words;
        for (uint32_t i = 0; i < ring->prepared(); ++i) {
          const uint64_t* chunk = ring->chunk(i);
          words.push_back(format::ChunkFill(chunk[format::kChunkState]));
          words.push_back(chunk[format::kChunkBaseTick]);
          words.push_back(chunk[format::kChunkTrack]);
        }
        return words;
      };
      const std::vector<uint64_t> before = heads();  // of all chunks
      const auto* s = static_cast<const ThreadState*>(crosscut_this_thread);
      const uint64_t chunks = s->chunks;
      crosscut_instant(kName);
      EXPECT_EQ(heads(), before) << ends;
      EXPECT_EQ(s->chunks - chunks, ends < kLeft - 50 ? 1u : 0u) << ends;
      EXPECT_LE(s->position, s->chunk + format::kRingChunkWords);
    }).join();
  }
}

TEST_F(RecorderTest, ARingThatComesAfterAnotherTakesNoMoreMemory) {
  ChunkRing* const rings[] = {NewRing(16), NewRing(16)};
  const auto session = [&](int i) {
    ASSERT_TRUE(Recorder::Get().BeginSession(rings[i % 2], 4 << 20));
  };
  session(0);
  const size_t before = MappedBytes();
  for (int i = 1; i < 21; ++i) session(i);
  EXPECT_EQ(MappedBytes(), before);
}

TEST_F(RecorderTest, ItsMemoryIsWhatWasMappedAndTheChunksThatAreThere) {
  ChunkRing* ring = Record(32);
  const size_t before = Recorder::Get().memory_bytes();
  EXPECT_EQ(before, MappedBytes() + size_t{ring->prepared()} * 65536);
  ring->Prepare(5);
  EXPECT_EQ(Recorder::Get().memory_bytes(), before + size_t{5} * 65536);
}

TEST_F(RecorderTest, ANameThatGoesOnIsAnotherOfItsKind) {
  SessionStream& stream = Recorder::Get().stream();
  const format::NameAttributes attributes{format::kKindOperation, format::kLayerData,
                                          format::kFlagWaits, 0};
  const uint32_t name = stream.Intern("goes on", attributes.Pack());
  const uint32_t on = stream.GoesOn(name);
  EXPECT_NE(on, name);
  EXPECT_EQ(stream.GoesOn(name), on);
  EXPECT_EQ(stream.GoesOn(on), on) << "it goes on already";
  const format::NameAttributes got = stream.KindOf(on);
  EXPECT_EQ(got.kind, attributes.kind);
  EXPECT_EQ(got.layer, attributes.layer);
  EXPECT_EQ(got.flags, format::kFlagWaits | format::kFlagGoesOn);
  const NameEntry& entry = stream.names().Get(on);
  EXPECT_EQ(std::string(entry.text, entry.bytes), "goes on");
  const uint32_t last = Names::kFirstId + stream.names().count();
  EXPECT_EQ(stream.GoesOn(last), 0) << "there is none of that number";
  EXPECT_EQ(stream.KindOf(last).Pack(), format::NameAttributes{}.Pack());
  EXPECT_EQ(stream.KindOf(last - 1).Pack(), stream.KindOf(on).Pack());
}

TEST(Usage, IsWhatTheKernelSays) {
  timespec begun, after;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begun);
  const Usage usage = ReadUsage();
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
  EXPECT_GE(usage.cpu_ns, int64_t{begun.tv_sec} * 1'000'000'000 + begun.tv_nsec);
  EXPECT_LE(usage.cpu_ns, int64_t{after.tv_sec} * 1'000'000'000 + after.tv_nsec);
  long long pages = 0, resident = 0;
  FILE* file = fopen("/proc/self/statm", "re");
  ASSERT_EQ(fscanf(file, "%lld %lld", &pages, &resident), 2);
  fclose(file);
  EXPECT_NEAR(static_cast<double>(usage.resident_bytes),
              static_cast<double>(resident * sysconf(_SC_PAGESIZE)), 4 << 20);
  EXPECT_GE(usage.peak_bytes, usage.resident_bytes);
  const size_t more = static_cast<size_t>(usage.peak_bytes) + (32 << 20);
  void* const memory = mmap(nullptr, more, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  munmap(memory, more);
  const Usage later = ReadUsage();
  EXPECT_GE(later.peak_bytes, static_cast<int64_t>(more));
  EXPECT_LT(later.resident_bytes, later.peak_bytes - (16 << 20)) << "given back";
  const pid_t pid = fork();
  if (pid == 0) {
    std::vector<gid_t> groups(20'000);
    std::iota(groups.begin(), groups.end(), gid_t{1'000'000});
    if (setgroups(groups.size(), groups.data()) != 0) _exit(0);  // only root may
    const Usage of_many = ReadUsage();
    _exit(of_many.peak_bytes >= of_many.resident_bytes && of_many.resident_bytes > 0 ? 0 : 1);
  }
  int status = 1;
  waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0) << "beside many groups";
  long long ran = 0, waited = 0, waited_after = 0;
  const auto read = [&ran](long long* to) {
    FILE* const stat = fopen("/proc/thread-self/schedstat", "re");
    if (stat == nullptr) return false;
    const int got = fscanf(stat, "%lld %lld", &ran, to);
    fclose(stat);
    return got == 2;
  };
  if (!read(&waited)) GTEST_SKIP() << "this kernel has no schedstat";
  const int64_t told = RunDelayNs(gettid());
  ASSERT_TRUE(read(&waited_after));
  EXPECT_GE(told, waited);
  EXPECT_LE(told, waited_after);
  EXPECT_EQ(RunDelayNs(0), -1) << "there is no such thread";
}

}  // namespace
}  // namespace crosscut::record
