#include "src/collect/clock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>

namespace crosscut::record {
namespace {

TEST(Clock, ReadingsLieBetweenTheReadingsAroundThem) {
  ClockInit(false);
  const double ns_per_tick = ClockNsPerTick();
  EXPECT_GT(ns_per_tick, 0);
  const uint64_t before = ClockNow();
  const ClockReading reading = ClockRead(format::kClockMonotonic);
  const uint64_t after = ClockNow();
  EXPECT_GE(reading.tick, before);
  EXPECT_LE(reading.tick, after);
  EXPECT_GT(reading.error_ns, 0);
}

// A counter that tells only which of its ticks it is in, read before and after the clock and later
// at an event: whatever their places in their ticks, the event's time is true within the error.
TEST(Clock, AReadingsErrorHoldsForEveryEventHoweverCoarseTheCounter) {
  for (const double ns_per_tick : {1 / 3.0, 1.0, 16.0, 125 / 3.0, 1000.0}) {
    const auto tick_at = [=](double ns) { return std::floor(ns / ns_per_tick); };
    for (double before = 0; before < 2; before += 0.19) {
      for (double width = 0; width < 4; width += 0.31) {
        for (double place = 0; place <= 1; place += 0.25) {
          const double first = tick_at((7 + before) * ns_per_tick);
          const double ns = (7 + before + place * width) * ns_per_tick;
          const double last = tick_at((7 + before + width) * ns_per_tick);
          const auto between = static_cast<uint64_t>(last - first);
          const double stated_tick = first + static_cast<double>(between / 2);
          for (double event = 20; event < 21; event += 0.07) {
            const double is = event * ns_per_tick;
            const double stated = std::floor(ns) + (tick_at(is) - stated_tick) * ns_per_tick;
            ASSERT_LE(std::fabs(stated - is), ReadingErrorNs(between, ns_per_tick))
                << ns_per_tick << " ns a tick, " << before << " " << width << " " << place;
          }
        }
      }
    }
  }
  EXPECT_EQ(ReadingErrorNs(0, 125 / 3.0), 43);  // a tick, and the ns that are rounded
}

// The first of the tightest brackets that seven readings have.
TEST(Clock, AReadingIsTheMiddleOfItsTightestBracket) {
  static int read;
  read = 0;
  ClockInjectForTest([] {
    constexpr uint64_t kTicks[] = {100, 130, 200, 210, 300, 310, 400, 460};
    const int i = read++;
    return i < 8 ? kTicks[i] : 1000 + 50 * static_cast<uint64_t>(i);
  });
  const ClockReading reading = ClockRead(format::kClockMonotonic);
  ClockInjectForTest(nullptr);
  EXPECT_EQ(reading.tick, 205u);
  EXPECT_EQ(reading.error_ns, ReadingErrorNs(10, 1.0));
}

TEST(Clock, ItsRateIsTheOneBetweenTwoReadings) {
  ClockInit(false);
  const ClockReading first = ClockRead(format::kClockMonotonic);
  usleep(20'000);
  const ClockReading second = ClockRead(format::kClockMonotonic);
  const auto ns = static_cast<double>(second.ns - first.ns);
  const double rate = ns / static_cast<double>(second.tick - first.tick);
  const double error = static_cast<double>(first.error_ns + second.error_ns) / ns;
  EXPECT_NEAR(ClockNsPerTick() / rate, 1, 0.01 + error);
}

// The source that a program of its own has, which is asked for by `asked` (null: nothing is).
int SourceElsewhere(const char* asked, bool secure) {
  const pid_t child = fork();
  if (child == 0) {
    unsetenv("CROSSCUT_CLOCK");
    if (asked != nullptr) setenv("CROSSCUT_CLOCK", asked, 1);
    setenv("CROSSCUT_CLOCK_TEST_CHILD", secure ? "secure" : "plain", 1);
    execl("/proc/self/exe", "collect_test", "--gtest_filter=Clock.IsTheOneThatIsAskedFor", nullptr);
    _exit(2);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) - 10 : -1;
}

TEST(Clock, IsTheOneThatIsAskedFor) {
  if (const char* how = getenv("CROSSCUT_CLOCK_TEST_CHILD"); how != nullptr) {
    const bool secure = how[0] == 's';
    if (ClockSource() != 0) _exit(3);
    ClockInit(secure);
    const format::TickSource source = ClockSource();
    ClockInit(!secure);  // it is decided
    if (ClockSource() != source) _exit(4);
    if (ClockIsInline() != (source != format::kTicksMonotonicNs)) _exit(5);
    if (!ClockIsInline() && ClockNsPerTick() != 1) _exit(6);
    _exit(10 + static_cast<int>(source));
  }
  const int usual = SourceElsewhere(nullptr, false);
  EXPECT_GE(usual, 1);
  EXPECT_LE(usual, 3);
  EXPECT_EQ(SourceElsewhere("monotonic", false), 2);
  EXPECT_EQ(SourceElsewhere("monotonic", true), usual) << "a program with more rights asks nobody";
  EXPECT_EQ(SourceElsewhere("tsc", false), usual);
}

// A program that was started without standard input: what is opened first has its number.
TEST(Clock, IsDecidedAsElsewhereWhereStandardInputIsClosed) {
  ClockInit(false);
  if (getenv("CROSSCUT_CLOCK_TEST_CHILD") != nullptr) {
    const bool closed = fcntl(STDIN_FILENO, F_GETFD) < 0;
    _exit(closed ? 10 + static_cast<int>(ClockSource()) : 1);
  }
  const pid_t child = fork();
  if (child == 0) {
    close(STDIN_FILENO);
    setenv("CROSSCUT_CLOCK_TEST_CHILD", "1", 1);
    execl("/proc/self/exe", "collect_test",
          "--gtest_filter=Clock.IsDecidedAsElsewhereWhereStandardInputIsClosed", nullptr);
    _exit(2);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 10 + static_cast<int>(ClockSource()));
}

}  // namespace
}  // namespace crosscut::record
