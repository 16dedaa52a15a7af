// Who and what a verdict speaks of: processes, ranks, kernels, functions.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/analyze/testing/test_trace.h"
#include "src/analyze/verdict/awaited_threads.h"
#include "src/analyze/verdict/native_code.h"

namespace crosscut::analyze {
namespace {

using testing::Compute;
using testing::Parse;

// The first verdict of a process with such spans and devices.
struct FirstRow {
  std::string cause, blame;
  double gain;
};
FirstRow RowOf(const std::string& text) {
  const Table table = Compute(Parse(text), "verdict");
  return {table.texts("cause")[0], table.texts("blame")[0], table.reals("gain_share")[0]};
}

TEST(Verdict, FilesOfStacksAreNotToldByTheEndOfTheirNames) {
  EXPECT_TRUE(Feeds("a.py:1 main;fetch.py:54 fetch"));
  EXPECT_FALSE(Feeds("a.py:1 main;prefetch.py:54 run"));
  EXPECT_TRUE(Compiles("convert_frame.py:9 compile"));
  EXPECT_FALSE(Compiles("a.py:1 main;my_convert_frame.py:9 compile"));
  EXPECT_TRUE(IsInLibrary("ab.py:1 main;b.py:1 main", "x/ab.py:1 main"));
  EXPECT_FALSE(IsInLibrary("b.py:1 main;ab.py:1 main", "x/ab.py:1 main"));
}

TEST(Verdict, WorkOfADeviceThatWasHiddenOrRanBeforeTheStepsIsNotToBlame) {
  const FirstRow before = RowOf(R"(process train pid=7 window=0..3000
thread main tid=7 main lead
step step 2000 3000 number=0
device 0 stream=7
span warm_up 0 1900 device
span gemm 2100 3000 device
)");
  EXPECT_EQ(before.cause + " " + before.blame, "device gemm");
  EXPECT_DOUBLE_EQ(before.gain, 0.9);
  const FirstRow hidden = RowOf(R"(process train pid=7 window=0..1000
thread main tid=7 main lead
device 0 stream=7
span gemm 0 600 device
device 0 stream=8
span "Memcpy HtoD" 0 600 device
span "Memcpy DtoH" 600 1000 device
)");
  EXPECT_EQ(hidden.cause + " " + hidden.blame, "copies Memcpy DtoH");
  EXPECT_DOUBLE_EQ(hidden.gain, 0.4);
}

TEST(Verdict, AFunctionThatManyLinesCallIsOne) {
  std::string calls = "span numpy.dot 0 300 native at=9\n";
  for (int i = 0; i < 4; ++i) {
    calls += "span numpy.sort " + std::to_string(300 + 150 * i) + " " +
             std::to_string(450 + 150 * i) + " native at=" + std::to_string(i + 1) + "\n";
  }
  const FirstRow first =
      RowOf("process train pid=7 window=0..1000\nthread main tid=7 lead\n" + calls);
  EXPECT_EQ(first.cause + " " + first.blame, "native numpy.sort");
  EXPECT_DOUBLE_EQ(first.gain, 0.6);
}

TEST(Verdict, CrosscutsOwnWorkIsNotTheLargestCause) {
  const Table table = Compute(Parse(R"(process train pid=7 window=0..1000
thread main tid=7 lead
span edge 0 700 overhead
span time.sleep 700 760 idle
span numpy.sort 760 820 native
span all_reduce 820 880 comm
span env.step 880 940 simulator
span io.FileIO.read 940 1000 native
)"),
                              "verdict");
  EXPECT_EQ(table.texts("cause")[0], "none");
  EXPECT_DOUBLE_EQ(table.reals("share")[0], 0.2);
}

TEST(Verdict, OtherProcessesSpeakWhereNoStepWasObserved) {
  const Table table = Compute(Parse(R"(process warm pid=7 window=0..1000
thread main tid=7 base=python main lead
step step 100 900 number=0 level=0
process train pid=8 window=0..1000
thread main tid=8 base=python main lead
)"),
                              "verdict");
  ASSERT_EQ(table.rows(), 1u);
  EXPECT_EQ(table.texts("process")[0] + " " + table.texts("cause")[0], "train python");
}

TEST(Verdict, SaysSoWhereNoStepWasObserved) {
  for (const char* level : {"0", "4"}) {
    const Table table = Compute(Parse("process train pid=7 window=0..1000\n"
                                      "thread main tid=7 base=python main lead\n"
                                      "step step 100 900 number=0 level=" +
                                      std::string(level) + "\n"),
                                "verdict");
    ASSERT_EQ(table.rows(), 1u) << level;
    EXPECT_EQ(table.texts("headline")[0], "What bounds the steps is not known: none was recorded.");
  }
}

// What makes all else longer is told, too, where nothing else stands out.
TEST(Verdict, TellsWaitingForAProcessorWhereNothingStandsOut) {
  const Table table = Compute(Parse(R"(process train pid=7 window=0..1000
thread main tid=7 lead
span time.sleep 0 200 idle
span numpy.sort 200 400 native
span all_reduce 400 600 comm
span env.step 600 800 simulator
span io.FileIO.read 800 1000 native
instant [sample] 500
arg covers_ns 500
arg run_delay_ns 300
)"),
                              "verdict");
  ASSERT_EQ(table.rows(), 2u);
  EXPECT_EQ(table.texts("cause"), (Texts{"none", "preemption"}));
  EXPECT_EQ(table.integers("rank"), (Integers{1, 2}));
}

TEST(Verdict, OfSeveralLateRanksItSaysHowMany) {
  // By rank, when it enters two collectives; they end at 500 and at 1000.
  const auto rank = [](const std::string& name, int first, int second) {
    const auto call = [](int begin, int end) {
      return "span gloo:all_reduce " + std::to_string(begin) + " " + std::to_string(end) +
             " comm\narg \"Collective name\" allreduce\narg \"Group size\" 3\n";
    };
    return "process " + name + " window=0..1000\nmeta rank " + std::to_string(name[0] - 'a') +
           "\nmeta world_size 3\nthread main main lead\n" + call(first, 500) + call(second, 1000);
  };
  const Table table =
      Compute(Parse(rank("a", 0, 500) + rank("b", 450, 500) + rank("c", 0, 850)), "verdict");
  for (size_t row = 0; row < table.rows(); ++row) {
    if (table.texts("process")[row] != "a") continue;
    EXPECT_EQ(table.texts("headline")[row],
              "Bound by another rank: waiting for b and 1 other takes 80 % of the window.");
    return;
  }
  FAIL() << "nothing is told of a";
}

TEST(Verdict, ALeadThatIsGoneDoesNothing) {
  EXPECT_EQ(testing::Rows(Parse(R"(process train pid=7 window=0..1000
thread main tid=7 base=python main lead life=0..100
thread other tid=8 base=python
thread pool tid=9
span aten::mm 100 1000 framework
)"),
                          "step_causes"),
            (std::vector<std::string>{"train framework 900 900 0", "train python 100 100 0"}));
}

}  // namespace
}  // namespace crosscut::analyze
