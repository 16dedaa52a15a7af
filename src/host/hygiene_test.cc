#include "src/host/hygiene.h"

#include <fenv.h>
#include <gtest/gtest.h>
#include <locale.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>
#include <string>

namespace crosscut::host {
namespace {

// What is told of `change`.
std::string Told(const std::function<void()>& change) {
  const Hygiene before;
  change();
  char out[256] = "something";
  const bool differs = before.Differs(out, sizeof out);
  EXPECT_EQ(differs, out[0] != '\0');
  return out;
}

void Nothing(int) {}

TEST(Hygiene, TellsEachThingThatChanged) {
  EXPECT_EQ(Told([] {}), "");
  for (const int number : {SIGHUP, SIGUSR2, SIGSEGV, SIGRTMAX}) {
    const std::string what =
        "handler of signal " + std::to_string(number) + " (" + strsignal(number) + ")";
    EXPECT_EQ(Told([&] { signal(number, &Nothing); }), what);
    EXPECT_EQ(Told([] {}), "") << "it is as it was before";
    EXPECT_EQ(Told([&] { signal(number, SIG_DFL); }), what);
  }
  const mode_t mask = umask(022);
  for (const mode_t other : {0777, 0, 0222, 022}) {
    EXPECT_EQ(Told([&] { umask(other); }), "umask");
    EXPECT_EQ(Told([&] { umask(other); }), "");
  }
  umask(mask);
  char here[4096];
  ASSERT_NE(getcwd(here, sizeof here), nullptr);
  EXPECT_EQ(Told([] { EXPECT_EQ(chdir("/"), 0); }), "working directory");
  EXPECT_EQ(Told([&] { EXPECT_EQ(chdir(here), 0); }), "working directory");
  ASSERT_NE(setlocale(LC_ALL, "C"), nullptr);
  if (setlocale(LC_ALL, "C.UTF-8") != nullptr) {
    EXPECT_EQ(Told([] { setlocale(LC_ALL, "C"); }), "locale");
    EXPECT_EQ(Told([] { setlocale(LC_NUMERIC, "C.UTF-8"); }), "locale");
  }
  setlocale(LC_ALL, "C");
}

TEST(Hygiene, PutsTheThreadsOwnSettingsBack) {
  const int rounding = fegetround();
  EXPECT_EQ(Told([] { fesetround(FE_UPWARD); }), "rounding mode");
  EXPECT_EQ(fegetround(), rounding);
  sigset_t blocked, now;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  EXPECT_EQ(Told([&] { pthread_sigmask(SIG_BLOCK, &blocked, nullptr); }), "signal mask");
  pthread_sigmask(SIG_SETMASK, nullptr, &now);
  EXPECT_EQ(sigismember(&now, SIGUSR1), 0);
}

TEST(Hygiene, ListsAllAsFarAsThereIsRoom) {
  const mode_t mask = umask(022);
  const auto change = [](mode_t to) {
    signal(SIGUSR2, &Nothing);
    fesetround(FE_UPWARD);
    umask(to);
  };
  const std::string handler = std::string("handler of signal 12 (") + strsignal(SIGUSR2) + ")";
  EXPECT_EQ(Told([&] { change(027); }), handler + ", rounding mode, umask");
  signal(SIGUSR2, SIG_DFL);
  const Hygiene before;
  change(022);
  char few[16];
  EXPECT_TRUE(before.Differs(few, sizeof few));
  EXPECT_EQ(few, handler.substr(0, 15));
  signal(SIGUSR2, SIG_DFL);
  umask(mask);
}

}  // namespace
}  // namespace crosscut::host
