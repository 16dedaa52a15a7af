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

TEST(OthersWork, AProcessThatIsWaitedForIsBlamedForThatTimeAlone) {
  const auto samples = [](int from, int until, const std::string& line) {
    std::string text;
    for (int at = from; at < until; at += 20) {
      text += "instant [sample] " + std::to_string(at + 10) +
              "\narg covers_ns 20\narg \"Own line\" \"" + line + "\"\narg \"Python stack\" \"" +
              line + "\"\n";
    }
    return text;
  };
  const auto table = [&](const std::string& others) {
    const Table verdict =
        Compute(Parse("process train pid=7 window=0..1000\n"
                      "thread main tid=7 base=python main lead\n"
                      "span os.read 600 1000 idle\n" +
                      samples(0, 600, "a.py:1 main") + samples(600, 1000, "a.py:2 main") + others),
                "verdict");
    for (size_t row = 0; row < verdict.rows(); ++row) {
      if (verdict.texts("cause")[row] == "other-process") return verdict.texts("blame")[row];
    }
    return std::string("none");
  };
  const std::string child =
      "process child parent=train pid=8 window=0..1000\n"
      "thread main tid=8 base=python main lead\n";
  const std::string works = samples(0, 600, "a.py:8 start") + samples(600, 1000, "a.py:9 serve");
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
  EXPECT_EQ(table(child + works + stranger + samples(0, 1000, "b.py:1 x")), "a.py:9 serve");
  EXPECT_EQ(table(stranger + samples(0, 1000, "b.py:1 x")), "b.py:1 x");
  // In a library it works at no line of the program, but for what it began with.
  std::string library = samples(0, 650, "a.py:8 start");
  for (int at = 675; at < 1000; at += 50) {
    library += "instant [sample] " + std::to_string(at) +
               "\narg covers_ns 50\narg \"Python stack\" \"svm.py:3 fit\"\n";
  }
  EXPECT_EQ(table(child + library), "a.py:2 main");
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

// What a few ask is found by walking, what many ask in sums: the same, at any times.
TEST(OthersWork, ManyChildrenOfOneProcessAreToldWhatFewAre) {
  std::mt19937 random(7);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  constexpr int kEnd = 60'000;
  const auto lines = [&](const std::string& file) {
    std::string text;
    for (int at = below(9); at < kEnd; at += 1 + below(40)) {
      const std::string line = file + ":" + std::to_string(below(30)) + " f";
      text += "instant [sample] " + std::to_string(at) + "\narg covers_ns 20\narg \"Own line\" \"" +
              line + "\"\narg \"Python stack\" \"" + line + "\"\n";
    }
    return text;
  };
  std::string parent =
      "process train pid=7 window=0..60000\nthread main tid=7 base=python main lead\n";
  for (int at = 0; at + 40 < kEnd;) {
    const int begin = at + 1 + below(20), end = begin + 1 + below(20);
    parent += "span f" + std::to_string(below(9)) + " " + std::to_string(begin) + " " +
              std::to_string(end) + (below(4) == 0 ? " idle\n" : " framework\n");
    at = end;
  }
  parent += lines("a.py") + "thread other tid=8 base=python\n" + lines("b.py");
  const trace::Trace trace =
      Parse(parent + "process c parent=train window=0..60000\nthread main base=python main lead\n");
  const Context context(trace);
  RelativesWork many(context);
  for (int draw = 0; draw < 20; ++draw) {
    std::vector<trace::Interval> times;
    for (int at = 0; at + 2 * (draw + 1) * 400 < kEnd; at = static_cast<int>(times.back().end_ns)) {
      const int begin = at + below((draw + 1) * 400);
      times.push_back({begin, begin + 1 + below((draw + 1) * 400)});
    }
    RelativesWork few(context);
    const OthersWork one = few.In({1}, times), other = many.In({1}, times);
    EXPECT_GT(one.known_ns, 0);
    EXPECT_EQ(one.known_ns, other.known_ns);
    ASSERT_EQ(one.lines.size(), other.lines.size());
    for (const auto& [line, blamed] : one.lines) {
      const Blamed& same = other.lines.at(line);
      EXPECT_EQ(blamed.samples, same.samples);
      EXPECT_NEAR(static_cast<double>(blamed.ns), static_cast<double>(same.ns), 200);
      EXPECT_NEAR(blamed.variance, same.variance, 1e-3 * blamed.variance + 1e-3);
    }
    ASSERT_EQ(one.names.size(), other.names.size());
    for (const auto& [name, ns] : one.names) {
      EXPECT_NEAR(static_cast<double>(ns), static_cast<double>(other.names.at(name)), 200);
    }
    for (const trace::Interval& time : times) {
      const auto within = [&](const OthersWork& work) {
        return work.busy->Before(time.end_ns) - work.busy->Before(time.begin_ns);
      };
      EXPECT_EQ(within(one), within(other));
    }
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
