#include <cupti_runtime_cbid.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <set>
#include <shared_mutex>
#include <thread>

#include "session.h"
#include "testing/fake_cupti.h"
#include "testing/recording_host.h"
#include "testing/their_profiler.h"

namespace crosscut::cupti {
namespace {

using ::testing::HasSubstr;
using Kind = TheirProfiler::Kind;

constexpr Kind kKinds[] = {Kind::kRecordsOnly, Kind::kKeepsCalls, Kind::kSubscribes,
                           Kind::kFinalizes};

// Tells a session of the program's profilers as the host does.
class Announcer {
 public:
  explicit Announcer(Session* session) : session_(session) {}
  template <class Body>
  void Begin(Body begin) {
    ++count_;
    Change(begin);
  }
  template <class Body>
  void End(Body end) {
    Change([&] {
      end();
      --count_;
    });
  }

 private:
  template <class Body>
  void Change(Body body) {
    ++changing_;
    Say();
    body();
    --changing_;
    Say();
  }

  void Say() {
    if (session_ == nullptr) return;
    const crosscut_profilers state = changing_ != 0 ? CROSSCUT_PROFILERS_CHANGING
                                     : count_ != 0  ? CROSSCUT_PROFILERS_RUNNING
                                                    : CROSSCUT_PROFILERS_NONE;
    session_->OtherProfiler("torch.profiler", state, ++order_);
    while (!session_->AwaitAttachment()) {
    }
  }

  Session* const session_;
  int count_ = 0, changing_ = 0;
  uint64_t order_ = 0;
};

// While it lives, one flush of CUPTI's, which `body` leads to on a thread of its own, takes as long
// as the test wants.
class LongFlush {
 public:
  template <class Body>
  LongFlush(FakeCupti* cupti, Body body) : cupti_(cupti) {
    cupti_->meanwhile = [this](const std::string& function) {
      if (function != "ActivityFlushAll" || is_in_.exchange(true)) return;
      while (!goes_on_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    };
    other_ = std::thread(body);
    while (!is_in_) std::this_thread::yield();
  }
  LongFlush(const LongFlush&) = delete;
  LongFlush& operator=(const LongFlush&) = delete;
  ~LongFlush() { cupti_->meanwhile = nullptr; }
  void End() {
    goes_on_ = true;
    other_.join();
  }

 private:
  FakeCupti* const cupti_;
  std::atomic<bool> is_in_{false}, goes_on_{false};
  std::thread other_;
};

class CuptiHandOver : public ::testing::Test {
 protected:
  CuptiHandOver() {
    host.options["buffer_kib"] = "16";
    host.options["flows"] = "1024";
  }
  void Start() {
    session_->Start();
    while (!session_->AwaitAttachment()) {
    }
  }
  void PutKernel(uint32_t launch) {
    const int64_t now = cupti.Now();
    cupti.Put(FakeCupti::Kernel(launch, now, now + 10));
  }

