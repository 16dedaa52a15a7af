#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>

#include "src/analyze/testing/brute_force.h"
#include "src/analyze/testing/test_trace.h"
#include "src/analyze/verdict/causes.h"
#include "src/analyze/verdict/lead_states.h"
#include "src/analyze/verdict/rules.h"
#include "src/analyze/verdict/stacks.h"
#include "src/analyze/verdict/tables.h"
#include "src/trace/layers.h"

namespace crosscut::analyze {
namespace {

using testing::Compute;
using testing::Parse;
using testing::RandomTrace;
using testing::TestTrace;
using testing::ThreadAt;
using testing::ThreadInstant;

// By process: the sum of `column` over the rows whose `part`, if there is such a column, is that.
std::map<std::string, int64_t> Sums(const Table& table, const char* column,
                                    const std::string& part = "") {
  std::map<std::string, int64_t> out;
  for (size_t row = 0; row < table.rows(); ++row) {
    if (!part.empty() && table.texts("part")[row] != part) continue;
    out[table.texts("process")[row]] += table.integers(column)[row];
  }
  return out;
}

// Layers that no thread can be in count for nothing in the definition, and are shown as they are.
trace::Layer OfThread(trace::Layer layer) {
  return trace::IsOfHost(layer) ? layer : trace::Layer::kNone;
}

TEST(LayerInForce, IsThatOfItsDefinitionWhereverItIsTold) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    TestTrace random = RandomTrace(seed);
    const trace::Trace& trace = random.Finish();
    const std::vector<Doing> doing = DoingByName(trace);
    const trace::Process& p = trace.processes[0];
    const trace::Interval window = {p.start_ns, p.end_ns};
    std::map<std::string, const trace::Track*> by_label;
    const Context context(trace);
    for (uint32_t t = 0; t < trace.tracks.size(); ++t) {
      const trace::Track& track = trace.tracks[t];
      by_label[context.track_label({t})] = &track;
      if (track.kind != trace::TrackKind::kThread) continue;
      LeadCursor cursor(trace, {t}, doing, window);
      for (int64_t at = p.start_ns; at < p.end_ns; ++at) {
        const ThreadInstant want = ThreadAt(trace, track, at);
        const LeadStretch& got = cursor.At(at);
        const trace::Layer layer = want.alive ? want.layer : trace::Layer::kNone;
        ASSERT_EQ(OfThread(got.layer), layer) << "seed " << seed << " at " << at;
        if (!want.alive) continue;
        const bool in_one = got.operation.valid();
        ASSERT_EQ(in_one ? trace.name_text(got.operation) : "", want.operation);
      }
    }
    const Table path = Compute(trace, "critical_path_segments");
    for (size_t row = 0; row < path.rows(); ++row) {
      if (path.texts("kind")[row] != "host") continue;
      const trace::Track& track = *by_label.at(path.texts("track")[row]);
      for (int64_t at = path.integers("begin_ns")[row]; at < path.integers("end_ns")[row]; ++at) {
        const ThreadInstant want = ThreadAt(trace, track, at);
        if (!want.alive) continue;
        trace::Layer layer;
        ASSERT_TRUE(trace::ParseLayer(path.texts("layer")[row], &layer));
        ASSERT_EQ(OfThread(layer), want.layer) << "seed " << seed << " at " << at;
      }
    }
  }
}

TEST(StepCauses, AddUpToTheStepsOnTwoThousandTraces) {
  size_t rows = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    TestTrace random = RandomTrace(seed);
    const trace::Trace& trace = random.Finish();
    const Table parts = Compute(trace, "window_parts"), causes = Compute(trace, "step_causes");
    auto want = Sums(parts, "wall_ns", "steps");
    for (const auto& [process, ns] : Sums(parts, "wall_ns", "whole window")) want[process] = ns;
    std::erase_if(want, [](const auto& entry) { return entry.second == 0; });
    ASSERT_EQ(Sums(causes, "ns"), want) << "seed " << seed;
    for (size_t row = 0; row < causes.rows(); ++row) {
      ASSERT_LE(causes.integers("alone_ns")[row], causes.integers("ns")[row]) << "seed " << seed;
    }
    rows += causes.rows();
  }
  EXPECT_GT(rows, 3000u);  // the traces are rich enough to mean something
}

