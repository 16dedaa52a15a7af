#include "src/format/setting_names.h"

#include <gtest/gtest.h>

namespace crosscut::format {
namespace {

TEST(SettingNames, TakeWhatThereIs) {
  EXPECT_EQ(ProblemOfSources(""), "");
  EXPECT_EQ(ProblemOfSources("none"), "");
  EXPECT_EQ(ProblemOfSources("pytorch,cupti"), "");
  EXPECT_EQ(ProblemOfSources(" pytorch , cupti,"), "");
  EXPECT_EQ(ProblemOfPython(""), "");
  EXPECT_EQ(ProblemOfPython("samples"), "");
}

TEST(SettingNames, NameTheFirstThatIsWrongAndTheNearest) {
  EXPECT_TRUE(
      ProblemOfSources("cupti,pytroch,x")
          .starts_with(
              "unknown source pytroch; did you mean pytorch? The sources are operations, "));
  EXPECT_EQ(ProblemOfPython("boundry"),
            "unknown level boundry; did you mean boundary? The levels are off, boundary, samples, "
            "calls");
}

}  // namespace
}  // namespace crosscut::format
