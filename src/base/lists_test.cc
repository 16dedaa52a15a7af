#include "src/base/lists.h"

#include <gtest/gtest.h>

namespace crosscut::base {
namespace {

using Parts = std::vector<std::string_view>;

TEST(Lists, SplitKeepsWhatIsEmpty) {
  EXPECT_EQ(Split("a,b", ','), (Parts{"a", "b"}));
  EXPECT_EQ(Split(",a,,", ','), (Parts{"", "a", "", ""}));
  EXPECT_EQ(Split("", ','), (Parts{""}));
}

TEST(Lists, JoinedPutsNothingInFrontOfTheFirst) {
  EXPECT_EQ(Joined(std::vector<std::string>{"a", "b", "c"}, ", "), "a, b, c");
  EXPECT_EQ(Joined(std::vector<std::string>{}, ", "), "");
  EXPECT_EQ(Joined(Parts{"", "a"}, "-"), "a");
  EXPECT_EQ(Joined(std::vector<int>{1, 2}, " ", [](int n) { return std::to_string(n); }), "1 2");
}

TEST(Lists, TrimmedHasNoSpacesAtItsEnds) {
  EXPECT_EQ(Trimmed("  a b "), "a b");
  EXPECT_EQ(Trimmed("   "), "");
  EXPECT_EQ(Trimmed(""), "");
}

}  // namespace
}  // namespace crosscut::base