  RecordingHost host;
  FakeCupti cupti;
  std::unique_ptr<Session> session_ = std::make_unique<Session>(host.abi(), cupti.table());
  Announcer announcer{session_.get()};
};

TEST_F(CuptiHandOver, GivesCuptiToTheProgramsProfilerAndTakesItBack) {
  for (const Kind kind : kKinds) {
    host.events.clear();
    host.lost.clear();
    TheirProfiler theirs(&cupti, kind);
    Start();
    PutKernel(cupti.Launch());
    announcer.Begin([&] {
      EXPECT_FALSE(cupti.is_subscribed());
      EXPECT_TRUE(cupti.kinds.empty());
      theirs.Begin();
    });
    const uint32_t their_launch = cupti.Launch();
    PutKernel(their_launch);
    session_->Flush();
    announcer.End([&] { theirs.End(); });
    PutKernel(cupti.Launch());
    session_->Stop();
    EXPECT_THAT(theirs.log(),
                ::testing::Contains("record " + std::to_string(their_launch) + " of 10"));
    EXPECT_EQ(host.events.size(), 2u);
    ASSERT_EQ(host.lost.size(), 1u);
    EXPECT_LT(host.lost[0].begin_ns, host.lost[0].end_ns);
    EXPECT_EQ(host.lost[0].count, kind == Kind::kRecordsOnly ? 1u : 0u);
    EXPECT_EQ(host.Last().state, "conflict");
    EXPECT_THAT(host.Last().message, HasSubstr("own torch.profiler had CUPTI (1 times)"));
    EXPECT_THAT(host.Last().message, HasSubstr("crosscut import"));
    cupti.Finalize();
  }
}

TEST_F(CuptiHandOver, NamesEachProfilerOnceAlsoOneWhoseNameIsAPartOfAnothers) {
  Start();
  uint64_t order = 0;
  for (const char* who : {"my torch.profiler", "torch.profiler", "torch", "my torch.profiler",
                          "torch.profiler", "profiler"}) {
    session_->OtherProfiler(who, CROSSCUT_PROFILERS_CHANGING, ++order);
    session_->OtherProfiler(who, CROSSCUT_PROFILERS_NONE, ++order);
    while (!session_->AwaitAttachment()) {
    }
  }
  session_->Stop();
  EXPECT_THAT(host.Last().message,
              HasSubstr("own my torch.profiler and torch.profiler and torch and profiler had "
                        "CUPTI (6 times)"));
}

TEST_F(CuptiHandOver, LeavesAProfilerAloneThatRunsWhenTheSessionBegins) {
  TheirProfiler theirs(&cupti, Kind::kRecordsOnly);
  announcer.Begin([&] { theirs.Begin(); });
  const int registered = cupti.asked["ActivityRegisterCallbacks"];
  Start();
  PutKernel(cupti.Launch());
  session_->Flush();
  session_->Stop();
  EXPECT_EQ(cupti.asked["ActivityRegisterCallbacks"], registered);
  EXPECT_THAT(host.Last().message, HasSubstr("had CUPTI (1 times)"));
  ASSERT_EQ(host.lost.size(), 1u);
  Start();
  announcer.End([&] { theirs.End(); });
  PutKernel(cupti.Launch());
  session_->Stop();
  EXPECT_EQ(host.events.size(), 1u);
  EXPECT_EQ(theirs.log().back(), "dropped 0");
}

TEST_F(CuptiHandOver, TellsNothingOfProfilersWhereNothingIsAttached) {
  cupti.refuse = {{"Subscribe", CUPTI_ERROR_NOT_INITIALIZED}};
  Start();
  announcer.Begin([] {});
  announcer.End([] {});
  session_->Stop();
  EXPECT_EQ(host.Last().state, "missing");
  EXPECT_TRUE(host.lost.empty());
}

// Hosts give up a plugin whose flush does not return, and CUPTI has taken seconds to answer.
TEST_F(CuptiHandOver, AttachesOnAThreadOfItsOwnWheneverThatIs) {
  announcer.Begin([] {});
  Start();
  cupti.refuse = {{"GetVersion", CUPTI_ERROR_UNKNOWN}};
  announcer.End([] {});
  std::atomic<bool> is_on_the_hosts{false};
  cupti.meanwhile = [&, host_thread = std::this_thread::get_id()](const std::string& function) {
    if (function == "Subscribe") is_on_the_hosts = std::this_thread::get_id() == host_thread;
  };
  cupti.refuse.clear();
  session_->Flush();
  while (!session_->AwaitAttachment()) {
  }
  EXPECT_TRUE(session_->is_attached());
  EXPECT_FALSE(is_on_the_hosts);
  session_->Stop();
}

// A record that comes between the flush and the end of its kind takes a buffer of ours.
TEST_F(CuptiHandOver, LeavesNoBufferOfOursToTheProgramsProfiler) {
  TheirProfiler theirs(&cupti, Kind::kRecordsOnly);
  Start();
  bool came = false;
  cupti.meanwhile = [&](const std::string& function) {
    if (function != "ActivityDisable" || came) return;
    came = true;
    PutKernel(cupti.Launch());
  };
  announcer.Begin([&] { theirs.Begin(); });
  announcer.End([&] { theirs.End(); });
  session_->Stop();
  EXPECT_EQ(host.events.size(), 1u);
  EXPECT_THAT(theirs.log(), ::testing::Not(::testing::Contains(HasSubstr("record"))));
}

TEST_F(CuptiHandOver, WaitsForACallThatAnotherThreadIsIn) {
  Start();
  std::atomic<bool> is_in{false};
  std::thread other([&] {
    cupti.Call(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020,
               "cudaStreamSynchronize", [&](uint32_t) {
                 is_in = true;
                 std::this_thread::sleep_for(std::chrono::milliseconds(20));
               });
  });
  while (!is_in) std::this_thread::yield();
  announcer.Begin([] {});
  other.join();
  announcer.End([] {});
  session_->Stop();
  EXPECT_EQ(host.open_calls, 0);
  EXPECT_EQ(host.ends_without_begin, 0);
}

TEST_F(CuptiHandOver, TellsOfCallsWhoseEndItDoesNotSee) {
  Start();
  cupti.Call(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020,
             "cudaStreamSynchronize", [&](uint32_t) { announcer.Begin([] {}); });
  announcer.End([] {});
  session_->Stop();
  EXPECT_EQ(host.ends_without_begin, 0);
  EXPECT_THAT(host.Last().message, HasSubstr("the ends of 1 calls were not seen"));
}

// Kineto with TEARDOWN_CUPTI=1 ends CUPTI some time after its profile.
TEST_F(CuptiHandOver, RecordsAgainWhenCuptiIsFinalizedBehindTheProfile) {
  TheirProfiler theirs(&cupti, Kind::kKeepsCalls);
  Start();
  announcer.Begin([&] { theirs.Begin(); });
  announcer.End([&] { theirs.End(); });
  EXPECT_TRUE(theirs.is_subscribed());
  PutKernel(cupti.Launch());
  session_->Flush();
  EXPECT_EQ(host.events.size(), 1u);
  EXPECT_EQ(host.calls.size(), 0u);
  cupti.Finalize();
  session_->Flush();
  PutKernel(cupti.Launch());
  session_->Stop();
  EXPECT_EQ(host.events.size(), 2u);
  EXPECT_EQ(host.calls.size(), 1u);
  ASSERT_EQ(host.lost.size(), 2u);
  EXPECT_THAT(host.Last().message, HasSubstr("no calls of CUDA were recorded for its sake"));
}

// A flush takes longer than a profiler of the program's waits for it.
TEST_F(CuptiHandOver, WhatCameDuringALongCallIsDoneAfterIt) {
  Start();
  LongFlush flush(&cupti, [&] { session_->Flush(); });
  session_->OtherProfiler("torch.profiler", CROSSCUT_PROFILERS_RUNNING, 1);
  EXPECT_FALSE(cupti.kinds.empty());
  flush.End();
  session_->Flush();
  EXPECT_TRUE(cupti.kinds.empty());
  session_->OtherProfiler("torch.profiler", CROSSCUT_PROFILERS_NONE, 2);
  while (!session_->AwaitAttachment()) {
  }
  PutKernel(cupti.Launch());
  session_->Stop();
  EXPECT_EQ(host.events.size(), 1u);
  EXPECT_EQ(host.lost.size(), 1u);
  EXPECT_THAT(host.Last().message, HasSubstr("CUPTI did not answer before a profiler"));
  Start();
  session_->Stop();
  EXPECT_EQ(host.Last().state, "on") << host.Last().message;
}

TEST_F(CuptiHandOver, ASessionThatEndsMeanwhileIsNotTakenUpAgainBehindTheProfile) {
  Start();
  LongFlush flush(
      &cupti, [&] { session_->OtherProfiler("torch.profiler", CROSSCUT_PROFILERS_CHANGING, 1); });
  session_->Stop();
  EXPECT_THAT(host.Last().message, HasSubstr("ended while another profiler was being given"));
  flush.End();
  session_->OtherProfiler("torch.profiler", CROSSCUT_PROFILERS_NONE, 2);
  while (!session_->AwaitAttachment()) {
  }
  EXPECT_FALSE(session_->is_attached());
  EXPECT_TRUE(cupti.kinds.empty());
  EXPECT_FALSE(cupti.is_subscribed());
}

// ---- Any schedule ------------------------------------------------------------------------------

// One drawn program: launches, work that comes later, two profilers that nest and cross, and a
// session of ours that starts, stops, flushes and has control steps wherever it likes.
class Schedule {
 public:
  Schedule(uint32_t seed, bool ours) : seed_(seed) {
    host_.options["buffer_kib"] = "16";
    host_.options["flows"] = "1024";
    if (ours) session_ = std::make_unique<Session>(host_.abi(), cupti_.table());
    announcer_ = std::make_unique<Announcer>(session_.get());
  }

