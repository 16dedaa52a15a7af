#include "src/analyze/verdict/others_work.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "src/analyze/testing/test_trace.h"
#include "src/analyze/verdict/causes.h"
#include "src/analyze/verdict/process_lines.h"

namespace crosscut::analyze {
namespace {

using testing::Compute;
using testing::Parse;

// One each 20 ns.
std::string Samples(int from, int until, const std::string& line) {
  std::string text;
  for (int at = from; at < until; at += 20) {
    text += "instant [sample] " + std::to_string(at + 10) +
            "\narg covers_ns 20\narg \"Own line\" \"" + line + "\"\narg \"Python stack\" \"" +
            line + "\"\n";
  }
  return text;
}

TEST(OthersWork, AProcessThatIsWaitedForIsBlamedForThatTimeAlone) {
  const auto table = [&](const std::string& others) {
    const Table verdict =
        Compute(Parse("process train pid=7 window=0..1000\n"
                      "thread main tid=7 base=python main lead\n"
                      "span os.read 600 1000 idle\n" +
                      Samples(0, 600, "a.py:1 main") + Samples(600, 1000, "a.py:2 main") + others),
                "verdict");
    for (size_t row = 0; row < verdict.rows(); ++row) {
      if (verdict.texts("cause")[row] == "other-process") return verdict.texts("blame")[row];
    }
    return std::string("none");
  };
  const std::string child =
      "process child parent=train pid=8 window=0..1000\n"
      "thread main tid=8 base=python main lead\n";
  const std::string works = Samples(0, 600, "a.py:8 start") + Samples(600, 1000, "a.py:9 serve");
  EXPECT_EQ(table(child + works), "a.py:9 serve");
  EXPECT_EQ(table(""), "a.py:2 main");
  const std::string grandchild =
      "process grandchild parent=child pid=10 window=0..1000\n"
      "thread main tid=10 base=python main lead\n";
  const std::string waits = child + "span os.read 0 1000 idle\n";
  EXPECT_EQ(table(waits + grandchild + works), "a.py:9 serve");
  // It waits itself, or it sleeps.
  EXPECT_EQ(table(child + "span os.read 600 1000 idle\n" + works), "a.py:2 main");
  EXPECT_EQ(table(child + "span time.sleep 600 1000 idle\n" + works), "a.py:9 serve");
  // Who started it is asked behind its own children, and strangers last.
  const std::string stranger =
      "process stranger pid=9 window=0..1000\n"
      "thread main tid=9 base=python main lead\n";
  EXPECT_EQ(table(child + works + stranger + Samples(0, 1000, "b.py:1 x")), "a.py:9 serve");
  EXPECT_EQ(table(stranger + Samples(0, 1000, "b.py:1 x")), "b.py:1 x");
  // In a library it works at no line of the program, but for what it began with.
  std::string library = Samples(0, 650, "a.py:8 start");
  for (int at = 675; at < 1000; at += 50) {
    library += "instant [sample] " + std::to_string(at) +
               "\narg covers_ns 50\narg \"Python stack\" \"svm.py:3 fit\"\n";
  }
  EXPECT_EQ(table(child + library), "a.py:2 main");
}

// Parts of a thread's life, at a line each.
struct Part {
  int from, until;
  std::string line;
};
std::string Work(const std::vector<Part>& parts) {
  std::string text;
  for (const Part& part : parts) text += Samples(part.from, part.until, part.line);
  return text;
}
// Waits, in each of three steps of 1000.
std::string Waits(int from, int until) {
  std::string text;
  for (int step = 0; step < 3000; step += 1000) {
    text += "span os.read " + std::to_string(step + from) + " " + std::to_string(step + until) +
            " idle\n";
  }
  return text;
}
std::string Child(const std::string& name, int pid, const std::string& does) {
  return "process " + name + " pid=" + std::to_string(pid) +
         " window=0..3000\nthread main tid=" + std::to_string(pid) + " base=python main lead\n" +
         does;
}
// Own time of "a.py:9 serve" and gain in a process of such steps that waits at the end of each for
// others. Where the line of two samples changes is known to some ns.
void ExpectGain(int own, int gain, const std::string& others, const std::string& middle = "",
                const std::string& waits = Waits(600, 1000)) {
  const Table table = Compute(Parse("process train pid=7 window=0..3000\n"
                                    "thread main tid=7 base=python main lead\n"
                                    "step step 0 1000 number=0\nstep step 1000 2000 number=1" +
                                    middle + "\nstep step 2000 3000 number=2\n" + waits +
                                    Samples(0, 3000, "a.py:1 main") + others),
                              "places");
  int64_t own_ns = 0, gain_ns = 0;
  for (size_t row = 0; row < table.rows(); ++row) {
    const bool waiting = table.texts("process")[row] == "train";
    if (!waiting || table.texts("place")[row] != "a.py:9 serve") continue;
    own_ns += table.integers("ns")[row];
    gain_ns = table.integers("gain_ns")[row];
  }
  EXPECT_NEAR(static_cast<double>(own_ns), own, 5);
  EXPECT_NEAR(static_cast<double>(gain_ns), gain, 5);
}

// Without it the wait would be shorter, and no shorter than nothing.
TEST(OthersWork, WhatIsDoneWithoutAPauseBeforeTheWaitGoesWithIt) {
  const std::string child = "child parent=train";
  std::vector<Part> parts;
  for (int step = 0; step < 3000; step += 1000) {
    parts.push_back({step, step + 700, "a.py:9 serve"});
    parts.push_back({step + 700, step + 1000, "a.py:8 rest"});
  }
  const std::string work = Work(parts);
  ExpectGain(300, 1200, Child(child, 8, work));  // all of the waits, and no more
  ExpectGain(300, 600, Child(child, 8, Waits(200, 500) + work));
  ExpectGain(300, 300, Child(child, 8, Waits(580, 600) + work));
  // A wait in parts is one.
  ExpectGain(270, 1170, Child(child, 8, work), "", Waits(600, 610) + Waits(620, 1000));
  // Of two that go on each has an equal part; who pauses has none.
  const std::string rest = Child("other parent=train", 9, Samples(0, 3000, "b.py:8 rest"));
  ExpectGain(150, 1050, Child(child, 8, work) + rest);
  ExpectGain(150, 150, Child(child, 8, Waits(580, 600) + work) + rest);
  // Of a stranger it is not known for whom it works.
  ExpectGain(300, 300, Child("stranger", 8, work));
  // What it does in a control step made nobody wait whom we saw.
  ExpectGain(400, 400,
             Child(child, 8,
                   Work({{0, 700, "a.py:8 rest"},
                         {700, 2000, "a.py:9 serve"},
                         {2000, 2900, "a.py:8 rest"},
                         {2900, 3000, "a.py:9 serve"}})),
             " level=0");
  // Before one short wait it gains no more than that, and nothing of others.
  ExpectGain(20, 40,
             Child(child, 8,
                   "span os.read 1000 1100 idle\n" +
                       Work({{0, 980, "a.py:9 serve"}, {980, 3000, "a.py:8 rest"}})),
             "", "span os.read 960 1000 idle\nspan os.read 1600 2000 idle\n");
  // A wait for another cause ends what was done ahead.
  ExpectGain(300, 300,
             Child(child, 8, Work({{0, 300, "a.py:9 serve"}, {300, 3000, "a.py:8 rest"}})), "",
             "op data 0 300\nspan os.read 0 300 idle\nspan os.read 400 700 idle\n");
}

// Who calls a line that is done ahead gains no more than the waits, either.
TEST(OthersWork, ACallerAndItsCalleeGainNoMoreThanTheWaits) {
  std::string work;
  for (int at = 0; at < 3000; at += 20) {
    const std::string line = at / 20 % 2 == 0 ? "a.py:5 get" : "a.py:9 serve";
    work += "instant [sample] " + std::to_string(at + 10) +
            "\narg covers_ns 20\narg \"Own line\" \"" + line +
            "\"\narg \"Python stack\" \"a.py:5 get" + (line == "a.py:5 get" ? "" : ";" + line) +
            "\"\n";
  }
  std::string waits = Waits(600, 1000);
  for (int step = 0; step < 3000; step += 1000) {
    waits += "op data " + std::to_string(step + 600) + " " + std::to_string(step + 1000) + "\n";
  }
  const Table table =
      Compute(Parse("process train pid=7 window=0..3000\n"
                    "thread main tid=7 base=python main lead\n"
                    "step step 0 3000 number=0\n" +
                    waits + Samples(0, 3000, "a.py:1 main") + Child("child parent=train", 8, work)),
              "places");
  size_t rows = 0;
  for (size_t row = 0; row < table.rows(); ++row) {
    if (table.texts("cause")[row] != "input") continue;
    ++rows;
    EXPECT_NEAR(static_cast<double>(table.integers("gain_ns")[row]), 1200, 5);
  }
  EXPECT_GE(rows, 1u);
}

TEST(OthersWork, OfProcessesEachHasAnEqualPartHoweverManyThreadsWorkInIt) {
  const auto samples = [](const std::string& line) {
    std::string text;
    for (int at = 50; at < 1000; at += 100) {
      text += "instant [sample] " + std::to_string(at) +
              "\narg covers_ns 100\narg \"Own line\" \"" + line + "\"\narg \"Python stack\" \"" +
              line + "\"\n";
    }
    return text;
  };
  std::string text =
      "process train window=0..1000\nthread main base=idle lead\n"
      "process many parent=train window=0..1000\n"
      "thread main base=python lead\nspan threading.Lock.acquire 0 1000 idle\n";
  for (int i = 0; i < 3; ++i) {
    text += "thread t" + std::to_string(i) + " base=python\n" + samples("a.py:1 many");
  }
  text += "process one parent=train window=0..1000\nthread main base=python lead\n" +
          samples("b.py:1 one");
  const trace::Trace trace = Parse(text);
  const Context context(trace);
  RelativesWork others(context);
  std::map<std::string, int64_t> got;
  for (const auto& [line, blamed] : others.In({0}, {{0, 1000}}).lines) {
    got[LineText(trace, line)] = blamed.ns;
  }
  EXPECT_NEAR(static_cast<double>(got["a.py:1 many"]), 500, 2);
  EXPECT_NEAR(static_cast<double>(got["b.py:1 one"]), 500, 2);
}

// Instant by instant: each process that works has an equal part, which its threads share.
TEST(OthersWork, IsThatOfItsDefinitionOnTwoHundredTraces) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<uint64_t>(n)); };
    std::string text = "process train window=0..1000\nthread main base=idle lead\n";
    for (int p = below(3); p >= 0; --p) {
      const int from = below(400), to = 600 + below(401);
      text += "process c" + std::to_string(p) + " parent=train window=" + std::to_string(from) +
              ".." + std::to_string(to) + "\nthread main base=idle lead\n";
      for (int t = below(4); t >= 0; --t) {
        const int born = from + below(200), gone = born + 1 + below(to - born);
        text += "thread t" + std::to_string(t) + " base=python life=" + std::to_string(born) +
                ".." + std::to_string(gone) + "\n";
        for (int at = born + below(50); at < gone; at += 1 + below(80)) {
          text += "instant [sample] " + std::to_string(at) +
                  "\narg covers_ns 20\narg \"Own line\" \"a.py:" + std::to_string(below(4)) +
                  " f\"\n";
        }
      }
    }
    const trace::Trace trace = Parse(text);
    const Context context(trace);
    std::vector<trace::Interval> times;
    for (int at = below(100); at < 1000; at += 1 + below(50)) {
      times.push_back({at, std::min(1000, at + 1 + below(200))});
      at = static_cast<int>(times.back().end_ns);
    }
    std::map<Line, double> want;
    std::vector<std::unique_ptr<LineCursor>> lines;
    for (uint32_t t = 0; t < trace.tracks.size(); ++t) lines.push_back(LinesOfThread(context, {t}));
    for (const trace::Interval& time : times) {
      for (int64_t at = time.begin_ns; at < time.end_ns; ++at) {
        std::map<uint32_t, std::vector<Line>> works;  // by process
        for (uint32_t t = 0; t < trace.tracks.size(); ++t) {
          const trace::Interval life = LifeOf(trace, {t});
          if (at < life.begin_ns || at >= life.end_ns) continue;
          const Line line = lines[t]->At(at).line;
          if (line.kind == LineKind::kOwn) works[trace.tracks[t].process.value].push_back(line);
        }
        for (const auto& [process, at_lines] : works) {
          for (const Line& line : at_lines) {
            want[line] += 1.0 / static_cast<double>(works.size() * at_lines.size());
          }
        }
      }
    }
    RelativesWork others(context);
    const OthersWork got = others.In({0}, times);
    double all = 0;
    for (const auto& [line, ns] : want) {
      const auto found = got.lines.find(line);
      ASSERT_NE(found, got.lines.end()) << "seed " << seed;
      EXPECT_NEAR(static_cast<double>(found->second.ns), ns, 60) << "seed " << seed;
      all += ns;
    }
    EXPECT_NEAR(static_cast<double>(got.known_ns), all, 1e-6) << "seed " << seed;
  }
}

