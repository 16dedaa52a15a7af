#include "src/format/step_shares.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace crosscut::format {
namespace {

std::string Parsed(const char* text, double control_percent = -1) {
  StepShares shares = {};
  char why[160] = "no reason";
  if (!ParseStepShares(text, control_percent, &shares, why, sizeof why)) return why;
  char words[128];
  WriteStepShares(shares, words, sizeof words);
  return words;
}

TEST(StepShares, ReadTheNamedPlans) {
  EXPECT_EQ(Parsed("full"), "control=5,boundary=0,operators=0,everything=95");
  EXPECT_EQ(Parsed("balanced"), "control=4,boundary=91,operators=4,everything=1");
  EXPECT_EQ(Parsed("light"), "control=3,boundary=95,operators=1.5,everything=0.5");
}

TEST(StepShares, GiveBoundaryWhatTheTextLeaves) {
  EXPECT_EQ(Parsed("operators=10,everything=2.5"),
            "control=5,boundary=82.5,operators=10,everything=2.5");
  EXPECT_EQ(Parsed("control=0,operators=100"), "control=0,boundary=0,operators=100,everything=0");
  EXPECT_EQ(Parsed("boundary=20"), "control=5,boundary=95,operators=0,everything=0");
}

TEST(StepShares, LetTheShareOfControlStepsBeSaidApart) {
  EXPECT_EQ(Parsed("full", 20), "control=20,boundary=0,operators=0,everything=80");
  EXPECT_EQ(Parsed("full", 100), "control=100,boundary=0,operators=0,everything=0");
  EXPECT_EQ(Parsed("balanced", 0), "control=0,boundary=95,operators=4,everything=1");
  EXPECT_EQ(Parsed("control=1,operators=9", 20), "control=1,boundary=90,operators=9,everything=0");
}

TEST(StepShares, SumToTheWhole) {
  for (const char* text :
       {"full", "light", "control=33.3333333,operators=33.3333333", "control=7"}) {
    StepShares shares = {};
    char why[160];
    ASSERT_TRUE(ParseStepShares(text, -1, &shares, why, sizeof why)) << why;
    EXPECT_EQ(shares.of[0] + shares.of[1] + shares.of[2] + shares.of[3], kWholeShare) << text;
  }
}

TEST(StepShares, RefuseWhatTheyCannotReadAndNameIt) {
  for (const auto& [text, named] : {std::pair{"heavy", "\"heavy\" is neither"},
                                    {"operators=10,boundry=3", "\"boundry=3\" is neither"},
                                    {"operators", "operators= takes a share"},
                                    {"operators=", "operators= takes a share"},
                                    {"operators=ten", "operators= takes a share"},
                                    {"operators=nan", "operators= takes a share"},
                                    {"operators=101", "operators= takes a share"},
                                    {"operators=1,operators=2", "operators is given twice"},
                                    {"operators=60,everything=50", "more than 100 per cent"},
                                    {"", "\"\" is neither"},
                                    {"full,", "\"full\" is neither"}}) {
    EXPECT_NE(Parsed(text).find(named), std::string::npos) << text << ": " << Parsed(text);
  }
}

TEST(StepShares, LevelsHaveTheirNames) {
  const char* const names[] = {"control", "boundary", "operators", "everything", "marks", "?"};
  for (int level = 0; level < 6; ++level) {
    EXPECT_STREQ(StepLevelName(static_cast<StepLevel>(level)), names[level]);
  }
}

TEST(StepShares, AreCutWhereThereIsNoRoom) {
  StepShares shares = {};
  char why[160], whole[128], text[128];
  ASSERT_TRUE(ParseStepShares("light", -1, &shares, why, sizeof why));
  WriteStepShares(shares, whole, sizeof whole);
  for (size_t room = 1; room < strlen(whole) + 2; ++room) {
    memset(text, '#', sizeof text);
    WriteStepShares(shares, text, room);
    EXPECT_EQ(std::string(text), std::string(whole).substr(0, room - 1));
    EXPECT_EQ(text[room], '#') << room;
  }
}

TEST(StepShares, ABudgetIsAShareOrOff) {
  const auto budget = [](const char* text) {
    double percent = -7;
    return ParseBudget(text, &percent) ? percent : -7;
  };
  EXPECT_EQ(budget("2"), 2);
  EXPECT_EQ(budget("0.5"), 0.5);
  EXPECT_EQ(budget("1000"), 1000);
  EXPECT_EQ(budget("off"), -1);
  for (const char* bad : {"", "0", "-1", "1000.1", "2x", "2 ", "of", "offs", "nan"}) {
    EXPECT_EQ(budget(bad), -7) << bad;
  }
}

}  // namespace
}  // namespace crosscut::format
