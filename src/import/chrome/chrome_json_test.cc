#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>
#include <map>
#include <random>

#include "src/import/chrome/chrome_file_test.h"
#include "src/trace/text.h"

namespace crosscut::import {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using ChromeJsonTest = ChromeFileTest;

const trace::Track* TrackNamed(const trace::Trace& trace, std::string_view name) {
  for (const trace::Track& track : trace.tracks) {
    if (trace.text(track.name) == name) return &track;
  }
  return nullptr;
}

std::vector<std::string> Spans(const trace::Trace& trace, const trace::Track& track) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < track.spans.size(); ++i) {
    const trace::Name& name = trace.name(track.spans.name[i]);
    lines.push_back(
        std::to_string(track.spans.begin_ns[i]) + "-" + std::to_string(track.spans.end_ns[i]) +
        " " + std::string(trace.text(name.text)) + " " + std::string(trace::LayerName(name.layer)));
  }
  return lines;
}

constexpr const char* kKineto = R"_({"schemaVersion": 1, "baseTimeNanoseconds": 1700000000000000000,
"deviceProperties": [{"id": 0, "name": "CHIP 9"}],
"distributedInfo": {"backend": "nccl", "rank": 3},
"traceEvents": [
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 20.5, "dur": 4,
 "args": {"device": 0, "stream": 7, "correlation": 5, "grid": [1, 2, 3]}},
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#4", "pid": 9, "tid": 9, "ts": 1,
 "dur": 40, "args": {}},
{"ph": "X", "cat": "user_annotation", "name": "forward", "pid": 9, "tid": 9, "ts": 2, "dur": 20},
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 9, "tid": 9, "ts": 3, "dur": 10,
 "args": {"External id": 1, "Input Dims": [[2, 2], []]}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 5,
 "dur": 2, "args": {"External id": 1, "correlation": 5}},
{"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 5, "pid": 9, "tid": 9, "ts": 5},
{"ph": "f", "cat": "ac2g", "name": "ac2g", "id": 5, "pid": 0, "tid": 7, "ts": 20.5, "bp": "e"},
{"ph": "s", "cat": "fwdbwd", "name": "fwdbwd", "id": 1, "pid": 9, "tid": 9, "ts": 3},
{"ph": "f", "cat": "fwdbwd", "name": "fwdbwd", "id": 1, "pid": 9, "tid": 10, "ts": 30, "bp": "e"},
{"ph": "X", "cat": "cpu_op", "name": "MmBackward0", "pid": 9, "tid": 10, "ts": 30, "dur": 5},
{"ph": "X", "cat": "cpu_op", "name": "nccl:all_reduce", "pid": 9, "tid": 10, "ts": 31, "dur": 1},
{"ph": "X", "cat": "gpu_user_annotation", "name": "forward", "pid": 0, "tid": 7, "ts": 20.499,
 "dur": 4.002},
{"ph": "X", "cat": "cuda_sync", "name": "Stream Sync", "pid": 0, "tid": 1000007, "ts": 22, "dur": 9,
 "args": {"stream": 7, "correlation": 6}},
{"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 9, "tid": 9, "ts": 4,
 "args": {"Bytes": -512, "Device Type": 0}},
{"ph": "C", "name": "GPU", "pid": 9, "ts": 6, "args": {"power": 70.6}},
{"ph": "M", "name": "process_name", "pid": 9, "tid": 0, "ts": 0, "args": {"name": "python3"}},
{"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "ts": 0, "args": {"name": "python3"}},
{"ph": "M", "name": "thread_name", "pid": 9, "tid": 10, "ts": 0, "args": {"name": "backward"}},
{"ph": "M", "name": "thread_name", "pid": 0, "tid": 7, "ts": 0, "args": {"name": "stream 7 "}},
{"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)",
                     "pid" : "Spans", "tid" : "PyTorch Profiler", "ts" : 0, "dur" : 50
},
{"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 50}
], "traceName": "t.json"})_";

