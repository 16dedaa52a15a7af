// The written files, read by what other tools do with them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <sstream>
#include <string>

#include "src/export/exporter.h"
#include "src/export/stack_lines.h"
#include "src/export/testing/memory_sink.h"
#include "src/trace/text.h"

namespace crosscut::exporting {
namespace {

constexpr std::string_view kTraining = R"text(# crosscut trace
process p pid=7 window=1000..2000 name=train.py
thread main tid=7 base=python main lead
span "train (train.py:5)" 1000 1900 python
span "layer (model.py:3)" 1100 1300 python at=7
span aten::mm 1150 1250 framework
span cudaLaunchKernel 1200 1210 runtime
out 1 1205
span "layer (model.py:3)" 1300 1400 python at=8
device gpu stream=7 device=0
span gemm 1250 1500 device
in 1 1250
span other 1600 1650 device
)text";

trace::Trace Parse(std::string_view text) {
  auto trace = trace::ParseText(text);
  EXPECT_TRUE(trace.ok()) << trace.status().message();
  return std::move(*trace);
}

std::string Written(const trace::Trace& trace, std::string_view format) {
  std::string out;
  const auto sink = MemorySink(&out);
  EXPECT_TRUE(FindExporter(format)->write(trace, sink.get()).ok());
  return out;
}

TEST(Collapsed, HasALinePerStackWithItsOwnTime) {
  EXPECT_EQ(Written(Parse(kTraining), "collapsed"),
            "train (train.py:5) 600\n"
            "train (train.py:5);layer (model.py:3) 200\n"
            "train (train.py:5);layer (model.py:3);aten::mm 90\n"
            "train (train.py:5);layer (model.py:3);aten::mm;cudaLaunchKernel 10\n");
}

TEST(CollapsedSamples, HaveTheNativeFunctionOrTheWaitBelowThePythonStack) {
  EXPECT_EQ(Written(Parse(R"text(# crosscut trace
process p pid=7 window=0..100
thread main tid=7 base=python main lead
instant [sample] 15
arg covers_ns 10
arg "Python stack" "train.py:9 <module>;train.py:4 main"
arg Library libmkl.so
arg Function "gemm<a;b>"
instant [sample] 25
arg covers_ns 11
arg "Python stack" "train.py:9 <module>;train.py:4 main"
arg Library libmkl.so
arg Function "gemm<a;b>"
instant [sample] 30
arg covers_ns 5
arg "Python stack" "train.py:9 <module>"
arg "Waits for" futex
instant [sample] 40
arg covers_ns 3
arg Library libc.so.6
)text"),
                    "collapsed-samples"),
            "(no Python);libc.so.6 3\n"
            "train.py:9 <module>;(waits for futex) 5\n"
            "train.py:9 <module>;train.py:4 main;libmkl.so: gemm<a_b> 21\n");
}

TEST(CollapsedSamples, AreRefusedWhereThereAreNone) {
  std::string out;
  const auto sink = MemorySink(&out);
  const Status status =
      FindExporter("collapsed-samples")->write(Parse(kTraining), sink.get()).status();
  EXPECT_NE(status.message().find("--python=samples"), std::string::npos);
}

TEST(Collapsed, PutsDeviceWorkUnderTheCallThatLaunchedIt) {
  EXPECT_EQ(Written(Parse(kTraining), "collapsed-device"),
            "(unlinked);other 50\n"
            "train (train.py:5);layer (model.py:3);aten::mm;cudaLaunchKernel;gemm 250\n");
}

TEST(Collapsed, GivesAllDeviceWorkItsTimeAndNothingElse) {
  EXPECT_EQ(Written(Parse("process p window=0..300\ndevice gpu stream=7 device=0\n"
                          "span gemm 100 200 device\nspan relu 120 150 device\n"
                          "span wait 200 260 idle\ndevice notes stream=8 device=0\n"
                          "span annotation 0 300 idle\nop step 0 300\n"),
                    "collapsed-device"),
            "(unlinked);gemm 100\n(unlinked);relu 30\n");
}

// Each stack of a deep recursion has all frames around it in its line.
TEST(Collapsed, TellsHowManyStacksAreTooDeepAndKeepsTheirTime) {
  constexpr int kDepth = 2000;
  std::string text = "process p window=0..10000\nthread t base=python\n";
  for (int i = 0; i < kDepth; ++i) {
    text += "span \"" + std::string(200, 'f') + std::to_string(i) + "\" " + std::to_string(i) +
            " " + std::to_string(10'000 - i) + " python\n";
  }
  const std::string lines = Written(Parse(text), "collapsed");
  EXPECT_LT(lines.size(), size_t{100} << 20);
  int64_t ns = 0, stacks = 0, deeper = 0;
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) {
    ns += std::stoll(line.substr(line.rfind(' ')));
    const size_t at = line.find(";(");
    if (at != std::string::npos) deeper += std::stoll(line.substr(at + 2));
    stacks += at == std::string::npos;
  }
  EXPECT_EQ(ns, 10'000);
  EXPECT_GT(deeper, 0);
  EXPECT_EQ(stacks + deeper, kDepth);
}

TEST(Collapsed, TellsProcessesApart) {
  const std::string two = std::string(kTraining) +
                          "process q window=1000..2000\nthread t base=python\n"
                          "span \"train (train.py:5)\" 1000 1010 python\n";
  EXPECT_THAT(Written(Parse(two), "collapsed"),
              ::testing::AllOf(::testing::HasSubstr("p;train (train.py:5) 600\n"),
                               ::testing::HasSubstr("q;train (train.py:5) 10\n")));
}

// Plays a file as speedscope does: events in order of time, each close that of the frame on top.
std::vector<std::string> Play(const simdjson::dom::element& file, size_t profile) {
  std::vector<std::string> spans;
  const simdjson::dom::array frames = file["shared"]["frames"];
  const simdjson::dom::element from = file["profiles"].at(profile);
  EXPECT_EQ(std::string_view(from["type"]), "evented");
  EXPECT_EQ(std::string_view(from["unit"]), "nanoseconds");
  const int64_t start = from["startValue"], end = from["endValue"];
  int64_t last = start;
  std::vector<std::pair<int64_t, int64_t>> open;
  for (const simdjson::dom::element event : simdjson::dom::array(from["events"])) {
    const int64_t at = event["at"], frame = event["frame"];
    EXPECT_GE(at, last);
    last = at;
    const std::string_view name = frames.at(static_cast<size_t>(frame))["name"];
    if (std::string_view(event["type"]) == "O") {
      open.emplace_back(frame, at);
      continue;
    }
    EXPECT_EQ(std::string_view(event["type"]), "C");
    if (open.empty() || open.back().first != frame) {
      ADD_FAILURE() << name << " closes at " << at << " and is not on top";
      return spans;
    }
    spans.push_back(std::string(name) + " " + std::to_string(open.back().second) + ".." +
                    std::to_string(at));
    open.pop_back();
  }
  EXPECT_TRUE(open.empty());
  EXPECT_LE(last, end);
  return spans;
}

TEST(StackFrames, AreOneLineWhateverTheyAreCalled) {
  EXPECT_EQ(StackFrame("a;b\nc\rd\x1b\x7f caf\xc3\xa9"), "a_b_c_d__ caf\xc3\xa9");
  EXPECT_EQ(StackFrame("<in\nput>:5 f;b.py:1 g", /*whole_stack=*/true), "<in_put>:5 f;b.py:1 g");
}

TEST(Speedscope, PlaysBackEverySpan) {
  simdjson::dom::parser parser;
  const simdjson::dom::element file = parser.parse(Written(Parse(kTraining), "speedscope"));
  EXPECT_EQ(std::string_view(file["$schema"]),
            "https://www.speedscope.app/file-format-schema.json");
  EXPECT_EQ(int64_t(file["activeProfileIndex"]), 0);
  ASSERT_EQ(simdjson::dom::array(file["profiles"]).size(), 2u);
  EXPECT_EQ(std::string_view(file["profiles"].at(0)["name"]), "train.py 7: main");
  EXPECT_THAT(Play(file, 0),
              ::testing::ElementsAre("cudaLaunchKernel 200..210", "aten::mm 150..250",
                                     "layer 100..300", "layer 300..400", "train 0..900"));
  EXPECT_THAT(Play(file, 1), ::testing::ElementsAre("gemm 250..500", "other 600..650"));
}

TEST(Speedscope, KnowsFilesAndLinesOfPythonFunctions) {
  simdjson::dom::parser parser;
  const simdjson::dom::element file = parser.parse(Written(Parse(kTraining), "speedscope"));
  const simdjson::dom::array frames = file["shared"]["frames"];
  EXPECT_EQ(frames.size(), 6u);  // layer() is one, from wherever it was called
  EXPECT_EQ(std::string_view(frames.at(0)["name"]), "train");
  EXPECT_EQ(std::string_view(frames.at(0)["file"]), "train.py");
  EXPECT_EQ(int64_t(frames.at(0)["line"]), 5);
  for (const simdjson::dom::element frame : frames) {
    for (const auto& [key, value] : simdjson::dom::object(frame)) {
      EXPECT_THAT((std::vector<std::string_view>{"name", "file", "line"}),
                  ::testing::Contains(std::string_view(key)));
    }
  }
}

}  // namespace
}  // namespace crosscut::exporting
