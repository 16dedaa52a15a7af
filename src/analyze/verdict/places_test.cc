#include "src/analyze/verdict/places.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "src/analyze/testing/test_trace.h"
#include "src/analyze/verdict/loops.h"

namespace crosscut::analyze {
namespace {

using testing::Compute;
using testing::Parse;

// A step of 1,000 ns each.
class Program {
 public:
  explicit Program(int steps) : steps_(steps) {
    for (int i = 0; i < steps; ++i) {
      text_ += "step step " + Ns(i, 0) + " " + Ns(i + 1, 0) + " number=" + std::to_string(i) + "\n";
    }
  }
  // From `begin` to `end` of each step, in that call ("" : Python), sampled there in the middle.
  Program& Does(int begin, int end, const std::string& call, const std::string& line,
                const std::string& stack = "") {
    for (int i = 0; i < steps_; ++i) {
      if (!call.empty()) spans_[i] += "span " + At(i, begin, end, call) + "\n";
      spans_[i] += "instant [sample] " + Ns(i, (begin + end) / 2) + "\narg covers_ns " +
                   std::to_string(end - begin) + "\narg \"Own line\" \"" + line +
                   "\"\narg \"Python stack\" \"" + (stack.empty() ? line : stack) + "\"\n";
    }
    return *this;
  }
  std::string text(const std::string& others = "") const {
    std::string out = "# crosscut trace\nprocess train pid=7 window=0.." + Ns(steps_, 0) +
                      "\nthread main tid=7 base=python main lead\n" + text_;
    for (const auto& [step, spans] : spans_) out += spans;
    return out + others;
  }