// Of 400 ns, which is half of what its parent waits.
TEST(OthersWork, HalfOfTheTimeIsEnough) {
  const auto blamed = [](int until) {
    std::string text =
        "process train window=0..1000\nthread main base=python lead\nspan os.read 200 1000 idle\n"
        "instant [sample] 500\narg covers_ns 500\narg \"Own line\" \"a.py:2 main\"\n"
        "process child parent=train window=0..1000\nthread main base=idle lead\nspan f 200 " +
        std::to_string(until) + " native\ninstant [sample] 300\narg covers_ns 500\n" +
        "arg \"Own line\" \"a.py:9 serve\"\n";
    const trace::Trace trace = Parse(text);
    const Context context(trace);
    const Causes& causes = context.Shared<Causes>();
    return causes.processes[0].causes[static_cast<size_t>(Cause::kOtherProcess)].others_ns;
  };
  EXPECT_EQ(blamed(600), 400);
  EXPECT_EQ(blamed(599), 0);
}

// By instant, then process: what goes on.
using ByInstant = std::vector<std::vector<std::vector<const WorkPiece*>>>;
constexpr int kEnd = 40'000;

int Below(std::mt19937& random, int n) {
  return static_cast<int>(random() % static_cast<unsigned>(n));
}

WorkPieces DrawPieces(std::mt19937& random) {
  const auto below = [&](int n) { return Below(random, n); };
  WorkPieces pieces;
  for (int begin = below(9); begin + 20 < kEnd;) {
    const int end = begin + 1 + below(12), threads = 1 + below(3);
    for (int t = 0; t < threads; ++t) {
      const Line line = {LineKind::kOwn, {static_cast<uint32_t>(below(30))}};
      pieces.push_back({begin, end, line, trace::NameId{static_cast<uint32_t>(below(9))},
                        static_cast<uint32_t>(threads), begin - 2 + below(16), 0});
    }
    begin = end + std::max(0, below(9) - 5);
  }
  return pieces;
}

