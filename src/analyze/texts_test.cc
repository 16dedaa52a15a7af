#include "src/analyze/texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace crosscut::analyze {
namespace {

TEST(Texts, AreTheRowsThatWerePutInWhateverRepeats) {
  std::mt19937_64 random(3);
  for (const uint64_t distinct : {1, 2, 20, 5000}) {
    Texts texts;
    std::vector<std::string> want;
    for (int i = 0; i < 10'000; ++i) {
      want.push_back(std::string(random() % 40, 'x') + std::to_string(random() % distinct));
      texts.push_back(want.back());
      if (random() % 3000 == 0) texts.ShrinkToFit();
    }
    ASSERT_EQ(texts.size(), want.size());
    ASSERT_TRUE(std::equal(texts.begin(), texts.end(), want.begin(), want.end())) << distinct;
  }
}

TEST(Texts, KeepTheEmptyOneAndCompareByWhatTheySay) {
  Texts texts{"", "a", "", "b"};
  EXPECT_THAT(texts, ::testing::ElementsAre("", "a", "", "b"));
  EXPECT_EQ(texts, (Texts{"", "a", "", "b"}));
  const Texts copy = texts;
  texts.push_back("c");
  EXPECT_EQ(copy.size(), 4u);
  EXPECT_EQ(copy.back(), "b");
}

}  // namespace
}  // namespace crosscut::analyze