TEST_F(ChromeJsonTest, AKinetoTraceHasItsThreadsStreamsStepsAndArrows) {
  const trace::Trace trace = OfText(kKineto);
  EXPECT_THAT(trace.gaps,
              ElementsAre("1 value of a counter in the file has decimals: it is rounded "
                          "to a whole number."));
  ASSERT_EQ(trace.processes.size(), 1U);
  const trace::Process& process = trace.processes[0];
  EXPECT_EQ(trace.text(process.key), "rank3");
  EXPECT_EQ(trace.text(process.name), "python3");
  EXPECT_EQ(process.pid, 9);
  EXPECT_EQ(process.start_ns, 0);
  EXPECT_EQ(process.end_ns, 50'000);
  EXPECT_EQ(trace.realtime_offset_ns, 1'700'000'000'000'000'000);
  ASSERT_EQ(process.steps.size(), 1U);
  EXPECT_EQ(process.steps[0].number, 4);
  EXPECT_EQ(process.steps[0].end_ns, 41'000);

  const trace::Track* stream = TrackNamed(trace, "stream 7");
  ASSERT_NE(stream, nullptr);
  EXPECT_EQ(stream->kind, trace::TrackKind::kDevice);
  EXPECT_EQ(stream->os_id, 7);
  EXPECT_EQ(trace.text(stream->device_name), "CHIP 9");
  EXPECT_THAT(Spans(trace, *stream), ElementsAre("20500-24500 gemm device"));
  const trace::Track* backward = TrackNamed(trace, "backward");
  ASSERT_NE(backward, nullptr);
  EXPECT_THAT(Spans(trace, *backward),
              ElementsAre("30000-35000 MmBackward0 framework", "31000-32000 nccl:all_reduce comm"));
  const trace::Track& main = trace.tracks[process.lead.value];
  EXPECT_TRUE(main.main);
  EXPECT_THAT(Spans(trace, main),
              ElementsAre("2000-22000 forward ", "3000-13000 aten::mm framework",
                          "5000-7000 cudaLaunchKernel runtime"));
  EXPECT_THAT(main.instants.at_ns, ElementsAre(4000));
  const trace::Track* sync = TrackNamed(trace, "stream 7 (waits)");
  ASSERT_NE(sync, nullptr);
  EXPECT_EQ(sync->os_id, 7);

  // Two arrows: launch to kernel, forward to backward.
  std::map<std::string, std::string> arrows;
  for (const trace::Flow& flow : trace.flows) {
    const auto text = [&](trace::TrackId track, trace::SpanIndex span) {
      return std::string(trace.span_text(track, span));
    };
    arrows[text(flow.from_track, flow.from)] = text(flow.to_track, flow.to);
  }
  EXPECT_THAT(arrows, ElementsAre(std::pair("aten::mm", "MmBackward0"),
                                  std::pair("cudaLaunchKernel", "gemm")));
  ASSERT_EQ(trace.counters.size(), 1U);
  EXPECT_THAT(trace.counters[0].value, ElementsAre(71));
}

TEST_F(ChromeJsonTest, ArgumentsAreKeptAsTheyAreWritten) {
  const trace::Trace trace = OfText(kKineto);
  std::map<std::string, std::string> args;
  for (const trace::Track& track : trace.tracks) {
    for (trace::SpanIndex i = 0; i < track.spans.size(); ++i) {
      const std::string of(trace.name_text(track.spans.name[i]));
      for (const trace::Arg& arg : track.args.of(i)) {
        args[of + "." + std::string(trace.text(arg.key))] =
            arg.is_text ? std::string(trace.text(arg.text())) : std::to_string(arg.value);
      }
    }
  }
  EXPECT_EQ(args["aten::mm.Input Dims"], "[[2, 2], []]");
  EXPECT_EQ(args["aten::mm.External id"], "1");
  EXPECT_EQ(args["gemm.grid"], "[1, 2, 3]");
  EXPECT_EQ(args["gemm.correlation"], "5");
}

TEST_F(ChromeJsonTest, WorkThatOverlapsOnOneStreamKeepsItsTimes) {
  const trace::Trace trace =
      Of(R"({"ph":"X","cat":"kernel","name":"a","pid":0,"tid":7,"ts":1,"dur":5},
            {"ph":"X","cat":"kernel","name":"b","pid":0,"tid":7,"ts":3,"dur":5},
            {"ph":"X","cat":"kernel","name":"c","pid":0,"tid":7,"ts":9,"dur":1})");
  ASSERT_EQ(trace.tracks.size(), 2U);
  EXPECT_THAT(Spans(trace, trace.tracks[0]),
              ElementsAre("1000-6000 a device", "9000-10000 c device"));
  EXPECT_THAT(Spans(trace, trace.tracks[1]), ElementsAre("3000-8000 b device"));
  EXPECT_EQ(trace.tracks[1].os_id, 7);
}

// Kineto writes a device's work under its number as the pid; a pid without a number is the first.
TEST_F(ChromeJsonTest, WorkThatStatesNoDeviceIsOfTheOneThatItsPidNumbers) {
  const std::tuple<const char*, const char*, int> cases[] = {{"3", "", 3},
                                                             {R"("3")", "", 3},
                                                             {R"("gpu 3")", "", 3},
                                                             {R"("gpu")", "", 0},
                                                             {"3", R"(,"device":5)", 5},
                                                             {"3", R"(,"device":0)", 0},
                                                             {"3", R"(,"device":"none")", 3}};
  for (const auto& [pid, more, device] : cases) {
    const trace::Trace trace =
        Of(R"({"ph":"X","cat":"cuda_runtime","name":"launch","pid":9,"tid":9,"ts":1,"dur":2,)"
           R"("args":{"correlation":5}},{"ph":"X","cat":"kernel","name":"k","pid":)" +
           std::string(pid) + R"(,"tid":7,"ts":5,"dur":2,"args":{"correlation":5)" + more + "}}");
    ASSERT_EQ(trace.tracks.size(), 2U);
    EXPECT_EQ(trace.tracks[0].device, -1);
    EXPECT_EQ(trace.tracks[1].device, device) << pid << more;
  }
}

TEST_F(ChromeJsonTest, APlaneWithoutANumberIsTheFirstDevice) {
  for (const auto& [plane, device] : {std::pair{"/device:GPU:3", 3}, {"/device:CUSTOM:CHIP", 0}}) {
    const trace::Trace trace = Of(
        R"({"ph":"M","name":"process_name","pid":5,"tid":0,"args":{"name":")" + std::string(plane) +
        R"("}},{"ph":"X","name":"k","pid":5,"tid":2,"ts":1,"dur":2,"args":{}})");
    ASSERT_EQ(trace.tracks.size(), 1U);
    EXPECT_EQ(trace.tracks[0].kind, trace::TrackKind::kDevice);
    EXPECT_EQ(trace.tracks[0].device, device) << plane;
  }
}