TEST(PartWork, AddsUpToTheWindowAndToItsLayersOnTwoThousandTraces) {
  using Key = std::pair<std::string, int64_t>;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    TestTrace random = RandomTrace(seed);
    const trace::Trace& trace = random.Finish();
    const Table work = Compute(trace, "part_work"), overlap = Compute(trace, "overlap");
    std::map<Key, int64_t> got, want;
    for (size_t row = 0; row < work.rows(); ++row) {
      const Key key = {work.texts("layers")[row], work.integers("device")[row]};
      got[key] += work.integers("ns")[row];
    }
    for (size_t row = 0; row < overlap.rows(); ++row) {
      const int64_t ns = overlap.integers("ns")[row];
      if (ns != 0) want[{overlap.texts("layers")[row], overlap.integers("device")[row]}] += ns;
    }
    ASSERT_EQ(got, want) << "seed " << seed;
    for (const char* part : {"start-up", "steps", "control steps", "between steps", "shutdown"}) {
      auto expected = Sums(Compute(trace, "window_parts"), "wall_ns", part);
      std::erase_if(expected, [](const auto& entry) { return entry.second == 0; });
      ASSERT_EQ(Sums(work, "ns", part), expected) << "seed " << seed << " " << part;
    }
  }
}

// A process whose window is split by `body`; the cause and blame of the first verdict.
std::pair<std::string, std::string> FirstOf(const std::string& body) {
  const Table table = Compute(Parse("process train pid=7 window=0..1000\n"
                                    "thread main tid=7 base=python main lead\n" +
                                    body),
                              "verdict");
  if (table.rows() == 0) return {"", ""};
  return {table.texts("cause")[0], table.texts("blame")[0]};
}

using Told = std::pair<std::string, std::string>;

TEST(Verdict, ABurdenOfAQuarterStandsBeforeThePurpose) {
  EXPECT_EQ(FirstOf("op data 0 300\nspan aten::mm 300 800 framework\n"), Told("input", "data"));
  EXPECT_EQ(FirstOf("op data 0 200\nspan aten::mm 200 900 framework\n"),
            Told("framework", "aten::mm"));
  // Not where the purpose takes more than twice as much.
  EXPECT_EQ(FirstOf("op data 0 260\nspan aten::mm 260 1000 framework\n"),
            Told("framework", "aten::mm"));
}

TEST(Verdict, EachWaitHasItsCause) {
  const auto cause = [](const std::string& body) { return FirstOf(body).first; };
  EXPECT_EQ(cause("span time.sleep 0 900 idle\n"), "waiting");
  EXPECT_EQ(cause("span threading.Lock.acquire 0 900 idle\n"), "lock");
  EXPECT_EQ(cause("span os.waitpid 0 900 idle\n"), "other-process");
  EXPECT_EQ(cause("span io.FileIO.write 0 900 native\n"), "disk");
  EXPECT_EQ(cause("span os.read 0 900 native\n"), "disk");
  EXPECT_EQ(cause("span os.write 0 900 native\n"), "native") << "it may be a pipe";
  EXPECT_EQ(cause("span numpy.sort 0 900 native\n"), "native");
  EXPECT_EQ(cause("span \"garbage collection, generation 2\" 0 900 python\n"), "gc");
  EXPECT_EQ(cause("span all_reduce 0 900 comm\n"), "communication");
  EXPECT_EQ(cause("span env.step 0 900 simulator\n"), "simulator");
  EXPECT_EQ(cause("span cudaLaunchKernel 0 900 runtime\n"), "launches");
  EXPECT_EQ(cause("span cudaDeviceSynchronize 0 900 runtime\n"), "synchronisation");
  EXPECT_EQ(cause("span hipMemcpyWithStream 0 900 runtime\n"), "synchronisation");
  EXPECT_EQ(cause("span clEnqueueWriteBuffer 0 900 runtime\n"), "copies");
  EXPECT_EQ(cause("span clEnqueueNDRangeKernel 0 900 runtime\n"), "launches");
  EXPECT_EQ(cause("span cudaMalloc 0 900 runtime\n"), "allocation");
  EXPECT_EQ(cause("op compile 0 900\n"), "compilation");
  EXPECT_EQ(cause(""), "python");
}

