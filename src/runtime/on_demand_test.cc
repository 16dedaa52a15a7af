// An armed process, asked through its ring's header as `crosscut start` asks it.
#include "src/runtime/on_demand.h"

#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "crosscut/crosscut.h"
#include "src/base/testing/emulator.h"
#include "src/base/testing/folder.h"
#include "src/format/ring.h"
#include "src/format/ring_mapping.h"
#include "src/runtime/session.h"

namespace {

using crosscut::format::kAtOnce;
using crosscut::format::RingHeader;
using crosscut::format::RingLoad;
using crosscut::format::RingStore;
namespace format = crosscut::format;

int Arm() {
  crosscut_options options = {};
  options.struct_size = sizeof options;
  options.run_dir = getenv("RUN_OF_TEST");
  options.memory_bytes = 4 << 20;
  return crosscut_arm(&options);
}

// A process can be armed once, and stays so: each test runs in a child of its own.
class OnDemandTest : public testing::Test {
 protected:
  OnDemandTest() {
    std::filesystem::create_directory(run_);
    std::ofstream(run_ + "/run.json") << R"({"format":1,"seed":5,"ring_dir":")" << rings_ << "\"}";
  }

  void InChild(void (*body)(RingHeader*)) {
    const pid_t pid = fork();
    if (pid == 0) {
      setenv("RUN_OF_TEST", run_.c_str(), 1);
      EXPECT_EQ(Arm(), CROSSCUT_OK) << crosscut_error();
      EXPECT_EQ(Arm(), CROSSCUT_ERUNNING);
      const std::vector<std::string> rings = format::ListRings(rings_);
      EXPECT_EQ(rings.size(), 1u);
      for (const std::string& ring : rings) {
        auto mapping = format::RingMapping::Open(ring);
        if (mapping.ok()) body(mapping->header());
      }
      exit(testing::Test::HasFailure() ? 1 : 0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
  }
  crosscut::base::TestFolder folder_;
  const std::string rings_ = folder_.path(), run_ = rings_ + "/run";
};

uint32_t Ask(RingHeader* header, format::RingRequest kind, uint64_t at_step, uint64_t count = 0) {
  RingStore(header->control.at_step, at_step);
  RingStore(header->control.step_count, count);
  RingStore(header->control.limit_ns, uint64_t{0});
  RingStore(header->control.window, uint64_t{0});
  const uint32_t word = ((RingLoad(header->request) >> 8) + 1) << 8 | kind;
  RingStore(header->request, word);
  syscall(SYS_futex, &header->request, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  return word;
}

void Await(RingHeader* header, uint32_t word) {
  while (RingLoad(header->answered) != word) std::this_thread::yield();
}

TEST_F(OnDemandTest, StepsCountWhileNothingRecordsAndWindowsBeginAndEndAtThem) {
  InChild([](RingHeader* header) {
    EXPECT_EQ(RingLoad(header->state), format::kRingDormant);
    for (uint64_t i = 0; i < 10; ++i) EXPECT_EQ(crosscut_step(0), i);
    EXPECT_EQ(RingLoad(header->control.steps), 10u);
    EXPECT_EQ(RingLoad(header->control.counts_steps), 1u);
    const uint32_t word = Ask(header, format::kRequestStart, 12, 3);
    for (uint64_t i = 10; i < 12; ++i) {
      EXPECT_EQ(crosscut_step(0), i);
      EXPECT_EQ(crosscut_active(), 0);
    }
    EXPECT_EQ(crosscut_step(0), 12u);
    EXPECT_EQ(RingLoad(header->answered), word);
    EXPECT_EQ(RingLoad(header->answer), 0u);
    EXPECT_EQ(crosscut_active(), 1);
    EXPECT_EQ(crosscut_step(0), 13u);
    EXPECT_EQ(crosscut_step(0), 14u);
    EXPECT_EQ(crosscut_active(), 1);
    EXPECT_EQ(crosscut_step(0), 15u);
    EXPECT_EQ(crosscut_active(), 0);
    EXPECT_EQ(RingLoad(header->control.first_step), 12u);
    EXPECT_EQ(RingLoad(header->control.end_step), 15u);
    EXPECT_EQ(RingLoad(header->control.window_ended), 1u);
    EXPECT_EQ(RingLoad(header->state), format::kRingDormant);
  });
}

TEST_F(OnDemandTest, TheFirstWindowThatTheProgramBeginsEndsWhereTheEnvironmentSays) {
  setenv("CROSSCUT_STOP_AFTER_STEPS", "3", 1);
  InChild([](RingHeader* header) {
    EXPECT_EQ(crosscut_step(0), 0u);  // before the window: does not count
    EXPECT_EQ(crosscut_start(nullptr), CROSSCUT_OK) << crosscut_error();
    for (uint64_t i = 1; i <= 3; ++i) {
      EXPECT_EQ(crosscut_step(0), i);
      EXPECT_EQ(crosscut_active(), 1);
    }
    EXPECT_EQ(crosscut_step(0), 4u);
    EXPECT_EQ(crosscut_active(), 0);
    EXPECT_EQ(RingLoad(header->control.end_step), 4u);
    EXPECT_EQ(crosscut_start(nullptr), CROSSCUT_OK) << crosscut_error();  // a second one has no end
    for (uint64_t i = 5; i < 20; ++i) EXPECT_EQ(crosscut_step(0), i);
    EXPECT_EQ(crosscut_active(), 1);
    EXPECT_EQ(crosscut_stop(), CROSSCUT_OK);
  });
  unsetenv("CROSSCUT_STOP_AFTER_STEPS");
}

TEST_F(OnDemandTest, AWindowThatWasAskedForHasItsOwnEnd) {
  setenv("CROSSCUT_STOP_AFTER_STEPS", "3", 1);
  InChild([](RingHeader* header) {
    (void)Ask(header, format::kRequestStart, 0, 5);
    for (uint64_t i = 0; i < 5; ++i) {
      EXPECT_EQ(crosscut_step(0), i);
      EXPECT_EQ(crosscut_active(), 1);
    }
    EXPECT_EQ(crosscut_step(0), 5u);
    EXPECT_EQ(crosscut_active(), 0);
  });
  unsetenv("CROSSCUT_STOP_AFTER_STEPS");
}

TEST_F(OnDemandTest, AStepThatHasBegunIsTooLate) {
  InChild([](RingHeader* header) {
    for (int i = 0; i < 5; ++i) crosscut_step(0);
    const uint32_t word = Ask(header, format::kRequestStart, 3);
    crosscut_step(0);
    EXPECT_EQ(RingLoad(header->answered), word);
    EXPECT_EQ(RingLoad(header->answer), format::kAnswerLate);
    EXPECT_EQ(crosscut_active(), 0);
  });
}

TEST_F(OnDemandTest, WhoMakesNoStepsIsStartedAndStoppedByTheLibrarysThread) {
  InChild([](RingHeader* header) {
    Await(header, Ask(header, format::kRequestStart, kAtOnce));
    EXPECT_EQ(RingLoad(header->answer), 0u);
    EXPECT_EQ(crosscut_active(), 1);
    Await(header, Ask(header, format::kRequestStart, kAtOnce));
    EXPECT_EQ(RingLoad(header->answer), static_cast<uint32_t>(CROSSCUT_ERUNNING));
    EXPECT_STREQ(header->control.words, "it is already recording");
    Await(header, Ask(header, format::kRequestSnapshot, kAtOnce));
    EXPECT_EQ(RingLoad(header->answer), 0u);
    Await(header, Ask(header, format::kRequestStop, kAtOnce));
    EXPECT_EQ(RingLoad(header->answer), 0u);
    EXPECT_EQ(crosscut_active(), 0);
    Await(header, Ask(header, format::kRequestStop, kAtOnce));
    EXPECT_EQ(RingLoad(header->answer), static_cast<uint32_t>(CROSSCUT_ENOTRUNNING));
    Await(header, Ask(header, static_cast<format::RingRequest>(9), kAtOnce));
    EXPECT_EQ(RingLoad(header->answer), static_cast<uint32_t>(CROSSCUT_EINVAL));
  });
}

TEST_F(OnDemandTest, WordsThatAreNoRequests_AreAnsweredAndTheNextRequestIsCarriedOut) {
  InChild([](RingHeader* header) {
    using format::kRequestTaken;
    for (const uint32_t word : {UINT32_MAX, kRequestTaken | 1, 0x7fu, 0x12345600u | kRequestTaken,
                                0xdeadbe02u | kRequestTaken, 0x80000004u}) {
      memset(&header->control, 0xff, offsetof(format::RingControl, armed));
      RingStore(header->request, word);
      syscall(SYS_futex, &header->request, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
      Await(header, word & ~kRequestTaken);
      EXPECT_EQ(RingLoad(header->answer), static_cast<uint32_t>(CROSSCUT_EINVAL));
      EXPECT_EQ(crosscut_active(), 0);
      crosscut_step(0);
      Await(header, Ask(header, format::kRequestStart, kAtOnce));
      EXPECT_EQ(RingLoad(header->answer), 0u);
      EXPECT_EQ(crosscut_active(), 1);
      Await(header, Ask(header, format::kRequestStop, kAtOnce));
      EXPECT_EQ(RingLoad(header->answer), 0u);
    }
  });
}

TEST_F(OnDemandTest, AWindowOfImpossibleLength_GoesOnUntilItIsStopped) {
  InChild([](RingHeader* header) {
    for (int i = 0; i < 3; ++i) crosscut_step(0);
    RingStore(header->control.at_step, kAtOnce);
    RingStore(header->control.step_count, UINT64_MAX);
    RingStore(header->control.limit_ns, UINT64_MAX);
    RingStore(header->control.window, uint64_t{0});
    RingStore(header->request, uint32_t{0x100 | format::kRequestStart});
    syscall(SYS_futex, &header->request, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
    Await(header, 0x100 | format::kRequestStart);
    for (int i = 0; i < 100; ++i) crosscut_step(0);
    usleep(50'000);
    EXPECT_EQ(crosscut_active(), 1);
    Await(header, Ask(header, format::kRequestStop, kAtOnce));
    EXPECT_EQ(RingLoad(header->answer), 0u);
  });
}

TEST_F(OnDemandTest, AWindowEndsAfterItsTimeWhetherStepsAreMadeOrNot) {
  InChild([](RingHeader* header) {
    constexpr uint64_t kLimitNs = 50'000'000;
    enum { kNone, kOne, kMany };
    for (const int steps : {kNone, kMany, kOne}) {
      const auto begin = std::chrono::steady_clock::now();
      RingStore(header->control.at_step, steps == kOne ? RingLoad(header->control.steps) : kAtOnce);
      RingStore(header->control.step_count, uint64_t{0});
      RingStore(header->control.limit_ns, kLimitNs);
      const uint32_t word = ((RingLoad(header->request) >> 8) + 1) << 8 | format::kRequestStart;
      RingStore(header->request, word);
      syscall(SYS_futex, &header->request, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
      if (steps == kOne) {
        usleep(10'000);  // the library's thread has nothing to wait for until that step
        crosscut_step(0);
      }
      Await(header, word);
      EXPECT_EQ(RingLoad(header->answer), 0u);
      const uint64_t window = RingLoad(header->control.window_begun);
      while (RingLoad(header->control.window_ended) != window) {
        if (steps == kMany) crosscut_step(0);
        usleep(1000);
      }
      EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::nanoseconds(kLimitNs));
      EXPECT_EQ(crosscut_active(), 0);
    }
  });
}

std::atomic<int> begun = 0, ended = 0, called = 0;

TEST_F(OnDemandTest, AProgramThatLendsAThreadIsCalledAroundEveryWindow) {
  InChild([](RingHeader* header) {
    crosscut_program program = {};
    EXPECT_EQ(crosscut_on_demand(&program), CROSSCUT_EINVAL);
    program.struct_size = sizeof program;
    program.call = [](void*) { return called++ < 3 ? 1 : 0; };
    program.window = [](void*, int begins) { ++(begins != 0 ? begun : ended); };
    EXPECT_EQ(crosscut_on_demand(&program), CROSSCUT_OK);
    const uint32_t start = Ask(header, format::kRequestStart, kAtOnce);
    while (RingLoad(header->answered) != start) crosscut_serve();
    EXPECT_EQ(begun.load(), 1);
    EXPECT_EQ(crosscut_active(), 1);
    Await(header, Ask(header, format::kRequestStop, kAtOnce));  // nobody serves: our thread does
    EXPECT_EQ(ended.load(), 1);
    EXPECT_GE(called.load(), 4);
  });
}

std::mutex hooks_turn;
bool hooks_in_place = false;
std::atomic<RingHeader*> asked_of{nullptr};
std::atomic<uint32_t> start_within{0};

// As Python's side of a window: hooks come and go one at a time, beside other threads' windows.
void ChangeHooks(void*, int begins) {
  if (begins == 0) usleep(static_cast<useconds_t>(rand() % 300));
  const std::lock_guard lock(hooks_turn);
  hooks_in_place = begins != 0 || (hooks_in_place && crosscut_in_window() != 0);
}

// An interpreter may carry out what is asked for from any code that it runs.
void AskWithin(void* self, int begins) {
  if (begins == 0 && start_within == 0) {
    start_within = Ask(asked_of, format::kRequestStart, kAtOnce);
    crosscut_serve();  // not here; the library's thread may begin it now
  }
  ChangeHooks(self, begins);
}

TEST_F(OnDemandTest, AWindowThatIsAskedForWhileHooksAreWithdrawnHasItsHooks) {
  InChild([](RingHeader* header) {
    asked_of = header;
    crosscut_program program = {};
    program.struct_size = sizeof program;
    program.window = AskWithin;
    EXPECT_EQ(crosscut_on_demand(&program), CROSSCUT_OK);
    (void)Ask(header, format::kRequestStart, 0, 2);
    for (int i = 0; i < 3; ++i) crosscut_step(0);
    Await(header, start_within);
    EXPECT_EQ(crosscut_active(), 1);
    EXPECT_TRUE(hooks_in_place);
    EXPECT_EQ(crosscut_stop(), CROSSCUT_OK);
    EXPECT_FALSE(hooks_in_place);
  });
}

TEST_F(OnDemandTest, HooksAreInPlaceInEveryWindowWhoeverBeginsAndEndsThem) {
  InChild([](RingHeader* header) {
    crosscut_program program = {};
    program.struct_size = sizeof program;
    program.window = ChangeHooks;
    EXPECT_EQ(crosscut_on_demand(&program), CROSSCUT_OK);
    std::atomic<bool> goes_on{true};
    std::atomic<int> windows{0};
    // Windows of one step each end on this thread, and begin on the others.
    std::thread steps([&] {
      while (goes_on) crosscut_step(0);
    });
    std::thread starts([&] {
      while (goes_on) {
        if (crosscut_start(nullptr) == CROSSCUT_OK) {
          usleep(200);
          // Both under the lock: nobody withdraws between the looks.
          const std::lock_guard lock(hooks_turn);
          EXPECT_TRUE(hooks_in_place || crosscut_active() == 0);
          ++windows;
        }
        (void)crosscut_stop();
      }
    });
    for (int asked = 0; asked < 50 || windows < 100;) {
      Await(header, Ask(header, format::kRequestStart, kAtOnce, 1));
      asked += RingLoad(header->answer) == 0;
    }
    goes_on = false;
    starts.join();
    steps.join();
    if (crosscut_active() != 0) crosscut_stop();
    EXPECT_FALSE(hooks_in_place);
  });
}

TEST_F(OnDemandTest, AChildIsNotArmedAndCountsNoSteps) {
  if (crosscut::base::UnderEmulator()) {
    GTEST_SKIP() << "qemu takes MADV_WIPEONFORK and does nothing";
  }
  InChild([](RingHeader* header) {
    crosscut_step(0);
    const pid_t pid = fork();
    if (pid == 0) {
      const bool thread = crosscut::record::Session::Get().on_demand().threads() != 0;
      _exit(crosscut_armed() == 0 && crosscut_step(0) == 0 && !thread ? 0 : 1);
    }
    EXPECT_EQ(crosscut::record::Session::Get().on_demand().threads(), 1);
    int status = 1;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(RingLoad(header->control.steps), 1u);
  });
}

TEST_F(OnDemandTest, AChildHasTheEndOfItsParentsWindowAndNoneInItsNext) {
  if (crosscut::base::UnderEmulator()) {
    GTEST_SKIP() << "qemu takes MADV_WIPEONFORK and does nothing";
  }
  setenv("CROSSCUT_STOP_AFTER_STEPS", "3", 1);
  InChild([](RingHeader*) {
    EXPECT_EQ(crosscut_start(nullptr), CROSSCUT_OK) << crosscut_error();
    const pid_t pid = fork();
    if (pid == 0) {
      std::vector<int> active;
      const auto steps = [&](int count) {
        for (int i = 0; i < count; ++i) crosscut_step(0);
        active.push_back(crosscut_active());
      };
      const int armed = Arm(), begun = crosscut_start(nullptr);
      steps(3);
      steps(1);
      const int next = crosscut_start(nullptr);
      steps(10);
      const bool as_meant = armed == CROSSCUT_OK && begun == CROSSCUT_OK && next == CROSSCUT_OK;
      _exit(as_meant && active == std::vector<int>{1, 0, 1} ? 0 : 1);
    }
    int status = 1;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(crosscut_stop(), CROSSCUT_OK);
  });
  unsetenv("CROSSCUT_STOP_AFTER_STEPS");
}

}  // namespace
