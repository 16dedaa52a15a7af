#include "src/analyze/collectives/rank_waits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/analyze/testing/test_trace.h"

namespace crosscut::analyze {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Parse;

// A rank with a lead that is in communication at these times, and works else.
std::string Rank(int rank, const std::vector<std::pair<int, int>>& in_communication) {
  std::string text = "process rank" + std::to_string(rank) + " window=0..1000\nmeta rank " +
                     std::to_string(rank) + "\nmeta world_size 3\nthread main base=python lead\n";
  for (const auto& [begin, end] : in_communication) {
    text += "span wait " + std::to_string(begin) + " " + std::to_string(end) + " comm\n";
  }
  return text + "async collectives\n";
}

std::string With(int peer, int begin, int end, const std::string& name = "gloo:recv") {
  return "span " + name + " " + std::to_string(begin) + " " + std::to_string(end) +
         " comm\narg \"Collective name\" recv\narg Peer " + std::to_string(peer) +
         "\narg \"Group size\" 3\n";
}

// "0-100 rank2" for each wait of rank 0.
std::vector<std::string> Waits(const std::string& text) {
  trace::Trace trace = Parse("# crosscut trace\n" + text);
  trace.clock = "CLOCK_MONOTONIC";
  const Context context(trace);
  const std::vector<std::vector<RankWait>> waits = RankWaits(context);
  std::vector<std::string> out;
  for (const RankWait& wait : waits[0]) {
    out.push_back(std::to_string(wait.begin_ns) + "-" + std::to_string(wait.end_ns) + " rank" +
                  std::to_string(wait.last.value));
  }
  return out;
}

TEST(RankWaits, AreFollowedToTheRankThatWaitsForNobody) {
  EXPECT_THAT(Waits(Rank(0, {{0, 300}}) + With(1, 0, 300) + Rank(1, {{0, 200}}) + With(2, 0, 200) +
                    Rank(2, {})),
              ElementsAre("0-200 rank2", "200-300 rank1"));
}

TEST(RankWaits, EndAtARankThatWorksWhileItsReceiveGoesOn) {
  EXPECT_THAT(Waits(Rank(0, {{0, 300}}) + With(1, 0, 300) + Rank(1, {{0, 100}}) + With(2, 0, 200) +
                    Rank(2, {})),
              ElementsAre("0-100 rank2", "100-300 rank1"));
}

TEST(RankWaits, BothSidesOfAnExchangeWaitForNobody) {
  EXPECT_THAT(Waits(Rank(0, {{0, 300}}) + With(1, 0, 300) + Rank(1, {{100, 300}}) +
                    With(0, 100, 300, "gloo:send") + Rank(2, {})),
              ElementsAre("0-100 rank1"));
}

// Its collectives run on a thread of their own.
TEST(RankWaits, NobodyWaitsForItself) {
  EXPECT_THAT(Waits(Rank(0, {{0, 100}}) + With(1, 0, 300) + Rank(1, {{50, 300}}) +
                    With(0, 50, 300, "gloo:send") + Rank(2, {})),
              ElementsAre("0-50 rank1"));
}

TEST(RankWaits, OfRanksThatAreNotHereAreNotKnown) {
  EXPECT_THAT(Waits(Rank(0, {{0, 300}}) + With(7, 0, 300) + Rank(1, {}) + Rank(2, {})), IsEmpty());
}

}  // namespace
}  // namespace crosscut::analyze
