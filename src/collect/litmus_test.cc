// Why the memory orders of the lock-free parts are enough: each of them again, line by line, under
// every execution that C++ permits (testing/litmus.h). Each has a weaker twin that goes wrong, so
// that the model is seen to find it.
#include "src/collect/testing/litmus.h"

#include <gtest/gtest.h>

namespace crosscut::record {
namespace {

using litmus::Explore;
using litmus::kAcqRel;
using litmus::kAcquire;
using litmus::kRelaxed;
using litmus::kRelease;
using litmus::kSeqCst;
using litmus::Order;
using litmus::Outcome;
using litmus::Outcomes;
using litmus::Task;
using litmus::Thread;

// ---- The model itself, by what is known of C++ --------------------------------------------------

enum { kX, kY, kZ };

size_t MessagesThatComeWithout(Order store, Order load) {
  const Outcomes out = Explore(2, [=](Thread& t) -> Task {
    if (t.id() == 0) {
      co_await t.Store(kX, 1, kRelaxed);
      co_await t.Store(kY, 1, store);
    } else {
      t.result[0] = co_await t.Load(kY, load);
      t.result[1] = co_await t.Load(kX, kRelaxed);
    }
  });
  return out.Count([](const Outcome& o) { return o.results[1][0] == 1 && o.results[1][1] == 0; });
}

TEST(Litmus, AMessageComesWithWhatWasStoredBeforeIfBothSidesSaySo) {
  EXPECT_EQ(MessagesThatComeWithout(kRelease, kAcquire), 0u);
  EXPECT_EQ(MessagesThatComeWithout(kRelaxed, kAcquire), 1u);
  EXPECT_EQ(MessagesThatComeWithout(kRelease, kRelaxed), 1u);
}

size_t NeitherSeesTheOther(Order order) {
  const Outcomes out = Explore(2, [=](Thread& t) -> Task {
    co_await t.Store(t.id() == 0 ? kX : kY, 1, order == kSeqCst ? kSeqCst : kRelease);
    t.result[0] = co_await t.Load(t.id() == 0 ? kY : kX, order);
  });
  return out.Count([](const Outcome& o) { return o.results[0][0] == 0 && o.results[1][0] == 0; });
}

TEST(Litmus, StoresAreSeenLateUnlessTheyAreInOneSequence) {
  EXPECT_EQ(NeitherSeesTheOther(kAcquire), 1u);
  EXPECT_EQ(NeitherSeesTheOther(kSeqCst), 0u);
}

size_t ReadersWhoDisagree(Order order) {
  const Outcomes out = Explore(4, [=](Thread& t) -> Task {
    if (t.id() < 2) {
      co_await t.Store(t.id() == 0 ? kX : kY, 1, order == kSeqCst ? kSeqCst : kRelease);
    } else {
      t.result[0] = co_await t.Load(t.id() == 2 ? kX : kY, order);
      t.result[1] = co_await t.Load(t.id() == 2 ? kY : kX, order);
    }
  });
  return out.Count([](const Outcome& o) {
    return o.results[2][0] == 1 && o.results[2][1] == 0 && o.results[3][0] == 1 &&
           o.results[3][1] == 0;
  });
}

TEST(Litmus, ReadersMayDisagreeOnTheOrderOfTwoStores) {
  EXPECT_EQ(ReadersWhoDisagree(kAcquire), 1u);
  EXPECT_EQ(ReadersWhoDisagree(kSeqCst), 0u);
}

TEST(Litmus, OneLocationHasOneOrder) {
  const Outcomes read = Explore(2, [](Thread& t) -> Task {
    if (t.id() == 0) {
      co_await t.Store(kX, 1, kRelaxed);
      co_await t.Store(kX, 2, kRelaxed);
    } else {
      t.result[0] = co_await t.Load(kX, kRelaxed);
      t.result[1] = co_await t.Load(kX, kRelaxed);
    }
  });
  EXPECT_EQ(read.Count([](const Outcome& o) { return o.results[1][0] > o.results[1][1]; }), 0u);
  EXPECT_EQ(read.all.size(), 6u);
  // Two by two stores may be ordered against both threads' programs.
  const Outcomes stored = Explore(2, [](Thread& t) -> Task {
    co_await t.Store(t.id() == 0 ? kX : kY, 1, kRelaxed);
    co_await t.Store(t.id() == 0 ? kY : kX, 2, kRelaxed);
  });
  EXPECT_EQ(stored.Count([](const Outcome& o) { return o.last[kX] == 1 && o.last[kY] == 1; }), 1u);
}

TEST(Litmus, OneExchangeOfSeveralStores) {
  const Outcomes out = Explore(3, [](Thread& t) -> Task {
    t.result[0] = co_await t.Exchange(kX, 0, static_cast<uint64_t>(t.id()) + 1, kRelaxed);
  });
  EXPECT_EQ(out.all.size(), 3u);  // who is first: the others read what it stored
  EXPECT_EQ(out.Count([](const Outcome& o) {
    return (o.results[0][0] == 0) + (o.results[1][0] == 0) + (o.results[2][0] == 0) != 1;
  }),
            0u);
}

// ---- A word in a chunk: Recorder's Put(), ChunkRing::Begin(), format::PublishedEnd() ------------

enum { kState, kTrack, kHead, kPayload };
constexpr uint64_t kFree = 1, kClean = 2, kFirstFill = 3, kSecondFill = 4;

size_t WordsWithoutTheirPayload(Order publishes) {
  const Outcomes out = Explore(2, [=](Thread& t) -> Task {
    if (t.id() == 0) {
      co_await t.Store(kTrack, 7, kRelaxed);
      co_await t.Store(kState, kFirstFill, publishes);
      co_await t.Store(kPayload, 8, kRelaxed);
      co_await t.Store(kHead, 9, publishes);  // also all that the inline path does
    } else {
      t.result[0] = co_await t.Load(kState, kAcquire);
      t.result[1] = co_await t.Load(kTrack, kRelaxed);
      t.result[2] = co_await t.Load(kHead, kAcquire);
      t.result[3] = co_await t.Load(kPayload, kRelaxed);
    }
  });
  return out.Count([](const Outcome& o) {
    const auto& r = o.results[1];
    return (r[0] == kFirstFill && r[1] != 7) || (r[2] == 9 && r[3] != 8);
  });
}

TEST(Publication, AWordThatIsSeenHasItsPayloadAndAChunkItsTrack) {
  EXPECT_EQ(WordsWithoutTheirPayload(kRelease), 0u);
  EXPECT_GT(WordsWithoutTheirPayload(kRelaxed), 0u);
}

// ---- A chunk that is copied by another process while it is used again: ChunkCopier::Copy()
// -------

// The reader's copies are system calls: what one of them reads, the next one knows (`ordered`).
size_t CopiesOfTwoFills(bool ordered, Order clears, Order puts) {
  const Outcomes out = Explore(2, [=](Thread& t) -> Task {
    if (t.id() == 0) {
      co_await t.Store(kState, kFirstFill, kRelease);
      co_await t.Store(kPayload, 1, puts);
      co_await t.Store(kHead, 1, kRelease);
      co_await t.Store(kState, kFree, clears);  // ChunkRing::Clear()
      co_await t.Store(kHead, 0, clears);
      co_await t.Store(kPayload, 0, clears);
      co_await t.Store(kState, kSecondFill, kRelease);  // ChunkRing::Begin()
      co_await t.Store(kPayload, 2, puts);
      co_await t.Store(kHead, 2, kRelease);
    } else {
      t.result[0] = co_await t.Load(kHead, kRelaxed);  // the first copy
      if (ordered) co_await t.AcquireFence();
      t.result[1] = co_await t.Load(kPayload, kRelaxed);  // the second copy
      if (ordered) co_await t.AcquireFence();
      t.result[2] = co_await t.Load(kState, kRelaxed);  // whether it is still that fill
    }
  });
  return out.Count([](const Outcome& o) {
    const auto& r = o.results[1];
    const bool taken = r[2] == kFirstFill && r[0] != 0;
    return taken && (r[0] != 1 || r[1] != 1);
  });
}

TEST(Publication, ACopyOfAChunkIsOfOneFillOrIsThrownAway) {
  EXPECT_EQ(CopiesOfTwoFills(true, kRelease, kRelease), 0u);
  EXPECT_GT(CopiesOfTwoFills(false, kRelease, kRelease), 0u);
  EXPECT_GT(CopiesOfTwoFills(true, kRelaxed, kRelease), 0u);
  EXPECT_GT(CopiesOfTwoFills(true, kRelease, kRelaxed), 0u);
}

// ---- Full chunks on their way to the drain and back: PushFull(), TakeFull(), MarkClean(), Claim()
// -

enum { kList = 8, kNext, kBits };

size_t ChunksInAWrongState(Order list, Order bits) {
  const Outcomes out = Explore(3, [=](Thread& t) -> Task {
    if (t.id() == 0) {  // a recording thread
      co_await t.Store(kHead, 5, kRelaxed);
      co_await t.Store(kNext, 0, kRelaxed);
      co_await t.Exchange(kList, 0, 1, list);
    } else if (t.id() == 1) {  // the drain
      if (co_await t.Exchange(kList, 1, 0, list) != 1) co_return;
      t.result[0] = 1 + co_await t.Load(kHead, kRelaxed);
      co_await t.Store(kHead, 0, kRelaxed);
      co_await t.Exchange(kBits, 0, 1, bits);
    } else {  // another recording thread
      if (co_await t.Exchange(kBits, 1, 0, bits) != 1) co_return;
      t.result[0] = 1 + co_await t.Load(kHead, kRelaxed);
    }
  });
  return out.Count([](const Outcome& o) {
    return (o.results[1][0] != 0 && o.results[1][0] != 6) ||  // taken without its word
           (o.results[2][0] != 0 && o.results[2][0] != 1);    // claimed and not all zero
  });
}

TEST(Chunks, TheDrainHasAllWordsOfAFullOneAndWhoClaimsItFindsItEmpty) {
  EXPECT_EQ(ChunksInAWrongState(kAcqRel, kAcqRel), 0u);
  EXPECT_GT(ChunksInAWrongState(kRelaxed, kAcqRel), 0u);
  EXPECT_GT(ChunksInAWrongState(kAcqRel, kRelaxed), 0u);
}

// ---- A thread that arms itself while recording ends: Recorder::Arm(), Recorder::SetPhase()
// -------

enum { kPhase, kEnabled };
constexpr uint64_t kOn = 0, kOff = 1;  // of kPhase
constexpr uint64_t kInline = 1, kSlow = 2, kNothing = 3;

size_t ThreadsThatStayArmed(Order order) {
  const Outcomes out = Explore(2, [=](Thread& t) -> Task {
    if (t.id() == 0) {
      if (co_await t.Load(kPhase, order == kSeqCst ? kSeqCst : kAcquire) != kOn) co_return;
      co_await t.Store(kEnabled, kInline, order);
      if (co_await t.Load(kPhase, order == kSeqCst ? kSeqCst : kAcquire) != kOn) {
        co_await t.Store(kEnabled, kSlow, order);
      }
    } else {
      co_await t.Store(kPhase, kOff, order);
      co_await t.Store(kEnabled, kNothing, order);
    }
  });
  return out.Count([](const Outcome& o) { return o.last[kEnabled] == kInline; });
}

TEST(Phases, NoThreadMarksInlineForEverAfterRecordingEnded) {
  EXPECT_EQ(ThreadsThatStayArmed(kSeqCst), 0u);
  EXPECT_GT(ThreadsThatStayArmed(kRelease), 0u);
}

// ---- Requests from outside: ArmedProcess::Ask(), OnDemand::Claim(), OnDemand::Answer()
// -----------

enum { kRequest, kAnswered, kWindow, kAnswer, kSteps };
constexpr uint64_t kAsked = 1, kTaken = 2;

TEST(Requests, OneThreadCarriesARequestOutAndItsAnswerIsTheOneThatIsRead) {
  const Outcomes out = Explore(3, [](Thread& t) -> Task {
    if (t.id() == 0) {  // crosscut start
      co_await t.Store(kWindow, 7, kRelease);
      co_await t.Store(kRequest, kAsked, kSeqCst);
      (void)co_await t.LoadOtherThan(0, kAnswered, kAcquire);
      t.result[0] = co_await t.Load(kAnswer, kAcquire);
    } else {  // the thread that begins a step; the thread crosscut-control
      if (co_await t.Load(kRequest, kSeqCst) != kAsked) co_return;
      if (co_await t.Exchange(kRequest, kAsked, kTaken, kSeqCst) != kAsked) co_return;
      t.result[0] = 1;
      t.result[1] = co_await t.Load(kWindow, kAcquire);
      co_await t.Store(kAnswer, 10 + static_cast<uint64_t>(t.id()), kRelease);
      co_await t.Store(kAnswered, kAsked, kRelease);
    }
  });
  EXPECT_GT(out.all.size(), 1u);
  EXPECT_EQ(out.Count([](const Outcome& o) {
    const uint64_t by = o.results[1][0] == 1 ? 1 : 2, other = 3 - by;
    return o.results[by][0] != 1 || o.results[other][0] != 0 || o.results[by][1] != 7 ||
           o.results[0][0] != 10 + by;
  }),
            0u);
}

TEST(Requests, OneThatIsTakenBackIsNotCarriedOut) {
  const Outcomes out = Explore(2, [](Thread& t) -> Task {
    if (t.id() == 0) {
      co_await t.Store(kRequest, kAsked, kSeqCst);
      t.result[0] = co_await t.Exchange(kRequest, kAsked, 0, kSeqCst);  // Withdraw()
    } else {
      t.result[0] = co_await t.Exchange(kRequest, kAsked, kTaken, kSeqCst);
    }
  });
  EXPECT_EQ(out.Count([](const Outcome& o) {
    return o.results[0][0] == kAsked && o.results[1][0] == kAsked;
  }),
            0u);
}

// Who asks for a step writes the request and then reads how many steps have begun; who begins a
// step writes that and then reads the request.
size_t StepsThatMissTheirRequest(Order order) {
  const Outcomes out = Explore(2, [=](Thread& t) -> Task {
    const Order load = order == kSeqCst ? kSeqCst : kAcquire;
    co_await t.Store(t.id() == 0 ? kRequest : kSteps, 1, order);
    t.result[0] = co_await t.Load(t.id() == 0 ? kSteps : kRequest, load);
  });
  return out.Count([](const Outcome& o) { return o.results[0][0] == 0 && o.results[1][0] == 0; });
}

TEST(Requests, AStepThatMissesItsRequestIsSeenToHaveBegun) {
  EXPECT_EQ(StepsThatMissTheirRequest(kSeqCst), 0u);
  EXPECT_EQ(StepsThatMissTheirRequest(kRelease), 1u);
}

}  // namespace
}  // namespace crosscut::record
