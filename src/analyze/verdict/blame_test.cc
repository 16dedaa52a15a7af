// Who and what a verdict speaks of: processes, ranks, kernels, functions.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/analyze/testing/test_trace.h"
#include "src/analyze/verdict/native_code.h"
#include "src/analyze/verdict/stacks.h"

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

// Forty steps of 1000 ns, in which the lead is known to have no processor for `known_ns`, and in
// some of which a sample tells for how long it had none, of how long.
Table OfWaitsForAProcessor(int known_ns, int samples, int covers_ns, int delay_ns) {
  const auto text = [](int64_t n) { return std::to_string(n); };
  std::string trace =
      "process train pid=7 window=0..40000\nthread main tid=7 base=python main lead\n";
  for (int i = 0; i < 40; ++i) {
    const int at = 1000 * i;
    trace += "step step " + text(at) + " " + text(at + 1000) + "\n";
    if (known_ns > 0) {
      trace += "span \"(no processor)\" " + text(at) + " " + text(at + known_ns) + " idle\n";
    }
    trace += "instant [sample] " + text(at + 900) + "\narg covers_ns " + text(covers_ns) + "\n";
    if (i < samples) trace += "arg run_delay_ns " + text(delay_ns) + "\n";
  }
  return Compute(Parse(trace), "verdict");
}

TEST(Verdict, TellsWaitingForAProcessorBehindTheCausesFromAQuarterOn) {
  const auto told = [](int known_ns, int samples, int covers_ns, int delay_ns) {
    const Table table = OfWaitsForAProcessor(known_ns, samples, covers_ns, delay_ns);
    EXPECT_EQ(table.texts("cause")[0], "python");
    if (table.rows() == 1) return std::string();
    EXPECT_EQ(table.texts("cause")[1], "preemption");
    return table.texts("evidence")[1];
  };
  // What is known is the least of it; samples may know more.
  EXPECT_EQ(told(600, 0, 1000, 0), "24.0 µs of 40.0 µs, 600 ns a step");
  EXPECT_EQ(told(600, 40, 400, 0), "24.0 µs of 40.0 µs, 600 ns a step");
  EXPECT_EQ(told(600, 40, 1000, 800), "32.0 µs of 40.0 µs, 800 ns a step");
  EXPECT_EQ(told(0, 40, 1000, 250), "10.0 µs of 40.0 µs, 250 ns a step");
  EXPECT_EQ(told(0, 40, 1000, 249), "");
  EXPECT_EQ(told(249, 40, 1000, 0), "");
  // Few samples know nothing, and those that stand for little. Who does not know it is on no side.
  EXPECT_EQ(told(0, 20, 1000, 500), "20.0 µs of 40.0 µs, 500 ns a step");
  EXPECT_EQ(told(0, 19, 1000, 500), "");
  EXPECT_EQ(told(0, 40, 100, 50), "20.0 µs of 40.0 µs, 500 ns a step");
  EXPECT_EQ(told(0, 40, 99, 50), "");
}

// Of the other causes shares are of the time without the waits that are known.
TEST(Verdict, SaysWhereSharesAreOfTheTimeWithoutWaitsForAProcessor) {
  const auto headlines = [](int known_ns) {
    return OfWaitsForAProcessor(known_ns, 40, 1000, known_ns).texts("headline");
  };
  const std::string python = "Python-bound: Python code takes 100 % of the steps";
  EXPECT_EQ(headlines(99), (Texts{python + "."}));
  EXPECT_EQ(headlines(100), (Texts{python + " without waits for a processor."}));
  EXPECT_EQ(headlines(600), (Texts{python + " without waits for a processor.",
                                   "The thread that makes the steps is ready, but has no "
                                   "processor, in 60 % of the steps."}));
}

// What the lead works is as much longer by them as it is of its work; what it waits for is not.
TEST(Verdict, GainsAreOfTheTimeWithWaitsForAProcessor) {
  std::string trace =
      "process train pid=7 window=0..40000\nthread main tid=7 base=python main lead\n";
  for (int at = 0; at < 40'000; at += 1000) {
    const auto span = [&](const char* name, int begin, int end) {
      trace += std::string("span ") + name + " " + std::to_string(at + begin) + " " +
               std::to_string(at + end) + " idle\n";
    };
    trace += "step step " + std::to_string(at) + " " + std::to_string(at + 1000) + "\n";
    span("\"(no processor)\"", 0, 200);
    span("time.sleep", 600, 1000);
    for (int i = 0; i < 40; ++i) {
      const char* line = i < 15 ? "a.py:1 f" : i < 20 ? "a.py:2 g" : "a.py:3 h";
      trace += "instant [sample] " + std::to_string(at + 210 + 20 * i) +
               "\narg covers_ns 20\narg \"Own line\" \"" + line + "\"\narg \"Python stack\" \"" +
               line + "\"\n";
    }
  }
  const Table places = Compute(Parse(trace), "places");
  std::string out;
  for (size_t i = 0; i < places.rows(); ++i) {
    const auto percent = [&](const char* column) {  // of all steps
      return std::to_string((places.integers(column)[i] + 200) / 400);
    };
    out += places.texts("place")[i] + " " + percent("ns") + " " + percent("gain_ns") + "; ";
  }
  EXPECT_EQ(out, "a.py:3 h 40 40; a.py:1 f 30 45; a.py:2 g 10 15; ");
}

