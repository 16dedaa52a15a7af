#include "src/compare/moved_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <utility>

namespace crosscut::compare {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;
using Times = std::map<std::string, double>;

// "a>b" for each line.
std::vector<std::string> Matched(const Times& a, const Times& b) {
  std::vector<std::string> out;
  for (const SameLine& line : MatchLines({a, b})) out.push_back(line.a + ">" + line.b);
  return out;
}

TEST(MovedLines, StayWhatTheyAreWhereNothingMoved) {
  EXPECT_THAT(Matched({{"a.py:4 f", 50}, {"a.py:5 f", 50}}, {{"a.py:4 f", 40}, {"a.py:5 f", 60}}),
              ElementsAre("a.py:4 f>a.py:4 f", "a.py:5 f>a.py:5 f"));
  // One that takes much longer now, beside samples that differ.
  EXPECT_THAT(Matched({{"a.py:4 f", 10}, {"a.py:5 f", 100}}, {{"a.py:4 f", 110}, {"a.py:5 f", 60}}),
              ElementsAre("a.py:4 f>a.py:4 f", "a.py:5 f>a.py:5 f"));
  EXPECT_THAT(Matched({{"a.py:4 f", 0}}, {{"a.py:5 f", 0}}),
              UnorderedElementsAre("a.py:4 f>", ">a.py:5 f"));
}

TEST(MovedLines, AreFoundBelowWhatWasInserted) {
  EXPECT_THAT(
      Matched({{"a.py:9 f", 30}, {"a.py:10 f", 70}}, {{"a.py:10 f", 32}, {"a.py:11 f", 98}}),
      ElementsAre("a.py:9 f>a.py:10 f", "a.py:10 f>a.py:11 f"));
  EXPECT_THAT(Matched({{"a.py:9 f", 100}}, {{"a.py:12 f", 130}}),
              ElementsAre("a.py:9 f>a.py:12 f"));
  // By less than half as much time as differs where they stand.
  for (const auto& [ns, moved] : {std::pair{299, true}, {300, false}, {34, true}, {33, false}}) {
    EXPECT_EQ(Matched({{"a.py:9 f", 100}}, {{"a.py:12 f", ns}}).size(), moved ? 1u : 2u) << ns;
  }
  // What was inserted takes time itself.
  EXPECT_THAT(Matched({{"a.py:9 f", 50}, {"a.py:10 f", 50}},
                      {{"a.py:9 f", 50}, {"a.py:10 f", 15}, {"a.py:11 f", 50}}),
              UnorderedElementsAre("a.py:9 f>a.py:9 f", ">a.py:10 f", "a.py:10 f>a.py:11 f"));
  // What was removed, too.
  EXPECT_THAT(Matched({{"a.py:9 f", 50}, {"a.py:10 f", 15}, {"a.py:11 f", 50}},
                      {{"a.py:9 f", 50}, {"a.py:10 f", 50}}),
              UnorderedElementsAre("a.py:9 f>a.py:9 f", "a.py:10 f>", "a.py:11 f>a.py:10 f"));
}

TEST(MovedLines, AreFoundInFunctionsAndFilesOfAnotherName) {
  EXPECT_THAT(Matched({{"a.py:9 load", 100}}, {{"a.py:9 read", 130}}),
              ElementsAre("a.py:9 load>a.py:9 read"));
  EXPECT_THAT(Matched({{"old.py:9 load", 100}}, {{"new.py:19 load", 130}}),
              ElementsAre("old.py:9 load>new.py:19 load"));
  EXPECT_THAT(Matched({{"a.py:9 load", 100}}, {{"a.py:9 read", 160}}),
              UnorderedElementsAre("a.py:9 load>", ">a.py:9 read"))
      << "too unlike";
  EXPECT_THAT(Matched({{"a.py:9 load", 100}}, {{"b.py:9 read", 100}}),
              UnorderedElementsAre("a.py:9 load>", ">b.py:9 read"))
      << "neither its file nor its name";
  EXPECT_THAT(Matched({{"a.py:9 load", 100}}, {{"a.py:9 load", 60}, {"a.py:20 read", 100}}),
              UnorderedElementsAre("a.py:9 load>a.py:9 load", ">a.py:20 read"))
      << "both sides have it";
  EXPECT_THAT(Matched({{"a.py:9 f", 100}, {"a.py:19 g", 110}}, {{"a.py:9 h", 110}}),
              UnorderedElementsAre("a.py:9 f>", "a.py:19 g>a.py:9 h"))
      << "the most alike";
}

TEST(MovedLines, WhatIsNoLineIsWhatItsTextSays) {
  EXPECT_THAT(Matched({{"nothing", 100}}, {{"other", 100}}),
              UnorderedElementsAre("nothing>", ">other"));
  EXPECT_THAT(Matched({{"a:b 3:5 c.py:7 f <x>", 9}, {"f.py: g", 1}},
                      {{"a:b 3:5 c.py:8 f <x>", 9}, {"f.py: g", 1}}),
              UnorderedElementsAre("a:b 3:5 c.py:7 f <x>>a:b 3:5 c.py:8 f <x>", "f.py: g>f.py: g"));
}

TEST(MovedLines, EachLineOfEitherSideIsThereOnce) {
  std::mt19937 random(5);
  for (int round = 0; round < 2000; ++round) {
    const auto draw = [&] {
      Times out;
      for (int i = static_cast<int>(random() % 12); i > 0; --i) {
        const std::string number = (random() % 8 == 0 ? "0" : "") + std::to_string(random() % 9);
        const std::string file = random() % 2 == 0 ? "a.py:" : "b.py:";
        out[file + number + (random() % 2 == 0 ? " f" : " g")] = static_cast<double>(random() % 50);
      }
      return out;
    };
    const Times a = draw(), b = draw();
    std::multiset<std::string> in_a, in_b, of_a, of_b;
    for (const SameLine& line : MatchLines({a, b})) {
      EXPECT_FALSE(line.a.empty() && line.b.empty());
      if (!line.a.empty()) of_a.insert(line.a);
      if (!line.b.empty()) of_b.insert(line.b);
    }
    for (const auto& [line, ns] : a) in_a.insert(line);
    for (const auto& [line, ns] : b) in_b.insert(line);
    EXPECT_EQ(of_a, in_a);
    EXPECT_EQ(of_b, in_b);
    for (const SameLine& line : MatchLines({a, a})) EXPECT_EQ(line.a, line.b);
  }
}

}  // namespace
}  // namespace crosscut::compare
