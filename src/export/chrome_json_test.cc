#include <gtest/gtest.h>
#include <simdjson.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "src/export/exporter.h"
#include "src/export/testing/memory_sink.h"
#include "src/trace/builder.h"
#include "src/trace/text.h"

namespace crosscut::exporting {
namespace {

std::string Export(const trace::Trace& trace) {
  std::string out;
  const auto sink = MemorySink(&out);
  EXPECT_TRUE(WriteChromeJson(trace, sink.get()).ok());
  EXPECT_TRUE(sink->Close().ok());
  return out;
}

// Of a trace in the words of trace/text.h.
std::string ExportText(std::string_view text) {
  const auto trace = trace::ParseText(text);
  EXPECT_TRUE(trace.ok()) << trace.status().message();
  return Export(*trace);
}

// Names that have broken writers of traces.
std::vector<std::string> HostileNames() {
  std::vector<std::string> names = {"\"quoted\"",
                                    "back\\slash",
                                    "</script><b>&amp;",
                                    "new\nline\r\ttab",
                                    "caf\xc3\xa9 \xf0\x9f\x98\x80",
                                    "bad \xff\xfe\xc0\xaf utf-8",
                                    "cut \xe2\x82",
                                    "surrogate \xed\xa0\x80",
                                    "\xe2\x80\xa8 separator",
                                    "",
                                    std::string(1 << 20, 'x'),
                                    std::string(70'000, '\xff'),
                                    "-1e5",
                                    "=cmd()"};
  std::string controls;
  for (char c = 0; c < 0x20; ++c) controls += c;
  names.push_back(controls + "\x7f");
  return names;
}

trace::Trace HostileTrace() {
  trace::Builder builder;
  const trace::ProcessId process = builder.AddProcess("p\"\n");
  builder.process(process).name = builder.Text("pro\"cess\x01\xff");
  builder.process(process).end_ns = 1000;
  trace::TrackBuilder& track = builder.AddTrack(process, trace::TrackKind::kThread);
  track.track().name = builder.Text("thr\"ead\\\xfe");
  int64_t at = 0;
  for (const std::string& text : HostileNames()) {
    trace::Name name;
    name.text = builder.Text(text);
    const trace::NameId id = builder.AddName(name);
    track.Begin(at, id);
    track.ArgText(name.text, name.text);
    track.Instant(at, id);
    track.End(at + 1);
    builder.Count(process, id, at, 1);
    at += 2;
  }
  trace::Trace trace = builder.Finish();
  trace.gaps.push_back("gap \"\n\xff");
  return trace;
}

TEST(ChromeJson, IsValidJsonForThreeIndependentParsers) {
  const std::string json = Export(HostileTrace());
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  ASSERT_EQ(parser.parse(json).get(root), simdjson::SUCCESS);
  EXPECT_TRUE(simdjson::validate_utf8(json));
  const auto path = std::filesystem::path(::testing::TempDir()) / "crosscut-hostile.json";
  std::ofstream(path, std::ios::binary) << json;
  const std::string file = path.string();
  const std::string python =
      "python3 -c 'import json,sys; d = json.load(open(sys.argv[1], encoding=\"utf-8\", "
      "errors=\"strict\")); assert any(len(e[\"name\"]) == 1 << 20 for e in d[\"traceEvents\"])' ";
  EXPECT_EQ(std::system((python + file).c_str()), 0);
  const std::string node =
      "node -e 'const d = JSON.parse(require(\"fs\").readFileSync(process.argv[1], \"utf8\")); "
      "process.exit(d.traceEvents.some(e => e.name.length == 1 << 20) ? 0 : 1)' ";
  EXPECT_EQ(std::system((node + file).c_str()), 0);
  std::filesystem::remove(path);
}

TEST(ChromeJson, KeepsNamesThatAreTextAsTheyAre) {
  const std::string json = Export(HostileTrace());
  simdjson::dom::parser parser;
  simdjson::dom::element root = parser.parse(json);
  std::map<std::string, int> seen;
  for (simdjson::dom::element event : root["traceEvents"].get_array()) {
    if (std::string_view(event["ph"]) != "X") continue;
    ++seen[std::string(std::string_view(event["name"]))];
  }
  for (const std::string& name : HostileNames()) {
    if (!simdjson::validate_utf8(name)) continue;
    EXPECT_EQ(seen[name], 1) << name.substr(0, 40);
  }
}

TEST(ChromeJson, WritesWhatReadersOfKinetosFilesLookFor) {
  const auto trace = trace::ParseText(R"(
process train pid=7 window=1000..9000 name=train.py
thread main tid=8 base=python main
op forward 1000 5000
span aten::mm 1500 4501 framework
span cudaLaunchKernel 2000 2500 runtime
out 1 2100
out 2 2200
step step 1000 4000 number=3
device gpu device=0 stream=7
span gemm 3000 4000 device
arg bytes 12
in 1 3000
)");
  ASSERT_TRUE(trace.ok()) << trace.status().message();
  const std::string json = Export(*trace);
  EXPECT_NE(json.find("\"rank\": 0"), std::string::npos);
  simdjson::dom::parser parser;
  simdjson::dom::element root = parser.parse(json);
  std::map<std::string, simdjson::dom::element> by_name;
  int starts = 0, ends = 0;
  for (simdjson::dom::element event : root["traceEvents"].get_array()) {
    const std::string_view phase = event["ph"];
    starts += phase == "s";
    ends += phase == "f";
    if (phase == "X") by_name.emplace(std::string_view(event["name"]), event);
  }
  EXPECT_EQ(starts, 1);
  EXPECT_EQ(ends, 1);
  EXPECT_EQ(std::string_view(by_name.at("forward")["cat"]), "user_annotation");
  EXPECT_EQ(std::string_view(by_name.at("aten::mm")["cat"]), "cpu_op");
  EXPECT_EQ(std::string_view(by_name.at("gemm")["cat"]), "kernel");
  EXPECT_EQ(std::string_view(by_name.at("ProfilerStep#3")["cat"]), "user_annotation");
  EXPECT_EQ(int64_t(by_name.at("gemm")["args"]["stream"]), 7);
  EXPECT_EQ(int64_t(by_name.at("gemm")["args"]["bytes"]), 12);
  EXPECT_EQ(int64_t(by_name.at("gemm")["args"]["correlation"]),
            int64_t(by_name.at("cudaLaunchKernel")["args"]["correlation"]));
  EXPECT_NE(json.find("\"ts\": 0.500, \"dur\": 3.001"), std::string::npos);
}

TEST(ChromeJson, StepsThatTheProgramMarksForItselfKeepTheirName) {
  const std::string json = ExportText(
      "process p pid=7 window=0..100\n"
      "thread main tid=7\n"
      "span ProfilerStep# 10 40\narg step 3\n"
      "step step 0 50 number=0\n");
  EXPECT_NE(json.find("\"name\": \"ProfilerStep#3\", \"ts\": 0.010"), std::string::npos);
  EXPECT_NE(json.find("\"name\": \"step 0\", \"ts\": 0.000"), std::string::npos);
}

TEST(ChromeJson, StepsOfAnotherProcessThatMarksThemChangeNothing) {
  const std::string json = ExportText(
      "process p pid=7 window=0..100\n"
      "thread main tid=7\n"
      "span ProfilerStep# 10 40\narg step 3\n"
      "process q pid=8 window=0..100\n"
      "thread main tid=8\n"
      "step step 0 50 number=5\n");
  EXPECT_NE(json.find("\"name\": \"ProfilerStep#5\", \"ts\": 0.000"), std::string::npos) << json;
}

TEST(ChromeJson, WorkWhoseBandwidthTheTraceDoesNotTellHasOne) {
  const std::string json = ExportText(
      "process p pid=7 window=0..9000\n"
      "device gpu device=0 stream=7\n"
      "span told 1000 2000 device\narg bytes 4000\narg \"memory bandwidth (GB/s)\" 3\n"
      "span untold 3000 4000 device\narg bytes 5000\n");
  EXPECT_NE(json.find("\"memory bandwidth (GB/s)\": 3}"), std::string::npos) << json;
  EXPECT_NE(json.find("\"memory bandwidth (GB/s)\": 5.000}"), std::string::npos) << json;
}

TEST(ChromeJson, PartsOfASpanThatWasCutAreOneEvent) {
  trace::Builder builder;
  trace::TrackBuilder& track = builder.AddTrack(builder.AddProcess("p"), trace::TrackKind::kThread);
  trace::Name name;
  name.text = builder.Text("scope");
  name.kind = trace::Kind::kOperation;
  const trace::NameId scope = builder.AddName(name);
  name.text = builder.Text("enter");
  name.kind = trace::Kind::kSpan;
  track.Begin(1000, builder.AddName(name));
  track.Begin(2000, scope);
  track.EndSpan(3000);
  track.EndNamed(9000, scope);
  const std::string json = Export(builder.Finish());
  const size_t first = json.find("\"name\": \"scope\", \"ts\": 2.000, \"dur\": 7.000");
  EXPECT_NE(first, std::string::npos) << json;
  EXPECT_EQ(json.find("\"name\": \"scope\"", first + 1), std::string::npos);
}

// A run with `facts`: a step that begins inside a function and outlives it, and an operator.
std::string OfProfile(std::initializer_list<const char*> facts) {
  trace::Builder builder;
  const trace::ProcessId process = builder.AddProcess("p");
  for (const char* fact : facts)
    builder.process(process).meta.push_back({builder.Text(fact), builder.Text("1")});
  builder.process(process).start_ns = 0;
  builder.process(process).end_ns = 20'000;
  trace::TrackBuilder& track = builder.AddTrack(process, trace::TrackKind::kThread);
  const auto name = [&](const char* text, trace::Layer layer, const char* overload = "") {
    trace::Name one;
    one.text = builder.Text(text);
    one.layer = layer;
    if (*overload != '\0') one.overload = builder.Text(overload);
    return builder.AddName(one);
  };
  trace::Name scope;
  scope.text = builder.Text("ProfilerStep#");
  scope.kind = trace::Kind::kOperation;
  const trace::NameId step = builder.AddName(scope);
  track.Begin(1000, name("enter", trace::Layer::kPython));
  track.Begin(2000, step);
  track.Begin(2500, name("inner", trace::Layer::kPython));
  track.EndSpan(2600);
  track.EndSpan(3000);
  track.Begin(4000, name("work", trace::Layer::kPython));
  track.Begin(5000, name("aten::add", trace::Layer::kFramework, "Tensor"));
  track.Add({builder.Text("kwinputs"), true,
             builder.Text(R"({"a": 1, "b": "x\"", "c": ["y"], "d": [1]})").value,
             /*is_json=*/true});
  track.EndSpan(6000);
  track.EndSpan(7000);
  track.EndNamed(9000, step);
  return Export(builder.Finish());
}

TEST(ChromeJson, OptionsOfTorchsProfilerChangeATrace) {
  const std::string plain = OfProfile({}), all = OfProfile({"trace_id", "json:adjust_profiler_step",
                                                            "json:capture_overload_names"});
  EXPECT_NE(plain.find(R"("name": "aten::add",)"), std::string::npos);
  EXPECT_NE(all.find(R"("name": "aten::add.Tensor",)"), std::string::npos);
  EXPECT_NE(plain.find(R"("ts": 2.000, "dur": 7.000)"), std::string::npos) << plain;
  EXPECT_NE(all.find(R"("ts": 4.000, "dur": 5.000)"), std::string::npos) << all;
  EXPECT_EQ(plain.find("Record Window End"), std::string::npos);
  EXPECT_NE(all.find("PyTorch Profiler (0)\", \"ts\": 0.000, \"dur\": 20.000"), std::string::npos);
  EXPECT_NE(all.find("\"Record Window End\", \"ts\": 20.000"), std::string::npos);
}

TEST(ChromeJson, WhatAnOperatorGotByNameStandsByItself) {
  const std::string json = OfProfile({});
  EXPECT_NE(json.find(R"("a": 1, "b": "None", "c": ["y"]})"), std::string::npos) << json;
  EXPECT_EQ(json.find("kwinputs"), std::string::npos);
}

// The events of each name.
std::multimap<std::string, simdjson::dom::element> ByName(const std::string& json,
                                                          simdjson::dom::parser* parser) {
  std::multimap<std::string, simdjson::dom::element> events;
  simdjson::dom::element root = parser->parse(json);
  for (simdjson::dom::element event : root["traceEvents"].get_array()) {
    events.emplace(std::string_view(event["name"]), event);
  }
  return events;
}

TEST(ChromeJson, ArgumentsAreTextsOrJsonWhoseWordsAreJsons) {
  trace::Builder builder;
  const trace::ProcessId process = builder.AddProcess("p");
  builder.process(process).end_ns = 20'000;
  trace::TrackBuilder& track = builder.AddTrack(process, trace::TrackKind::kThread);
  trace::Name name;
  name.text = builder.Text("tick");
  track.Instant(1000, builder.AddName(name));
  const auto add = [&](const char* key, const char* text, bool is_json) {
    track.Add({builder.Text(key), true, builder.Text(text).value, is_json});
  };
  add("whole", R"({"x": [1.5]})", true);
  add("words", "[NaN, -Infinity, 2]", true);  // as Python writes them, and JSON has none of them
  add("again", "[NaN, -Infinity, 2]", true);
  add("text", "[1]", false);
  const std::string json = Export(builder.Finish());
  simdjson::dom::parser parser;
  const auto events = ByName(json, &parser);
  ASSERT_EQ(events.count("tick"), 1) << json;
  const simdjson::dom::element args = events.find("tick")->second["args"];
  EXPECT_EQ(double(args["whole"]["x"].at(0)), 1.5) << json;
  for (const char* key : {"words", "again"}) {
    EXPECT_EQ(std::string_view(args[key].at(0)), "NaN") << json;
    EXPECT_EQ(std::string_view(args[key].at(1)), "-Infinity") << json;
    EXPECT_EQ(int64_t(args[key].at(2)), 2) << json;
  }
  EXPECT_EQ(std::string_view(args["text"]), "[1]");
}

TEST(ChromeJson, FactsAreTextsOrJson) {
  const std::string json = ExportText(
      "process p pid=7 window=0..100\n"
      "meta job [1]\nmeta json:ranks [1, {\"a\": null}]\nmeta json:broken [1\n"
      "thread main tid=7\n");
  EXPECT_NE(json.find("\"job\": \"[1]\""), std::string::npos);
  EXPECT_NE(json.find("\"ranks\": [1,{\"a\":null}]"), std::string::npos);
  EXPECT_NE(json.find("\"broken\": \"[1\""), std::string::npos);
}

TEST(ChromeJson, OperatorsCallsAndWorkAreJoinedByTheNumbersOfKineto) {
  const auto trace = trace::ParseText(R"(
process train pid=7 window=0..9000 name=train.py
thread main tid=8 base=python main
span train.py(1):main 0 9000 python
span train.py(7):step 100 6000 python
span aten::mm 1500 4501 framework
span clEnqueueNDRangeKernel 2000 2500 runtime
out 1 2100
span clFinish 5000 5500 runtime
device gpu device=0 stream=7
span gemm 3000 4000 device
arg global_x 256
arg local_x 64
in 1 3000
)");
  ASSERT_TRUE(trace.ok()) << trace.status().message();
  const std::string json = Export(*trace);
  simdjson::dom::parser parser;
  const auto events = ByName(json, &parser);
  const auto args = [&](const char* name) { return events.find(name)->second["args"]; };
  const auto op = int64_t(args("aten::mm")["External id"]);
  EXPECT_GT(op, 0);
  EXPECT_EQ(int64_t(args("aten::mm")["Record function id"]), op);
  EXPECT_EQ(int64_t(args("aten::mm")["Ev Idx"]), op - 1);
  for (const char* name : {"clEnqueueNDRangeKernel", "gemm"}) {
    EXPECT_EQ(int64_t(args(name)["External id"]), op) << name;
    EXPECT_EQ(int64_t(args(name)["correlation"]), 1) << name;
  }
  EXPECT_TRUE(events.find("clFinish")->second["args"].error());  // no operator is open
  EXPECT_TRUE(args("train.py(1):main")["Python parent id"].is_null());
  EXPECT_EQ(int64_t(args("train.py(7):step")["Python parent id"]),
            int64_t(args("train.py(1):main")["Python id"]));
  EXPECT_EQ(simdjson::minify(args("gemm")["grid"]), "[4,1,1]");
  EXPECT_EQ(simdjson::minify(args("gemm")["block"]), "[64,1,1]");
}

TEST(ChromeJson, ARankIsWrittenWhereItIsBelowTheNumberOfRanks) {
  for (int size = 0; size < 4; ++size) {
    for (int rank = 0; rank < 4; ++rank) {
      const std::string json =
          ExportText("process p pid=7 window=0..100\nmeta rank " + std::to_string(rank) +
                     "\nmeta world_size " + std::to_string(size) + "\nthread main tid=7\n");
      simdjson::dom::parser parser;
      const simdjson::dom::element root = parser.parse(json), info = root["distributedInfo"];
      EXPECT_EQ(int64_t(info["rank"]), rank < size ? rank : 0) << rank << " of " << size;
      EXPECT_EQ(int64_t(info["world_size"]), rank < size ? size : 1) << rank << " of " << size;
    }
  }
}

// Kineto writes a number everywhere: a device that states none stands under the first.
TEST(ChromeJson, ADeviceHasItsNumberWhereverOneIsWrittenAndTheFirstWhereItStatesNone) {
  for (const auto& [stated, number] : {std::pair{-1, 0}, {0, 0}, {3, 3}}) {
    auto trace = trace::ParseText(
        "process train pid=7 window=0..9000\ndevice gpu device=0 stream=9\n"
        "span gemm 3000 4000 device\n");
    ASSERT_TRUE(trace.ok()) << trace.status().message();
    trace->tracks[0].device = stated;
    trace->tracks[0].device_name = trace->strings.Intern("CHIP");
    const std::string json = Export(*trace);
    simdjson::dom::parser parser;
    const simdjson::dom::element root = parser.parse(json);
    simdjson::dom::element property = root["deviceProperties"].at(0);
    EXPECT_EQ(int64_t(property["id"]), number);
    EXPECT_EQ(std::string_view(property["name"]), "CHIP");
    std::map<std::string, std::string> told;
    for (simdjson::dom::element event : root["traceEvents"].get_array()) {
      simdjson::dom::element pid = event["pid"];
      if (!pid.is_int64() || int64_t(pid) != number) continue;
      told[std::string(std::string_view(event["name"]))] = simdjson::minify(event["args"]);
    }
    const std::string text = std::to_string(number);
    EXPECT_EQ(told["process_labels"], R"({"labels":"GPU )" + text + "\"}");
    EXPECT_EQ(told["process_sort_index"],
              "{\"sort_index\":" + std::to_string(5'000'000 + number) + "}");
    EXPECT_TRUE(told["gemm"].starts_with("{\"device\":" + text + ",\"stream\":9")) << told["gemm"];
  }
}

// The first process of a container has the pid 1, like the second device.
TEST(ChromeJson, WorkStandsUnderNoProcesssPidAndFurtherTracksOfAStreamOnItsRow) {
  const std::string json = ExportText(R"(
process train pid=1 window=0..9000
thread main tid=5 main
span launch 100 300 runtime
device queue device=1 stream=5
span gemm 3000 4000 device
device queue(2) device=1 stream=5
span copy 3500 4500 device
)");
  simdjson::dom::parser parser;
  const simdjson::dom::element root = parser.parse(json);
  std::map<std::string, int64_t> pids;
  std::vector<std::string> rows;
  for (simdjson::dom::element event : root["traceEvents"].get_array()) {
    const std::string_view name = event["name"];
    pids[std::string(name)] = int64_t(event["pid"]);
    if (name == "thread_name") rows.emplace_back(std::string_view(event["args"]["name"]));
  }
  EXPECT_EQ(pids["launch"], 1);
  EXPECT_NE(pids["gemm"], 1);
  EXPECT_EQ(pids["copy"], pids["gemm"]);
  EXPECT_EQ(rows, (std::vector<std::string>{"thread 5 (main)", "stream 5 queue"}));
}

TEST(ChromeJson, LaunchesHaveCudasNamesForThoseWhoKnowNoOthers) {
  const auto trace = trace::ParseText(R"(
process train pid=7 window=0..9000
thread main tid=8
span clEnqueueNDRangeKernel 2000 2500 runtime
out 1 2100
span clEnqueueWriteBuffer 2600 2700 runtime
out 2 2610
span clFinish 2800 2900 runtime
device gpu device=0 stream=7
span gemm 3000 4000 device
in 1 3000
span "Memcpy HtoD" 4000 5000 device
in 2 4000
)");
  ASSERT_TRUE(trace.ok()) << trace.status().message();
  std::string json;
  const auto sink = MemorySink(&json);
  ASSERT_TRUE(WriteChromeJsonForCuda(*trace, sink.get()).ok());
  simdjson::dom::parser parser;
  const auto events = ByName(json, &parser);
  EXPECT_EQ(std::string_view(events.find("cudaLaunchKernel")->second["args"]["call"]),
            "clEnqueueNDRangeKernel");
  EXPECT_EQ(std::string_view(events.find("cudaMemcpyAsync")->second["args"]["call"]),
            "clEnqueueWriteBuffer");
  EXPECT_EQ(events.count("clFinish"), 1U);
}

TEST(ChromeJson, ArrowsStandInsideTheSpansThatTheyLeadFromAndTo) {
  const auto trace = trace::ParseText(R"(
process train pid=7 window=0..9000
thread main tid=8
span call 2000 2500 runtime
out 1 2499
span later 2500 2600 runtime
device gpu device=0 stream=7
span gemm 3000 4000 device
in 1 3000
)");
  ASSERT_TRUE(trace.ok()) << trace.status().message();
  simdjson::dom::parser parser;
  const std::string json = Export(*trace);
  const auto events = ByName(json, &parser);
  EXPECT_EQ(events.count("ac2g"), 2U);
  for (auto [at, end] = events.equal_range("ac2g"); at != end; ++at) {
    const bool start = std::string_view(at->second["ph"]) == "s";
    EXPECT_EQ(double(at->second["ts"]), start ? 2.0 : 3.0);
  }
}

// Both ends of each: where it is, its kind, its number, its process, its time, which is that of its
// span's begin.
TEST(ChromeJson, ArrowsAreOfTheirKindAndHaveNumbersOfTheirOwn) {
  simdjson::dom::parser parser;
  simdjson::dom::element file;
  const std::string json = ExportText(R"(
process train pid=7 window=0..9000
thread main tid=8
span call 1000 1500 runtime
out 1 1100
out 2 1200
span forward 2000 2500 framework
out 3 2100
out -9223372036854775801 2200
out 5 2300
thread other tid=9
span backward 3000 3500 framework
in 3 3100
device gpu device=0 stream=5
span gemm 4000 5000 device
in 1 4000
span add 6000 7000 device
in 2 6000
process worker pid=17 window=0..9000
thread main tid=18
span served 3000 3500 native
in -9223372036854775801 3200
count queue 100 3
count queue 1200 5
)");
  ASSERT_FALSE(parser.parse(json).get(file));
  std::vector<std::string> arrows, counters;
  for (const simdjson::dom::element event : file["traceEvents"]) {
    const auto ph = std::string(std::string_view(event["ph"]));
    const auto at = [&] {
      return std::to_string(int64_t(event["pid"])) + " " +
             std::to_string(std::llround(double(event["ts"]) * 1000));
    };
    if (ph == "s" || ph == "f") {
      EXPECT_EQ(std::string_view(event["cat"]), std::string_view(event["name"]));
      arrows.push_back(ph + " " + std::string(std::string_view(event["cat"])) + " " +
                       std::to_string(int64_t(event["id"])) + " " + at());
    } else if (ph == "C") {
      counters.push_back(std::string(std::string_view(event["name"])) + " " + at() + " " +
                         std::to_string(int64_t(event["args"]["value"])));
    }
  }
  std::sort(arrows.begin(), arrows.end());
  EXPECT_EQ(arrows,
            (std::vector<std::string>{"f ac2g 1 0 4000", "f ac2g 2 0 6000", "f fwdbwd 3 7 3000",
                                      "f remote 4 17 3000", "s ac2g 1 7 1000", "s ac2g 2 7 1000",
                                      "s fwdbwd 3 7 2000", "s remote 4 7 2000"}));
  EXPECT_EQ(counters, (std::vector<std::string>{"queue 17 100 3", "queue 17 1200 5"}));
}

TEST(ChromeJson, IsCompressedWhereTheNameSaysSo) {
  const auto path = std::filesystem::path(::testing::TempDir()) / "crosscut-export.json.gz";
  std::filesystem::remove(path);
  const trace::Trace trace = HostileTrace();
  {
    auto sink = OpenSink(path.string());
    ASSERT_TRUE(sink.ok());
    ASSERT_TRUE(WriteChromeJson(trace, sink->get()).ok());
    EXPECT_FALSE(std::filesystem::exists(path));
    ASSERT_TRUE((*sink)->Close().ok());
  }
  std::string unpacked(8 << 20, '\0');
  gzFile file = gzopen(path.c_str(), "rb");
  ASSERT_NE(file, nullptr);
  const int n = gzread(file, unpacked.data(), static_cast<unsigned>(unpacked.size()));
  gzclose(file);
  ASSERT_GT(n, 0);
  unpacked.resize(static_cast<size_t>(n));
  EXPECT_EQ(unpacked, Export(trace));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace crosscut::exporting
