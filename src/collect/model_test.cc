// Why the memory orders of the lock-free parts are enough, and needed: the product's own code under
// the executions that C++ permits (src/base/testing/model_atomic.h).
#include <gtest/gtest.h>

#include "crosscut/crosscut.h"
#include "src/base/atomic.h"
#include "src/collect/append_only.h"
#include "src/collect/chunk_lists.h"
#include "src/collect/phases.h"
#include "src/collect/words.h"
#include "src/format/chunk_copy.h"
#include "src/format/requests.h"

namespace crosscut::record {
namespace {

using format::PackChunkState;
using sync::Atomic;
using sync::Checked;
using sync::IsRight;
using sync::Plain;
using sync::Require;
using sync::Shared;

// ---- The model itself, by what is known of C++ --------------------------------------------------

struct Message : Checked<Message, 2> {
  Atomic<uint32_t> ready;
  Plain<uint32_t> text;
  void Run(unsigned i) {
    if (i == 0) {
      text = 7;
      ready.store(1, std::memory_order_release);
    } else if (ready.load(std::memory_order_acquire) == 1) {
      Require(text == 7);
    }
  }
};

TEST(Model, AMessageComesWithWhatWasStoredBeforeIfBothSidesSaySo) {
  EXPECT_TRUE(IsRight<Message>());
}

struct StoreThenLoad : Checked<StoreThenLoad, 2> {
  Atomic<uint32_t> stored[2];
  uint32_t seen[2] = {};
  void Run(unsigned i) {
    stored[i].store(1, std::memory_order_seq_cst);
    seen[i] = stored[1 - i].load(std::memory_order_seq_cst);
  }
  void End() { Require(seen[0] + seen[1] != 0); }
};

TEST(Model, StoresAreSeenLateUnlessTheyAreInOneSequence) { EXPECT_TRUE(IsRight<StoreThenLoad>()); }

// ---- A word in a chunk, for the drain: BeginChunk(), StoreEvent(), PublishedEnd() ---------------

constexpr size_t kFirst = format::kRingChunkHeaderWords, kWords = kFirst + 4;

template <class T>
T Relaxed(T& field) {
  return sync::Ref(field).load(std::memory_order_relaxed);
}

uint64_t Head(uint64_t tick) { return tick << format::kCodeBits | format::kInstant; }

// Two events of one payload word.
struct Published : Checked<Published, 2> {
  uint64_t chunk[kWords] = {};
  Shared<uint64_t, 2> header{chunk, {"state", "base tick"}};
  Shared<uint64_t, 1> track{chunk + format::kChunkTrack, {"track"}};
  Shared<uint64_t, 4> events{chunk + kFirst, {"head", "payload", "head", "payload"}};
  void Run(unsigned i) {
    if (i == 0) {
      BeginChunk(chunk, 1, 7, 7);
      const uint64_t payload = 7;
      StoreEvent(chunk + kFirst, Head(1), &payload, 1);
      StoreEvent(chunk + kFirst + 2, Head(2), &payload, 1);
      return;
    }
    if (format::RingLoad(chunk[format::kChunkState]) != 0) {
      Require(Relaxed(chunk[format::kChunkTrack]) == 7);
      Require(Relaxed(chunk[format::kChunkBaseTick]) == 7);
    }
    const size_t end = format::PublishedEnd(chunk, kFirst, kWords);
    for (size_t at = kFirst; at < end; at += 2) Require(Relaxed(chunk[at + 1]) == 7);
  }
};

// ---- A chunk that another process copies while it is used again: CopyChunk() --------------------

// What is checked beside the state and the first event's head: one word of the header, or the
// event's payload.
template <size_t word, bool fenced = true>
struct CopiedWord : Checked<CopiedWord<word, fenced>, 2, 3> {
  uint64_t chunk[kWords] = {};
  static constexpr const char* kNames[kWords] = {"state", "base tick", "", "track", "",
                                                 "",      "",          "", "head",  "payload"};
  Shared<uint64_t, 1> state{chunk + format::kChunkState, {"state"}};
  Shared<uint64_t, 1> head{chunk + kFirst, {"head"}};
  Shared<uint64_t, 1> other{chunk + word, {kNames[word]}};
  void Fill(uint64_t fill) {
    BeginChunk(chunk, fill, fill, static_cast<uint32_t>(fill));
    StoreEvent(chunk + kFirst, Head(fill), &fill, 1);
  }
  void Run(unsigned i) {
    if (i == 0) {
      Fill(1);
      SetChunkState(chunk, format::kChunkFull);
      ClearChunk(chunk, kWords);
      return Fill(2);
    }
    // Each copy is a system call: what it has read, the next one knows.
    const auto read = [&](std::span<uint64_t> to) {
      for (size_t k = 0; k < to.size(); ++k) to[k] = Relaxed(chunk[k]);
      if (fenced) sync::AcquireFence();
      return true;
    };
    uint64_t first[kWords], second[kWords];
    const auto wanted = [](std::span<const uint64_t>) { return true; };
    if (format::CopyChunk(read, wanted, first, second) != format::ChunkCopied::kWhole) return;
    const uint64_t fill = format::ChunkFill(second[format::kChunkState]);
    if (format::CopiedEnd(first, second) == kFirst) return;
    Require(second[kFirst] == Head(fill));
    Require(second[word] == fill);
  }
};

using CopiedPayload = CopiedWord<kFirst + 1>;
using CopiedTrack = CopiedWord<format::kChunkTrack>;
using CopiedTick = CopiedWord<format::kChunkBaseTick>;

TEST(Publication, AWordThatIsSeenHasItsPayloadAndAChunkItsTrack) {
  EXPECT_TRUE(IsRight<Published>());
}

TEST(Publication, ACopyOfAChunkIsOfOneFillOrIsThrownAway) {
  EXPECT_TRUE(IsRight<CopiedPayload>());
  EXPECT_TRUE(IsRight<CopiedTrack>());
  EXPECT_TRUE(IsRight<CopiedTick>());
}

TEST(Publication, ACopyNeedsTheOrderOfItsSystemCalls) {
  EXPECT_FALSE((IsRight<CopiedWord<kFirst + 1, false>>(/*shows=*/false)));
}

// ---- Chunks on their way: Claim(), PushFull(), TakeFull(), Recycle() ----------------------------

// Two threads fill chunks; the drain empties them; one of the threads claims another.
struct Handed : Checked<Handed, 3, 2> {
  Atomic<uint32_t> next[3];
  Atomic<uint64_t> bits[1];
  Plain<uint32_t> words[3];  // of each chunk
  CleanChunks clean;
  FullChunks full;
  uint32_t taken[3] = {};
  void Begin() {
    full.Init(next);
    clean.Init(bits, 3);
  }
  void Push(uint32_t index) {
    words[index] = 7;
    full.Add(index);
  }
  void Run(unsigned i) {
    if (i == 0) {
      Push(0);
      Push(2);
    } else if (i == 1) {
      Push(1);
      if (!clean.TakeCount(0)) return;
      const uint32_t index = clean.Take();
      Require(words[index] == 0);
      words[index] = 8;
    } else {
      uint32_t indices[3];
      for (int pass = 0; pass < 2; ++pass) {
        const uint32_t n = full.TakeAll(indices, 3);
        for (uint32_t k = 0; k < n; ++k) {
          Require(words[indices[k]] == 7 && taken[indices[k]]++ == 0);
          Require(indices[k] != 2 || taken[0] != 0);  // in the order of its thread
          words[indices[k]] = 0;
          clean.Add(indices[k]);
        }
      }
    }
  }
};

// Two threads claim what the drain has emptied.
struct Claimed : Checked<Claimed, 3> {
  Atomic<uint64_t> bits[1];
  Plain<uint32_t> words[2];
  CleanChunks clean;
  void Begin() { clean.Init(bits, 2); }
  void Run(unsigned i) {
    if (i == 0) {
      for (uint32_t index : {0, 1}) {
        words[index] = 1;
        clean.Add(index);
      }
    } else if (clean.TakeCount(0)) {
      const uint32_t index = clean.Take();
      Require(words[index] == 1);
      words[index] = 2;
    }
  }
};

TEST(Chunks, TheDrainHasAllWordsOfAFullOneAndWhoClaimsItFindsItEmpty) {
  EXPECT_TRUE(IsRight<Handed>());
  EXPECT_TRUE(IsRight<Claimed>());
}

// A flight recorder's: a thread fills a chunk, another takes it as the oldest and fills it anew,
// and the drain writes what is open: Drain::CollectOpen(), FlushOpen().
struct Kept : Checked<Kept, 3, 3> {
  uint64_t chunk[kWords] = {};
  Shared<uint64_t, 1> state{chunk + format::kChunkState, {"state"}};
  Shared<uint64_t, 2> event{chunk + kFirst, {"head", "payload"}};
  Plain<uint64_t> drained;  // of the header: the drain's, and then of who takes the chunk
  Atomic<uint64_t> waits[1];
  WaitingChunks waiting;
  void Begin() {
    waiting.Init(waits);
    BeginChunk(chunk, 1, 1, 1);
  }
  void Put(uint64_t fill) { StoreEvent(chunk + kFirst, Head(fill), &fill, 1); }
  void Run(unsigned i) {
    if (i == 0) {
      Put(1);
      SetChunkState(chunk, format::kChunkFull);
      waiting.Add(0);
    } else if (i == 1) {
      if (waiting.TakeOldest(waiting.added(), 1) != 0) return;
      Require(Relaxed(chunk[kFirst + 1]) == 1);
      drained = 0;
      ClearChunk(chunk, kWords);
      BeginChunk(chunk, 2, 2, 2);
      Put(2);
    } else {
      waiting.Hold(0);
      const uint64_t held = format::RingLoad(chunk[format::kChunkState]);
      if (format::ChunkState(held) == format::kChunkActive) {
        const size_t end = format::PublishedEnd(chunk, kFirst, kWords);
        if (end != kFirst && format::RingLoad(chunk[format::kChunkState]) == held) {
          Require(Relaxed(chunk[kFirst + 1]) == format::ChunkFill(held));
          drained = end;
        }
      }
      waiting.Release(0);
    }
  }
};

TEST(Chunks, TheOldestIsTakenWholeAndNotWhileItIsHeld) { EXPECT_TRUE(IsRight<Kept>()); }

// ---- Names: AppendOnly --------------------------------------------------------------------------

struct Named : Checked<Named, 2> {
  Plain<uint32_t> memory[2];
  AppendOnly<Plain<uint32_t>, 2, 1> names;
  void Run(unsigned i) {
    if (i == 0) {
      names.Add(10u, [this](size_t) { return &memory[0]; });
      names.Add(11u, [this](size_t) { return &memory[1]; });
      return;
    }
    const uint32_t count = names.count();
    for (uint32_t k = 0; k < count; ++k) Require(names[k] == 10 + k);
  }
};

TEST(Names, WhatIsCountedIsWhole) { EXPECT_TRUE(IsRight<Named>()); }

// ---- Phases: crosscut_mark_(), crosscut_write_(), Arm(), SetPhase(), SomeThreadMarks()
// ---------------

alignas(256) uint64_t recorded[kWords];  // far from a chunk's end, wherever that is

struct Recording {
  uint64_t* chunk = recorded;
  crosscut_thread self = {0, 0, chunk + kFirst};
  Shared<uint32_t, 2> flags{&self.enabled, {"enabled", "busy"}};
  Shared<uint64_t, 4> words{chunk + kFirst, {"head", "payload", "head", "payload"}};
  PhaseWord phase;
  void Switch(Phase to) {
    phase.Switch(to, [this](uint32_t enabled) { SetEnabled(&self, enabled); });
  }
};
Recording* recording = nullptr;

// What Recorder::Mark() does, but for the event.
void MarkSlow() {
  const uint64_t phase = recording->phase.Load();
  if (PhaseOf(phase) == Phase::kOn) return recording->phase.Arm(&recording->self, phase);
  recording->phase.Disarm(&recording->self, phase);
}

// crosscut_begin() and crosscut_instant().
template <bool one_word>
void MarkOne() {
  const uint64_t payload = 7;
  if (one_word) return crosscut_mark_(format::kEnd);
  crosscut_thread* const self = crosscut_this_thread;
  if (crosscut_inline_(self, Relaxed(self->enabled)) != 0) {
    (void)crosscut_write_(1, format::kInstant, &payload, 1, 0);
  }
}

struct Armed : Checked<Armed, 2> {
  Recording on;
  void Begin() {
    recording = &on;
    on.Switch(Phase::kOn);
  }
  void Run(unsigned i) {
    if (i == 0) {
      MarkSlow();
    } else {
      on.Switch(Phase::kOff);
    }
  }
  void End() { Require(Relaxed(on.self.enabled) != 1); }
};

// A thread finds recording off while another begins a session: it is not left out of that.
struct Disarmed : Checked<Disarmed, 2> {
  Recording on;
  void Begin() { recording = &on; }
  void Run(unsigned i) {
    if (i == 0) {
      MarkSlow();
    } else {
      on.Switch(Phase::kOn);
    }
  }
  void End() { Require(Relaxed(on.self.enabled) != 0); }
};

// Who has switched recording off takes the ring away: nothing is stored there any more.
template <bool one_word>
struct TakenAway : Checked<TakenAway<one_word>, 2> {
  Recording on;
  bool taken = false;
  uint64_t seen[2] = {};
  void Begin() {
    recording = &on;
    crosscut_this_thread = &on.self;
    on.Switch(Phase::kOn);
    MarkSlow();
  }
  void Run(unsigned i) {
    if (i == 0) {
      MarkOne<one_word>();
    } else {
      on.Switch(Phase::kOff);
      sync::BarrierOnAllThreads();
      taken = !StillMarks(&on.self);
      for (int k : {0, 1}) seen[k] = Relaxed(on.chunk[kFirst + k]);
    }
  }
  void End() {
    for (int k : {0, 1}) Require(!taken || seen[k] == Relaxed(on.chunk[kFirst + k]));
  }
};

// A mark in a chunk that is used again, and a reader of another process.
template <bool one_word>
struct MarkedAgain : Checked<MarkedAgain<one_word>, 2> {
  Recording on;
  Shared<uint64_t, 1> state{on.chunk + format::kChunkState, {"state"}};
  void Begin() {
    recording = &on;
    crosscut_this_thread = &on.self;
    on.Switch(Phase::kOn);
    MarkSlow();
    BeginChunk(on.chunk, 1, 1, 1);
  }
  void Run(unsigned i) {
    if (i == 0) {
      ClearChunk(on.chunk, kWords);
      BeginChunk(on.chunk, 2, 2, 2);
      MarkOne<one_word>();
      return;
    }
    for (int k : {0, 1}) {
      const uint64_t word = Relaxed(on.chunk[kFirst + k]);
      sync::AcquireFence();
      Require(word == 0 || format::ChunkFill(Relaxed(on.chunk[format::kChunkState])) == 2);
      Require(word == 0 || k == 1 || one_word || Relaxed(on.chunk[kFirst + 1]) == 7);
    }
  }
  void End() { Require(Relaxed(on.chunk[kFirst]) != 0); }
};

TEST(Phases, NoThreadMarksInlineForEverAfterRecordingEnded) { EXPECT_TRUE(IsRight<Armed>()); }

TEST(Phases, NoThreadIsLeftOutOnceRecordingIsOn) { EXPECT_TRUE(IsRight<Disarmed>()); }

TEST(Phases, ARingIsTakenAwayOnlyWhereNoThreadMarks) {
  EXPECT_TRUE(IsRight<TakenAway<true>>());
  EXPECT_TRUE(IsRight<TakenAway<false>>());
}

TEST(Phases, AMarkThatIsSeenInAChunkIsOfItsFill) {
  EXPECT_TRUE(IsRight<MarkedAgain<true>>());
  EXPECT_TRUE(IsRight<MarkedAgain<false>>());
}

// ---- Requests from outside: Ask(), WithdrawRequest(), ClaimRequest(), Answer(), CountSteps() ----

struct Asked {
  format::RingHeader header = {};
  Shared<uint32_t, 3> request{&header.request, {"request", "answered", "answer"}};
  Shared<uint64_t, 1> at_step{&header.control.at_step, {"at_step"}};
  Shared<uint64_t, 1> steps{&header.control.steps, {"steps"}};
};

constexpr format::Request kStart = {format::kRequestStart, 7};

// The asker, the thread that begins a step and the thread crosscut-control.
struct CarriedOut : Checked<CarriedOut, 3, 3>, Asked {
  uint32_t by = 0;
  void Run(unsigned i) {
    if (i == 0) {
      const uint32_t word = format::Ask(&header, kStart);
      if (!format::IsAnswered(header, word)) return;
      Require(Relaxed(header.answer) == 10 + by);
      return;
    }
    const uint32_t word = format::WaitingRequest(header);
    if (word == 0 || !format::ClaimRequest(&header, word)) return;
    Require(by == 0);
    by = i;
    Require(Relaxed(header.control.at_step) == 7);
    format::Answer(&header, word, 10 + i);
  }
};

struct TakenBack : Checked<TakenBack, 2>, Asked {
  bool withdrawn = false, claimed = false;
  void Run(unsigned i) {
    if (i == 0) {
      (void)format::Ask(&header, kStart);
      withdrawn = format::WithdrawRequest(&header);
    } else {
      const uint32_t word = format::WaitingRequest(header);
      claimed = word != 0 && format::ClaimRequest(&header, word);
    }
  }
  void End() { Require(withdrawn != claimed); }
};

// Who asks for a step reads how many have begun behind that; who begins one counts it before it
// looks for requests.
struct Missed : Checked<Missed, 2>, Asked {
  bool found = false, counted = false;
  void Run(unsigned i) {
    if (i == 0) {
      (void)format::Ask(&header, kStart);
      counted = format::StepsBegun(&header) == 1;
    } else {
      format::CountSteps(&header, 1);
      found = format::WaitingRequest(header) != 0;
    }
  }
  void End() { Require(found || counted); }
};

TEST(Requests, OneThreadCarriesARequestOutAndItsAnswerIsTheOneThatIsRead) {
  EXPECT_TRUE(IsRight<CarriedOut>());
}

TEST(Requests, OneThatIsTakenBackIsNotCarriedOut) { EXPECT_TRUE(IsRight<TakenBack>()); }

TEST(Requests, AStepThatMissesItsRequestIsSeenToHaveBegun) { EXPECT_TRUE(IsRight<Missed>()); }

// ---- All of it with less ------------------------------------------------------------------------

TEST(Orders, EachIsNeededButWhereAnotherStoreOfTheSameThreadPublishes) {
  EXPECT_EQ((sync::NeedlessOrders<Message, StoreThenLoad, Published, CopiedPayload, CopiedTrack,
                                  CopiedTick, Handed, Claimed, Kept, Named, Armed, TakenAway<true>,
                                  TakenAway<false>, MarkedAgain<true>, MarkedAgain<false>,
                                  CarriedOut, TakenBack, Missed>()),
            (std::vector<std::string>{"RingStore of at_step: release as relaxed",
                                      "RingStore of answer: release as relaxed"}));
}

}  // namespace
}  // namespace crosscut::record

extern "C" {

// Of all threads of a suite: one of them marks.
__thread crosscut_thread* crosscut_this_thread = nullptr;
void crosscut_mark_slow_(uint64_t, uint32_t) { crosscut::record::MarkSlow(); }
void crosscut_chunk_end_(crosscut_thread*) {}
}