 private:
  static std::string Ns(int step, int ns) { return std::to_string(1000 * step + ns); }
  // "io.FileIO.write|native" -> "io.FileIO.write BEGIN END native"
  static std::string At(int step, int begin, int end, const std::string& call) {
    const size_t bar = call.find('|');
    return call.substr(0, bar) + " " + Ns(step, begin) + " " + Ns(step, end) + " " +
           call.substr(bar + 1);
  }
  const int steps_;
  std::string text_;
  std::map<int, std::string> spans_;
};

// The first verdict.
struct First {
  std::string cause, blame, evidence, headline;
  double share, gain, low, high;
};
First Of(const std::string& text) {
  const Table table = Compute(Parse(text), "verdict");
  return {table.texts("cause")[0],          table.texts("blame")[0],
          table.texts("evidence")[0],       table.texts("headline")[0],
          table.reals("share")[0],          table.reals("gain_share")[0],
          table.reals("gain_low_share")[0], table.reals("gain_high_share")[0]};
}

TEST(Places, ALineHasTheTimeOfAllItsCauses) {
  const First first = Of(Program(40)
                             .Does(0, 300, "aten::mm|framework", "a.py:1 train")
                             .Does(300, 500, "io.FileIO.write|native", "a.py:8 save")
                             .Does(500, 700, "time.sleep|idle", "a.py:8 save")
                             .Does(700, 900, "", "a.py:8 save")
                             .Does(900, 1000, "aten::bmm|framework", "a.py:2 train")
                             .text());
  EXPECT_EQ(first.blame, "a.py:8 save");
  EXPECT_NEAR(first.share, 0.6, 0.01);
  EXPECT_NEAR(first.gain, 0.6, 0.01);
  EXPECT_LE(first.low, 0.6);
  EXPECT_GE(first.high, 0.6);
  EXPECT_EQ(first.headline, "Bound by a.py:8 save: it takes 60 % of the steps.");
  EXPECT_NE(first.evidence.find("files 20 %"), std::string::npos) << first.evidence;
  EXPECT_NE(first.evidence.find("waiting 20 %"), std::string::npos) << first.evidence;
  EXPECT_NE(first.evidence.find("Python 20 %"), std::string::npos) << first.evidence;
}

// On a busy machine it may wait for a processor there.
TEST(Places, CrosscutsOwnWorkIsNoLinesAndSharesAreOfTheRest) {
  const First first = Of(Program(40)
                             .Does(0, 500, "edge|overhead", "a.py:8 train")
                             .Does(500, 700, "", "a.py:8 train")
                             .Does(700, 1000, "aten::mm|framework", "a.py:2 train")
                             .text());
  EXPECT_EQ(first.cause, "python");
  EXPECT_EQ(first.blame, "a.py:8 train");
  EXPECT_NEAR(first.share, 0.4, 0.01);
  EXPECT_NEAR(first.gain, 0.4, 0.01);
}

TEST(Places, NoLineHasWhatCrosscutDidBesideIt) {
  std::string text =
      "process train pid=7 window=0..1000\nthread main tid=7 base=python main lead\n"
      "span time.sleep 0 1000 idle\n";
  for (int at = 50; at < 1000; at += 100) {
    text += "instant [sample] " + std::to_string(at) +
            "\narg covers_ns 100\narg \"Own line\" \"a.py:1 main\"\n";
  }
  text += "thread worker tid=8\nspan edge 0 900 overhead\n";
  const First first = Of(text);
  EXPECT_EQ(first.cause + " " + first.blame, "waiting a.py:1 main");
  EXPECT_DOUBLE_EQ(first.gain, 1);
  EXPECT_EQ(first.evidence.substr(0, 16), "100 ns of 100 ns");
}

TEST(Places, TheProgramsPurposeIsNoBurdenWhateverPythonSurroundsIt) {
  const First first = Of(Program(40)
                             .Does(0, 300, "", "a.py:1 train")
                             .Does(300, 1000, "aten::mm|framework", "a.py:1 train")
                             .text());
  EXPECT_EQ(first.cause, "framework");
  EXPECT_NEAR(first.share, 0.7, 0.01) << "the cause's";
  EXPECT_NEAR(first.gain, 1, 0.01) << "the line's";
}

TEST(Places, WhatALineCallsElsewhereGoesWithIt) {
  const First first =
      Of(Program(40)
             .Does(0, 500, "numpy.sort|native", "a.py:1 f", "a.py:9 main;a.py:1 f")
             .Does(500, 700, "numpy.dot|native", "a.py:5 g", "a.py:9 main;a.py:1 f;a.py:5 g")
             .Does(700, 1000, "aten::mm|framework", "a.py:2 h", "a.py:2 h")
             .text());
  EXPECT_EQ(first.blame, "a.py:1 f");
  EXPECT_NEAR(first.gain, 0.7, 0.01);
  EXPECT_NE(first.evidence.find("50 % of the steps"), std::string::npos) << first.evidence;
  EXPECT_NE(first.evidence.find("70 % with what it calls"), std::string::npos) << first.evidence;
}

// Before the steps, it is called from elsewhere.
TEST(Places, WhoCallsALineBeforeTheStepsTakesNothingOfIt) {
  std::string text =
      "# crosscut trace\nprocess train pid=7 window=0..80000\n"
      "thread main tid=7 base=python main lead\n";
  const auto sample = [](int at, const std::string& line, const std::string& stack) {
    return "instant [sample] " + std::to_string(at) + "\narg covers_ns 250\narg \"Own line\" \"" +
           line + "\"\narg \"Python stack\" \"" + stack + "\"\n";
  };
  for (int at = 0; at < 40000; at += 100) text += sample(at, "a.py:5 g", "a.py:9 setup;a.py:5 g");
  for (int at = 40000; at < 80000; at += 1000) {
    text += "step step " + std::to_string(at) + " " + std::to_string(at + 1000) + "\nspan f " +
            std::to_string(at) + " " + std::to_string(at + 500) + " native\n" +
            sample(at + 250, "a.py:1 f", "a.py:1 f") + "span g " + std::to_string(at + 500) + " " +
            std::to_string(at + 1000) + " framework\n" +
            sample(at + 750, "a.py:5 g", "a.py:1 f;a.py:5 g");
  }
  const First first = Of(text);
  EXPECT_EQ(first.blame, "a.py:1 f");
  EXPECT_NEAR(first.gain, 1, 0.01);
}

TEST(Places, FilesOfOneNameInTwoFoldersDoNotCallEachOther) {
  const std::string stack = "t.py:1 m;net.py:5 f";
  const First first = Of(Program(40)
                             .Does(0, 500, "numpy.sort|native", "a/net.py:5 f", stack)
                             .Does(500, 700, "numpy.dot|native", "b/net.py:5 f", stack)
                             .Does(700, 1000, "aten::mm|framework", "t.py:9 h", "t.py:9 h")
                             .text());
  EXPECT_EQ(first.blame, "a/net.py:5 f");
  EXPECT_NEAR(first.gain, 0.5, 0.01);
}

// As ranks of a job, whose steps are not at the same time.
TEST(Places, WhatAnotherProcessDoesAtALineMakesNoLoopHere) {
  const auto program = [](const std::string& name, int late) {
    std::string text = "process " + name + " window=0..41000\nthread main base=python main lead\n";
    for (int i = 0; i < 40; ++i) {
      const int begin = 1000 * i + late;
      text += "step step " + std::to_string(begin) + " " + std::to_string(begin + 1000) +
              " number=" + std::to_string(i) + "\n";
      for (const int second : {0, 1}) {
        const std::string line = second ? "a.py:5 f" : "a.py:1 f";
        text += "instant [sample] " + std::to_string(begin + 250 + 500 * second) +
                "\narg covers_ns 500\narg \"Own line\" \"" + line + "\"\narg \"Python stack\" \"" +
                line + "\"\n";
      }
    }
    return text;
  };
  const Table places = Compute(Parse(program("one", 0) + program("two", 500)), "places");
  for (const int64_t lines : places.integers("lines")) EXPECT_EQ(lines, 1);
  EXPECT_EQ(places.rows(), 4u);
}

TEST(Places, AComprehensionIsAtTheLineThatHoldsIt) {
  const First first = Of(Program(40)
                             .Does(0, 400, "numpy.sort|native", "a.py:1 f")
                             .Does(400, 800, "numpy.dot|native", "a.py:1 f.<locals>.<listcomp>")
                             .Does(800, 1000, "aten::mm|framework", "a.py:2 h")
                             .text());
  EXPECT_EQ(first.blame, "a.py:1 f");
  EXPECT_NEAR(first.gain, 0.8, 0.01);
}

// CPython 3.10 tells no function around it.
TEST(Places, AComprehensionGivesALineItsNameNowhere) {
  for (const int sort : {400, 500}) {
    EXPECT_EQ(Of(Program(40)
                     .Does(0, sort, "numpy.sort|native", "a.py:1 make_batches")
                     .Does(sort, 900, "numpy.dot|native", "a.py:1 <listcomp>")
                     .Does(900, 1000, "aten::mm|framework", "a.py:2 h")
                     .text())
                  .blame,
              "a.py:1 make_batches");
  }
}

TEST(Places, AreToldApartInFoldersWhoseNamesHoldBlanks) {
  for (const std::string folder : {"", "my runs/", "at 10:30 today/", "a:1 b/"}) {
    const auto line = [&](const std::string& name) { return folder + "a b.py:" + name; };
    const First first = Of(
        Program(40)
            .Does(0, 500, "numpy.sort|native", line("1 f"))
            .Does(500, 700, "numpy.dot|native", line("5 g"), "a b.py:9 main;a b.py:1 f;a b.py:5 g")
            .Does(700, 1000, "aten::mm|framework", line("2 h"))
            .text());
    EXPECT_EQ(first.blame, folder + "a b.py:1 f");
    EXPECT_NEAR(first.gain, 0.7, 0.01) << folder;
    EXPECT_NE(first.evidence.find("50 % of the steps"), std::string::npos) << first.evidence;
  }
}

// Ten samples at one line.
std::string SamplesAt(const std::string& line) {
  std::string text;
  for (int at = 0; at < 1000; at += 100) {
    text += "instant [sample] " + std::to_string(at + 50) +
            "\narg covers_ns 100\narg \"Own line\" \"" + line + "\"\narg \"Python stack\" \"" +
            line + "\"\n";
  }
  return text;
}

// Two ranks, of which the first one waits for the second, that has such spans; `more` processes.
std::map<std::string, int64_t> PlacesOfWaitingRank(const std::string& spans_of_late,
                                                   const std::string& more) {
  std::string text = "# crosscut trace\n";
  for (int rank = 0; rank < 2; ++rank) {
    text += "process rank" + std::to_string(rank) + " window=0..1000\nmeta rank " +
            std::to_string(rank) + "\nmeta world_size 2\nthread main base=python main lead\n";
    if (rank == 0) text += "step s 0 100 number=1\nstep s 900 1000 number=2\n";
    if (rank == 0) text += "span wait 50 950 comm\n";
    if (rank == 1) text += spans_of_late;
    text += SamplesAt("r.py:" + std::to_string(rank) + " f");
    text += "async collectives\n";
    if (rank == 0) {
      text +=
          "span gloo:recv 50 950 comm\narg \"Collective name\" recv\narg Peer 1\n"
          "arg \"Group size\" 2\n";
    }
  }
  const Table places = Compute(Parse(text + more), "places");
  std::map<std::string, int64_t> sums;
  for (size_t row = 0; row < places.rows(); ++row) {
    if (places.texts("process")[row] != "rank0") continue;
    sums[places.texts("place")[row] + " " + places.texts("cause")[row]] +=
        places.integers("ns")[row];
  }
  return sums;
}

// The wait goes on between the steps, too.
TEST(Places, ALateRankHasNoMoreThanWhatIsToldOfTheWait) {
  using Sums = std::map<std::string, int64_t>;
  const Sums own = {{"r.py:0 f python", 100}, {"r.py:1 f other-rank", 100}};
  EXPECT_EQ(PlacesOfWaitingRank("", ""), own);
  // A wait is followed to the worker that the late rank waits for, and no further.
  const std::string worker =
      "process worker parent=rank1 window=0..1000\nthread main base=python main lead\n" +
      SamplesAt("r.py:9 load");
  const std::string waits = "span os.read 0 1000 idle\n";
  EXPECT_EQ(PlacesOfWaitingRank(waits, worker),
            (Sums{{"r.py:0 f python", 100}, {"r.py:9 load other-rank", 100}}));
  EXPECT_EQ(PlacesOfWaitingRank("", worker), own) << "it works itself";
  EXPECT_EQ(PlacesOfWaitingRank(waits, ""), own) << "nobody works";
}

TEST(Places, WhatACauseTakesElsewhereIsNoMoreThanWhatThePlaceLeavesOfIt) {
  const Table verdict = Compute(Parse(Program(40)
                                          .Does(0, 300, "io.FileIO.write|native", "a.py:8 save")
                                          .Does(300, 600, "", "a.py:8 save")
                                          .Does(600, 1000, "", "", "lib.py:1 g")
                                          .text()),
                                "verdict");
  ASSERT_GE(verdict.rows(), 2);
  EXPECT_EQ(verdict.texts("blame")[0], "a.py:8 save");
  EXPECT_EQ(verdict.texts("cause")[1], "python");
  EXPECT_NEAR(verdict.reals("share")[1], 0.4, 0.05) << "as far as samples tell";
  EXPECT_NEAR(verdict.reals("gain_share")[1], verdict.reals("share")[1], 0.001);
}

TEST(Places, SamplesThatStandForNothingAddNothing) {
  std::string text = Program(40)
                         .Does(0, 500, "numpy.sort|native", "a.py:1 f", "a.py:9 main;a.py:1 f")
                         .Does(500, 700, "numpy.dot|native", "a.py:5 g", "a.py:1 f;a.py:5 g")
                         .Does(700, 1000, "aten::mm|framework", "a.py:2 h", "a.py:2 h")
                         .text();
  for (size_t at; (at = text.find("covers_ns 200")) != text.npos;)
    text.replace(at, 13, "covers_ns 0");
  const First first = Of(text);
  EXPECT_EQ(first.blame, "a.py:1 f");
  EXPECT_NEAR(first.gain, 0.5, 0.01);
}

TEST(Places, OfProcessesThatWorkAtOnceEachHasAnEqualPart) {
  std::string others;
  for (int child = 0; child < 2; ++child) {
    const std::string number = std::to_string(child);
    others += "process child" + number + " parent=train pid=" + std::to_string(20 + child) +
              " window=0..40000\nthread main tid=" + std::to_string(20 + child) +
              " base=idle main lead\n";
    for (int step = 0; step < 40; ++step) {
      const int begin = 1000 * step, end = begin + (child == 0 ? 800 : 200);
      others += "span work " + std::to_string(begin) + " " + std::to_string(end) +
                " native\ninstant [sample] " + std::to_string((begin + end) / 2) +
                "\narg covers_ns 800\narg \"Own line\" \"w.py:" + number +
                " work\"\narg \"Python stack\" \"w.py:" + number + " work\"\n";
    }
  }
  const First first = Of(Program(40)
                             .Does(0, 800, "os.read|idle", "a.py:1 main")
                             .Does(800, 1000, "aten::mm|framework", "a.py:2 main")
                             .text(others));
  EXPECT_EQ(first.cause, "other-process");
  EXPECT_EQ(first.blame, "w.py:0 work");
  EXPECT_NEAR(first.gain, 0.7, 0.01) << "600 of it alone, and half of 200";
}

TEST(Places, NamesAndOperationsAreThoseOfTheLineToBlame) {
  const auto sample = [](int at, const std::string& line) {
    return "instant [sample] " + std::to_string(at) + "\narg covers_ns 10\narg \"Own line\" \"" +
           line + "\"\n";
  };
  const Table table =
      Compute(Parse("process train pid=7 window=0..1000\nthread main tid=7 base=python main lead\n"
                    "op backward 0 400\nspan aten::add 0 250 framework\n"
                    "span aten::bmm 250 400 framework\n"
                    "op forward 400 1000\nspan aten::mm 400 700 framework\n"
                    "span aten::mm 700 1000 framework\n" +
                    sample(100, "a.py:1 main") + sample(300, "a.py:1 main") +
                    sample(500, "a.py:2 net") + sample(800, "a.py:3 net")),
              "verdict");
  EXPECT_EQ(table.texts("blame")[0], "a.py:1 main");
  EXPECT_TRUE(table.texts("evidence")[0].ends_with(", most of it in aten::add; operation backward"))
      << table.texts("evidence")[0];
}

std::vector<Meeting> Drawn(uint64_t seed, int samples, bool loop) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> one;
  std::vector<Meeting> out;
  for (int i = 0; i < samples; ++i) {
    const bool second = one(random) < 0.4;
    // One behind the other, or anywhere in the second half of the step.
    const double within =
        loop ? 0.5 + one(random) / 2 : (second ? 0.7 : 0.3) + 0.2 * (one(random) - 0.5);
    out.push_back({second, i / 2, within});
  }
  return out;
}

TEST(Loops, LinesThatAlternateAreToldFromThoseThatFollowEachOther) {
  for (const int samples : {20, 100, 1000}) {
    int loops = 0, sequences = 0;
    for (uint64_t seed = 0; seed < 500; ++seed) {
      loops += TakeTurns(Drawn(seed, samples, true));
      sequences += TakeTurns(Drawn(seed, samples, false));
    }
    EXPECT_GE(loops, 490) << samples;
    EXPECT_EQ(sequences, 0) << samples;
  }
}

// Without steps: lines that last longer than samples are apart follow each other.
TEST(Loops, LinesThatLastForSeveralSamplesAreNoLoop) {
  int loops = 0;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<Meeting> mixed, lasting;
    for (int i = 0; i < 300; ++i) {
      mixed.push_back({random() % 3 == 0, -1, 0});
      lasting.push_back({i / 4 % 2 == 0, -1, 0});
    }
    loops += TakeTurns(mixed);
    EXPECT_FALSE(TakeTurns(lasting));
  }
  EXPECT_GE(loops, 490);
}