TEST_F(ChromeJsonTest, TimesThatWereRoundedApartStillNestAndKeepTheirLength) {
  const trace::Trace trace =
      Of(R"({"ph":"X","cat":"cpu_op","name":"op","pid":9,"tid":9,"ts":1,"dur":5},
            {"ph":"X","cat":"cuda_runtime","name":"call","pid":9,"tid":9,"ts":5,"dur":2})");
  ASSERT_EQ(trace.tracks.size(), 1U);
  EXPECT_THAT(Spans(trace, trace.tracks[0]),
              ElementsAre("1000-6000 op framework", "5000-6000 call runtime"));
  EXPECT_EQ(trace.tracks[0].spans.StatedEnd(0), 6000);
  EXPECT_EQ(trace.tracks[0].spans.StatedEnd(1), 7000);
  EXPECT_EQ(trace.tracks[0].args.size(), 0U);  // the file has none
  EXPECT_THAT(trace.gaps, ElementsAre("1 span of the file ends up to 2 us later than the span "
                                      "around it, as rounded times do: it ends with that one."));
}

TEST_F(ChromeJsonTest, AnAnnotationMayOutliveTheFunctionItBeganIn) {
  const trace::Trace trace =
      Of(R"({"ph":"X","cat":"python_function","name":"f","pid":9,"tid":9,"ts":1,"dur":9},
            {"ph":"X","cat":"user_annotation","name":"part","pid":9,"tid":9,"ts":5,"dur":15},
            {"ph":"X","cat":"python_function","name":"g","pid":9,"tid":9,"ts":12,"dur":30})");
  ASSERT_EQ(trace.tracks.size(), 1U);
  EXPECT_THAT(Spans(trace, trace.tracks[0]),
              ElementsAre("1000-10000 f python", "5000-10000 part ", "10000-20000 part ",
                          "12000-20000 g python", "20000-42000 g python"));
}

