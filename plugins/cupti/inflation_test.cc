#include "inflation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "session.h"
#include "testing/fake_cupti.h"
#include "testing/recording_host.h"

namespace crosscut::cupti {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Driver() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line;
  return std::getline(file, line) ? line : "-";
}

class CuptiInflation : public ::testing::Test {
 protected:
  ~CuptiInflation() override { unlink(path_.c_str()); }
  void Write(const std::string& text) const { std::ofstream(path_) << text; }
  static std::string Head(uint32_t version) {
    return "cupti " + std::to_string(version) + " driver " + Driver() + "\n";
  }
  bool Read(uint32_t version = 130500) {
    return ReadInflation(path_.c_str(), version, &inflation_, why_, sizeof why_);
  }

  const std::string path_ = "/tmp/crosscut_inflation_" + std::to_string(getpid());
  Inflation inflation_;
  char why_[400];
};

TEST_F(CuptiInflation, IsReadByKindForThisCuptiAndDriverAlone) {
  Write(Head(130500) + "launch 2400000 2100000 2700000 900\ncopy 5 5 5 1\n");
  ASSERT_TRUE(Read()) << why_;
  EXPECT_EQ(inflation_.kinds[kLaunchCall].ps, 2'400'000);
  EXPECT_EQ(inflation_.kinds[kLaunchCall].low_ps, 2'100'000);
  EXPECT_EQ(inflation_.kinds[kCopyCall].high_ps, 5);
  EXPECT_EQ(inflation_.kinds[kSetCall].ps, 0);
  EXPECT_FALSE(Read(130400));
  EXPECT_THAT(why_, HasSubstr("another CUPTI or driver"));
}

TEST_F(CuptiInflation, AFileThatIsNotUnderstoodGivesNothingOfIt) {
  for (const char* bad : {"launch 5 6 7 1", "launch 5 4", "start 5 4 6 1", "launch 5 -1 6 1", "\n",
                          "launch 5 4 2000000000000 1", "launch x 4 6 1"}) {
    Write(Head(130500) + "copy 5 4 6 1\n" + bad + "\n");
    EXPECT_FALSE(Read()) << bad;
    EXPECT_THAT(why_, HasSubstr("not understood"));
    EXPECT_EQ(inflation_.kinds[kCopyCall].ps, 0) << bad;
  }
  Write("");
  EXPECT_FALSE(Read());
  unlink(path_.c_str());
  EXPECT_FALSE(Read());
  EXPECT_THAT(why_, HasSubstr("cannot be read"));
}

TEST_F(CuptiInflation, IsToldAsACostThatControlStepsHaveToo) {
  Write(Head(130500) + "launch 2400000 2100000 2700000 900\n");
  RecordingHost host;
  host.options["inflation"] = path_;
  FakeCupti cupti;
  Session session(host.abi(), cupti.table());
  session.Start();
  while (!session.AwaitAttachment()) {
  }
  session.Calibrate();
  cupti.Launch();
  session.Stop();
  EXPECT_THAT(host.probe_costs.at("CUDA launch, also in control steps"),
              ElementsAre(2'400'000, 0, 2'100'000, 2'700'000, 900));
  EXPECT_EQ(host.probe_costs.count("CUDA copy, also in control steps"), 0u);
  for (const char* probe : kCallProbes) EXPECT_EQ(host.probe_costs.count(probe), 1u) << probe;
}

TEST_F(CuptiInflation, WithoutActivitiesCallsAloneAreRecordedAndNothingIsSubtracted) {
  Write(Head(130500) + "launch 2400000 2100000 2700000 900\n");
  RecordingHost host;
  host.options["inflation"] = path_;
  host.options["activities"] = "off";
  FakeCupti cupti;
  Session session(host.abi(), cupti.table());
  session.Start();
  while (!session.AwaitAttachment()) {
  }
  EXPECT_TRUE(cupti.kinds.empty());
  cupti.Launch();
  session.Flush();
  session.Stop();
  EXPECT_EQ(host.calls.size(), 1u);
  EXPECT_THAT(host.Last().message, HasSubstr("activities=off"));
  EXPECT_TRUE(host.probe_costs.empty());
}

}  // namespace
}  // namespace crosscut::cupti