// Two statements of a loop's body, and how far apart samples of it lie: docs/samples.md.
TEST(Loops, LinesThatLastAsLongAsSamplesAreApartAreNoLoop) {
  int loops = 0, of_statements = 0;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> distance(2.5e6, 17.5e6), longer(0.95, 1.05);
    std::vector<Meeting> mixed, statements;
    double at = 0, begin = 0, middle = 8.5e6, end = 17e6;
    for (int i = 0; i < 200; ++i) {
      at += distance(random);
      while (at >= end) {
        begin = end;
        middle = begin + 8.5e6 * longer(random);
        end = middle + 8.5e6 * longer(random);
      }
      const auto ns = static_cast<int64_t>(at);
      mixed.push_back({random() % 3 == 0, -1, 0, 0, ns});
      statements.push_back({at >= middle, -1, 0, 0, ns});
    }
    loops += TakeTurns(mixed);
    of_statements += TakeTurns(statements);
  }
  EXPECT_GE(loops, 490);
  EXPECT_LE(of_statements, 10);
}

TEST(Places, ALineThatHoldsALoopOrRunsALibraryIsOfNoOther) {
  const auto lines = [](const std::string& second, const std::string& inner) {
    std::string text =
        "# crosscut trace\nprocess train pid=7 window=0..6000\n"
        "thread main tid=7 base=python main lead\n";
    for (int i = 0; i < 60; ++i) {
      const std::string line = i % 2 == 0 ? "a.py:1 main" : second;
      text += "instant [sample] " + std::to_string(50 + 100 * i) +
              "\narg covers_ns 100\narg \"Own line\" \"" + line + "\"\narg \"Python stack\" \"" +
              line + (i % 2 == 0 ? "" : inner) + "\"\n";
    }
    return Compute(Parse(text), "places").integers("lines")[0];
  };
  EXPECT_EQ(lines("a.py:2 main", ""), 2);
  EXPECT_EQ(lines("a.py:2 main.<locals>.<listcomp>", ""), 1);
  EXPECT_EQ(lines("a.py:2 main", ";decoder.py:7 decode"), 1);
}