TEST(Verdict, StacksTellWhoWaitsForAThreadFromWhoWaitsForALock) {
  EXPECT_TRUE(AwaitsThread("a.py:1 main;threading.py:327 Condition.wait"));
  EXPECT_TRUE(AwaitsThread("a.py:1 main;queue.py:171 Queue.get;threading.py:320 wait"));
  EXPECT_TRUE(AwaitsThread("a.py:1 main;threading.py:1092 Thread.join"));
  EXPECT_FALSE(AwaitsThread("a.py:1 main"));
  EXPECT_FALSE(
      AwaitsThread("a.py:1 main;threading.py:9 Semaphore.acquire;"
                   "threading.py:327 Condition.wait"));
  EXPECT_FALSE(AwaitsThread("a.py:1 main;mine.py:3 wait"));
  EXPECT_FALSE(AwaitsThread(""));
  EXPECT_FALSE(AwaitsThread("threading.py"));
}

// A lead that waits in `call` from 100 to 900 while `others` go on, with samples of `stack`.
std::pair<std::string, std::string> WhileWaiting(
    const std::string& stack, const std::string& others,
    const std::string& call = "threading.Lock.acquire") {
  std::string body = "span " + call + " 100 900 idle\n";
  for (int at = 150; at < 900; at += 100) {
    body += "instant [sample] " + std::to_string(at) +
            "\narg covers_ns 100\narg \"Python stack\" \"" + stack +
            "\"\narg \"Own line\" \"a.py:1 main\"\narg \"Waits for\" futex\n";
  }
  const Table causes = Compute(Parse("process train pid=7 window=0..1000\n"
                                     "thread main tid=7 base=python main lead\n" +
                                     body + others),
                               "step_causes");
  int64_t sum = 0;
  for (size_t row = 0; row < causes.rows(); ++row) {
    if (causes.texts("process")[row] == "train" && causes.texts("cause")[row] != "preemption") {
      sum += causes.integers("ns")[row];
    }
  }
  EXPECT_EQ(sum, 1000) << "what is moved stays in the sum";
  return FirstOf(body + others);
}

TEST(Verdict, ACompilerThatIsWrittenInPythonIsCompilation) {
  const auto first = [](int compiling) {
    std::string body = "span torch.compile 0 1000 framework\n";
    for (int i = 0; i < 40; ++i) {
      body += "instant [sample] " + std::to_string(i * 25) + "\narg covers_ns 25\n" +
              "arg \"Own line\" \"a.py:1 main\"\narg \"Python stack\" \"a.py:1 main" +
              (i < compiling ? ";convert_frame.py:9 _compile" : "") + "\"\n";
    }
    return FirstOf(body).first;
  };
  EXPECT_EQ(first(30), "compilation");
  EXPECT_EQ(first(10), "framework");
}

// A thread that is in `layer` from 100 to 900, with samples.
std::string OtherThread(const std::string& layer, const std::string& line,
                        const std::string& waits = "", const std::string& library = "",
                        const std::string& called_by = "") {
  std::string body = "thread worker tid=8\nspan work 100 900 " + layer + "\n";
  for (int at = 160; at < 900; at += 100) {
    body += "instant [sample] " + std::to_string(at) +
            "\narg covers_ns 100\narg \"Python stack\" \"" + called_by + line +
            "\"\narg \"Own line\" \"" + line + "\"\n";
    if (!waits.empty()) body += "arg \"Waits for\" " + waits + "\n";
    if (!library.empty()) body += "arg Library \"" + library + "\"\n";
  }
  return body;
}

