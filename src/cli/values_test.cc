#include "src/cli/values.h"

#include <gtest/gtest.h>

namespace crosscut::cli {
namespace {

// What the check leaves, or what it says.
std::string Taken(const Check& check, std::string text) {
  const std::string wrong = check(text);
  return wrong.empty() ? "=" + text : wrong;
}

TEST(Values, ATimeBecomesSeconds) {
  const Check check = Seconds(0.5, 7200);
  const std::pair<const char*, const char*> kAll[] = {
      {"2m", "=120"},  {"1h", "=3600"},    {"500ms", "=0.5"}, {"0.5", "=0.5"},
      {"2h", "=7200"}, {"7200s", "=7200"}, {"1.25s", "=1.25"}};
  for (const auto& [text, taken] : kAll) EXPECT_EQ(Taken(check, text), taken);
  for (const std::string text : {"499ms", "7201", "2d", "-1", "x", "", "1x", "nan"}) {
    EXPECT_EQ(Taken(check, text), text +
                                      " is no time from 0.5 to 7200 seconds; write 10, 10s, "
                                      "500ms, 2m, 1h or 1d");
  }
}

TEST(Values, ASizeBecomesWholeMebibytes) {
  const Check check = Mebibytes(2, 4096);
  const std::pair<const char*, const char*> kAll[] = {{"64", "=64"},   {"64M", "=64"},
                                                      {"4G", "=4096"}, {"2", "=2"},
                                                      {"2.9", "=2"},   {"4096", "=4096"}};
  for (const auto& [text, taken] : kAll) EXPECT_EQ(Taken(check, text), taken);
  for (const std::string text : {"1.9", "4097", "5G", "x", "", "-3"}) {
    EXPECT_EQ(Taken(check, text), text + " is no size from 2 to 4096 MiB; write 64, 64M or 2G");
  }
}

TEST(Values, AWholeNumberHasItsBounds) {
  const Check check = WholeNumber(3, 9);
  for (const char* text : {"3", "4", "9"}) EXPECT_EQ(Taken(check, text), "=" + std::string(text));
  for (const std::string text : {"2", "10", "", "x", "4x", "-3", "4.0", "99999999999999999999"}) {
    EXPECT_EQ(Taken(check, text), text + " is no whole number from 3 to 9");
  }
}

TEST(Values, AStepsNumberHasUpTo18Digits) {
  for (const char* text : {"0", "17", "999999999999999999"}) {
    EXPECT_EQ(Taken(StepNumber(), text), "=" + std::string(text));
  }
  for (const std::string text : {"", "-1", "1x", "1000000000000000000"}) {
    EXPECT_EQ(Taken(StepNumber(), text), text + " is no number of a step; write 17 or 17,42");
  }
}

TEST(Values, APercentageLosesItsSign) {
  const std::pair<const char*, const char*> kAll[] = {
      {"5", "=5"}, {"5%", "=5"}, {"2.5 %", "=2.5"}, {"0", "=0"}, {"250", "=250"}};
  for (const auto& [text, taken] : kAll) EXPECT_EQ(Taken(Percent(), text), taken);
  for (const std::string text : {"", "%", "x", "-1", "5%%", "5 percent", "inf", "nan"}) {
    EXPECT_EQ(Taken(Percent(), text), text + " is no percentage from 0 up; write 5% or 2.5%");
  }
}

TEST(Values, APercentageMayHaveAMost) {
  for (const char* text : {"0", "49.9%", "50"}) {
    EXPECT_FALSE(Taken(Percent(50), text).starts_with(text)) << text;
  }
  for (const std::string text : {"50.1", "-1", "inf"}) {
    EXPECT_EQ(Taken(Percent(50), text), text + " is no percentage from 0 to 50; write 5% or 2.5%");
  }
}

}  // namespace
}  // namespace crosscut::cli