TEST(Loops, WaitsThatNobodyTellsSeldomMakeOneOfASequence) {
  int joined = 0;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    std::mt19937_64 random(seed);
    std::exponential_distribution<double> waits(1 / 0.3);  // in a step that works for 1
    std::vector<Meeting> meetings;
    for (int step = 0; step < 40; ++step) {
      const bool second = step % 2 == 0;
      const double before = waits(random), behind = waits(random);
      const double within = (before + (second ? 0.6 : 0.3)) / (before + 1 + behind);
      meetings.push_back({second, step, within});
    }
    joined += TakeTurns(meetings);
  }
  EXPECT_LE(joined, 150);
}

TEST(Loops, StepsOfAnyLengthKeepTheOrderWithinThem) {
  std::vector<Meeting> meetings;
  for (int step = 0; step < 40; ++step) {
    const double begin = step % 8 / 10.0;  // both lines come later in some steps
    meetings.push_back({false, step, begin});
    meetings.push_back({true, step, begin + 0.1});
  }
  EXPECT_FALSE(TakeTurns(meetings));
  for (size_t i = 0; i < meetings.size(); i += 4) {
    std::swap(meetings[i].second, meetings[i + 1].second);
  }
  EXPECT_TRUE(TakeTurns(meetings));
}

TEST(Loops, StepsOfAnotherKindDoNotMixWhatFollowsEachOther) {
  std::vector<Meeting> meetings;
  for (int step = 0; step < 80; step += 2) {
    for (const double within : {0.1, 0.5, 0.9}) meetings.push_back({false, step, within, 1});
    const bool second = step % 4 == 0;
    meetings.push_back({second, step + 1, second ? 0.8 : 0.2, 2});
  }
  EXPECT_FALSE(TakeTurns(meetings));
  for (Meeting& meeting : meetings) meeting.kind = 0;
  EXPECT_TRUE(TakeTurns(meetings)) << "if all were of one kind";
}