TEST_F(ChromeJsonTest, BeginsAndEndsOfSpansPairAndLoneOnesAreTold) {
  const trace::Trace trace = Of(R"({"ph":"E","pid":1,"tid":1,"ts":0},
      {"ph":"B","name":"a","pid":1,"tid":1,"ts":1}, {"ph":"B","name":"b","pid":1,"tid":1,"ts":2},
      {"ph":"E","pid":1,"tid":1,"ts":3}, {"ph":"E","pid":1,"tid":1,"ts":4},
      {"ph":"B","name":"c","pid":1,"tid":1,"ts":5}, {"ph":"b","name":"d","id":1,"ts":6})");
  ASSERT_EQ(trace.tracks.size(), 1U);
  EXPECT_THAT(Spans(trace, trace.tracks[0]),
              ElementsAre("1000-4000 a native", "2000-3000 b native", "5000-5000 c native"));
  EXPECT_THAT(
      trace.gaps,
      ElementsAre("1 begin of a span in the file has no end: that span lasts to the end of the "
                  "trace, a step to that of its work.",
                  "1 end of a span in the file has no begin: it is left out.",
                  "1 event of the file is of a kind that is not read (asynchronous, objects, "
                  "samples): it is left out."));
}

TEST_F(ChromeJsonTest, RowsInSeveralRunsAreAsIfTheyWereInOrder) {
  const auto event = [](int i) {
    return R"({"ph":"X","cat":"cpu_op","name":"n)" + std::to_string(i) +
           R"(","pid":1,"tid":1,"ts":)" + std::to_string(10 * i) + R"(,"dur":5,"args":{"i":)" +
           std::to_string(i) + "}}";
  };
  std::string in_order, in_runs;
  for (int i = 0; i < 300; ++i) in_order += (i > 0 ? "," : "") + event(i);
  for (const int first : {2, 0, 1}) {
    for (int i = first; i < 300; i += 3) in_runs += (in_runs.empty() ? "" : ",") + event(i);
  }
  const trace::Trace ordered = Of(in_order), runs = Of(in_runs);
  EXPECT_EQ(Spans(ordered, ordered.tracks[0]), Spans(runs, runs.tracks[0]));
  for (uint32_t i = 0; i < 300; ++i) {
    const trace::Arg arg = *runs.tracks[0].args.of(i).begin();
    EXPECT_EQ(runs.text(arg.key), "i");
    EXPECT_EQ(arg.value, i);
  }
}