TEST(Verdict, AWaitForAThreadIsWhatThatThreadDoes) {
  const std::string join = "a.py:1 main;threading.py:327 Condition.wait";
  EXPECT_EQ(WhileWaiting(join, OtherThread("native", "a.py:7 work")),
            Told("native", "a.py:7 work"));
  EXPECT_EQ(WhileWaiting(join, OtherThread("python", "a.py:8 work")),
            Told("python", "a.py:8 work"));
  EXPECT_EQ(WhileWaiting(join, OtherThread("python", "a.py:8 work", "", "libcrypto.so.3")),
            Told("native", "a.py:8 work"));
  EXPECT_EQ(WhileWaiting(join, OtherThread("python", "a.py:8 work", "", "python3.13")),
            Told("python", "a.py:8 work"));
  EXPECT_EQ(WhileWaiting(join, ""), Told("waiting", "a.py:1 main"));
  // A thread of a pool in which nothing works reads what its processes send.
  const std::string reader = OtherThread("idle", "pool.py:5 read", "read");
  EXPECT_EQ(WhileWaiting(join, reader).first, "waiting");
  EXPECT_EQ(WhileWaiting(join, reader + "process child parent=train window=0..1000\n").first,
            "other-process");
  EXPECT_EQ(WhileWaiting(join, reader + "process child parent=train window=0..90\n").first,
            "waiting");
  // Who was given work by a pool waits in it; who waits anywhere else is not waited for.
  const std::string item = "thread.py:83 _worker;thread.py:58 _WorkItem.run;";
  const std::string future = "a.py:1 main;_base.py:451 Future.result;threading.py:9 Condition.wait";
  const std::string asks = OtherThread("idle", "a.py:9 asks", "poll", "", item);
  EXPECT_EQ(WhileWaiting(future, asks), Told("waiting", "a.py:9 asks"));
  EXPECT_EQ(WhileWaiting(join, asks), Told("waiting", "a.py:1 main"));
  EXPECT_EQ(WhileWaiting(future, OtherThread("idle", "a.py:9 asks", "poll")),
            Told("waiting", "a.py:1 main"));
  // An event loop waits for its threads as for anything else.
  EXPECT_EQ(WhileWaiting("a.py:1 main;selectors.py:468 select",
                         OtherThread("native", "a.py:7 work"), "select.epoll.poll"),
            Told("native", "a.py:7 work"));
  EXPECT_EQ(WhileWaiting("a.py:1 main;selectors.py:468 select",
                         OtherThread("native", "a.py:7 work") +
                             "process child parent=train window=0..1000\n",
                         "select.epoll.poll")
                .first,
            "other-process");
  EXPECT_EQ(WhileWaiting(
                "a.py:1 main;selectors.py:468 select",
                OtherThread("native", "a.py:7 work") + "process child parent=train window=0..90\n",
                "select.epoll.poll")
                .first,
            "native")
      << "that process has ended";
  // Nobody is recorded who could make it wait: it may be a timer.
  EXPECT_EQ(WhileWaiting("a.py:1 main;selectors.py:468 select", "", "select.epoll.poll").first,
            "waiting");
  EXPECT_EQ(
      WhileWaiting("a.py:1 main", OtherThread("native", "a.py:7 work"), "queue.SimpleQueue.get"),
      Told("native", "a.py:7 work"));
  // Who waits at a lock of its own is bound by that, whatever holds it.
  EXPECT_EQ(WhileWaiting("a.py:1 main", OtherThread("native", "a.py:7 work")),
            Told("lock", "a.py:1 main"));
  // An idle server with few requests: a span tells it without samples of the lead.
  const std::string works = OtherThread("python", "a.py:7 work");
  EXPECT_EQ(FirstOf("span select.poll.poll 100 900 idle\n" + works).first, "python");
  EXPECT_EQ(FirstOf("span threading.Lock.acquire 100 900 idle\n" + works).first, "lock");
}

