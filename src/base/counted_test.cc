#include "src/base/counted.h"

#include <gtest/gtest.h>

namespace crosscut::base {
namespace {

TEST(Counted, TakesTheWordsForOneThingOrForSeveral) {
  constexpr std::string_view kWords =
      "{event|events} of {this|these} {is|are} lost: {it counts|they count}.";
  EXPECT_EQ(Counted(1, kWords), "1 event of this is lost: it counts.");
  EXPECT_EQ(Counted(2, kWords), "2 events of these are lost: they count.");
  EXPECT_EQ(Counted(0, kWords), "0 events of these are lost: they count.");
  EXPECT_EQ(Counted(18446744073709551615U, "{word|words}"), "18446744073709551615 words");
}

TEST(Counted, WordsComeWithoutTheCount) {
  EXPECT_EQ(WordsFor(1, "{it is|they are} lost"), "it is lost");
  EXPECT_EQ(WordsFor(0, "{it is|they are} lost"), "they are lost");
}

TEST(Counted, LeavesWordsWithoutPairsAsTheyAre) {
  EXPECT_EQ(Counted(1, "left out"), "1 left out");
  EXPECT_EQ(Counted(1, ""), "1 ");
  EXPECT_EQ(Counted(2, "{event|events}, {open"), "2 events, {open");
  EXPECT_EQ(Counted(2, "{event|events}, {open|bar"), "2 events, {open|bar");
}

}  // namespace
}  // namespace crosscut::base
