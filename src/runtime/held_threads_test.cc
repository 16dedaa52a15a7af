// Threads that are held at any of their instructions while others stop and start sessions.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)

#include <gtest/gtest.h>
#include <signal.h>
#include <ucontext.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "src/runtime/session_threads_test.h"

namespace crosscut::record {
namespace {

// Runs a mark instruction by instruction, and holds it before one or two of them.
std::atomic<int> instructions{0}, held_at[2];
std::atomic<int> releases{0};
std::atomic<int> came{0};  // what the thread does: so often it was held, or kDone
constexpr int kDone = 100;

constexpr uint64_t kTrapFlag = 0x100;

void OnInstruction(int, siginfo_t*, void* context) {
  const int at = ++instructions;
  if (at != held_at[0] && at != held_at[1]) return;
  if (at >= held_at[1]) {  // the rest need not be stepped through
    static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &=
        ~static_cast<greg_t>(kTrapFlag);
  }
  const int mine = came + 1;
  Set(&came, mine);
  for (int is = releases; is < mine; is = releases) releases.wait(is);
}

void StepThrough(bool on) {
  uint64_t flags;
  __asm__ volatile("pushfq; popq %0" : "=r"(flags));
  flags = on ? flags | kTrapFlag : flags & ~kTrapFlag;
  __asm__ volatile("pushq %0; popfq" : : "r"(flags) : "cc", "memory");
}

// A thread that marks when its turn comes, as OnInstruction() lets it.
class HeldThreads : public SessionThreads {
 protected:
  HeldThreads() {
    struct sigaction action = {};
    action.sa_sigaction = &OnInstruction;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGTRAP, &action, &before_);
    thread_ = std::thread([this] {
      for (int turn = 0;; ++turn) {
        turn_.wait(turn);
        if (!body_) return;
        instructions = 0;
        body_();
        Set(&came, kDone);
      }
    });
  }
  ~HeldThreads() override {
    Begin(0, 0, nullptr);
    thread_.join();
    sigaction(SIGTRAP, &before_, nullptr);
  }
  // Has `body` run, which steps through what it marks; held before these two instructions, if it
  // comes to them.
  void Begin(int first, int second, std::function<void()> body) {
    held_at[0] = first;
    held_at[1] = second;
    came = releases = 0;
    body_ = std::move(body);
    Set(&turn_, turn_ + 1);
  }
  // Whether the thread is held for the `n`th time; false: it is done.
  bool Held(int n) {
    for (int is = came; is < n; is = came) came.wait(is);
    return came != kDone;
  }
  void End() {
    Set(&releases, 2);
    (void)Held(kDone);
  }
  struct sigaction before_ = {};
  std::thread thread_;
  std::function<void()> body_;
  std::atomic<int> turn_{0};
};

TEST_F(HeldThreads, AMarkThatIsHeldBeforeAnyOfItsInstructionsHarmsNobody) {
  const uint32_t name = Name("held");
  int held = 0;
  for (int i = 1; i <= 120; ++i) {
    std::filesystem::remove_all(dir_);
    std::filesystem::create_directory(dir_);
    Into("0");
    Start();
    Begin(i, 0, [name] {
      crosscut_instant(name);  // it has its chunk and is armed
      StepThrough(true);
      crosscut_begin_inline(name);
      StepThrough(false);
      crosscut_end();
    });
    for (int other = 1; Held(1) && other <= 3; ++other) {
      held += other == 1;
      crosscut_stop();
      Into(std::to_string(other));
      options_.memory_bytes = (size_t{4} + 3 * other) << 20;  // elsewhere in memory
      Start();
    }
    End();
    crosscut_stop();
  }
  EXPECT_GT(held, 10);
}

TEST_F(HeldThreads, AStepThatIsHeldOverAStopTakesNoNumberOfTheNextSession) {
  int held = 0;
  for (int i = 1; i <= 120; ++i) {
    Start();
    Begin(i, 0, [] {
      crosscut_step(0);  // it has its chunk and is armed
      StepThrough(true);
      crosscut_step(0);
      StepThrough(false);
    });
    held += Held(1) ? 1 : 0;
    crosscut_stop();
    End();
    Start();
    EXPECT_EQ(crosscut_step(0), 0u) << i;
    crosscut_stop();
  }
  EXPECT_GT(held, 60);
}

TEST_F(HeldThreads, AMarkThatIsHeldThroughAStopAndAStartSwitchesItsThreadNotOff) {
  const uint32_t during = Name("during"), after = Name("after");
  int certain = 0;
  // Three second places for each first one, which are others for its neighbours.
  for (int i = 0; i < 360; ++i) {
    Start();
    crosscut_pause();
    const int first = 1 + i % 120;
    Begin(first, first + 1 + (i / 120 * 20 + i * 3) % 60, [=] {
      StepThrough(true);
      crosscut_instant(during);
      StepThrough(false);
      crosscut_instant(after);
    });
    if (Held(1)) crosscut_stop();
    Set(&releases, 1);
    if (Held(2)) {
      Start();
      ++certain;
    }
    End();
    crosscut_stop();
  }
  ASSERT_EQ(crosscut_flush(), CROSSCUT_OK);
  int found = 0;
  ForEachEvent(run_, [&](uint64_t, std::span<const uint64_t> event) {
    found += CodeOf(event) == format::kInstant && event[1] == after;
  });
  EXPECT_EQ(found, certain);
  EXPECT_GT(certain, 200);
}

}  // namespace
}  // namespace crosscut::record

#endif
