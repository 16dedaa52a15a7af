// What is known of profiles whose planes go out as they came.
#include "src/export/passed_profiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "src/xspace/testing/encode.h"

namespace crosscut::exporting {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using xspace::Number;

// A stat of the name 1, correlation_id.
std::string Correlated(const std::string& value) { return Number(1, 1) + value; }

// A plane with an event for each of the stats.
std::string Space(int64_t id, const std::string& name, const std::vector<std::string>& stats) {
  std::string line = Number(1, 1);
  for (const std::string& stat : stats) {
    line += xspace::Text(4, Number(1, 1) + Number(2, 5) + xspace::Text(4, stat));
  }
  const std::string called = Number(1, 1) + xspace::Text(2, "correlation_id");
  const std::string other = Number(1, 2) + xspace::Text(2, "bytes");
  return xspace::Text(1, Number(1, id) + xspace::Text(2, name) + xspace::Text(3, line) +
                             xspace::Text(5, Number(1, 1) + xspace::Text(2, called)) +
                             xspace::Text(5, Number(1, 2) + xspace::Text(2, other)));
}

class PassedProfilesTest : public testing::Test {
 protected:
  PassedProfilesTest() : folder_("passed_profiles_test." + std::to_string(getpid())) {
    std::filesystem::create_directory(folder_);
    trace_.processes.emplace_back();
  }
  ~PassedProfilesTest() override { std::filesystem::remove_all(folder_); }

  // Of the one process a profile of these parts.
  void Add(const std::vector<std::string>& parts) {
    trace::Profile& profile = trace_.profiles.emplace_back();
    profile.process = {0};
    for (const std::string& bytes : parts) {
      const std::string path = folder_ / std::to_string(files_++);
      std::ofstream(path, std::ios::binary) << bytes;
      profile.parts.push_back({path});
    }
  }
  uint64_t LastCorrelation() const { return PassedProfiles(trace_, false).last_correlation(); }

  const std::filesystem::path folder_;
  trace::Trace trace_;
  int files_ = 0;
};

TEST_F(PassedProfilesTest, NoOthersGetTheIdsByWhichReadersJoinTheirEvents) {
  EXPECT_EQ(LastCorrelation(), 0u);
  Add({Space(3, "/host:CPU",
             {Correlated(Number(3, 7)), Correlated(Number(3, 5)), Number(1, 2) + Number(3, 900)})});
  EXPECT_EQ(LastCorrelation(), 7u);
  Add({Space(4, "/device:GPU:0", {Correlated(Number(4, 12))}),
       Space(4, "/device:GPU:0",
             {Correlated(Number(4, -1)), Correlated(xspace::Text(5, "x")),
              Correlated(xspace::Double(2, 1e9))})});
  EXPECT_EQ(LastCorrelation(), 12u);
  Add({Space(5, "/device:GPU:1", {Correlated(Number(3, int64_t{1} << 60))})});
  EXPECT_EQ(LastCorrelation(), 0u) << "no room behind it";
}

TEST_F(PassedProfilesTest, AFileThatIsGoneIsTold) {
  Add({Space(3, "/host:CPU", {})});
  Add({Space(4, "/device:GPU:0", {})});
  Add({"not a message"});
  std::filesystem::remove(trace_.profiles[1].parts[0].path);
  const PassedProfiles all(trace_, false), none(trace_, true);
  trace::Track track;
  std::vector<bool> has = {all.Has(track)};
  for (track.profile = 0; track.profile < 3; ++track.profile) has.push_back(all.Has(track));
  EXPECT_THAT(has, ElementsAre(false, true, false, false));
  EXPECT_THAT(all.names(), ElementsAre("/host:CPU"));
  EXPECT_THAT(all.ids(), ElementsAre(3));
  EXPECT_THAT(all.Gap(), HasSubstr("2 profiles that sources collected are gone"));
  EXPECT_TRUE(none.names().empty());
  EXPECT_EQ(none.Gap(), "");
}

}  // namespace
}  // namespace crosscut::exporting
