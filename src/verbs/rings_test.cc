// Who finishes what ended processes leave in rings: `doctor`, `record`, its guard; and who tells
// signals to the whole group.
#include <dirent.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <functional>
#include <map>

#include "src/base/time.h"
#include "src/format/ring_search.h"
#include "src/format/test_words.h"
#include "src/verbs/leftovers.h"
#include "src/verbs/recording/ring_guard.h"
#include "src/verbs/recording/ring_watch.h"
#include "src/verbs/recording/signal_witness.h"
#include "src/verbs/test_armed_ring.h"
#include "src/verbs/test_recording.h"

namespace crosscut::verbs {
namespace {

namespace fs = std::filesystem;
using format::testing::RingBuilder;
using format::testing::Word;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

bool IsThere(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

class RingsTest : public ::testing::Test {
 protected:
  RingsTest() { fs::create_directory(rings_); }

  // A run directory, whose rings lie in rings_.
  std::string MakeRun(const std::string& name) const {
    const std::string run = folder_ / name;
    fs::create_directories(run);
    Write(run + "/run.json", "{\"format\": 1, \"ring_dir\": \"" + rings_ + "\"}");
    return run;
  }
  // Of a process that is gone, with one name in it; as `change` makes it.
  std::string Leave(const std::string& run, uint64_t nonce, auto change) const {
    RingBuilder ring(2, nonce);
    format::RingHeader& header = ring.header();
    struct stat info;
    if (stat(run.c_str(), &info) == 0) {
      header.run_device = info.st_dev;
      header.run_inode = info.st_ino;
    }
    snprintf(header.control.run_dir, sizeof header.control.run_dir, "%s", run.c_str());
    snprintf(header.log_name, sizeof header.log_name, "p%d.crosscut", static_cast<int>(nonce));
    ring.Fill(0, 0, 1, {Word(1, format::kName), 0x100, 0, 4, 0x64636261});
    std::string path = format::RingPath(rings_, header.pid, nonce);
    change(&header, &path);
    Write(path, {ring.bytes().data(), ring.bytes().size()}, 0600);
    return path;
  }
  std::string Leave(const std::string& run, uint64_t nonce) const {
    return Leave(run, nonce, [](format::RingHeader*, std::string*) {});
  }
  // A file of a ring that got no header, written so many seconds ago.
  std::string LeaveName(const std::string& name, int64_t seconds) const {
    const std::string path = rings_ + "/" + name;
    Write(path, std::string(5000, '\0'), 0600);
    const timespec then = {time(nullptr) - seconds, 0};
    const timespec times[] = {then, then};
    utimensat(AT_FDCWD, path.c_str(), times, 0);
    return path;
  }
  static uint64_t Bytes(const std::vector<std::string>& paths) {
    uint64_t bytes = 0;
    for (const std::string& path : paths) {
      struct stat info;
      EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
      bytes += static_cast<uint64_t>(info.st_blocks) * 512;
    }
    return bytes;
  }

  TempFolder folder_;
  const std::string rings_ = folder_ / "rings";
};

TEST_F(RingsTest, LeftoversAreToldByWhetherTheirProcessLives) {
  const std::string run = MakeRun("run");
  const ArmedRing alive(rings_, 0x11);  // of this process
  const std::string self = std::to_string(getpid());
  const std::vector<std::string> ended = {
      Leave(run, 1), Leave(run, 2), LeaveName("crosscut-0-999999999-3.ring", 3600),
      LeaveName("crosscut-.ring", 3600), LeaveName("crosscut-0-" + self + "-4.ring", 3600)};
  const std::vector<std::string> in_use = {alive.path(),
                                           LeaveName("crosscut-0-999999999-5.ring", 20)};
  const std::vector<std::string> unknown = {
      Leave(run, 6, [](format::RingHeader* header, std::string*) {
        header->pid_namespace = 1;
        header->boot = base::ThisProcess().boot;
      })};
  LeaveName("another.ring", 3600);
  const Leftovers found = CountLeftovers(rings_);
  EXPECT_EQ(found.ended.rings, ended.size());
  EXPECT_EQ(found.ended.bytes, Bytes(ended));
  EXPECT_EQ(found.in_use.rings, in_use.size());
  EXPECT_EQ(found.in_use.bytes, Bytes(in_use));
  EXPECT_EQ(found.unknown.rings, unknown.size());
  EXPECT_EQ(found.unknown.bytes, Bytes(unknown));
  EXPECT_EQ(CountLeftovers(folder_ / "none").ended.rings, 0u);

  // One that has its name and no header yet, of a process that has it mapped.
  const std::string made = LeaveName("crosscut-0-" + self + "-7.ring", 3600);
  const int fd = open(made.c_str(), O_RDONLY | O_CLOEXEC);
  void* page = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  EXPECT_EQ(CountLeftovers(rings_).in_use.rings, in_use.size() + 1);
  munmap(page, 4096);
  EXPECT_EQ(CountLeftovers(rings_).ended.rings, ended.size() + 1);
}

// By the clock's seconds: tried again where one ended meanwhile.
TEST_F(RingsTest, ARingWithoutAHeaderIsBeingMadeForAMinute) {
  const auto ended = [&](int64_t age) {
    for (;;) {
      const time_t before = time(nullptr);
      LeaveName("crosscut-0-999999999-1.ring", age);
      const uint64_t rings = CountLeftovers(rings_).ended.rings;
      if (time(nullptr) == before) return rings;
    }
  };
  EXPECT_EQ(ended(59), 0u);
  EXPECT_EQ(ended(60), 1u);
}

TEST_F(RingsTest, LeftoversGoIntoTheirRunOrWithItAndWhoLivesKeepsHis) {
  const std::string run = MakeRun("run"), gone = MakeRun("gone"), odd = MakeRun("odd");
  const ArmedRing alive(rings_, 0x11);
  const std::vector<std::string> emptied = {Leave(run, 1), Leave(run, 2)};
  const std::vector<std::string> removed = {
      Leave(gone, 3), Leave(run, 4, [](format::RingHeader* header, std::string*) {
        ++header->run_inode;  // of a run that had its place before
      })};
  fs::remove_all(gone);
  const std::string renamed = Leave(run, 5, [&](format::RingHeader*, std::string* path) {
    *path = rings_ + "/crosscut-0-999999999-6.ring";  // which is another's
  });
  const std::vector<std::string> unread = {Leave(odd, 7), Leave(odd, 8)};
  fs::remove(odd + "/run.json");
  const uint64_t bytes_emptied = Bytes(emptied), bytes_removed = Bytes(removed);
  const CleanedRings cleaned = CleanLeftovers(rings_);
  EXPECT_EQ(cleaned.emptied.rings, 2u);
  EXPECT_EQ(cleaned.emptied.bytes, bytes_emptied);
  EXPECT_EQ(cleaned.removed.rings, 2u);
  EXPECT_EQ(cleaned.removed.bytes, bytes_removed);
  for (const auto* rings : {&emptied, &removed}) {
    for (const std::string& ring : *rings) EXPECT_FALSE(IsThere(ring)) << ring;
  }
  EXPECT_TRUE(IsThere(run + "/p1.crosscut") && IsThere(run + "/p2.crosscut"));
  EXPECT_FALSE(IsThere(run + "/p4.crosscut"));
  EXPECT_THAT(cleaned.problems,
              ElementsAre(renamed + ": it does not belong to its run",
                          HasSubstr(unread[0] + ": " + odd), HasSubstr(unread[1] + ": " + odd)));
  EXPECT_EQ(cleaned.left.ended.rings, 3u);
  EXPECT_EQ(cleaned.left.in_use.rings, 1u);
  EXPECT_TRUE(IsThere(alive.path()));
}

TEST_F(RingsTest, RunsThatGoWithTheirProcessAreThoseOfTheirPrefixAlone) {
  const std::string prefix = folder_ / "threads-";
  std::map<std::string, bool> stay = {
      {"threads-abcdefgh/run", false}, {"threads-abcdefg/run", true},
      {"threads-abcdefghi/run", true}, {"threads-abcdefgh1run", true},
      {"thread--abcdefgh/run", true},  {"threads-ABCDEFGH/ran", true}};
  std::map<std::string, std::string> rings;
  uint64_t nonce = 1;
  for (const auto& [name, stays] : stay) rings[name] = Leave(MakeRun(name), nonce++);
  // Where another has its place, that stays; where it lives, too.
  const std::string other =
      Leave(MakeRun("threads-other123/run"), nonce++,
            [](format::RingHeader* header, std::string*) { ++header->run_inode; });
  const std::string living = MakeRun("threads-living12/run");
  ArmedRing alive(rings_, 0x11);
  snprintf(alive.header().control.run_dir, sizeof alive.header().control.run_dir, "%s",
           living.c_str());
  RemoveRunsOfEnded(prefix, rings_);
  for (const auto& [name, stays] : stay) {
    EXPECT_EQ(IsThere(folder_ / name), stays) << name;
    EXPECT_EQ(IsThere(rings[name]), stays) << name;
  }
  EXPECT_FALSE(IsThere(folder_ / "threads-abcdefgh"));
  EXPECT_TRUE(IsThere(folder_ / "threads-other123/run"));
  EXPECT_FALSE(IsThere(other));
  EXPECT_TRUE(IsThere(living) && IsThere(alive.path()));
}

TEST_F(RingsTest, ALookEmptiesTheRingsOfWhoEndedOnceAndNoOthers) {
  const std::string run = MakeRun("run"), beside = MakeRun("beside");
  const std::string others = Leave(beside, 9);
  RingWatch watch(run);
  watch.Look();
  EXPECT_EQ(fs::exists(run + "/.lock") || IsThere(run + "/p1.crosscut"), false) << "nothing to do";
  const std::string first = Leave(run, 1);
  watch.Look();
  EXPECT_FALSE(IsThere(first));
  EXPECT_TRUE(IsThere(run + "/p1.crosscut"));
  // What cannot be emptied is not tried each second: who reads the run tries it again.
  fs::create_directory(run + "/p2.crosscut");
  const std::string second = Leave(run, 2);
  watch.Look();
  EXPECT_TRUE(IsThere(second));
  fs::remove(run + "/p2.crosscut");
  watch.Look();
  EXPECT_TRUE(IsThere(second));
  RingWatch(run).Look();
  EXPECT_FALSE(IsThere(second));
  // A run that was moved is found by its open directory; one that is no run, nowhere.
  const int folder = open(run.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  fs::rename(run, folder_ / "moved");
  const std::string third = Leave(folder_ / "moved", 3);
  RingWatch(run).Look();
  EXPECT_TRUE(IsThere(third));
  RingWatch(run, folder).Look();
  close(folder);
  EXPECT_FALSE(IsThere(third));
  EXPECT_TRUE(IsThere(folder_ / "moved/p3.crosscut"));
  EXPECT_TRUE(IsThere(others));
}

void AwaitGone(const std::string& path) {
  while (IsThere(path)) usleep(1000);
}

TEST_F(RingsTest, AGuardThatOutlivesItsMakerEmptiesRingsUntilTheCommandHasEnded) {
  const std::string run = MakeRun("run"), first = Leave(run, 1);
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  int go_on[2];
  ASSERT_EQ(pipe2(go_on, O_CLOEXEC), 0);
  const pid_t maker = fork();
  if (maker == 0) {
    const pid_t command = fork();
    if (command == 0) {
      close(go_on[1]);
      char word;
      (void)!read(go_on[0], &word, 1);
      _exit(7);
    }
    RingGuard guard;
    guard.Begin(run, open(run.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), command);
    _exit(0);  // as a kill, which runs no destructor
  }
  int status = 0;
  ASSERT_EQ(waitpid(maker, &status, 0), maker);
  AwaitGone(first);
  AwaitGone(Leave(run, 2));  // the command goes on, and so does the guard
  close(go_on[0]);
  close(go_on[1]);
  std::vector<int> ends;
  while (waitpid(-1, &status, 0) > 0) ends.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  EXPECT_THAT(ends, ::testing::UnorderedElementsAre(7, 0)) << "the command's and the guard's";
  EXPECT_TRUE(IsThere(run + "/p1.crosscut") && IsThere(run + "/p2.crosscut"));
  prctl(PR_SET_CHILD_SUBREAPER, 0);
}

std::vector<pid_t> Children() {
  std::vector<pid_t> pids;
  std::ifstream file("/proc/self/task/" + std::to_string(getpid()) + "/children");
  for (pid_t pid; file >> pid;) pids.push_back(pid);
  return pids;
}

// What a guard is, by what /proc says of it.
TEST_F(RingsTest, AGuardIsMadeAgainWhereItWasKilledAndEndsWithItsMaker) {
  const std::string run = MakeRun("run"), ring = Leave(run, 1);
  const int folder = open(run.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  {
    RingGuard none;
    none.Renew();
    none.Begin(run, -1, getpid());
    EXPECT_TRUE(Children().empty());
    RingGuard guard;
    guard.Begin(run, folder, getpid());
    const auto first = Children();
    ASSERT_EQ(first.size(), 1u);
    const std::string proc = "/proc/" + std::to_string(first[0]);
    while (Read(proc + "/comm") != "crosscut-guard\n") usleep(1000);
    EXPECT_EQ(getsid(first[0]), first[0]);
    const auto open_files = [&] {  // its log's lock and the pipe, and what stands for the standard
      size_t others = 0;
      for (const auto& at : fs::directory_iterator(proc + "/fd")) {
        std::error_code error;
        const std::string leads = fs::read_symlink(at.path(), error);
        others += leads != "/dev/null" && leads != run && !leads.starts_with("pipe:") && !error;
      }
      return others;
    };
    while (open_files() != 0) usleep(1000);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) kill(first[0], signal);
    guard.Renew();
    EXPECT_EQ(Children(), first) << "it lives";
    kill(first[0], SIGKILL);
    siginfo_t info;
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(first[0]), &info, WEXITED | WNOWAIT), 0);
    guard.Renew();
    const auto second = Children();
    ASSERT_EQ(second.size(), 1u);
    EXPECT_NE(second[0], first[0]);
    kill(second[0], SIGSTOP);  // which does not keep it
  }
  close(folder);
  EXPECT_TRUE(Children().empty());
  EXPECT_TRUE(IsThere(ring)) << "it has done nothing: who made it does it";
}

// ---- Signals ------------------------------------------------------------------------------------

#define CHECK_OR_END(condition) \
  if (!(condition)) _exit(1 + __LINE__ % 255)

// In a process group of its own, in which all signals are blocked; its status, 0 where all held.
int InGroup(const std::function<void()>& body) {
  const pid_t pid = fork();
  if (pid == 0) {
    setpgid(0, 0);
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, nullptr);
    body();
    _exit(0);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return status;
}

siginfo_t Taken(int signal) {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  siginfo_t info;
  CHECK_OR_END(sigwaitinfo(&one, &info) == signal);
  return info;
}

using Verdict = SignalWitness::Verdict;

Verdict Await(SignalWitness* witness, const siginfo_t& info, int64_t taken_ns) {
  Verdict verdict;
  while ((verdict = witness->Of(info, taken_ns)) == Verdict::kNotYet) usleep(500);
  return verdict;
}

TEST(SignalWitness, TellsSignalsToTheGroupFromThoseToOneProcess) {
  const int status = InGroup([] {
    SignalWitness witness;
    witness.Begin();
    for (const int signal : {SIGUSR1, SIGTERM, SIGRTMIN + 3}) {
      kill(0, signal);
      siginfo_t info = Taken(signal);
      CHECK_OR_END(Await(&witness, info, base::MonotonicNs()) == Verdict::kHasIt);
      // To it alone: for a tenth of a second the witness may still get it.
      kill(getpid(), signal);
      info = Taken(signal);
      const int64_t taken = base::MonotonicNs();
      CHECK_OR_END(Await(&witness, info, taken) == Verdict::kHasNot);
      CHECK_OR_END(base::MonotonicNs() - taken >= 100'000'000);
    }
  });
  EXPECT_EQ(status, 0) << "256 * (1 + a line's number % 255)";
}

TEST(SignalWitness, GoesBySignalAndSenderAndCountsEachOnce) {
  const int status = InGroup([] {
    SignalWitness witness;
    witness.Begin();
    kill(0, SIGUSR1);
    const siginfo_t info = Taken(SIGUSR1);
    siginfo_t of_another = info, another = info;
    another.si_signo = SIGUSR2;
    ++of_another.si_pid;
    const int64_t now = base::MonotonicNs();
    CHECK_OR_END(Await(&witness, another, now) == Verdict::kHasNot);
    CHECK_OR_END(Await(&witness, of_another, now) == Verdict::kHasNot);
    CHECK_OR_END(Await(&witness, info, now) == Verdict::kHasIt);
    // Two that were both there when the witness took one are that one.
    CHECK_OR_END(Await(&witness, info, 0) == Verdict::kHasIt);
    CHECK_OR_END(Await(&witness, info, base::MonotonicNs()) == Verdict::kHasNot);
    CHECK_OR_END(SignalWitness().Of(info, 0) == Verdict::kHasNot);
  });
  EXPECT_EQ(status, 0) << "256 * (1 + a line's number % 255)";
}

TEST(SignalWitness, IsMadeAgainWhereItWasKilledAndEndsWithItsCaller) {
  const int status = InGroup([] {
    {
      SignalWitness witness;
      witness.Renew();
      CHECK_OR_END(Children().empty());
      witness.Begin();
      const auto first = Children();
      CHECK_OR_END(first.size() == 1);
      const std::string proc = "/proc/" + std::to_string(first[0]);
      while (Read(proc + "/comm") != "signal-witness\n") usleep(500);
      while (!Read(proc + "/cmdline").starts_with("signal-witness")) usleep(500);
      witness.Renew();
      CHECK_OR_END(Children() == first);
      kill(first[0], SIGKILL);
      siginfo_t info;
      CHECK_OR_END(waitid(P_PID, static_cast<id_t>(first[0]), &info, WEXITED | WNOWAIT) == 0);
      witness.Renew();
      CHECK_OR_END(Children().size() == 1 && Children() != first);
      kill(0, SIGUSR1);
      info = Taken(SIGUSR1);
      CHECK_OR_END(Await(&witness, info, base::MonotonicNs()) == Verdict::kHasIt);
    }
    CHECK_OR_END(Children().empty());
  });
  EXPECT_EQ(status, 0) << "256 * (1 + a line's number % 255)";
}

TEST(IsPending, TellsWhichSignalsAProcessHasBeforeIt) {
  const int status = InGroup([] {
    const pid_t self = getpid();
    for (int signal = 1; signal <= SIGRTMAX; ++signal) {
      if (signal == SIGKILL || signal == SIGSTOP || signal == 32 || signal == 33) continue;
      CHECK_OR_END(!IsPending(self, signal));
      kill(self, signal);
      for (int other = 1; other <= SIGRTMAX; ++other) {
        CHECK_OR_END(IsPending(self, other) == (other == signal));
      }
      (void)Taken(signal);
    }
    CHECK_OR_END(!IsPending(999999999, SIGTERM));
  });
  EXPECT_EQ(status, 0) << "256 * (1 + a line's number % 255)";
}

}  // namespace
}  // namespace crosscut::verbs
