// Chrome traces as people bring them: joined, renamed, of old releases, with values that are none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "src/import/chrome/chrome_file_test.h"

namespace crosscut::import {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

using ChromeOddsTest = ChromeFileTest;

struct Row {
  std::string pid, tid;
};
struct Times {
  std::string ts, dur;
};
std::string Span(const std::string& cat, const std::string& name, const Row& row,
                 const Times& times, const std::string& args = "") {
  return R"({"ph":"X","cat":")" + cat + R"(","name":")" + name + R"(","pid":)" + row.pid +
         R"(,"tid":)" + row.tid + R"(,"ts":)" + times.ts + R"(,"dur":)" + times.dur +
         R"(,"args":{)" + args + "}},";
}
std::string Launch(const std::string& pid, const std::string& correlation, const std::string& ts) {
  return Span("cpu_op", "op " + pid, {pid, "3"}, {ts, "5"}) +
         Span("cuda_runtime", "launch " + pid, {pid, "3"}, {ts, "2"},
              R"("correlation":)" + correlation);
}
std::string Kernel(const std::string& name, const std::string& pid, const std::string& correlation,
                   const std::string& ts, const std::string& more = "") {
  return Span("kernel", name, {pid, "7"}, {ts, "3"},
              R"("stream":7,"correlation":)" + correlation + more);
}
const std::string kEnd = R"({"ph":"M","name":"x","args":{}})";

std::string_view NameOf(const trace::Trace& trace, trace::TrackId track, trace::SpanIndex span) {
  return trace.span_text(track, span);
}
// "launch > kernel".
std::multiset<std::string> Arrows(const trace::Trace& trace) {
  std::multiset<std::string> arrows;
  for (const trace::Flow& flow : trace.flows) {
    arrows.insert(std::string(NameOf(trace, flow.from_track, flow.from)) + " > " +
                  std::string(NameOf(trace, flow.to_track, flow.to)));
  }
  return arrows;
}
// "process kernel", of devices.
std::multiset<std::string> Work(const trace::Trace& trace) {
  std::multiset<std::string> work;
  for (uint32_t t = 0; t < trace.tracks.size(); ++t) {
    if (trace.tracks[t].kind != trace::TrackKind::kDevice) continue;
    const std::string key(trace.text(trace.processes[trace.tracks[t].process.value].key));
    for (trace::SpanIndex i = 0; i < trace.tracks[t].spans.size(); ++i) {
      work.insert(key + " " + std::string(NameOf(trace, {t}, i)));
    }
  }
  return work;
}
// "begin-end name", of the first track.
std::vector<std::string> Spans(const trace::Trace& trace) {
  std::vector<std::string> lines;
  const trace::Spans& spans = trace.tracks.at(0).spans;
  for (trace::SpanIndex i = 0; i < spans.size(); ++i) {
    lines.push_back(std::to_string(spans.begin_ns[i]) + "-" + std::to_string(spans.end_ns[i]) +
                    " " + std::string(NameOf(trace, {0}, i)));
  }
  return lines;
}

// ---- several ranks in one file
// -------------------------------------------------------------------

TEST_F(ChromeOddsTest, DevicesOfRanksThatWereRenamedFindTheirOwn) {
  for (const auto& [a, b] :
       {std::pair<std::string, std::string>{"[TP00] ", "[TP01] "}, {"rank0_pid", "rank1_pid"}}) {
    const auto of = [](const std::string& label, int number) {
      return "\"" + label + std::to_string(number) + "\"";
    };
    const trace::Trace trace =
        Of(Kernel("b", of(b, 1), "5", "10") + Kernel("a", of(a, 0), "5", "11") +
           Span("cuda_runtime", "la", {of(a, 1000), "3"}, {"1", "2"}, R"("correlation":5)") +
           Span("cuda_runtime", "lb", {of(b, 1000), "3"}, {"2", "2"}, R"("correlation":5)") + kEnd);
    EXPECT_THAT(Work(trace), UnorderedElementsAre("p" + a + "1000 a", "p" + b + "1000 b"));
    EXPECT_THAT(trace.gaps, IsEmpty());
    EXPECT_EQ(trace.processes[0].pid, 1000);
    EXPECT_THAT(Arrows(trace), UnorderedElementsAre("la > a", "lb > b"));
  }
}

TEST_F(ChromeOddsTest, DevicesOfRanksThatTheArgumentsNameFindTheirOwn) {
  const std::string rank0 = R"("rank":0,"correlation":)", rank1 = R"("rank":1,"correlation":)";
  const trace::Trace trace = Of(
      Span("kernel", "b", {"10000", "7"}, {"10", "3"}, R"("device":0,"stream":7,)" + rank1 + "5") +
      Span("kernel", "a", {"0", "7"}, {"10", "3"}, R"("device":0,"stream":7,)" + rank0 + "5") +
      Span("cuda_runtime", "launch0", {"1000", "3"}, {"1", "2"}, rank0 + "5") +
      Span("cuda_runtime", "launch1", {"11000", "3"}, {"2", "2"}, rank1 + "5") + kEnd);
  EXPECT_THAT(Work(trace), UnorderedElementsAre("rank0 a", "rank1 b"));
  EXPECT_THAT(Arrows(trace), UnorderedElementsAre("launch0 > a", "launch1 > b"));
  EXPECT_THAT(trace.gaps, IsEmpty());
}

TEST_F(ChromeOddsTest, WorkGoesToTheProcessThatLaunchedItOnDevicesOfTheirOwnOrShared) {
  const std::string launches = Launch("1000", "5", "1") + Launch("2000", "6", "2");
  for (const auto& kernels : {Kernel("b", "0", "6", "10") + Kernel("a", "1", "5", "10"),
                              Kernel("a", "0", "5", "10") + Kernel("b", "0", "6", "20")}) {
    const trace::Trace trace = Of(launches + kernels + kEnd);
    EXPECT_THAT(Work(trace), UnorderedElementsAre("p1000 a", "p2000 b"));
    EXPECT_THAT(Arrows(trace), UnorderedElementsAre("launch 1000 > a", "launch 2000 > b"));
    EXPECT_THAT(trace.gaps, IsEmpty());
  }
}

TEST_F(ChromeOddsTest, WorkThatFitsSeveralProcessesIsCounted) {
  const trace::Trace trace = Of(Launch("1000", "5", "1") + Launch("1000", "6", "20") +
                                Kernel("a", "0", "5", "10") + Kernel("b", "0", "6", "30") +
                                Launch("2000", "5", "2") + Kernel("c", "1", "5", "15") + kEnd);
  EXPECT_THAT(Work(trace), UnorderedElementsAre("p1000 a", "p1000 b", "p2000 c"));
  EXPECT_THAT(Arrows(trace),
              UnorderedElementsAre("launch 1000 > a", "launch 1000 > b", "launch 2000 > c"));
  EXPECT_THAT(trace.gaps,
              ElementsAre(HasSubstr("2 pieces of device work fit launches of several")));
}

TEST_F(ChromeOddsTest, ALaunchThatRepeatsACorrelationOfItsProcessIsCounted) {
  const trace::Trace trace =
      Of(Launch("1", "5", "1") + Launch("1", "5", "8") + Kernel("a", "0", "5", "20") + kEnd);
  EXPECT_THAT(trace.gaps,
              ElementsAre("1 launch shares the correlation of another launch of its process: "
                          "work is given to the latest before it."));
}

TEST_F(ChromeOddsTest, ArrowsOfOneIdInSeveralProcessesStayInside) {
  const auto arrow = [](const char* ph, const char* pid, const char* ts) {
    return std::string(R"({"ph":")") + ph + R"(","cat":"fwdbwd","name":"f","id":1,"tid":3,"pid":)" +
           pid + R"(,"ts":)" + ts + "},";
  };
  const std::string spans =
      Span("cpu_op", "a", {"1", "3"}, {"0", "9"}) + Span("cpu_op", "b", {"1", "3"}, {"10", "9"}) +
      Span("cpu_op", "c", {"2", "3"}, {"0", "9"}) + Span("cpu_op", "d", {"2", "3"}, {"10", "9"});
  const trace::Trace joined = Of(spans + arrow("s", "1", "1") + arrow("s", "2", "2") +
                                 arrow("f", "1", "11") + arrow("f", "2", "12") + kEnd);
  EXPECT_THAT(Arrows(joined), UnorderedElementsAre("a > b", "c > d"));
  const trace::Trace across = Of(spans + arrow("s", "1", "1") + arrow("f", "2", "12") + kEnd);
  EXPECT_THAT(Arrows(across), UnorderedElementsAre("a > d"));
}

TEST_F(ChromeOddsTest, APidOfZeroIsAProcessUnlessItIsADevices) {
  const trace::Trace two =
      Of(Span("", "a", {"0", "1"}, {"0", "9"}) + Span("", "b", {"1", "1"}, {"0", "9"}) + kEnd);
  EXPECT_EQ(two.processes.size(), 2U);
  const trace::Trace lost = Of(Span("cpu_op", "op", {"9", "9"}, {"0", "9"}) +
                               Span("python_function", "f", {"0", "5"}, {"0", "9"}) + kEnd);
  EXPECT_EQ(lost.processes.size(), 1U);
}

TEST_F(ChromeOddsTest, CallsThatADeviceMakesBelongToItsProcess) {
  const trace::Trace trace =
      Of(Span("cpu_op", "op", {"9", "9"}, {"0", "9"}) +
         Span("mtia_runtime", "call", {"17", "5"}, {"0", "9"}, R"("correlation":4)") +
         Span("mtia_ccp_events", "work", {"17", "6"}, {"20", "9"}, R"("correlation":4)") +
         R"({"ph":"M","name":"process_labels","pid":17,"args":{"labels":"MTIA 17"}})");
  EXPECT_EQ(trace.processes.size(), 1U);
  EXPECT_THAT(Arrows(trace), UnorderedElementsAre("call > work"));
  EXPECT_THAT(Work(trace), UnorderedElementsAre("p9 work"));
}

// ---- ids
// -----------------------------------------------------------------------------------------

TEST_F(ChromeOddsTest, IdsAreTheSameAsFractionsAndAsTexts) {
  for (const auto& [pid, device, correlation, stream] : {std::tuple{"9", "1", "5", "7"},
                                                         {"9.0", "1.0", "5.0", "7.0"},
                                                         {"\"9\"", "\"1\"", "\"5\"", "\"7\""}}) {
    const trace::Trace trace = Of(
        Launch("9", "5", "1") + Span("cpu_op", "next", {pid, std::string("3") + ".0"}, {"9", "1"}) +
        Span("kernel", "k", {device, stream}, {"10", "3"},
             std::string(R"("device":)") + device + R"(,"stream":)" + stream +
                 R"(,"correlation":)" + correlation) +
        kEnd);
    ASSERT_EQ(trace.tracks.size(), 2U);
    EXPECT_EQ(trace.flows.size(), 1U);
    EXPECT_EQ(trace.tracks[1].device, 1);
    EXPECT_EQ(trace.tracks[1].os_id, 7);
  }
}

TEST_F(ChromeOddsTest, RowsOfDevicesAreNamedAsOldReleasesNamedThem) {
  const trace::Trace trace =
      Of(Span("Operator", "op", {"9", "\"8\""}, {"0", "9"}) +
         Span("Runtime", "cudaLaunchKernel", {"9", "\"8\""}, {"1", "2"}, R"("correlation":1)") +
         Span("Kernel", "k", {"0", "\"stream 7\""}, {"10", "3"}, R"("device":0,"correlation":1)") +
         Span("Memcpy", "Memcpy HtoD", {"0", "\"stream 7\""}, {"20", "3"}, R"("device":0)") +
         Span("Memset", "Memset", {"0", "\"stream 7\""}, {"30", "3"}, R"("device":0)") + kEnd);
  EXPECT_THAT(Work(trace), UnorderedElementsAre("p9 k", "p9 Memcpy HtoD", "p9 Memset"));
  EXPECT_EQ(trace.tracks[1].os_id, 7);
  EXPECT_EQ(trace.tracks[0].os_id, 8);
  EXPECT_EQ(trace.name(trace.tracks[0].spans.name[0]).layer, trace::Layer::kFramework);
  EXPECT_EQ(trace.name(trace.tracks[0].spans.name[1]).layer, trace::Layer::kRuntime);
  EXPECT_THAT(trace.gaps, IsEmpty());
}

TEST_F(ChromeOddsTest, ThreadsThatHaveTextsForIdsHaveTheirOwnNames) {
  const auto named = [](const char* tid, const char* name) {
    return std::string(R"({"ph":"M","name":"thread_name","pid":1,"tid":)") + tid +
           R"(,"args":{"name":")" + name + "\"}},";
  };
  const trace::Trace trace =
      Of(named("0", "zero") + Span("", "a", {"1", "\"w\""}, {"0", "1"}) +
         Span("", "b", {"1", "0"}, {"0", "1"}) + named("\"w\"", "worker") + kEnd);
  EXPECT_EQ(trace.text(trace.tracks[0].name), "worker");
  EXPECT_EQ(trace.text(trace.tracks[1].name), "zero");
}

// ---- categories
// ----------------------------------------------------------------------------------

TEST_F(ChromeOddsTest, CategoriesThatNobodyKnowsAreToldWithTheirCounts) {
  const trace::Trace trace =
      Of(Span("cpu_op", "op", {"9", "9"}, {"0", "9"}) + Span("foo", "a", {"0", "1"}, {"0", "1"}) +
         Span("foo", "b", {"0", "1"}, {"2", "1"}) + Span("", "c", {"0", "1"}, {"4", "1"}) + kEnd);
  EXPECT_THAT(trace.gaps,
              ElementsAre("Spans of categories that are not known, 3 (foo 2, none 1), count as "
                          "native work of the host, whatever they were."));
  EXPECT_THAT(Of(Span("", "a", {"1", "1"}, {"0", "9"}) + kEnd).gaps, IsEmpty());
}

TEST_F(ChromeOddsTest, VizTracersFunctionsArePythonsInEveryVersion) {
  for (const char* category : {"FEE", "fee"}) {
    const trace::Trace trace = Of(Span(category, "f (a.py:1)", {"1", "1"}, {"0", "9"}) + kEnd);
    EXPECT_EQ(trace.name(trace.tracks[0].spans.name[0]).layer, trace::Layer::kPython);
  }
}

TEST_F(ChromeOddsTest, VizTracerSaysWhenItsTimesBeginAmongFactsOfItsOwn) {
  const std::string span = Span("FEE", "f (a.py:1)", {"1", "1"}, {"0", "9"});
  const auto with = [&](const std::string& facts) {
    return OfText(R"({"traceEvents":[)" + span + kEnd + R"(],"viztracer_metadata":)" + facts + "}");
  };
  const trace::Trace known = with(R"({"version":"1","baseTimeNanoseconds":1700000000000000000})");
  EXPECT_EQ(known.realtime_offset_ns, 1'700'000'000'000'000'000);
  for (const char* odd : {"{}", "5", "[]", R"({"baseTimeNanoseconds":"x"})"}) {
    EXPECT_EQ(with(odd).realtime_offset_ns, 0) << odd;
  }
}

// ---- begins and ends
// -----------------------------------------------------------------------------

std::string Edge(const char* ph, const char* name, const char* ts, const std::string& args = "") {
  return std::string(R"({"ph":")") + ph + R"(","name":")" + name + R"(","pid":1,"tid":1,"ts":)" +
         ts + R"(,"args":{)" + args + "}},";
}

// An annotation.
std::string OfCategory(std::string edge) { return edge.insert(1, R"("cat":"user_annotation",)"); }

TEST_F(ChromeOddsTest, BeginsAndEndsPairInAnyOrder) {
  const trace::Trace trace =
      Of(Edge("E", "q", "20") + Edge("B", "q", "10") + Edge("B", "r", "30") + Edge("E", "s", "35") +
         Edge("E", "r", "35") + Edge("B", "s", "35") + kEnd);
  EXPECT_THAT(Spans(trace), ElementsAre("10000-20000 q", "30000-35000 r", "35000-35000 s"));
  EXPECT_THAT(trace.gaps, IsEmpty());
}

TEST_F(ChromeOddsTest, OfSpansOfEqualTimesTheFirstIsAroundTheOthers) {
  const trace::Trace trace = Of(Edge("B", "a", "0") + Edge("B", "b", "0") + Edge("E", "b", "9") +
                                Edge("E", "a", "9") + kEnd);
  EXPECT_THAT(Spans(trace), ElementsAre("0-9000 a", "0-9000 b"));
}

TEST_F(ChromeOddsTest, PidsWithoutRowsMakeNoProcess) {
  const trace::Trace trace =
      Of(Span("cpu_op", "a", {"\"[TP00] 9\"", "1"}, {"0", "9"}) +
         R"({"ph":"M","name":"process_name","pid":"[TP00] Spans","args":{"name":"x"}},
            {"ph":"M","name":"process_name","pid":"[TP01] 3","args":{"name":"x"}})");
  EXPECT_EQ(trace.processes.size(), 1U);
}

TEST_F(ChromeOddsTest, EndsWithNamesEndWhatIsCalledSo) {
  const trace::Trace trace = Of(Edge("B", "a", "0") + Edge("B", "b", "5") + Edge("E", "a", "10") +
                                Edge("E", "b", "30") + Edge("E", "c", "31") + kEnd);
  EXPECT_THAT(Spans(trace), ElementsAre("0-10000 a", "5000-10000 b", "10000-30000 b"));
  EXPECT_THAT(trace.tracks[0].spans.continued, ElementsAre(2));
  EXPECT_THAT(trace.gaps, ElementsAre("1 end of a span in the file has no begin: it is left out.",
                                      HasSubstr("1 span of the file ends later than the span that "
                                                "it began in: it is cut in two there")));
}

TEST_F(ChromeOddsTest, ArgumentsOfEndsAreTheSpans) {
  const trace::Trace trace =
      Of(Edge("B", "a", "0") + Edge("E", "a", "1", R"("k":3)") + Edge("B", "b", "2", R"("l":4)") +
         Edge("E", "b", "3", R"("m":5)") + kEnd);
  EXPECT_EQ((*trace.tracks[0].args.of(0).begin()).value, 3);
  std::vector<int64_t> both;
  for (const trace::Arg& arg : trace.tracks[0].args.of(1)) both.push_back(arg.value);
  EXPECT_THAT(both, ElementsAre(4, 5));
  EXPECT_THAT(trace.gaps, IsEmpty());
}

TEST_F(ChromeOddsTest, ACallThatOutlivesItsCallerTakesNoTimeTwice) {
  const trace::Trace trace = Of(Span("python_function", "f", {"1", "1"}, {"0", "100"}) +
                                Span("python_function", "f", {"1", "1"}, {"50", "100"}) +
                                Span("python_function", "g", {"1", "1"}, {"60", "20"}) + kEnd);
  EXPECT_THAT(Spans(trace),
              ElementsAre("0-100000 f", "50000-100000 f", "60000-80000 g", "100000-150000 f"));
  EXPECT_THAT(trace.tracks[0].spans.continued, ElementsAre(3));
  EXPECT_EQ(trace.tracks.size(), 1U);
}

TEST_F(ChromeOddsTest, ALaunchThatOutlivesItsCallerKeepsItsLength) {
  const trace::Trace trace = Of(Span("cpu_op", "op", {"1", "1"}, {"0", "100"}) +
                                Span("cuda_runtime", "call", {"1", "1"}, {"50", "100"}) + kEnd);
  EXPECT_EQ(trace.tracks[0].spans.StatedEnd(1), 150'000);
}

TEST_F(ChromeOddsTest, StepsThatCrosscutExportedHaveTheirKindAndLevel) {
  const char* const levels[] = {"control", "boundary", "operators", "everything", "marks"};
  std::string text;
  for (int i = 0; i < 5; ++i) {
    text += Span("user_annotation", "ProfilerStep#" + std::to_string(i), {"1", "2"},
                 {std::to_string(i * 10), "10"},
                 std::string(R"("kind": "evaluation", "level": ")") + levels[i] + "\"" +
                     (i == 4 ? R"(, "after_switch": 1)" : ""));
  }
  text += Span("user_annotation", "ProfilerStep#5", {"1", "2"}, {"50", "10"});
  const trace::Trace trace = Of(text + kEnd);
  const std::vector<trace::Step>& steps = trace.processes[0].steps;
  ASSERT_EQ(steps.size(), 6U);
  for (uint8_t i = 0; i < 5; ++i) {
    EXPECT_EQ(steps[i].level, i);
    EXPECT_EQ(steps[i].after_switch, i == 4);
    EXPECT_EQ(trace.text(steps[i].kind), "evaluation");
  }
  EXPECT_EQ(steps[5].level, 3);
  EXPECT_EQ(trace.text(steps[5].kind), "step");
}

// As pairs of begins and ends, inside each other and beside an operation, or whole.
std::string TwoSteps(bool pairs) {
  if (!pairs) {
    return Span("user_annotation", "ProfilerStep#4", {"1", "1"}, {"0", "10"}) +
           Span("user_annotation", "f", {"1", "1"}, {"2", "3"}) +
           Span("user_annotation", "ProfilerStep#5", {"1", "1"}, {"10", "5"});
  }
  const std::string unnamed = R"({"ph":"E","pid":1,"tid":1,"ts":)";
  return OfCategory(Edge("B", "ProfilerStep#4", "0")) + OfCategory(Edge("B", "f", "2")) + unnamed +
         "5}," + unnamed + "10}," + OfCategory(Edge("B", "ProfilerStep#5", "10")) +
         Edge("E", "ProfilerStep#5", "15");
}

TEST_F(ChromeOddsTest, StepsAsPairsAreStepsAsTheyAreWhole) {
  const trace::Trace pairs = Of(TwoSteps(true) + kEnd), whole = Of(TwoSteps(false) + kEnd);
  for (const trace::Trace* trace : {&pairs, &whole}) {
    const std::vector<trace::Step>& steps = trace->processes[0].steps;
    ASSERT_EQ(steps.size(), 2U);
    EXPECT_EQ(steps[0].number, 4);
    EXPECT_EQ(steps[0].end_ns, 10'000);
    EXPECT_EQ(steps[1].begin_ns, 10'000);
    EXPECT_EQ(steps[1].end_ns, 15'000);
    EXPECT_THAT(Spans(*trace), ElementsAre("2000-5000 f"));
    EXPECT_THAT(trace->gaps, IsEmpty());
  }
}

TEST_F(ChromeOddsTest, AStepWithoutAnEndLastsUntilTheNext) {
  const trace::Trace trace = Of(OfCategory(Edge("B", "ProfilerStep#1", "0")) +
                                OfCategory(Edge("B", "ProfilerStep#2", "20")) +
                                Span("cpu_op", "op", {"1", "1"}, {"25", "5"}) +
                                Span("cpu_op", "later", {"1", "2"}, {"80", "10"}) + kEnd);
  const std::vector<trace::Step>& steps = trace.processes[0].steps;
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].end_ns, 20'000);
  EXPECT_FALSE(steps[0].open);
  EXPECT_EQ(steps[1].end_ns, 30'000) << "with its work";
  EXPECT_TRUE(steps[1].open);
  EXPECT_EQ(trace.processes[0].end_ns, 90'000);
  EXPECT_THAT(trace.gaps, Contains(HasSubstr("2 begins of spans in the file have no end")));
}

TEST_F(ChromeOddsTest, WhatCrosscutSaysIsNoStepIsNone) {
  std::string text;
  for (const char* said : {"false", "true"}) {
    std::string span =
        Span("user_annotation", std::string("ProfilerStep#") + (*said == 'f' ? "1" : "2"),
             {"1", "2"}, {*said == 'f' ? "0" : "10", "10"});
    text += span.insert(span.find('{') + 1, std::string("\"crosscutStep\": ") + said + ", ");
  }
  const trace::Trace trace = Of(text + kEnd);
  ASSERT_EQ(trace.processes[0].steps.size(), 1U);
  EXPECT_EQ(trace.processes[0].steps[0].number, 2);
}

TEST_F(ChromeOddsTest, StepsThatOverlapEndWhereTheNextBegins) {
  const auto step = [](const char* number, const char* tid, const char* ts, const char* dur) {
    return Span("user_annotation", std::string("ProfilerStep#") + number, {"1", tid}, {ts, dur});
  };
  const trace::Trace trace = Of(step("2", "2", "20", "30") + step("1", "1", "0", "20") +
                                step("3", "1", "40", "30") + kEnd);
  std::vector<std::string> steps;
  for (const trace::Step& one : trace.processes[0].steps) {
    steps.push_back(std::to_string(one.number) + " " + std::to_string(one.begin_ns) + "-" +
                    std::to_string(one.end_ns));
  }
  EXPECT_THAT(steps, ElementsAre("1 0-20000", "2 20000-40000", "3 40000-70000"));
  EXPECT_THAT(trace.gaps,
              ElementsAre("1 step in the file is not over where the next begins: it ends there."));
}

// Crosscut wrote how many there were; what it repaired then, it finds in part again.
TEST_F(ChromeOddsTest, WhatCrosscutSaidOfItsOwnFileIsSaidOnce) {
  for (const char* said : {"1 span of the file states a negative duration: it counts as 0.",
                           "3 spans of the file state a negative duration: they count as 0."}) {
    const trace::Trace trace =
        OfText(R"({"crosscutGaps":[")" + std::string(said) + R"("],"traceEvents":[)" +
               Span("cpu_op", "a", {"1", "1"}, {"5", "-2"}) + "]}");
    EXPECT_THAT(trace.gaps, ElementsAre(said));
  }
}

// Crosscut's own exports have steps on a row of their own, which makes nothing else.
TEST_F(ChromeOddsTest, StepsAreOfTheThreadThatTheFileNames) {
  const trace::Trace trace =
      Of(Span("user_annotation", "forward", {"1", "7"}, {"1", "5"}) +
         R"({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#0", "pid": 1, "tid": 1000,)"
         R"( "ts": 0, "dur": 10, "args": {"kind": "step", "thread": 7, "open": 1}},)" +
         kEnd);
  ASSERT_EQ(trace.processes[0].steps.size(), 1U);
  EXPECT_TRUE(trace.processes[0].steps[0].open);
  EXPECT_EQ(trace.processes[0].steps[0].end_ns, 6000);  // with its work
  EXPECT_EQ(trace.tracks.size(), 1U);
  EXPECT_EQ(trace.tracks[trace.processes[0].lead.value].os_id, 7);
}

TEST_F(ChromeOddsTest, AHundredKernelsAtOnceKeepTheirTimes) {
  std::string kernels;
  for (int i = 0; i < 100; ++i) kernels += Kernel("k", "0", "0", std::to_string(i), "");
  const trace::Trace trace = Of(kernels + kEnd);
  int64_t ns = 0;
  for (const trace::Track& track : trace.tracks) {
    for (size_t i = 0; i < track.spans.size(); ++i) {
      ns += track.spans.end_ns[i] - track.spans.begin_ns[i];
    }
  }
  EXPECT_EQ(ns, 300'000);
  EXPECT_THAT(trace.gaps, IsEmpty());
}

TEST_F(ChromeOddsTest, SpansOfAThreadThatOverlapTooManyOthersAreCounted) {
  for (const char* category : {"python_function", "user_annotation"}) {
    std::string spans;
    for (int i = 0; i < 600; ++i) {
      spans += Span(category, "f", {"1", "1"}, {std::to_string(i * 10), "5000"});
    }
    const trace::Trace trace = Of(spans + kEnd);
    EXPECT_GT(trace.tracks.size(), 1U);
    size_t parts = 0;
    int64_t ns = 0;
    for (const trace::Track& track : trace.tracks) {
      parts += track.spans.size();
      for (size_t i = 0; i < track.spans.size(); ++i) {
        if (track.spans.parent[i] == trace::kNoSpan) {
          ns += track.spans.end_ns[i] - track.spans.begin_ns[i];
        }
      }
    }
    EXPECT_LT(parts, 600U * 5 + 256) << category;
    EXPECT_GT(ns, 600 * 10'000);
    EXPECT_THAT(trace.gaps, ::testing::Contains(HasSubstr("spans of threads overlap too many")));
  }
}

TEST_F(ChromeOddsTest, SpansBeyondTheRoomForOverlapsAreCutOffAndCounted) {
  std::string kernels;
  for (int i = 0; i < 1030; ++i) {
    kernels += Span("kernel", "k", {"0", "7"}, {std::to_string(i), "2000"});
  }
  EXPECT_THAT(Of(kernels + kEnd).gaps,
              ElementsAre(HasSubstr("6 spans of the file overlap more others than there is room")));
}

// ---- times

const std::string kThere = Span("cpu_op", "a", {"1", "1"}, {"1615207264505000", "100"}) +
                           Span("cpu_op", "b", {"1", "1"}, {"1615207264505010", "10"}) +
                           Span("cpu_op", "c", {"1", "1"}, {"1615207264505030", "10"});

TEST_F(ChromeOddsTest, TimesFarFromAllOthersAreLeftOut) {
  for (const char* ts : {"0", "-5", "1000", "3615207264505000"}) {
    const trace::Trace trace = Of(kThere + Span("cpu_op", "far", {"1", "1"}, {ts, "7"}) + kEnd);
    EXPECT_EQ(trace.processes[0].end_ns - trace.processes[0].start_ns, 100'000) << ts;
    EXPECT_THAT(trace.gaps, ElementsAre("1 event of the file states a time far from all others "
                                        "(0, or years away): it is left out."))
        << ts;
  }
  const trace::Trace long_span = Of(
      kThere + Span("cpu_op", "far", {"1", "1"}, {"1615207264505050", "900000000000000"}) + kEnd);
  EXPECT_EQ(long_span.processes[0].end_ns - long_span.processes[0].start_ns, 100'000);
  EXPECT_THAT(Of(kThere + Edge("B", "far", "0") + kEnd).gaps,
              ElementsAre(HasSubstr("1 event of the file states a time far"),
                          HasSubstr("1 (none 1), count as native work")));
}

TEST_F(ChromeOddsTest, TheWindowIsAsLongAsWhatIsThereHoweverLongThatIs) {
  for (const char* later : {"2000", "7200000000"}) {
    const trace::Trace trace = Of(Edge("B", "main", "1000") + Edge("E", "lone", "1") +
                                  Span("", "work", {"1", "1"}, {later, "1000"}) + kEnd);
    EXPECT_EQ(trace.processes[0].start_ns, 1'000'000) << later;
    EXPECT_EQ(trace.processes[0].end_ns, (std::stoll(later) + 1000) * 1000);
  }
}

TEST_F(ChromeOddsTest, TimesThatCountFromZeroStay) {
  const trace::Trace trace = Of(Span("", "a", {"1", "1"}, {"0", "7200000000"}) +
                                Span("", "b", {"1", "1"}, {"7000000000", "1000"}) +
                                Span("", "c", {"1", "1"}, {"-5", "1"}) + kEnd);
  EXPECT_EQ(trace.tracks[0].spans.size(), 3U);
  EXPECT_THAT(trace.gaps, IsEmpty());
}

TEST_F(ChromeOddsTest, TimesThatNoClockShowsAreCounted) {
  for (const char* ts : {"1e18", "NaN", "-Infinity", "\"soon\"", "null"}) {
    EXPECT_THAT(Of(kThere + Span("cpu_op", "x", {"1", "1"}, {ts, "7"}) + kEnd).gaps,
                ElementsAre("1 event of the file states no time, or none that a clock shows: it "
                            "is left out."))
        << ts;
  }
}

TEST_F(ChromeOddsTest, NegativeDurationsAreNothingAndTold) {
  const trace::Trace trace = Of(Span("cpu_op", "a", {"1", "1"}, {"10", "-3"}) + kEnd);
  EXPECT_THAT(Spans(trace), ElementsAre("10000-10000 a"));
  EXPECT_THAT(trace.gaps,
              ElementsAre("1 span of the file states a negative duration: it counts as 0."));
}

// ---- counters, instants

TEST_F(ChromeOddsTest, ValuesOfCountersThatAreNoNumbersAreCounted) {
  const trace::Trace trace =
      Of(R"({"ph":"C","name":"c","pid":1,"ts":5,"args":{"a":nan,"b":"inf","c":1e30,"d":"x","e":7}},
            {"ph":"C","name":"r","pid":1,"ts":5,"args":{"v":0.25}},
            {"ph":"C","name":"i","id":"0x1","pid":1,"ts":5,"args":{"v":1}})");
  ASSERT_EQ(trace.counters.size(), 3U);
  EXPECT_EQ(trace.name_text(trace.counters[0].name), "c.e");
  EXPECT_EQ(trace.name_text(trace.counters[2].name), "i 0x1");
  EXPECT_THAT(
      trace.gaps,
      ElementsAre("4 values of counters in the file are not numbers that fit: they are left out.",
                  "1 value of a counter in the file has decimals: it is rounded to a "
                  "whole number."));
}

TEST_F(ChromeOddsTest, CountersOfOneNameAreEachDevicesOwn) {
  const auto count = [](const char* pid, const char* name) {
    return std::string(R"({"ph":"C","name":")") + name + R"(","pid":)" + pid +
           R"(,"ts":5,"args":{"value":7}},)";
  };
  const trace::Trace trace =
      Of(Launch("9", "1", "1") + Kernel("k", "0", "1", "3") + Kernel("k", "1", "1", "13") +
         count("0", "util") + count("1", "util") + count("9", "rss") + kEnd);
  std::set<std::string_view> names;
  for (const auto& one : trace.counters) names.insert(trace.name_text(one.name));
  EXPECT_EQ(trace.processes.size(), 1U);
  EXPECT_THAT(names, UnorderedElementsAre("util (pid 0)", "util (pid 1)", "rss"));
}

TEST_F(ChromeOddsTest, InstantsOfNoThreadStandOnTheFirstOfTheirProcess) {
  const trace::Trace trace = Of(Span("", "a", {"1", "1"}, {"0", "9"}) +
                                R"({"ph":"i","name":"m","pid":1,"tid":"w","ts":5,"s":"t"},
            {"ph":"i","name":"g","pid":1,"ts":6,"s":"g","args":{"k":3}},
            {"ph":"i","s":"g","name":"Record Window End","pid":"","tid":"","ts":50})");
  ASSERT_EQ(trace.tracks.size(), 2U);
  EXPECT_THAT(trace.tracks[0].instants.at_ns, ElementsAre(6000));
  EXPECT_EQ((*trace.tracks[0].instant_args.of(0).begin()).value, 3);
  EXPECT_THAT(trace.tracks[1].instants.at_ns, ElementsAre(5000));
}

TEST_F(ChromeOddsTest, ArrowsThatEndOnNoRowMakeNone) {
  const trace::Trace trace = Of(Launch("9", "5", "1") + Kernel("k", "0", "5", "10") +
                                R"({"ph":"s","cat":"x","name":"x","id":1,"pid":9,"tid":3,"ts":1},
            {"ph":"f","cat":"x","name":"x","id":1,"pid":0,"tid":7,"ts":10},
            {"ph":"f","cat":"x","name":"x","id":1,"pid":5,"tid":5,"ts":10})");
  EXPECT_EQ(trace.processes.size(), 1U);
  EXPECT_EQ(trace.tracks.size(), 2U);
  EXPECT_THAT(Arrows(trace), UnorderedElementsAre("launch 9 > k", "launch 9 > k"));
  EXPECT_THAT(trace.gaps,
              ElementsAre("1 end of an arrow in the file has no other half: it is left out."));
}

}  // namespace
}  // namespace crosscut::import