std::vector<trace::Interval> DrawTimes(std::mt19937& random, int longest) {
  std::vector<trace::Interval> times;
  for (int ns = Below(random, 100); ns + 2 * longest < kEnd;) {
    const int begin = ns + Below(random, longest);
    times.push_back({begin, begin + 1 + Below(random, longest)});
    ns = static_cast<int>(times.back().end_ns);
  }
  return times;
}

struct Wanted {
  std::map<Line, std::pair<double, int64_t>> lines;  // ns, samples
  std::map<uint32_t, double> names;
  int64_t known_ns = 0;

  void Add(const ByInstant& all, const trace::Interval& time) {
    for (int64_t at = time.begin_ns; at < time.end_ns; ++at) {
      const auto& of_instant = all[static_cast<size_t>(at)];
      double work = 0;
      for (const auto& pieces : of_instant) work += !pieces.empty();
      for (const auto& pieces : of_instant) {
        for (const WorkPiece* piece : pieces) {
          const double part = 1 / work / static_cast<double>(pieces.size());
          lines[piece->line].first += part;
          lines[piece->line].second += piece->sample_ns == at;
          names[piece->name.value] += part;
        }
      }
      known_ns += work > 0;
    }
  }
};

// Instant by instant, at long times and short ones, of one process and of several.
TEST(OthersWork, OfManyPiecesIsThatOfItsDefinition) {
  std::mt19937 random(7);
  for (const size_t count : {1u, 3u}) {
    std::vector<WorkPieces> processes;
    for (size_t p = 0; p < count; ++p) processes.push_back(DrawPieces(random));
    std::vector<const WorkPieces*> asked;
    ByInstant all(kEnd);
    for (auto& of_instant : all) of_instant.resize(count);
    for (size_t p = 0; p < count; ++p) {
      asked.push_back(&processes[p]);
      for (const WorkPiece& piece : processes[p]) {
        for (int64_t at = piece.begin_ns; at < piece.end_ns; ++at) {
          all[static_cast<size_t>(at)][p].push_back(&piece);
        }
      }
    }
    const WorkIndex index(asked);
    for (int draw = 0; draw < 20; ++draw) {
      const std::vector<trace::Interval> times = DrawTimes(random, draw < 10 ? 40 : 1000 * draw);
      Wanted want;
      const OthersWork got = index.In(times);
      for (const trace::Interval& time : times) {
        const int64_t before_ns = want.known_ns;
        want.Add(all, time);
        EXPECT_EQ(got.busy->Before(time.end_ns) - got.busy->Before(time.begin_ns),
                  want.known_ns - before_ns);
      }
      EXPECT_EQ(got.known_ns, want.known_ns);
      ASSERT_EQ(got.lines.size(), want.lines.size());
      int64_t sum = 0;
      for (const auto& [line, blamed] : got.lines) {
        EXPECT_NEAR(static_cast<double>(blamed.ns), want.lines[line].first, 1.01);
        EXPECT_EQ(blamed.samples, want.lines[line].second);
        sum += blamed.ns;
      }
      EXPECT_EQ(sum, want.known_ns);
      ASSERT_EQ(got.names.size(), want.names.size());
      for (const auto& [name, ns] : got.names) {
        EXPECT_NEAR(static_cast<double>(ns), want.names[name], 1.01);
      }
    }
  }
}

