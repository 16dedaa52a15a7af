// What ARCHITECTURE.md says of the hot path, of the kernel's view of it.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <string>
#include <thread>

#include "crosscut/crosscut.h"
#include "src/base/testing/emulator.h"
#include "src/collect/clock.h"
#include "src/collect/recorder.h"

namespace crosscut::record {
namespace {

constexpr uint32_t kName = format::kFirstNameCode;
constexpr size_t kWordsInChunk = format::kRingChunkWords - format::kRingChunkHeaderWords;

// Seccomp's strict mode would forbid the clock, too.
void ForbidAllCallsButExit() {
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  const sock_fprog program = {sizeof rules / sizeof *rules, rules};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    _exit(2);
  }
}

// The contract of the hot path. Chunks that the drain keeps clean are prepared: their pages are
// there.
TEST(HotPath, AfterItsFirstEvent_AThreadMarksWithoutASystemCallOrAPageFault) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers have memory of their own for what is touched";
#endif
  if (base::UnderEmulator())
    GTEST_SKIP() << "it has page faults and system calls of its own, and no seccomp";
  constexpr size_t kSpans = 3 * kWordsInChunk / 2;  // into a fourth chunk
  ClockInit(false);
  Recorder::Get().Init();
  static ChunkRing ring;
  const std::string path = testing::TempDir() + "crosscut-hot-path-" + std::to_string(getpid());
  int mark_of_use = -1;
  ASSERT_EQ(ring.Create(path.c_str(), 16, {}, &mark_of_use), 0);
  close(mark_of_use);
  unlink(path.c_str());
  ASSERT_TRUE(Recorder::Get().BeginSession(&ring, 4 << 20));
  Recorder::Get().SetPhase(Phase::kOn, ClockNow());
  ring.Prepare(8);
  long faults = -1;
  const auto mark = [] {
    for (size_t i = 0; i < kSpans; ++i) {
      crosscut_begin(kName);
      crosscut_end();
    }
  };
  std::thread([&] {
    crosscut_begin(kName);
    crosscut_end();
    rusage before, after;
    getrusage(RUSAGE_THREAD, &before);
    mark();
    getrusage(RUSAGE_THREAD, &after);
    faults = after.ru_minflt + after.ru_majflt - before.ru_minflt - before.ru_majflt;
  }).join();
  EXPECT_EQ(faults, 0);
  EXPECT_GE(ring.claimed(), 4u) << "it went from chunk to chunk";
  EXPECT_EQ(ring.drop_slots()[0].count, 0u);
  // In a process of its own, which a call ends: the kernel is told to forbid all but the last.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        crosscut_begin(kName);
        crosscut_end();
        ForbidAllCallsButExit();
        mark();
        syscall(SYS_exit, 0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace crosscut::record