TEST_F(ChromeJsonTest, ArrowsWithoutTheirOtherEndAreCounted) {
  const auto arrow = [](const char* ph, int id, int ts) {
    return std::string(R"(,{"ph":")") + ph +
           R"(","cat":"fwdbwd","name":"f","pid":1,"tid":1,"id":)" + std::to_string(id) +
           R"(,"ts":)" + std::to_string(ts) + "}";
  };
  const std::string span =
      R"({"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":90})";
  const trace::Trace whole = Of(span + arrow("s", 1, 2) + arrow("f", 1, 9) + arrow("f", 1, 10));
  EXPECT_EQ(whole.flows.size(), 2U);
  EXPECT_THAT(whole.gaps, IsEmpty());
  EXPECT_THAT(Of(span + arrow("f", 1, 2) + arrow("s", 1, 9)).gaps, IsEmpty());  // clocks disagree
  const trace::Trace part =
      Of(span + arrow("s", 1, 2) + arrow("s", 1, 4) + arrow("f", 1, 9) + arrow("f", 2, 10));
  EXPECT_EQ(part.flows.size(), 1U);
  EXPECT_FALSE(part.damaged);
  EXPECT_THAT(part.gaps,
              ElementsAre("2 ends of arrows in the file have no other half: they are left out."));
}

TEST_F(ChromeJsonTest, AFileThatIsCutOffSaysSo) {
  const std::string whole = kKineto;
  const trace::Trace trace = OfText(whole.substr(0, whole.find("MmBackward0")));
  EXPECT_TRUE(trace.damaged);
  ASSERT_FALSE(trace.gaps.empty());
  EXPECT_THAT(trace.gaps[0], HasSubstr("incomplete: the text ends inside the event at byte"));
  EXPECT_EQ(trace.flows.size(), 1U);
}

