#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "src/analyze/testing/test_trace.h"

namespace crosscut::analyze {
namespace {

using testing::Compute;
using testing::Parse;

// A server, and a process beside it that is in a call of that layer for so long, and in so many
// samples at once, which each stand for 10 ns, while a request is handled.
std::vector<std::string> BesideAServer(const std::string& layer, int work, int samples = 0) {
  std::string text =
      "process server pid=7 window=0..10000\nthread main tid=7 base=idle main lead\n"
      "span handle 1000 4000 native\nasync requests\nrequest \"GET /\" 1000 4000\n"
      "process train pid=8 window=0..10000\nthread main tid=8 base=idle main lead\n"
      "span fit 100 " +
      std::to_string(100 + work) + " " + layer + "\ninstant x 1\narg \"Waits for\" lock\n";
  for (int i = 0; i < samples; ++i) {
    text += "instant [sample] " + std::to_string(1000 + 90 * i) + "\narg covers_ns 10\n";
  }
  std::vector<std::string> out;
  const Table table = Compute(Parse(text), "verdict");
  for (size_t row = 0; row < table.rows(); ++row) {
    if (table.integers("rank")[row] == 1) out.push_back(table.texts("process")[row]);
  }
  std::sort(out.begin(), out.end());
  return out;
}

TEST(WhoSpeaks, AServerDoesNotHideWhoWorksBesideIt) {
  using Speaking = std::vector<std::string>;
  EXPECT_EQ(BesideAServer("framework", 9000), (Speaking{"server", "train"}));
  EXPECT_EQ(BesideAServer("framework", 2000), Speaking{"server"}) << "it works less";
  EXPECT_EQ(BesideAServer("idle", 9000), Speaking{"server"}) << "it waits for the server";
  EXPECT_EQ(BesideAServer("framework", 2000, 30), (Speaking{"server", "train"})) << "it asks it";
  EXPECT_EQ(BesideAServer("framework", 2000, 29), Speaking{"server"});
}

TEST(WhoSpeaks, AShellDoesNotHideWhatItStarted) {
  const std::string shell = "process sh pid=7 window=0..10000\nthread main tid=7 main lead\n";
  const auto first = [](const std::string& text) {
    return Compute(Parse(text), "verdict").texts("process")[0];
  };
  EXPECT_EQ(first(shell + "process train pid=8 window=500..9000 parent=sh start=exec\n"
                          "thread main tid=8 base=python main lead\n"),
            "train");
  EXPECT_EQ(first(shell + "process cat pid=8 window=500..9000 parent=sh start=exec\n"
                          "thread main tid=8 main lead\n"),
            "sh")
      << "nothing is known of either";
}

}  // namespace
}  // namespace crosscut::analyze
