// Of the table `lines`, and of what else has the lines of threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "src/analyze/testing/test_trace.h"

namespace crosscut::analyze {
namespace {

using testing::Compute;
using testing::Parse;

// Random programs as text: two threads with nested calls, operations and samples; steps, a pause.
std::string RandomProgram(uint64_t seed) {
  std::mt19937_64 engine(seed);
  const auto below = [&](int n) { return static_cast<int>(engine() % static_cast<unsigned>(n)); };
  const char* const kCalls[] = {"aten::mm A framework",
                                "time.sleep A idle",
                                "os.write A native",
                                "io.read A native",
                                "threading.Lock.acquire A idle",
                                "crosscut A overhead"};
  std::string text = "process train pid=7 window=0..1000\n";
  if (below(2) == 0) text += "pause 400 430\n";
  std::string steps;
  for (int i = 0; i < 3 && seed % 2 == 0; ++i) {
    steps += "step step " + std::to_string(100 + 200 * i) + " " + std::to_string(280 + 200 * i) +
             " number=" + std::to_string(i) + " level=" + std::to_string(below(5)) + "\n";
  }
  for (int t = 0; t < 2; ++t) {
    text += t == 0 ? "thread main tid=7 base=python main lead\n" + steps
                   : "thread pool tid=8 base=python\n";
    for (int at = 0; at < 1000;) {
      const int begin = at + 1 + below(60), end = begin + 1 + below(120);
      at = end;
      if (end >= 1000) break;
      if (below(3) == 0) {
        text += "op work " + std::to_string(begin) + " " + std::to_string(end) + "\n";
        continue;
      }
      std::string call = kCalls[below(6)];
      call.replace(call.find('A'), 1, std::to_string(begin) + " " + std::to_string(end));
      text += "span " + call + "\n";
    }
    for (int at = below(30); at < 1000; at += 1 + below(80)) {
      text += "instant [sample] " + std::to_string(at) + "\narg covers_ns " +
              std::to_string(below(40)) + "\n";
      if (below(4) > 0) {
        const std::string line = "a.py:" + std::to_string(below(3)) + " f";
        text += "arg \"Own line\" \"" + line + "\"\narg \"Python stack\" \"" + line + "\"\n";
      }
      if (below(4) == 0) text += "arg \"Waits for\" futex\n";
    }
  }
  return text;
}

TEST(ThreadLines, OfAThreadAddUpToItsLife) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const trace::Trace trace = Parse(RandomProgram(seed));
    const Table lines = Compute(trace, "lines"), lives = Compute(trace, "thread_lives");
    std::map<std::string, int64_t> sums;
    for (size_t row = 0; row < lines.rows(); ++row) {
      const int64_t ns = lines.integers("ns")[row], low = lines.integers("low_ns")[row];
      sums[lines.texts("thread")[row]] += ns;
      if (lines.texts("what")[row] == "none") {
        EXPECT_EQ(low, kMissing);
        continue;
      }
      EXPECT_LE(low, ns) << "seed " << seed;
      EXPECT_GE(lines.integers("high_ns")[row], ns) << "seed " << seed;
    }
    for (size_t row = 0; row < lives.rows(); ++row) {
      EXPECT_EQ(sums[lives.texts("thread")[row]], lives.integers("life_ns")[row])
          << "seed " << seed;
    }
  }
}

TEST(ThreadLines, HaveTheLayersThatTheAccountingHas) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const trace::Trace trace = Parse(RandomProgram(seed));
    const auto layers_of = [&](const char* name) {
      const Table table = Compute(trace, name);
      std::map<std::string, int64_t> sums;
      for (size_t row = 0; row < table.rows(); ++row) {
        const std::string thread = table.texts("thread")[row];
        sums[thread + " " + table.texts("layer")[row]] += table.integers("ns")[row];
      }
      return sums;
    };
    EXPECT_EQ(layers_of("lines"), layers_of("threads")) << "seed " << seed;
  }
}