// The causes with their shares, and the first one's line to blame, of a program without spans and
// 40 samples of its lead: in so many of four that library runs, or the lead waits in that call.
std::pair<std::string, std::string> WithoutSpans(int of_four, const std::string& library,
                                                 const std::string& waits,
                                                 const std::string& others = "") {
  std::string samples;
  for (int i = 0; i < 40; ++i) {
    samples += "instant [sample] " + std::to_string(12 + 25 * i) + "\narg covers_ns 25\n";
    if (i % 4 >= of_four) {
      samples += "arg \"Own line\" \"a.py:1 loop\"\narg Library \"libpython3.11.so.1.0\"\n";
      continue;
    }
    samples += "arg \"Own line\" \"a.py:2 call\"\n";
    if (!library.empty()) samples += "arg Library \"" + library + "\"\n";
    if (!waits.empty()) samples += "arg \"Waits for\" \"" + waits + "\"\n";
  }
  const Table table = Compute(Parse("process train pid=7 window=0..1000\n"
                                    "thread main tid=7 base=python main lead\n" +
                                    samples + others),
                              "verdict");
  std::string told;
  for (size_t row = 0; row < table.rows(); ++row) {
    const auto percent = std::lround(100 * table.reals("share")[row]);
    told += table.texts("cause")[row] + " " + std::to_string(percent) + " ";
  }
  return {told, table.texts("blame")[0]};
}

TEST(Verdict, NativeCodeThatNothingWrapsIsNoPython) {
  EXPECT_EQ(WithoutSpans(3, "libxgboost.so", ""), Told("native 75 python 25 ", "a.py:2 call"));
  EXPECT_EQ(WithoutSpans(1, "libxgboost.so", ""), Told("python 75 native 25 ", "a.py:1 loop"));
  EXPECT_EQ(WithoutSpans(3, "", "futex"), Told("native 75 python 25 ", "a.py:2 call"));
  // Who waits for the GIL while another thread runs Python waits for that.
  EXPECT_EQ(WithoutSpans(1, "", "futex", OtherThread("python", "a.py:7 work")),
            Told("python 75 lock 25 ", "a.py:1 loop"));
  for (const char* library : {"python3.13", "libpython3.11.so.1.0", "libtorch_python.so"}) {
    EXPECT_EQ(WithoutSpans(3, library, "").first, "python 100 ") << library;
  }
  // What both call divides nothing.
  for (const char* library : {"libc.so.6", "ld-linux-x86-64.so.2", "[generated]", ""}) {
    EXPECT_EQ(WithoutSpans(3, library, "").first, "python 100 ") << library;
  }
}

TEST(Verdict, ALibraryThatSleepsWhileAChildLivesPollsIt) {
  const auto sleeping = [](const std::string& stack, const std::string& more = "") {
    std::string body = "span time.sleep 100 900 idle\n";
    for (int i = 0; i < 40; ++i) {
      body += "instant [sample] " + std::to_string(110 + 19 * i) +
              "\narg covers_ns 19\narg \"Own line\" \"a/b.py:1 main\"\narg \"Python stack\" \"" +
              stack + "\"\n";
    }
    return FirstOf(body + more);
  };
  const std::string child = "process child parent=train window=0..1000\n";
  const std::string library = "b.py:1 main;parallel.py:1783 Parallel._retrieve";
  EXPECT_EQ(sleeping(library, child), Told("other-process", "a/b.py:1 main"));
  EXPECT_EQ(sleeping(library), Told("waiting", "a/b.py:1 main"));
  EXPECT_EQ(sleeping("b.py:1 main", child), Told("waiting", "a/b.py:1 main"));
  EXPECT_EQ(sleeping("run.py:7 <module>;b.py:1 main", child), Told("waiting", "a/b.py:1 main"));
}