TEST(Places, WaitsForAProcessorMakeNoLoopOfLinesThatFollowEachOther) {
  std::string text =
      "# crosscut trace\nprocess train pid=7 window=0..26000\n"
      "thread main tid=7 base=python main lead\n";
  int at = 0;
  for (int step = 0; step < 40; ++step) {
    const auto ns = [&](int later) { return std::to_string(at + later); };
    const int waits = step / 2 * 3 % 8 * 100, line = 1 + step % 2;
    text += "step step " + ns(0) + " " + ns(waits + 300) + "\n";
    if (waits > 0) text += "span \"(no processor)\" " + ns(0) + " " + ns(waits) + " idle\n";
    text += "instant [sample] " + ns(waits + 100 * line - 50) +
            "\narg covers_ns 200\narg \"Own line\" \"a.py:" + std::to_string(line) + " main\"\n" +
            "span aten::mm " + ns(waits + 200) + " " + ns(waits + 300) + " framework\n";
    at += waits + 300;
  }
  const Table places = Compute(Parse(text), "places");
  ASSERT_GE(places.rows(), 2u);
  for (const int64_t lines : places.integers("lines")) EXPECT_EQ(lines, 1);
}

// A wait at the edge of steps is in the line that makes the edge: the last one of each step.
TEST(Places, ASampleWithoutAProcessorIsNoMeeting) {
  std::string text =
      "# crosscut trace\nprocess train pid=7 window=0..24000\n"
      "thread main tid=7 base=python main lead\n";
  for (int at = 0; at < 24000; at += 600) {
    const auto ns = [&](int later) { return std::to_string(at + later); };
    const auto sample = [&](int later, const std::string& line) {
      return "instant [sample] " + ns(later) +
             "\narg covers_ns 200\narg \"Own line\" \"a.py:" + line + " main\"\n";
    };
    text += "step step " + ns(0) + " " + ns(600) + "\nspan \"(no processor)\" " + ns(0) + " " +
            ns(100) + " idle\n" + sample(50, "2") + sample(300, "1") + sample(500, "2");
  }
  const Table places = Compute(Parse(text), "places");
  ASSERT_GE(places.rows(), 2u);
  for (const int64_t lines : places.integers("lines")) EXPECT_EQ(lines, 1);
}