TEST(ThreadLines, OfThePartsOfAWindowAddUpToItsCells) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const trace::Trace trace = Parse(RandomProgram(seed));
    const Table work = Compute(trace, "part_work"), overlap = Compute(trace, "overlap"),
                parts = Compute(trace, "window_parts");
    std::map<std::string, int64_t> got, want, got_parts, want_parts;
    for (size_t row = 0; row < work.rows(); ++row) {
      got[work.texts("layers")[row]] += work.integers("ns")[row];
      got_parts[work.texts("part")[row]] += work.integers("ns")[row];
    }
    for (size_t row = 0; row < overlap.rows(); ++row) {
      const int64_t ns = overlap.integers("ns")[row];
      if (ns != 0) want[overlap.texts("layers")[row]] += ns;
    }
    for (size_t row = 0; row < parts.rows(); ++row) {
      const int64_t ns = parts.integers("wall_ns")[row];
      if (ns != 0) want_parts[parts.texts("part")[row]] += ns;
    }
    EXPECT_EQ(got, want) << "seed " << seed;
    EXPECT_EQ(got_parts, want_parts) << "seed " << seed;
  }
}

// The rows of `lines` of the lead and of one more thread: "line what layer: ns".
std::vector<std::string> LinesOf(const std::string& body) {
  const Table table = Compute(Parse("process train pid=7 window=0..1000\n"
                                    "thread main tid=7 base=python main lead\n" +
                                    body),
                              "lines");
  std::vector<std::string> out;
  for (size_t row = 0; row < table.rows(); ++row) {
    out.push_back(table.texts("line")[row] + " " + table.texts("what")[row] + " " +
                  table.texts("layer")[row] + ": " + std::to_string(table.integers("ns")[row]));
  }
  return out;
}

std::string Sample(int at, int covers, const std::string& own, const std::string& inside = "") {
  std::string text =
      "instant [sample] " + std::to_string(at) + "\narg covers_ns " + std::to_string(covers) + "\n";
  if (!own.empty()) text += "arg \"Own line\" \"" + own + "\"\n";
  if (!own.empty() || !inside.empty()) {
    const std::string semicolon = own.empty() || inside.empty() ? "" : ";";
    text += "arg \"Python stack\" \"" + own + semicolon + inside + "\"\n";
  }
  return text;
}

using Rows = std::vector<std::string>;

// Forty stretches of Python between the same calls, of 900 to 1100 ns, in each of which a second
// line begins at the same time; a sample each, at random: by the next sample in time, the lines
// would be off by 8 % of the whole (standard deviation).
TEST(ThreadLines, OfCodeThatComesAgainAreKnownFromAllOfIt) {
  constexpr int kTries = 200;
  double squares = 0;
  for (uint64_t seed = 0; seed < kTries; ++seed) {
    std::mt19937_64 engine(seed);
    const auto below = [&](int n) { return static_cast<int>(engine() % static_cast<unsigned>(n)); };
    const int second_at = 200 + below(500);
    int64_t first_ns = 0;
    std::string spans, samples;
    int at = 0, before = 0;
    for (int i = 0; i < 40; ++i) {
      const int length = 900 + below(200), sample = at + below(length);
      first_ns += second_at;
      samples += Sample(sample, sample - before, sample - at < second_at ? "a.py:1 f" : "a.py:2 f");
      before = sample;
      at += length;
      spans +=
          "span aten::mm " + std::to_string(at) + " " + std::to_string(at + 10) + " framework\n";
      at += 10;
    }
    const Table table =
        Compute(Parse("process train pid=7 window=0.." + std::to_string(at) +
                      "\nthread main tid=7 base=python main lead\n" + spans + samples),
                "lines");
    int64_t python_ns = 0, got_ns = 0;
    for (size_t row = 0; row < table.rows(); ++row) {
      if (table.texts("layer")[row] != "python") continue;
      python_ns += table.integers("ns")[row];
      if (table.texts("line")[row] == "a.py:1 f") got_ns += table.integers("ns")[row];
    }
    squares += std::pow(static_cast<double>(got_ns - first_ns) / static_cast<double>(python_ns), 2);
  }
  EXPECT_LT(std::sqrt(squares / kTries), 0.04);
}