TEST(Verdict, OnlyHalfOfTheTimeIsMostOfIt) {
  const auto evidence = [](const std::string& spans) {
    const Table table = Compute(Parse("process train pid=7 window=0..1000\n"
                                      "thread main tid=7 base=python main lead\n" +
                                      spans +
                                      "instant [sample] 10\narg covers_ns 1000\n"
                                      "arg \"Own line\" \"a.py:1 main\"\n"),
                                "verdict");
    return table.texts("evidence")[0];
  };
  EXPECT_TRUE(evidence("span aten::mm 0 500 framework\nspan aten::bmm 500 1000 framework\n")
                  .ends_with(", most of it in aten::mm"));
  EXPECT_TRUE(evidence("span aten::mm 0 400 framework\nspan aten::bmm 400 700 framework\n"
                       "span aten::add 700 1000 framework\n")
                  .ends_with(", the largest part of it in aten::mm"));
}

TEST(Verdict, WhatGarbageCollectionAndCompilersCallIsTheirs) {
  EXPECT_EQ(FirstOf("op compile 0 900\nspan aten::mm 100 800 framework\n").first, "compilation");
  EXPECT_EQ(FirstOf("span \"garbage collection, generation 2\" 0 900 python\n"
                    "span io.FileIO.write 100 800 native\n")
                .first,
            "gc");
}

// Thresholds of what Python does by itself change nothing of what the program asks for.
TEST(Verdict, OfCollectionsThatTheProgramAsksForTheAdviceIsToAskLess) {
  const auto action = [](const std::string& around, const std::string& other) {
    return Compute(Parse("process train pid=7 window=0..1000\n"
                         "thread main tid=7 base=python main lead\n" +
                         around + "span \"garbage collection, generation 2\" 10 600 python\n" +
                         "span io.FileIO.write 100 300 native\n" + other),
                   "verdict")
        .texts("action")[0];
  };
  const std::string asked = "span gc.collect 0 610 python\n";
  EXPECT_TRUE(action(asked, "").starts_with("call gc.collect() less often")) << action(asked, "");
  EXPECT_TRUE(action("", "").starts_with("make fewer containers")) << action("", "");
}

TEST(Verdict, ADeviceBoundsWhereverItWorksAndGainsOnlyWhatTheHostDoesNotHide) {
  const Table table = Compute(Parse(R"(process train pid=7 window=0..1000
thread main tid=7 main lead
span aten::mm 0 600 framework
span cudaDeviceSynchronize 600 900 runtime
device 0 stream=7
span gemm 100 900 device
)"),
                              "verdict");
  ASSERT_GE(table.rows(), 1u);
  EXPECT_EQ(table.texts("cause")[0], "device");
  EXPECT_EQ(table.texts("blame")[0], "gemm");
  EXPECT_DOUBLE_EQ(std::get<Reals>(table.Find("share")->cells)[0], 0.8);
  EXPECT_DOUBLE_EQ(std::get<Reals>(table.Find("gain_share")->cells)[0], 0.3);
}

TEST(Verdict, ACallThatWaitsForItsCopyDoesNotHideIt) {
  const Table table = Compute(Parse(R"(process train pid=7 window=0..1000
thread main tid=7 main lead
span clEnqueueReadBuffer 0 1000 runtime
device 0 stream=7
span clEnqueueReadBuffer 400 900 device
)"),
                              "verdict");
  ASSERT_EQ(table.rows(), 1u);
  EXPECT_EQ(table.texts("cause")[0], "copies");
  EXPECT_DOUBLE_EQ(std::get<Reals>(table.Find("gain_share")->cells)[0], 1);
}