// What makes all else longer is told, too, where nothing else stands out.
TEST(Verdict, TellsWaitingForAProcessorWhereNothingStandsOut) {
  std::string text = R"(process train pid=7 window=0..1000
thread main tid=7 lead
span time.sleep 0 200 idle
span numpy.sort 200 400 native
span all_reduce 400 600 comm
span env.step 600 800 simulator
span io.FileIO.read 800 1000 native
)";
  for (int at = 25; at < 1000; at += 50) {
    text += "instant [sample] " + std::to_string(at) + "\narg covers_ns 50\narg run_delay_ns 30\n";
  }
  const Table table = Compute(Parse(text), "verdict");
  ASSERT_EQ(table.rows(), 2u);
  EXPECT_EQ(table.texts("cause"), (Texts{"none", "preemption"}));
  EXPECT_EQ(table.integers("rank"), (Integers{1, 2}));
}

// Four fifths of the time the lead is known to have none, and the samples say so.
TEST(Verdict, WaitingForAProcessorIsAPartOfAllTimeAndNotOfTheRest) {
  const Table table = OfWaitsForAProcessor(800, 40, 1000, 800);
  ASSERT_EQ(table.texts("cause"), (Texts{"python", "preemption"}));
  EXPECT_EQ(table.texts("evidence")[0], "8.00 µs of 8.00 µs, 200 ns a step");
  EXPECT_DOUBLE_EQ(table.reals("share")[1], 0.8);
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

std::string SampleAt(int64_t at, int64_t covers, const std::string& line,
                     const std::string& more = "") {
  return "instant [sample] " + std::to_string(at) + "\narg covers_ns " + std::to_string(covers) +
         "\narg \"Own line\" \"" + line + "\"\narg \"Python stack\" \"" + line + "\"\n" + more;
}

// The evidence for a program that waits for two others, of which the second one sorts for so long.
std::string WhileTwoWork(int sorts) {
  std::string lead, first, second;
  for (int at = 5; at < 1000; at += 10) {
    lead += SampleAt(at, 10, "a.py:1 main");
    const bool in_first = at < 1000 - sorts;
    (in_first ? first : second) += SampleAt(at, 10, in_first ? "w.py:1 f" : "w.py:2 g");
  }
  for (int i = 0; i < 5; ++i) {
    const int part = (1000 - sorts) / 5;
    first += "span f" + std::to_string(i) + " " + std::to_string(part * i) + " " +
             std::to_string(part * (i + 1)) + " native\n";
  }
  second += "span numpy.sort " + std::to_string(1000 - sorts) + " 1000 native\n";
  const Table table = Compute(
      Parse("process train window=0..1000\nthread main base=python main lead\n"
            "span os.read 0 1000 idle\n" +
            lead + "process one parent=train window=0..1000\nthread main base=idle lead\n" + first +
            "process two parent=train window=0..1000\n"
            "thread main base=idle lead\n" +
            second),
      "verdict");
  return table.texts("blame")[0] + table.texts("evidence")[0];
}

TEST(Verdict, NoLineIsToldWhatOtherProcessesDoElsewhere) {
  const std::string two = WhileTwoWork(400);
  EXPECT_TRUE(two.starts_with("w.py:1 f")) << two;
  EXPECT_EQ(two.find("numpy.sort"), two.npos) << two;
  const std::string sorts = WhileTwoWork(900);
  EXPECT_TRUE(sorts.starts_with("w.py:2 g")) << sorts;
  EXPECT_TRUE(sorts.ends_with(", most of it in numpy.sort")) << sorts;
}

TEST(Verdict, NoLineIsToldWhichKernelRunsElsewhere) {
  std::string text =
      "process train window=0..1000\nthread main base=python main lead\n"
      "span cudaDeviceSynchronize 0 1000 runtime\n";
  for (int at = 5; at < 1000; at += 10) {
    text += SampleAt(at, 10, at < 600 ? "a.py:1 main" : "a.py:2 main");
  }
  text += "device 0 stream=7\n";
  for (int i = 0; i < 6; ++i) {
    text += "span k" + std::to_string(i) + " " + std::to_string(100 * i) + " " +
            std::to_string(100 * i + 100) + " device\n";
  }
  const Table table = Compute(Parse(text + "span gemm 600 1000 device\n"), "verdict");
  EXPECT_EQ(table.texts("blame")[0], "a.py:1 main");
  EXPECT_TRUE(table.texts("evidence")[0].ends_with(", the largest part of what devices do is gemm"))
      << table.texts("evidence")[0];
}

TEST(Verdict, ALockOfTheProgramsIsNotToldToBeTheGil) {
  const auto ms = [](int64_t at) { return at * 1'000'000; };
  std::string lead = "span threading.Lock.acquire 0 320000000 idle\n", holder;
  for (int at = 10; at < 990; at += 20) {
    const bool locks = at < 320;
    lead += SampleAt(ms(at), ms(20), locks ? "a.py:1 main" : "a.py:2 main",
                     "arg \"Waits for\" futex\n");
    if (locks) continue;
    const std::string one = std::to_string(at / 20 % 3);  // functions are no loop
    holder +=
        SampleAt(ms(at + 1), ms(20), "h.py:" + one + " hold" + one, "arg \"Holds the GIL\" 1\n");
  }
  const Table table = Compute(Parse("process train window=0..1000000000\n"
                                    "thread main base=python main lead\n" +
                                    lead + "thread holder base=python\n" + holder),
                              "verdict");
  EXPECT_EQ(table.texts("cause")[0] + " " + table.texts("blame")[0], "lock a.py:1 main");
  EXPECT_EQ(table.texts("evidence")[0].find("GIL"), std::string::npos)
      << table.texts("evidence")[0];
}

// Each step of 1,000 ns ends where the other rank's backward does too. The late one waits longer
// for its data, so it does while the other one waits what that has done before.
class LateRank {
 public:
  explicit LateRank(const std::string& more = "") : more_(more) {}
  // What the first rank says of the second one: its line, and how much of all is that rank's.
  std::string Told() const {
    const Table table = Compute(Parse(Rank(0, 100) + Rank(1, 500) + more_), "places");
    std::string out;
    for (size_t row = 0; row < table.rows(); ++row) {
      if (table.texts("process")[row] != "rank0" || table.texts("cause")[row] != "other-rank") {
        continue;
      }
      const int64_t ns = table.integers("ns")[row];
      if (ns > 2000) out += table.texts("place")[row] + " " + std::to_string(ns / 1000) + ";";
    }
    return out;
  }

 private:
  static constexpr int kSteps = 40;
  static std::string Rank(int rank, int loads) {
    std::string text = "process rank" + std::to_string(rank) + " window=0.." +
                       std::to_string(1000 * kSteps) + "\nmeta rank " + std::to_string(rank) +
                       "\nmeta world_size 2\nthread main base=python main lead\n";
    std::string collectives = "async collectives\n";
    for (int at = 0; at < 1000 * kSteps; at += 1000) {
      const auto span = [at](int begin, int end) {
        return std::to_string(at + begin) + " " + std::to_string(at + end);
      };
      const auto sample = [at](int begin, int end, const std::string& line) {
        return SampleAt(at + (begin + end) / 2, end - begin, line);
      };
      const int loaded = loads, back = loads + 400;
      text += "step step " + span(0, 1000) + "\nspan os.read " + span(0, loaded) + " idle\n" +
              sample(0, loaded, "r.py:1 f") + "span aten::mm " + span(loaded, back) +
              " framework\n" + sample(loaded, back, "r.py:2 f");
      if (back < 900) text += "span wait " + span(back, 900) + " comm\n";
      text += sample(900, 1000, "r.py:3 f");
      collectives += "span gloo:all_reduce " + span(back, 950) +
                     " comm\narg \"Collective name\" allreduce\narg \"Group size\" 2\n";
    }
    return text + collectives;
  }
  const std::string more_;
};

TEST(Verdict, OfALateRankThatIsToBlameWhichItHasMoreOf) {
  EXPECT_EQ(LateRank().Told(), "r.py:1 f 16;");
  // Of the worker that it waits for, if that works in half of the time.
  const auto worker = [](int works) {
    std::string text =
        "process worker parent=rank1 window=0..40000\nthread main base=idle main lead\n";
    for (int at = 0; at < 40000; at += 1000) {
      text += "span load " + std::to_string(at) + " " + std::to_string(at + works) + " native\n" +
              SampleAt(at + works / 2, works, "w.py:9 load");
    }
    return text;
  };
  EXPECT_EQ(LateRank(worker(500)).Told(), "w.py:9 load 16;");
  EXPECT_EQ(LateRank(worker(220)).Told(), "r.py:1 f 16;");
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