TEST(ThreadLines, AWaitThatNoSampleSawHasNoneOfItsNeighbours) {
  EXPECT_EQ(LinesOf("span time.sleep 400 600 idle\n" + Sample(300, 300, "a.py:1 f") +
                    Sample(700, 300, "a.py:1 f")),
            (Rows{"a.py:1 f line python: 800", " none idle: 200"}));
  // One that a sample saw has its line, and so have the others of its name.
  EXPECT_EQ(LinesOf("span time.sleep 400 600 idle\nspan time.sleep 900 950 idle\n" +
                    Sample(300, 300, "a.py:1 f") + Sample(500, 300, "a.py:2 f") +
                    Sample(700, 300, "a.py:1 f")),
            (Rows{"a.py:1 f line python: 750", "a.py:2 f line idle: 250"}));
}

// Who takes samples may wait for a processor when the kernel has noted one.
TEST(ThreadLines, ASampleTellsTheLineOfWhenItsStackWasRead) {
  const std::string late = "arg stack_after_ns 60\n";
  EXPECT_EQ(LinesOf("span time.sleep 400 600 idle\n" + Sample(200, 200, "a.py:1 f") +
                    Sample(390, 190, "a.py:2 f") + late + Sample(800, 410, "a.py:1 f")),
            (Rows{"a.py:1 f line python: 800", "a.py:2 f line idle: 200"}));
}

TEST(ThreadLines, AStretchOfPythonIsKnownByTheCallsAroundIt) {
  // A loop: Python of line 1, a read, Python of line 2, a write. One sample of each.
  std::string body;
  for (int at = 0; at < 1000; at += 100) {
    body += "span io.write " + std::to_string(at) + " " + std::to_string(at + 10) + " native\n" +
            "span io.read " + std::to_string(at + 40) + " " + std::to_string(at + 50) + " native\n";
  }
  body += Sample(520, 400, "a.py:1 f") + Sample(580, 400, "a.py:2 f") +
          Sample(605, 400, "a.py:3 f") + Sample(645, 400, "a.py:4 f");
  EXPECT_EQ(LinesOf(body), (Rows{"a.py:2 f line python: 500", "a.py:1 f line python: 300",
                                 "a.py:3 f line native: 100", "a.py:4 f line native: 100"}));
}

TEST(ThreadLines, CallsOfOneNameAreKnownByTheCallBefore) {
  // Three rounds; each begins with a call of its own. Behind `b`, line 1 runs after `a`, line 2
  // after `d`. The third round has no sample.
  const auto round = [](int at, const std::string& first, const std::string& second) {
    std::string text;
    for (const std::string& name : {first, second, std::string("b")}) {
      text +=
          "span " + name + " " + std::to_string(at) + " " + std::to_string(at + 10) + " native\n";
      at += 10;
    }
    return text + "span c " + std::to_string(at + 270) + " " + std::to_string(at + 303) +
           " native\n";
  };
  EXPECT_EQ(LinesOf(round(0, "x", "a") + round(333, "y", "d") + round(666, "z", "a") +
                    Sample(200, 300, "a.py:1 f") + Sample(500, 300, "a.py:2 f"))[0],
            "a.py:1 f line python: 540");
}

TEST(ThreadLines, ASampleReachesTenTimesWhatItStandsFor) {
  EXPECT_EQ(LinesOf(Sample(500, 20, "a.py:1 f")),
            (Rows{" none python: 599", "a.py:1 f line python: 401"}));
  // Three times, in work of another kind.
  EXPECT_EQ(LinesOf("span io.read 520 1000 native\n" + Sample(500, 20, "a.py:1 f")),
            (Rows{" none native: 439", " none python: 300", "a.py:1 f line python: 220",
                  "a.py:1 f line native: 41"}));
}

