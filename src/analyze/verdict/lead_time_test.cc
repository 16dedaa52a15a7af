#include "src/analyze/verdict/lead_time.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "src/analyze/context.h"
#include "src/analyze/testing/test_trace.h"
#include "src/analyze/verdict/causes.h"

namespace crosscut::analyze {
namespace {

using testing::Compute;
using testing::Parse;

const char kHeld[] = "arg \"Holds the GIL\" 1\n", kReleased[] = "arg \"Holds the GIL\" 0\n";

std::string Span(const std::string& name, int begin, int end, const std::string& layer) {
  return "span " + name + " " + std::to_string(begin) + " " + std::to_string(end) + " " + layer +
         "\n";
}

// Samples every 20 ns; `more` are arguments of each.
std::string Samples(int begin, int end, const std::string& line, const std::string& more = "",
                    const std::string& inner = "") {
  std::string out;
  for (int at = begin + 10; at < end; at += 20) {
    out += "instant [sample] " + std::to_string(at) + "\narg covers_ns 20\narg \"Own line\" \"" +
           line + "\"\narg \"Python stack\" \"" + line + inner + "\"\n" + more;
  }
  return out;
}

std::string Waits(const std::string& call) { return "arg \"Waits for\" \"" + call + "\"\n"; }

// A process of `steps` steps of 1000 ns behind one of `first`; `of_first` and `of_step(begin)` are
// what its lead does in them.
template <class OfStep>
std::string Train(int first, int steps, const std::string& of_first, OfStep of_step) {
  const int end = first + 1000 * steps;
  std::string text = "process train pid=7 window=0.." + std::to_string(end) +
                     "\nthread main tid=7 base=python main lead\n";
  int number = 0;
  const auto add = [&](int from, int to) {
    text += "step step " + std::to_string(from) + " " + std::to_string(to) +
            " number=" + std::to_string(number++) + "\n";
  };
  if (first > 0) add(0, first);
  for (int at = first; at < end; at += 1000) add(at, at + 1000);
  text += of_first;
  for (int at = first; at < end; at += 1000) text += of_step(at);
  return text;
}

// "cause ns, ..." of the table step_causes, and the first line of the verdict.
std::pair<std::string, std::string> Told(const std::string& text) {
  const trace::Trace trace = Parse(text);
  const Table causes = Compute(trace, "step_causes"), verdict = Compute(trace, "verdict");
  std::string out;
  for (size_t i = 0; i < causes.rows() && causes.texts("process")[i] == "train"; ++i) {
    out += (out.empty() ? "" : ", ") + causes.texts("cause")[i] + " " +
           std::to_string(causes.integers("ns")[i]);
  }
  return {out, verdict.texts("cause")[0] + " " + verdict.texts("blame")[0]};
}

using Pair = std::pair<std::string, std::string>;

TEST(StepParts, AddUpByStep) {
  StepParts parts = {{1, 10}, {4, 20}};
  AddSteps({{0, 8}, {4, 6}, {5, 2}}, 0.5, &parts);
  AddSteps({{1, 10}}, -1, &parts);
  std::string out;
  for (const auto& [step, ns] : parts) out += std::to_string(step) + ":" + std::to_string(ns) + " ";
  EXPECT_EQ(out, "0:4 1:0 4:23 5:1 ");
}

// What the first step alone has is no part of the others, whatever told it.
TEST(LeadTime, WhatMovesToAnotherCauseKeepsItsSteps) {
  const auto steps = [](int at) {
    return Span("aten::mm", at + 300, at + 1000, "framework") +
           Samples(at, at + 300, "b.py:1 rest", kHeld) +
           Samples(at + 300, at + 1000, "b.py:2 net", kHeld);
  };
  const std::string compiles =
      Train(9000, 19, Samples(0, 9000, "a.py:1 main", kHeld, ";convert_frame.py:9 compile"), steps);
  const std::string waits =
      Train(9000, 19, Samples(0, 9000, "a.py:1 main", Waits("futex") + kReleased), steps) +
      "thread other tid=8 base=idle\nspan work 0 9000 python\n" +
      Samples(0, 9000, "o.py:1 hold", kHeld);
  for (const auto& [text, cause] :
       {std::pair(compiles, Cause::kCompilation), std::pair(waits, Cause::kLock)}) {
    const trace::Trace trace = Parse(text);
    const Context context(trace);
    const ProcessCauses& causes = context.Shared<Causes>().processes[0];
    ASSERT_EQ(causes.steps.size(), 20u);
    for (size_t i = 0; i < 20; ++i) {
      EXPECT_NEAR(static_cast<double>(causes.steps[i][static_cast<size_t>(cause)]),
                  i == 0 ? 9000 : 0, 1)
          << CauseName(cause);
    }
    EXPECT_EQ(Told(text).second, "framework b.py:2 net");
  }
}

// A line has the calls and the steps of the causes that it still has: not what others did there.
TEST(LeadTime, WhatIsPutDownToOthersIsNoTimeOfTheLeadsLine) {
  const auto child = [](const std::string& work) {
    return "process child parent=train pid=9 window=0..10000\n"
           "thread main tid=9 base=python main lead\n" +
           work;
  };
  std::string work;
  for (int at = 0; at < 10'000; at += 1000) {
    work += Span("os.read", at, at + 400, "idle") + Samples(at + 400, at + 700, "c.py:1 one") +
            Samples(at + 700, at + 1000, "c.py:2 two");
  }
  const std::string text = Train(0, 10, "", [](int at) {
    return Span("os.read", at + 400, at + 1000, "idle") + Samples(at, at + 1000, "a.py:1 main");
  });
  const Table verdict = Compute(Parse(text + child(work)), "verdict");
  EXPECT_EQ(verdict.texts("blame")[0], "a.py:1 main");
  EXPECT_EQ(verdict.texts("evidence")[0].find("os.read"), std::string::npos);

  // 9000 ns of its own in the first step, and none in others.
  std::string few = "span os.read 0 9200 idle\n";
  for (int at = 9000; at < 28'000; at += 1000) {
    if (at > 9000) few += Span("os.read", at, at + 200, "idle");
    for (int k = 0; k < 4; ++k) {
      few += Samples(at + 200 * (k + 1), at + 200 * (k + 2), "c.py:" + std::to_string(k) + " f");
    }
  }
  const std::string lead = Train(9000, 19, Samples(0, 9000, "a.py:1 main"), [](int at) {
    return Span("os.read", at + 200, at + 1000, "idle") + Samples(at, at + 200, "b.py:1 rest") +
           Samples(at + 200, at + 1000, "a.py:1 main");
  });
  EXPECT_EQ(Told(lead +
                 "process child parent=train pid=9 window=0..28000\n"
                 "thread main tid=9 base=python main lead\n" +
                 few)
                .second,
            "other-process c.py:0 f");
}

// The lead's Python is native code by its samples, and so is an answering thread's by its own.
TEST(LeadTime, EachThreadsOwnSamplesTellPythonFromNativeCode) {
  const auto text = [](const char* leads, const char* servers) {
    std::string server = "thread serve tid=8 base=idle\n";
    for (int at = 0; at < 10'000; at += 1000) {
      server += Span("work", at + 400, at + 980, "python") +
                Samples(at + 400, at + 980, "s.py:1 serve", servers);
    }
    return Train(0, 10, "",
                 [&](int at) {
                   return Span("os.read", at + 400, at + 1000, "idle") +
                          Samples(at, at + 400, "a.py:1 main", leads) +
                          Samples(at + 400, at + 1000, "a.py:2 main",
                                  Waits("read (pipe)") + kReleased);
                 }) +
           server;
  };
  EXPECT_EQ(Told(text(kReleased, kHeld)),
            Pair("python 5800, native 4000, other-process 200", "python s.py:1 serve"));
  EXPECT_EQ(Told(text(kHeld, kReleased)),
            Pair("native 5800, python 4000, other-process 200", "native s.py:1 serve"));
}

// Who worked while an own thread answered did nothing in what is left of the waits.
TEST(LeadTime, NobodyIsAskedForWhatAThreadAnswered) {
  std::string others = "thread serve tid=8 base=idle\n";
  for (int at = 0; at < 10'000; at += 1000) {
    others +=
        Span("work", at + 400, at + 760, "native") + Samples(at + 400, at + 760, "s.py:1 serve");
  }
  others += "process stranger pid=9 window=0..10000\nthread main tid=9 base=python main lead\n";
  for (int at = 0; at < 10'000; at += 1000) {
    others += Span("os.read", at, at + 400, "idle") + Span("os.read", at + 760, at + 1000, "idle") +
              Samples(at + 400, at + 760, "x.py:1 other");
  }
  const Table places = Compute(Parse(Train(0, 10, "",
                                           [](int at) {
                                             return Span("os.read", at + 400, at + 1000, "idle") +
                                                    Samples(at, at + 1000, "a.py:1 main");
                                           }) +
                                     others),
                               "places");
  for (size_t i = 0; i < places.rows(); ++i) {
    if (places.texts("process")[i] != "train") continue;
    EXPECT_NE(places.texts("place")[i], "x.py:1 other");
  }
}

// What threads do while the lead waits for a real lock says nothing of those that it awaits.
TEST(LeadTime, SamplesOfOthersCountWhileTheLeadAwaitsThem) {
  const auto lead = [](int at) {
    return Span("threading.Lock.acquire", at + 200, at + 600, "idle") +
           Span("queue.Queue.get", at + 600, at + 1000, "idle") +
           Samples(at, at + 200, "a.py:1 main", kHeld) +
           Samples(at + 200, at + 600, "a.py:2 main", Waits("futex") + kReleased) +
           Samples(at + 600, at + 1000, "a.py:3 main", Waits("futex") + kReleased);
  };
  std::string holds, reads = "thread d tid=30 base=idle\n";
  for (const char* tid : {"20", "21"}) {
    holds += std::string("thread b") + tid + " tid=" + tid + " base=idle\n";
    for (int at = 0; at < 10'000; at += 1000) {
      holds += Span("w", at + 200, at + 600, "python") +
               Samples(at + 200, at + 600, "b.py:1 hold", kReleased);
    }
  }
  holds += "thread c tid=30 base=idle\n";
  for (int at = 0; at < 10'000; at += 1000) {
    holds += Span("w", at + 600, at + 1000, "python") +
             Samples(at + 600, at + 1000, "c.py:1 work", kHeld);
    reads += Samples(at + 200, at + 600, "d.py:1 reader", Waits("read (pipe)")) +
             Samples(at + 600, at + 1000, "d.py:2 reader", Waits("futex"));
  }
  EXPECT_EQ(Told(Train(0, 10, "", lead) + holds).first, "python 6000, lock 4000");
  EXPECT_EQ(Told(Train(0, 10, "", lead) + reads +
                 "process child parent=train pid=9 window=0..10000\n"
                 "thread main tid=9 base=idle main lead\n")
                .first,
            "lock 4000, waiting 4000, python 2000");
}

// A signal's handler runs in the span of the call that it interrupts.
TEST(LeadTime, WhoHoldsTheGilInACallThatWaitsRunsPython) {
  for (const char* call : {"time.sleep", "threading.Lock.acquire", "os.read"}) {
    const std::string text =
        "process train pid=7 window=0..10000\nthread main tid=7 base=python main lead\n" +
        Span(call, 0, 10'000, "idle") +
        Samples(0, 6000, "a.py:1 nap", Waits("clock_nanosleep") + kReleased) +
        Samples(6000, 10'000, "a.py:5 handler", kHeld);
    const trace::Trace trace = Parse(text);
    const Context context(trace);
    const CauseSum& python =
        context.Shared<Causes>().processes[0].causes[static_cast<size_t>(Cause::kPython)];
    EXPECT_NEAR(static_cast<double>(python.ns), 4000, 20) << call;
    const Table verdict = Compute(trace, "verdict");
    for (size_t i = 0; i < verdict.rows(); ++i) {
      if (verdict.texts("cause")[i] != "python") continue;
      EXPECT_EQ(verdict.texts("blame")[i], "a.py:5 handler");
      EXPECT_EQ(verdict.texts("evidence")[i].find(call), std::string::npos);
    }
    // In calls that are shorter than a sample stands for, it may be about to wait.
    std::string shorts =
        "process train pid=7 window=0..10000\nthread main tid=7 base=python main lead\n";
    for (int at = 0; at < 10'000; at += 16) shorts += Span(call, at, at + 15, "idle");
    EXPECT_EQ(Told(shorts + Samples(0, 10'000, "a.py:1 nap", kHeld)).first.find("python 9"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace crosscut::analyze