TEST(Loops, TwoSamplesTellNothing) {
  EXPECT_FALSE(TakeTurns({{false, 0, 0.2}, {true, 1, 0.1}, {false, 2, 0.1}, {true, 3, 0.3}}));
}

// Python takes most where it is a part of each of many lines; the one that has most of it is an
// operator's.
TEST(Verdict, OfALineThatDoesMoreThanItsHeadlineTellsThatPartIsToldFirst) {
  std::string body =
      "span aten::mm 0 280 framework\nspan aten::add 600 800 framework\n"
      "span time.sleep 800 1000 idle\n";
  for (int at = 5; at < 1000; at += 10) {
    const int line = at < 360 ? 1 : at < 600 ? at / 40 : at < 800 ? 2 : 3;
    body += "instant [sample] " + std::to_string(at) +
            "\narg covers_ns 10\narg \"Own line\" \"a.py:" + std::to_string(line) + " f\"\n";
  }
  const Table table = Compute(
      Parse("process train pid=7 window=0..1000\nthread main tid=7 base=python main lead\n" + body),
      "verdict");
  EXPECT_EQ(table.texts("headline")[0], "Python-bound: Python code takes 32 % of the window.");
  EXPECT_EQ(table.texts("blame")[0], "a.py:1 f");
  EXPECT_EQ(table.texts("evidence")[0],
            "Python 8.1 % of the window; the line takes 0.361 µs of 1.00 µs: no steps were found; "
            "36 % of the window (28 % to 44 % by 36 samples): operators 28 %, Python 8 %");
}