// The sampler was stopped for 900 ns, or had no processor: the sample behind that stands for it.
TEST(ThreadLines, WhereNobodyLookedForLongTheSampleBehindThatTells) {
  EXPECT_EQ(LinesOf(Sample(10, 10, "a.py:1 f") + Sample(910, 900, "a.py:1 f")),
            (Rows{"a.py:1 f line python: 1000"}));
  EXPECT_EQ(LinesOf(Sample(10, 10, "a.py:1 f") + Sample(910, 900, "a.py:2 f")),
            (Rows{"a.py:2 f line python: 889", "a.py:1 f line python: 111"}));
  // Behind a sample that stands for little, that before it.
  EXPECT_EQ(LinesOf(Sample(100, 80, "a.py:1 f") + Sample(990, 10, "a.py:2 f")),
            (Rows{"a.py:1 f line python: 890", "a.py:2 f line python: 110"}));
}

// Of a deep stack the inner part is read, which may have no line of the program's own.
TEST(ThreadLines, AStackThatIsCutHasTheLineOfTheSampleNextToIt) {
  const std::string cut = "arg \"Frames missing\" 1\n", deep = Sample(500, 200, "", "x.py:1 g");
  EXPECT_EQ(LinesOf(deep), (Rows{"(no line of the program's own) library python: 1000"}));
  EXPECT_EQ(LinesOf(deep + cut), (Rows{" none python: 1000"}));
  EXPECT_EQ(LinesOf(Sample(500, 200, "a.py:1 f", "x.py:1 g") + cut),
            (Rows{"a.py:1 f line python: 1000"}));
  EXPECT_EQ(LinesOf(Sample(100, 100, "a.py:1 f") + deep + cut + Sample(950, 200, "a.py:2 f")),
            (Rows{"a.py:1 f line python: 726", "a.py:2 f line python: 274"}));
  EXPECT_EQ(LinesOf("span io.read 0 400 native\n" + Sample(100, 10, "a.py:1 f") + deep + cut),
            (Rows{" none python: 600", "a.py:1 f line native: 201", " none native: 199"}));
}

TEST(ThreadLines, WhatWasSeenBeforeTheFirstStepTellsNothingOfTheSteps) {
  const std::string import = Sample(180, 300, "a.py:1 f");
  EXPECT_EQ(LinesOf("step step 200 400 number=0\nstep step 400 800 number=1\n" + import),
            (Rows{" none python: 800", "a.py:1 f line python: 200"}));
  EXPECT_EQ(LinesOf("step step 200 400 number=0\nstep step 400 800 number=1\n" + import +
                    Sample(300, 300, "a.py:2 f") + Sample(900, 300, "a.py:3 f")),
            (Rows{"a.py:2 f line python: 600", "a.py:1 f line python: 200",
                  "a.py:3 f line python: 200"}));
}

// There are no calls in steps that were left out, so what is seen in them is Python, and tells
// nothing of Python elsewhere; nobody looks at control steps.
TEST(ThreadLines, StepsThatWereLeftOutHaveTheLinesThatWereSeenInThem) {
  EXPECT_EQ(LinesOf("step step 0 200 number=0\nstep step 200 600 number=1 level=4\n"
                    "step step 600 800 number=2 level=0\nstep step 800 1000 number=3\n" +
                    Sample(100, 300, "a.py:1 f") + Sample(300, 300, "a.py:2 f") +
                    Sample(500, 300, "a.py:3 f") + Sample(900, 300, "a.py:1 f")),
            (Rows{"a.py:1 f line python: 400", "a.py:2 f line control: 201", " none control: 200",
                  "a.py:3 f line control: 199"}));
}