TEST(Verdict, WhatOnlyAFewStepsHaveDoesNotStandFirst) {
  // The first of 11 steps compiles in 600 of 1,000 ns, or each step does in its part of them.
  const auto steps = [](bool first_alone, const std::string& work) {
    std::string body;
    for (int64_t i = 0, at = 0; i < 11; ++i) {
      const int64_t compiles = first_alone ? (i == 0 ? 600 : 0) : 54;
      const int64_t end = i == 10 ? 1000 : at + compiles + (i == 0 ? 0 : 40);
      const auto text = [](int64_t begin, int64_t until) {
        return std::to_string(begin) + " " + std::to_string(until);
      };
      body += "step step " + text(at, end) + " number=" + std::to_string(i) + "\n";
      if (compiles > 0) body += "op compile " + text(at, at + compiles) + "\n";
      if (i > 0) body += "span " + work + " " + text(at + compiles, end) + " native\n";
      at = end;
    }
    return body;
  };
  EXPECT_EQ(FirstOf(steps(false, "numpy.sort")).first, "compilation");
  EXPECT_EQ(FirstOf(steps(true, "numpy.sort")).first, "native");
  const Table table = Compute(Parse("process train pid=7 window=0..1000\n"
                                    "thread main tid=7 base=python main lead\n" +
                                    steps(true, "numpy.sort")),
                              "verdict");
  ASSERT_EQ(table.rows(), 2u);
  EXPECT_EQ(table.texts("headline")[1],
            "Compilation takes 60 % of the steps, most of it in a few steps.");
}