// Of most of Python no line was seen; of a call of native code some samples were, beside it.
TEST(Verdict, ALineThatHasLittleOfACauseIsNotNamedWhereMostHasNone) {
  for (const bool native : {true, false}) {
    std::string body = native ? "span fit 0 100 native\n" : "";
    for (int at = native ? 5 : 101; at < 102; at += at < 95 ? 10 : 6) {
      body += "instant [sample] " + std::to_string(at) +
              "\narg covers_ns 1\narg \"Own line\" \"a.py:1 f\"\n";
    }
    const std::string train = "process train window=0..1000\nthread main base=python main lead\n";
    const Table table = Compute(Parse(train + body), "verdict");
    EXPECT_EQ(table.texts("headline")[0], std::string("Python-bound: Python code takes ") +
                                              (native ? "90" : "100") + " % of the window.");
    EXPECT_EQ(table.texts("blame")[0], "");
    EXPECT_EQ(table.texts("evidence")[0].find(native ? "0.900 µs of" : "1.00 µs of"), 0u);
  }
}

// A line trains in each step, and compiles in one of them, which takes half of all.
TEST(Places, WhatALineDoesInOneStepIsNoBurdenOfTheOthers) {
  std::string text;
  int at = 0;
  const auto part = [&](const std::string& what, int ns, const std::string& layer,
                        const std::string& line) {
    text += what + " " + std::to_string(at) + " " + std::to_string(at + ns) + layer +
            "\ninstant [sample] " + std::to_string(at + ns / 2) + "\narg covers_ns " +
            std::to_string(ns) + "\narg \"Own line\" \"a.py:" + line + " main\"\n";
    at += ns;
  };
  std::string steps;
  for (int step = 0; step < 40; ++step) {
    const int begin = at;
    if (step == 20) part("op compile", 4000, "", "1");
    part("span aten::mm", 30, " framework", "1");
    part("span numpy.sort", 20, " native", "2");
    part("span all_reduce", 20, " comm", "3");
    part("span env.step", 20, " simulator", "4");
    steps += "step step " + std::to_string(begin) + " " + std::to_string(at) +
             " number=" + std::to_string(step) + "\n";
  }
  const Table table = Compute(Parse("process train pid=7 window=0.." + std::to_string(at) +
                                    "\nthread main tid=7 base=python main lead\n" + steps + text),
                              "verdict");
  EXPECT_EQ(table.texts("cause")[0], "none");
  EXPECT_EQ(table.texts("evidence")[0],
            "the largest cause, compilation, takes 53 %, most of it in a few steps");
}

}  // namespace
}  // namespace crosscut::analyze