TEST(ThreadLines, ImportsAndTheExitHaveNamesOfTheirOwn) {
  const std::string import = "<frozen importlib._bootstrap>:9 _find_and_load;x.py:1 <module>";
  EXPECT_EQ(LinesOf(Sample(100, 100, "a.py:1 <module>", import) +
                    Sample(300, 100, "a.py:1 <module>", import + ";b/own.py:3 <module>")),
            (Rows{"a.py:1 <module> (imports) import python: 1000"}));
  // Frames are whole: one of a file with a longer name is no line of the program's own.
  EXPECT_EQ(LinesOf(Sample(500, 500, "train.py:1 <module>", import + ";pretrain.py:1 <module>")),
            (Rows{"train.py:1 <module> (imports) import python: 1000"}));
  // What a module of the program's own does as it is imported is no import.
  EXPECT_EQ(
      LinesOf("instant [sample] 500\narg covers_ns 400\narg \"Own line\" \"b/own.py:3 f\"\n"
              "arg \"Python stack\" \"a.py:1 m;<frozen importlib._bootstrap>:9 x;own.py:3 f\"\n"),
      (Rows{"b/own.py:3 f line python: 1000"}));
  // Samples without a stack at the end; behind them there is no interpreter.
  EXPECT_EQ(LinesOf(Sample(200, 200, "a.py:1 f") + Sample(400, 200, "") + Sample(600, 200, "")),
            (Rows{"(interpreter exit) exit python: 599", "a.py:1 f line python: 301",
                  "(exit behind the interpreter's end) exit python: 100"}));
}

TEST(PartWork, HasTheLineOfTheThreadThatTheLeadWaitsFor) {
  const auto lines = [](const std::string& wait, const std::string& other) {
    const Table table = Compute(Parse("process train pid=7 window=0..1000\n"
                                      "thread main tid=7 base=python main lead\n"
                                      "span " +
                                      wait + " 0 1000 idle\n" + Sample(500, 500, "a.py:1 main") +
                                      "thread pool tid=8 base=python\n" + other),
                                "part_work");
    std::string out;
    for (size_t row = 0; row < table.rows(); ++row) {
      out += table.texts("work")[row] + " " + std::to_string(table.integers("ns")[row]) + "; ";
    }
    return out;
  };
  const std::string works = Sample(500, 500, "a.py:9 work");
  EXPECT_EQ(lines("threading.Lock.acquire", works), "a.py:9 work 1000; ");
  EXPECT_EQ(lines("select.epoll.poll", works), "a.py:9 work 1000; ");
  EXPECT_EQ(lines("time.sleep", works), "a.py:1 main 1000; ");
  EXPECT_EQ(lines("threading.Lock.acquire", Sample(500, 500, "", "x.py:1 g")), "a.py:1 main 1000; ")
      << "that thread has no line of the program";
  const std::string writes = "span os.write 0 1000 native\n" + works;
  EXPECT_EQ(lines("threading.Lock.acquire", writes), "a.py:9 work 1000; ");
  EXPECT_EQ(lines("threading.Lock.acquire", writes + "arg \"Waits for\" write\n"),
            "a.py:1 main 1000; ")
      << "it waits for who reads";
  EXPECT_EQ(lines("threading.Lock.acquire",
                  works + "thread more tid=9 base=python\n" + Sample(500, 500, "a.py:8 more")),
            "a.py:8 more 500; a.py:9 work 500; ");
}

TEST(PartWork, HasTheLinesOfThreadsThatComeAndGo) {
  std::string text = "process train window=0..1000\nthread main base=idle main lead\n" +
                     Sample(500, 1000, "a.py:1 main");
  const std::pair<int, int> lives[] = {{600, 900}, {0, 300}, {200, 500}};
  for (size_t i = 0; i < std::size(lives); ++i) {
    const auto [begin, end] = lives[i];
    const std::string number = std::to_string(i);
    text += "thread t" + number + " base=python life=" + std::to_string(begin) + ".." +
            std::to_string(end) + "\n" + Sample(begin + 100, 300, "a.py:1" + number + " work");
  }
  std::map<std::string, int64_t> got;
  const Table table = Compute(Parse(text), "part_work");
  for (size_t row = 0; row < table.rows(); ++row) {
    got[table.texts("work")[row]] += table.integers("ns")[row];
  }
  EXPECT_EQ(got, (std::map<std::string, int64_t>{{"a.py:1 main", 200},
                                                 {"a.py:10 work", 300},
                                                 {"a.py:11 work", 250},
                                                 {"a.py:12 work", 250}}));
}

}  // namespace
}  // namespace crosscut::analyze