// Each waits for the one that works, whoever that is, also where a thread of its own works.
TEST(OthersWork, OfStrangersIsThatOfAllOthers) {
  for (const bool own : {false, true}) {
    std::string text;
    for (int p = 0; p < 5; ++p) {
      const std::string number = std::to_string(p);
      text += "process p" + number + " window=0..500\nthread main base=idle lead\nspan f " +
              std::to_string(100 * p) + " " + std::to_string(100 * p + 100) +
              " native\ninstant [sample] " + std::to_string(100 * p + 50) +
              "\narg covers_ns 100\narg \"Own line\" \"a.py:" + number + " f\"\n";
      if (own && p == 0) {
        text +=
            "thread other base=idle\nspan g 200 300 native\ninstant [sample] 250\n"
            "arg covers_ns 100\narg \"Own line\" \"a.py:9 g\"\n";
      }
    }
    const trace::Trace trace = Parse(text);
    const Context context(trace);
    RelativesWork others(context);
    const OthersWork got = others.In({0}, {{150, 260}, {280, 350}});
    std::map<std::string, int64_t> lines;
    for (const auto& [line, blamed] : got.lines) lines[LineText(trace, line)] = blamed.ns;
    EXPECT_EQ(lines, (std::map<std::string, int64_t>{
                         {"a.py:1 f", 50}, {"a.py:2 f", 80}, {"a.py:3 f", 50}}))
        << own;
    EXPECT_EQ(got.known_ns, 180);
  }
}

// Each of them may wait for all that follow it.
TEST(OthersWork, AChainOfProcessesIsNotClimbedForEachPairOfThem) {
  std::string text;
  constexpr int kProcesses = 1500;
  for (int i = 0; i < kProcesses; ++i) {
    const std::string number = std::to_string(i);
    text += "process p" + number + (i > 0 ? " parent=p" + std::to_string(i - 1) : "") +
            " window=0..100\nthread main base=python main lead\nspan os.read 10 90 idle\n";
  }
  const Table causes = Compute(Parse(text), "step_causes");
  int64_t waited = 0;
  for (size_t row = 0; row < causes.rows(); ++row) {
    if (causes.texts("cause")[row] == "other-process") waited += causes.integers("ns")[row];
  }
  EXPECT_EQ(waited, kProcesses * 80);
}

}  // namespace
}  // namespace crosscut::analyze
