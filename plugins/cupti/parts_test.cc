#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <time.h>

#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include "clock.h"
#include "correlation.h"
#include "errors.h"
#include "library.h"
#include "pauses.h"
#include "session.h"
#include "testing/fake_cupti.h"
#include "testing/recording_host.h"

namespace crosscut::cupti {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(CuptiErrors, EveryCodeHasItsOwnNameAndWords) {
  std::set<std::string> names;
  for (int code = 0; code <= 47; ++code) {
    const Meaning& meaning = MeaningOf(static_cast<CUptiResult>(code));
    EXPECT_TRUE(names.insert(meaning.name).second) << code;
    EXPECT_THAT(meaning.name, StartsWith("CUPTI_")) << code;
    EXPECT_GT(std::string(meaning.words).size(), 5u) << code;
    EXPECT_THAT((std::set<std::string>{"conflict", "missing", "failed"}),
                ::testing::Contains(meaning.state));
  }
  EXPECT_STREQ(MeaningOf(CUPTI_ERROR_UNKNOWN).name, "CUPTI_ERROR_UNKNOWN");
  EXPECT_STREQ(MeaningOf(static_cast<CUptiResult>(12345)).state, "failed");
  char text[400];
  Describe("cuptiSubscribe", CUPTI_ERROR_HARDWARE_BUSY, text, sizeof text);
  EXPECT_THAT(text, HasSubstr("(CUPTI_ERROR_HARDWARE_BUSY, 26)"));
}

TEST(CuptiCorrelation, KeepsTheLatestIdsAndNeverGivesAnothersWord) {
  CorrelationTable table;
  table.Prepare(1024);
  EXPECT_EQ(table.Find(5), 0u);
  for (uint32_t id = 1; id <= 5000; ++id) table.Put(id, uint64_t{id} * 7);
  for (uint32_t id = 1; id <= 5000; ++id) {
    EXPECT_EQ(table.Find(id), id > 5000 - 1024 ? uint64_t{id} * 7 : 0) << id;
  }
  EXPECT_EQ(table.Find(0), 0u);
  table.Clear();
  EXPECT_EQ(table.Find(5000), 0u);
}

TEST(CuptiPauses, KnowTheLatestIntervals) {
  Pauses pauses;
  EXPECT_FALSE(pauses.Contains(0));
  for (int i = 0; i < 1000; ++i) {
    pauses.Begin(i * 100);
    pauses.End(i * 100 + 10);
  }
  EXPECT_TRUE(pauses.Contains(99909));
  EXPECT_FALSE(pauses.Contains(99910));
  EXPECT_TRUE(pauses.Contains(99800));
  EXPECT_FALSE(pauses.Contains(99799));
  pauses.Begin(200000);
  EXPECT_TRUE(pauses.Contains(300000));
  EXPECT_TRUE(pauses.Contains(99905));
  pauses.Shift(1000);
  EXPECT_TRUE(pauses.Contains(100905));
  EXPECT_FALSE(pauses.Contains(200999));
  EXPECT_TRUE(pauses.Contains(201000));
}

class CuptiClock : public ::testing::Test {
 protected:
  RecordingHost host;
  FakeCupti cupti;
  Api api = cupti.table();
  Clock clock;
};

TEST_F(CuptiClock, MakesCuptiStampByTheHostsClock) {
  ASSERT_EQ(clock.Start(host.abi(), &api, true), CUPTI_SUCCESS);
  EXPECT_TRUE(clock.is_ours());
  ASSERT_EQ(host.readings.size(), 1u);
  EXPECT_LE(std::llabs(host.readings[0].device_ns - host.readings[0].host_ns),
            host.readings[0].error_ns);
  EXPECT_GE(host.readings[0].error_ns, 1'000) << "that of CUPTI's own conversion is part of it";
}

TEST_F(CuptiClock, GivesCuptiItsUsualClockBackAfterwards) {
  ASSERT_EQ(clock.Start(host.abi(), &api, true), CUPTI_SUCCESS);
  clock.Stop();
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  const int64_t real = int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  EXPECT_LT(std::llabs(cupti.Now() - real), 1'000'000'000);
}

TEST_F(CuptiClock, ReadsCuptisOwnWhereItKeepsThat) {
  for (const bool has : {true, false}) {
    cupti.takes_our_clock = false;
    if (!has) api.ActivityRegisterTimestampCallback = nullptr;
    ASSERT_EQ(clock.Start(host.abi(), &api, true), CUPTI_SUCCESS);
    EXPECT_FALSE(clock.is_ours());
    const auto& reading = host.readings.back();
    EXPECT_LE(std::llabs(reading.device_ns - reading.host_ns - cupti.clock_offset_ns),
              reading.error_ns);
  }
}

TEST_F(CuptiClock, FollowsDriftWithoutCallingItAJump) {
  cupti.takes_our_clock = false;
  host.now_ns = 1'000'000'000;
  // Both clocks are set by hand: the fake's follows CLOCK_MONOTONIC through a callback.
  static int64_t device_ns;
  device_ns = 5'000'000'000;
  cupti.TakeAnotherClock([] { return static_cast<uint64_t>(device_ns); });
  ASSERT_EQ(clock.Start(host.abi(), &api, false), CUPTI_SUCCESS);
  for (int i = 0; i < 100; ++i) {
    host.now_ns = *host.now_ns + 1'000'000'000;
    device_ns += 1'000'500'000;  // 500 ppm fast
    ASSERT_EQ(clock.Read(), CUPTI_SUCCESS);
    EXPECT_EQ(clock.ToHost(device_ns), *host.now_ns);
  }
  EXPECT_EQ(clock.jump_ns(), 0);
  EXPECT_EQ(host.readings.size(), 101u);
  device_ns += 2'000'000'000;
  ASSERT_EQ(clock.Read(), CUPTI_SUCCESS);
  EXPECT_EQ(clock.jump_ns(), 2'000'000'000);
}

TEST_F(CuptiClock, AnotherToolsClockInTheMidstOfASessionIsAConflict) {
  Session session(host.abi(), api);
  session.Start();
  while (!session.AwaitAttachment()) {
  }
  EXPECT_EQ(host.Last().state, "on");
  cupti.TakeAnotherClock([]() -> uint64_t { return 12345; });
  session.Flush();
  session.Stop();
  EXPECT_EQ(host.Last().state, "conflict");
  EXPECT_THAT(host.Last().message, HasSubstr("another profiler changed it"));
}

TEST(CuptiLibrary, SaysWhatIsMissing) {
  Api api;
  char why[256];
  EXPECT_FALSE(LoadCupti("/nowhere/libcupti.so.12", Search::kEverywhere, &api, why, sizeof why));
  EXPECT_THAT(why, HasSubstr("/nowhere/libcupti.so.12"));
  EXPECT_FALSE(LoadCupti("libc.so.6", Search::kEverywhere, &api, why, sizeof why));
  EXPECT_THAT(why, HasSubstr("libcupti has no function cupti"));
  if (dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) == nullptr) {
    EXPECT_FALSE(LoadCupti(nullptr, Search::kEverywhere, &api, why, sizeof why));
    EXPECT_THAT(why, HasSubstr("no NVIDIA driver on this machine"));
  }
}

// The real library, of any version, where there is one and no device.
TEST(CuptiLibrary, TheRealOneWithoutADeviceIsMissingQuietly) {
  if (dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) != nullptr) {
    GTEST_SKIP() << "an NVIDIA driver is installed: tests/gpu has the tests for this machine";
  }
  const char* path = std::getenv("CROSSCUT_TEST_LIBCUPTI");
  if (path == nullptr) path = CROSSCUT_LIBCUPTI;
  RecordingHost host;
  host.options["library"] = path;
  Session session(host.abi());
  if (dlopen(path, RTLD_NOW | RTLD_LOCAL) == nullptr) {
    GTEST_SKIP() << "no libcupti beside CUPTI's headers: " << dlerror();
  }
  for (int i = 0; i < 3; ++i) {
    session.Start();
    while (!session.AwaitAttachment()) {
    }
    session.Flush();
    session.SetLevel(0);
    session.Stop();
  }
  ASSERT_FALSE(host.told.empty());
  EXPECT_EQ(host.Last().state, "missing");
  EXPECT_THAT(host.Last().message, HasSubstr("no NVIDIA driver or device answers"));
  EXPECT_TRUE(host.events.empty());
  EXPECT_TRUE(host.calls.empty());
}

}  // namespace
}  // namespace crosscut::cupti