TEST_F(ChromeJsonTest, CompressedFilesAreReadWholeOrUpToTheirDamage) {
  std::string text = "[";
  for (int i = 0; i < 20'000; ++i) {
    text += R"({"ph":"X","cat":"cpu_op","name":"op)" + std::to_string(i % 7) +
            R"(","pid":1,"tid":1,"ts":)" + std::to_string(i) + R"(,"dur":0.5},)";
  }
  const std::string path = folder_ + "/trace.json.gz";
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  Result<trace::Trace> trace = Import(path);
  ASSERT_TRUE(trace.ok()) << trace.status().message();
  EXPECT_EQ(trace->tracks[0].spans.size(), 20'000U);
  EXPECT_FALSE(trace->damaged);

  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  const std::string packed = bytes.str();
  trace::Trace part = OfText(packed.substr(0, packed.size() / 2), "half.json.gz");
  EXPECT_TRUE(part.damaged);
  EXPECT_THAT(part.gaps[0], HasSubstr("incomplete"));
  EXPECT_GT(part.tracks[0].spans.size(), 5000U);
  EXPECT_LT(part.tracks[0].spans.size(), 20'000U);

  std::mt19937 random(5);
  for (int round = 0; round < 20; ++round) {  // behind its head, which no checksum holds
    std::string flipped = packed;
    flipped[20 + random() % (packed.size() - 20)] ^= static_cast<char>(1 << random() % 8);
    std::ofstream(folder_ + "/flipped.json.gz", std::ios::binary) << flipped;
    Result<trace::Trace> damaged = Import(folder_ + "/flipped.json.gz");
    EXPECT_TRUE(!damaged.ok() || damaged->damaged);
  }

  trace::Trace twice = OfText(packed + packed, "twice.json.gz");  // members are joined
  EXPECT_EQ(twice.tracks[0].spans.size(), 39'999U);               // "[{" inside an array is damage
  EXPECT_THAT(twice.gaps,
              ElementsAre(HasSubstr("1 event of the file cannot be read and is left out")));
}

// As XProf writes it: planes are pids, no event has a category, and arguments are texts.
std::string OfXprof(std::vector<std::string> metadata, std::vector<std::string> spans,
                    bool names_first) {
  if (!names_first) std::swap(metadata, spans);
  std::string text = R"({"displayTimeUnit": "ns", "traceEvents": [)";
  for (const auto* events : {&metadata, &spans}) {
    for (const std::string& event : *events) text += event + ",\n";
  }
  return text + "{}]}";
}
std::string NamedAs(const char* what, int pid, int tid, const std::string& name) {
  return R"({"ph": "M", "name": ")" + std::string(what) + R"(", "pid": )" + std::to_string(pid) +
         R"(, "tid": )" + std::to_string(tid) + R"(, "args": {"name": ")" + name + R"("}})";
}
std::string SpanAt(int pid, int tid, int64_t at, const std::string& name,
                   const std::string& args = "{}") {
  return R"({"ph": "X", "name": ")" + name + R"(", "pid": )" + std::to_string(pid) +
         R"(, "tid": )" + std::to_string(tid) + R"(, "ts": )" + std::to_string(at) +
         R"(, "dur": 5, "args": )" + args + "}";
}

TEST_F(ChromeJsonTest, WorkOfAProfileOfJaxIsThatOfItsStreams) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 20; ++round) {
    std::vector<std::string> names = {NamedAs("process_name", 701, 0, "/host:CPU"),
                                      NamedAs("thread_name", 701, 5, "python")};
    std::vector<std::string> spans;
    std::map<std::string, int> wanted;  // device, stream and name
    const bool streams = pick(4) > 0;   // else XLA Ops are all that is told
    uint64_t repeated = 0, steps = 0;
    for (int device = 0; device < 1 + pick(3); ++device) {
      const int pid = 1 + device;
      names.push_back(NamedAs("process_name", pid, 0, "/device:GPU:" + std::to_string(device)));
      names.push_back(NamedAs("thread_name", pid, 90, "XLA Modules"));
      names.push_back(NamedAs("thread_name", pid, 91, "XLA Ops"));
      for (int i = 0; i < 1 + pick(20); ++i) {
        const int stream = 13 + pick(2), at = 10 * static_cast<int>(spans.size());
        const std::string op = "fusion." + std::to_string(pick(3));
        const std::string name = "Stream #" + std::to_string(stream) + "(Compute)";
        if (streams) names.push_back(NamedAs("thread_name", pid, stream, name));
        spans.push_back(SpanAt(pid, 90, at, "jit_f"));
        spans.push_back(SpanAt(pid, 91, at, op));
        if (streams) spans.push_back(SpanAt(pid, stream, at, op, R"({"correlation_id": "3"})"));
        const int line = streams ? stream : 91;
        ++wanted[std::to_string(device) + " " + std::to_string(line) + " " + op];
        repeated += streams ? 2 : 1;
      }
    }
    for (int i = 0; i < pick(5); ++i, ++steps) {
      spans.push_back(SpanAt(701, 5, 100000 + 10 * i, "train",
                             R"({"step_num": ")" + std::to_string(i) + R"("})"));
    }
    spans.push_back(SpanAt(701, 5, 200000, "PjitFunction(f)"));
    spans.push_back(SpanAt(701, 5, 200010, "end: fusion"));
    std::shuffle(names.begin(), names.end(), random);
    const bool names_first = pick(2) == 0;
    const trace::Trace trace = OfText(OfXprof(names, spans, names_first));
    std::map<std::string, int> seen;
    for (const trace::Track& track : trace.tracks) {
      for (const trace::NameId id : track.spans.name) {
        const std::string text(trace.name_text(id));
        const bool device = track.kind == trace::TrackKind::kDevice;
        EXPECT_EQ(trace.name(id).layer, device ? trace::Layer::kDevice : trace::Layer::kFramework);
        if (device) {
          ++seen[std::to_string(track.device) + " " + std::to_string(track.os_id) + " " + text];
        }
      }
    }
    EXPECT_EQ(seen, wanted);
    ASSERT_EQ(trace.processes.size(), 1U);
    EXPECT_EQ(trace.processes.front().steps.size(), steps);
    EXPECT_EQ(trace.gaps.size(), names_first ? 0U : 1U);
    if (!names_first) {
      EXPECT_THAT(trace.gaps.front(), HasSubstr(std::to_string(repeated + 1) + " spans"));
    }
  }
}

}  // namespace
}  // namespace crosscut::import