// Steps of 100 us in which operation `data` takes 30 us on average, independently.
TEST(Verdict, TheIntervalOfItsGainHoldsTheTruthInNineteenOfTwenty) {
  constexpr int kSteps = 20, kRuns = 400;
  std::mt19937_64 random(41);
  std::exponential_distribution<double> skewed;
  int held = 0;
  for (int run = 0; run < kRuns; ++run) {
    std::string text = "# crosscut trace\nprocess p window=0.." + std::to_string(kSteps) +
                       "00000\nthread main tid=1 main lead base=python\n";
    for (int begin = 0; begin < kSteps * 100'000; begin += 100'000) {
      const int end = begin + static_cast<int>(std::min(2e4 + 1e4 * skewed(random), 99e3));
      const std::string from = std::to_string(begin);
      text += "step step " + from + " " + std::to_string(begin + 100'000) + "\nop data " + from +
              " " + std::to_string(end) + "\n";
    }
    const Table table = Compute(Parse(text), "verdict");
    ASSERT_EQ(table.texts("cause")[1], "input");
    held += table.reals("gain_low_share")[1] <= 0.3 && 0.3 <= table.reals("gain_high_share")[1];
  }
  EXPECT_GE(held, kRuns * 92 / 100);
  EXPECT_LE(held, kRuns * 98 / 100);
}

TEST(Verdict, SaysSoWhereNothingStandsOut) {
  EXPECT_EQ(FirstOf("span time.sleep 0 200 idle\nspan numpy.sort 200 400 native\n"
                    "span all_reduce 400 600 comm\nspan env.step 600 800 simulator\n")
                .first,
            "none");
}

TEST(Verdict, SaysWhereFewSamplesSawTheLineToBlame) {
  const auto evidence = [](int samples) {
    std::string body;
    for (int i = 0; i < samples; ++i) {
      body += "instant [sample] " + std::to_string(50 + 100 * i) +
              "\narg covers_ns 100\narg \"Own line\" \"train.py:4 main\"\n";
    }
    const Table table = Compute(Parse("process train pid=7 window=0..1000\n"
                                      "thread main tid=7 base=python main lead\n" +
                                      body),
                                "verdict");
    return table.texts("evidence")[0];
  };
  EXPECT_EQ(
      evidence(9),
      "1.00 µs of 1.00 µs: no steps were found; 100 % of the window (70 % to 100 % by 9 samples), "
      "too few to be sure of it");
  EXPECT_EQ(
      evidence(10),
      "1.00 µs of 1.00 µs: no steps were found; 100 % of the window (72 % to 100 % by 10 samples)");
}

TEST(Verdict, SaysOfAPlaceHowMuchOfTheCauseIsItsOwn) {
  std::string body;
  for (int i = 0; i < 100; ++i) {
    body += "instant [sample] " + std::to_string(5 + i * 10) +
            "\narg covers_ns 10\narg \"Own line\" \"" +
            (i % 4 == 0 ? "train.py:9 b" : "train.py:4 a") + "\"\n";
  }
  const Table table = Compute(
      Parse("process train pid=7 window=0..1000\nthread main tid=7 base=python main lead\n" + body),
      "verdict");
  EXPECT_EQ(table.texts("blame")[0], "train.py:4 a");
  EXPECT_EQ(
      table.texts("evidence")[0],
      "0.749 µs of 1.00 µs: no steps were found; 75 % of the window (65 % to 85 % by 75 samples)");
}

// Of the calls of others it is not known at which of their lines they are.
TEST(Verdict, CallsOfOthersAreToldOfTheirPlaceAsFarAsTheyMustBeThere) {
  const auto evidence = [](int call_ns) {
    std::string text =
        "process p pid=1 window=0..10000\nthread main tid=1 main lead\nspan os.read 0 10000 idle\n"
        "process c pid=2 window=0..10000 parent=p start=fork\n"
        "thread main tid=2 base=python main lead\n";
    for (int at = 0; at < 10'000; at += 100) {
      text += "span dot " + std::to_string(at + 95 - call_ns) + " " + std::to_string(at + 95) +
              " native\n";
      for (const auto& [when, line] :
           {std::pair(30, "w.py:4 work"), std::pair(90, "w.py:9 send")}) {
        text += "instant [sample] " + std::to_string(at + when) + "\narg covers_ns 50\narg " +
                "\"Own line\" \"" + line + "\"\narg Line \"" + line + "\"\n";
      }
    }
    const Table table = Compute(Parse(text), "verdict");
    return table.texts("blame")[0] + "; " + table.texts("evidence")[0];
  };
  EXPECT_EQ(evidence(30).find("dot"), std::string::npos) << evidence(30);
  EXPECT_NE(evidence(85).find("most of it in dot"), std::string::npos) << evidence(85);
}

TEST(Verdict, NamesOfProcessesMayLookLikeItsMarks) {
  const Table table = Compute(Parse(R"(process a pid=1 window=0..1000
meta rank 0
thread main tid=1 main lead
span gloo:all_reduce 0 1000 comm
process "{who}{share}" pid=2 window=0..1000
meta rank 1
thread main tid=2 main lead
span gloo:all_reduce 900 1000 comm
)"),
                              "verdict");
  EXPECT_EQ(table.texts("headline")[0],
            "Bound by another rank: waiting for {who}{share} (pid 2) takes 90 % of the window.");
}

TEST(VerdictRules, StandInTheOrderOfTheirCausesAndSayWhatToDo) {
  for (size_t i = 0; i < VerdictRules().size(); ++i) {
    const VerdictRule& rule = VerdictRules()[i];
    EXPECT_EQ(static_cast<size_t>(rule.cause), i);
    if (rule.first_from > 1) continue;
    EXPECT_NE(std::string(rule.headline).find("{share}"), std::string::npos);
    EXPECT_NE(std::string(rule.headline).find("{of}"), std::string::npos);
    EXPECT_NE(std::string(rule.also).find("{share}"), std::string::npos);
    EXPECT_FALSE(std::string(rule.action).empty());
  }
}

// As a parent that evaluates for a moment what its children train.
TEST(Verdict, AShortPartOfAllStepsDoesNotSpeakFirst) {
  const auto process = [](const std::string& name, int step_ns, const std::string& span) {
    std::string text = "process " + name + " pid=" + std::to_string(step_ns) +
                       " window=0..10000\n" + "thread main tid=1 base=python main lead\n";
    for (int i = 0; i < 10; ++i) {
      const std::string begin = std::to_string(i * step_ns),
                        end = std::to_string((i + 1) * step_ns);
      text += "step step " + begin + " " + end + " number=" + std::to_string(i) + "\n";
      if (!span.empty()) text += "span " + span + " " + begin + " " + end + " framework\n";
    }
    return text;
  };
  const std::string trains = process("trains", 1000, "aten::mm");
  const auto first = [&](int step_ns) {
    const Table table = Compute(Parse(trains + process("other", step_ns, "")), "verdict");
    return table.texts("cause")[0];
  };
  EXPECT_EQ(first(100), "framework") << "a tenth";
  EXPECT_EQ(first(900), "python") << "a burden goes first where it is as long";
}

}  // namespace
}  // namespace crosscut::analyze