  std::vector<std::string> Run() {
    std::mt19937 random(seed_);
    TheirProfiler one(&cupti_, kKinds[random() % 4]), other(&cupti_, kKinds[random() % 4]);
    TheirProfiler* const both[] = {&one, &other};
    both_ = both;
    const uint32_t steps = 4 + random() % 20;
    for (uint32_t i = 0; i < steps; ++i) Step(&random);
    for (TheirProfiler* theirs : both) {
      if (theirs->runs()) Switch(theirs);
    }
    if (is_running_) SwitchOurs();
    std::vector<std::string> log = one.log();
    log.insert(log.end(), other.log().begin(), other.log().end());
    return log;
  }

  // What the session should have recorded, and how often it should have told of a gap.
  void Check() {
    std::multiset<uint64_t> found;
    for (const auto& event : host_.events) found.insert(event.args.at("grid_x"));
    EXPECT_EQ(found, expected_);
    size_t launches = 0;
    for (const auto& loss : host_.lost) launches += loss.count;
    EXPECT_EQ(host_.lost.size(), gaps_);
    EXPECT_EQ(launches, launched_away_);
    EXPECT_EQ(host_.open_calls, 0);
    EXPECT_EQ(host_.ends_without_begin, 0);
    EXPECT_EQ(host_.calls.size(), heard_);
  }

