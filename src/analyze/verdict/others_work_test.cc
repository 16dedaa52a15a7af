#include "src/analyze/verdict/others_work.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "src/analyze/testing/test_trace.h"

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