 private:
  bool AnyRuns() const { return both_[0]->runs() || both_[1]->runs(); }
  bool TheyHear() const { return both_[0]->is_subscribed() || both_[1]->is_subscribed(); }

  void Step(std::mt19937* random) {
    switch ((*random)() % 10) {
      case 0:
      case 1:
      case 2: return Launch(true);
      case 3: return Launch(false);
      case 4:
        if (!later_.empty()) {
          Put(later_.back());
          later_.pop_back();
        }
        return;
      case 5:
      case 6: return Switch(both_[0]);
      case 7: return Switch(both_[1]);
      case 8:
        if (session_ != nullptr) session_->Flush();
        return;
      default: return SwitchOurs();
    }
  }

  void Launch(bool at_once) {
    const uint32_t id = cupti_.Launch();
    if (is_on_ && !TheyHear()) {
      ++heard_;
      if (AnyRuns()) ++launched_away_;
    }
    if (at_once) return Put(id);
    later_.push_back(id);
  }

  void Put(uint32_t id) {
    CUpti_ActivityKernel7 kernel = FakeCupti::Kernel(id, cupti_.Now(), cupti_.Now());
    kernel.end = kernel.start + 10;
    kernel.gridX = static_cast<int32_t>(id);
    cupti_.Put(kernel);
    if (is_on_ && !AnyRuns()) expected_.insert(id);
  }

  void Switch(TheirProfiler* theirs) {
    if (theirs->runs()) {
      announcer_->End([&] { theirs->End(); });
    } else {
      if (is_on_ && !AnyRuns()) ++gaps_;
      announcer_->Begin([&] { theirs->Begin(); });
    }
    Hear();
  }

  void Hear() { has_heard_ |= is_on_ && !TheyHear(); }

  void SwitchOurs() {
    const bool stops = is_running_;
    is_running_ = !stops;
    // A profiler that was there before any session of ours, and stays, is left alone.
    is_on_ = !stops && (AnyRuns() || !TheyHear() || has_heard_);
    if (is_on_ && AnyRuns()) ++gaps_;
    Hear();
    if (session_ == nullptr) return;
    if (!stops) {
      session_->Start();
      while (!session_->AwaitAttachment()) {
      }
    } else {
      session_->Stop();
    }
  }

  const uint32_t seed_;
  RecordingHost host_;
  FakeCupti cupti_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Announcer> announcer_;
  TheirProfiler* const* both_ = nullptr;
  std::vector<uint32_t> later_;
  bool is_running_ = false, is_on_ = false;
  bool has_heard_ = false;  // ours, in any session
  size_t gaps_ = 0, launched_away_ = 0, heard_ = 0;
  std::multiset<uint64_t> expected_;
};

TEST(CuptiHandOverSchedules, LeaveTheProgramsProfilesAsTheyAreAloneAndTellOfEach) {
  for (uint32_t seed = 1; seed <= 20'000; ++seed) {
    const std::vector<std::string> alone = Schedule(seed, false).Run();
    Schedule beside(seed, true);
    ASSERT_EQ(beside.Run(), alone) << "seed " << seed;
    beside.Check();
    ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
  }
}

// Threads that launch while others begin and end profiles, and ours flushes and switches levels.
TEST_F(CuptiHandOver, GivesTheProgramsProfileWhatIsItsOwnWhileThreadsLaunch) {
  TheirProfiler theirs(&cupti, Kind::kRecordsOnly);
  Start();
  std::shared_mutex window;  // a launch and its work lie in a profile or out of it
  std::atomic<bool> over{false};
  std::atomic<int> in_profiles{0}, outside{0};
  std::vector<std::thread> threads;
  for (int t = 1; t <= 3; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 400; ++i) {
        const std::shared_lock<std::shared_mutex> lock(window);
        const int64_t now = cupti.Now();
        cupti.Put(FakeCupti::Kernel(cupti.Launch(), now, now + 10), t);
        ++(theirs.runs() ? in_profiles : outside);
      }
    });
  }
  std::thread flushes([&] {
    while (!over) {
      session_->Flush();
      std::this_thread::yield();
    }
  });
  for (int i = 0; i < 20; ++i) {
    // The window closes around the whole change: what is launched in it is nobody's.
    announcer.Begin([&] {
      const std::unique_lock<std::shared_mutex> lock(window);
      theirs.Begin();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    announcer.End([&] {
      const std::unique_lock<std::shared_mutex> lock(window);
      theirs.End();
    });
  }
  for (std::thread& thread : threads) thread.join();
  over = true;
  flushes.join();
  session_->Stop();
  const auto records =
      std::count_if(theirs.log().begin(), theirs.log().end(),
                    [](const std::string& line) { return line.compare(0, 7, "record ") == 0; });
  EXPECT_EQ(records, in_profiles);
  EXPECT_LE(host.events.size(), static_cast<size_t>(outside));
  EXPECT_THAT(host.Last().message, HasSubstr("had CUPTI (20 times)"));
  EXPECT_EQ(host.open_calls, 0);
  EXPECT_EQ(host.ends_without_begin, 0);
}

}  // namespace
}  // namespace crosscut::cupti
