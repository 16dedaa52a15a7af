// Tables of how formats write single things: times, JSON that is none, shapes of kernels, names,
// ranks, properties of devices, files' endings; and rows on which spans nest, at random.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "src/export/chrome_text.h"
#include "src/export/device_kind.h"
#include "src/export/distributed_info.h"
#include "src/export/exporter.h"
#include "src/export/kernel_shape.h"
#include "src/export/nesting_rows.h"
#include "src/export/profile_options.h"
#include "src/export/pytorch_words.h"
#include "src/export/stack_lines.h"
#include "src/export/testing/memory_sink.h"
#include "src/trace/builder.h"
#include "src/trace/text.h"

namespace crosscut::exporting {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

trace::Trace Parse(const std::string& text) {
  auto trace = trace::ParseText(text);
  EXPECT_TRUE(trace.ok()) << trace.status().message();
  return trace.ok() ? std::move(*trace) : trace::Trace();
}

std::string Put(void (ChromeText::*write)(int64_t), int64_t ns) {
  const trace::Trace none;
  std::string out;
  const auto sink = MemorySink(&out);
  ChromeText text(none, sink.get());
  text.Raw("0");  // what stands before it stays
  (text.*write)(ns);
  EXPECT_TRUE(text.Flush(/*all=*/true));
  return out.substr(1);
}

TEST(Words, TimesAreMicrosecondsToTheNanosecond) {
  const struct {
    int64_t ns;
    const char *whole, *brief;
  } kAll[] = {{0, "0.000", "0"},
              {1, "0.001", "0.001"},
              {10, "0.010", "0.01"},
              {999, "0.999", "0.999"},
              {1000, "1.000", "1"},
              {-1, "-0.001", "-0.001"},
              {-1230, "-1.230", "-1.23"},
              {100'000, "100.000", "100"},
              {1'700'000'000'123'456'789, "1700000000123456.789", "1700000000123456.789"},
              {INT64_MAX, "9223372036854775.807", "9223372036854775.807"},
              {INT64_MIN, "-9223372036854775.808", "-9223372036854775.808"}};
  for (const auto& [ns, whole, brief] : kAll) {
    EXPECT_EQ(Put(&ChromeText::Us, ns), whole);
    EXPECT_EQ(Put(&ChromeText::ShortUs, ns), brief);
  }
}

TEST(Words, WhatJsonDoesNotHaveBecomesATextAndAllElseStays) {
  const trace::Trace none;
  ChromeText text(none, nullptr);
  // Whole, as no parser takes them; beside a word that needs quotes.
  for (const char* good : {"0", "-0", "12", "-12", "1.5", "-0.25", "1e5", "1E5", "1e+5", "1.5E-07",
                           "true", "false", "null", "123456789012345678901234567890", "\"NaN\"",
                           "\"a\\\"NaN\"", "\"\\\\\"", "[]", "{}"}) {
    EXPECT_EQ(text.AsJson(std::string("[NaN, ") + good + "]"),
              std::string("[\"NaN\", ") + good + "]");
    EXPECT_EQ(text.AsJson(good), good);
  }
  for (const char* bad :
       {"NaN", "-Infinity", "01",  "-01",   "1.",   ".5", "-.5", "1e",    "1e+",  "1e+5-", "-",
        "+1",  "--1",       "tru", "truee", "nul_", "_1", "1a",  "1.5.2", "0x10", "1_000"}) {
    const std::string word(bad), quoted = "\"" + word + "\"";
    EXPECT_EQ(text.AsJson("{\"k\": " + word + ", \"NaN\": 1}"),
              "{\"k\": " + quoted + ", \"NaN\": 1}");
  }
  EXPECT_EQ(text.AsJson(R"(["an \" NaN", NaN])"), R"(["an \" NaN", "NaN"])");
  EXPECT_EQ(text.AsJson(R"({"a":{"b":[Infinity]}})"), R"({"a":{"b":["Infinity"]}})");
  EXPECT_EQ(text.AsJson(""), "");
}

// The text of a trace is passed on in pieces of a mebibyte, and not before.
TEST(Words, AreHeldUntilTheyAreAMebibyte) {
  const trace::Trace none;
  std::string out;
  const auto sink = MemorySink(&out);
  ChromeText text(none, sink.get());
  const std::string half((size_t{1} << 19) - 1, 'x');
  text.Raw(half);
  text.Raw(half);
  EXPECT_TRUE(text.Flush());
  EXPECT_EQ(out.size(), 0u);
  text.Raw("yy");
  EXPECT_TRUE(text.Flush());
  EXPECT_EQ(out.size(), size_t{1} << 20);
  text.Begin();
  text.Begin();
  EXPECT_TRUE(text.Flush(true));
  EXPECT_EQ(out.substr(size_t{1} << 20), ",\n") << "before the second event alone";
}

// ---- Kernels ------------------------------------------------------------------------------------

KernelShape ShapeOf(const std::vector<std::pair<std::string, std::string>>& args) {
  std::string text = "process p window=0..9\ndevice d device=0\nspan k 1 2 device\n";
  for (const auto& [key, value] : args) text += "arg \"" + key + "\" " + value + "\n";
  const trace::Trace trace = Parse(text);
  return KernelShapeOf(trace, trace.tracks[0].args.of(0));
}

TEST(KernelShapes, AreReadInWhicheverWordsATraceSaysThem) {
  using Args = std::vector<std::pair<std::string, std::string>>;
  const struct {
    Args args;
    const char* details;
    bool in_arrays;
  } kAll[] = {
      {{}, "", false},
      {{{"registers", "40"}}, "", false},
      {{{"block_x", "32"}}, "", false},
      {{{"grid_x", "2"}}, "grid:2,1,1 block:1,1,1", false},
      {{{"grid_y", "3"}, {"block_z", "5"}, {"block_x", "4"}}, "grid:1,3,1 block:4,1,5", false},
      {{{"grid_z", "7"},
        {"grid_w", "8"},
        {"grid_a", "9"},
        {"grid_", "3"},
        {"xgrid_x", "4"},
        {"grid_xx", "5"}},
       "grid:1,1,7 block:1,1,1",
       false},
      {{{"global_x", "1000"}, {"global_y", "6"}, {"local_x", "64"}, {"local_y", "3"}},
       "grid:16,2,1 block:64,3,1",
       false},
      {{{"global_x", "64"}, {"local_x", "64"}}, "grid:1,1,1 block:64,1,1", false},
      {{{"global_x", "65"}, {"local_x", "64"}}, "grid:2,1,1 block:64,1,1", false},
      {{{"global_z", "9"}, {"local_x", "0"}}, "grid:1,1,9 block:0,1,1", false},
      {{{"grid", "[2, 3, 4]"}, {"block", "[32, 1, 1]"}}, "grid:2,3,4 block:32,1,1", true},
      {{{"grid", "[10,20,30]"}, {"block", "(1 2 3)"}}, "grid:10,20,30 block:1,2,3", true},
      {{{"grid", "[2, 3, 4]"}}, "", false},
      {{{"block", "[2, 3, 4]"}}, "", false},
      {{{"grid", "[2, 3]"}, {"block", "[32, 1, 1]"}}, "", false},
      {{{"grid", "[2, 3, 99999999999999999999]"}, {"block", "[32, 1, 1]"}}, "", false},
      {{{"grid_x", "1"},
        {"registers", "0"},
        {"static_shared_bytes", "0"},
        {"dynamic_shared_bytes", "0"}},
       "regs:0 static_shared:0 dynamic_shared:0 grid:1,1,1 block:1,1,1",
       false},
      {{{"grid_x", "1"}, {"registers per thread", "17"}, {"shared memory", "4"}},
       "regs:17 dynamic_shared:4 grid:1,1,1 block:1,1,1",
       false},
      {{{"grid_x", "1"}, {"registers", "-1"}, {"static_shared_bytes", "9"}},
       "static_shared:9 grid:1,1,1 block:1,1,1",
       false},
  };
  for (const auto& [args, details, in_arrays] : kAll) {
    const KernelShape shape = ShapeOf(args);
    EXPECT_EQ(KernelDetails(shape), details);
    EXPECT_EQ(shape.in_arrays, in_arrays) << details;
    EXPECT_EQ(shape.known, *details != '\0');
  }
}

// ---- PyTorch's words ----------------------------------------------------------------------------

TEST(ProfileOptionsTest, NamesArePythonsWhereItHasStacksAndHaveTheirOverload) {
  const std::pair<const char*, const char*> kFunctions[] = {
      {"Net.forward (train.py:7)", "train.py(7): forward"},
      {"f (a b.py:12)", "a b.py(12): f"},
      {"f (a:b.py:12)", "a:b.py(12): f"},
      {"f (train.py:)", "f (train.py:)"},
      {"f (train.py:1a)", "f (train.py:1a)"},
      {"f (train.py)", "f (train.py)"},
      {"f:1 (train.py)", "f:1 (train.py)"},
      {"f(train.py:7)", "f(train.py:7)"},
      {"f (train.py:7", "f (train.py:7"}};
  for (const auto& [text, as_kineto] : kFunctions) {
    for (const bool with_stack : {true, false}) {
      const trace::Trace trace =
          Parse(std::string("process p window=0..9\n") +
                (with_stack ? "meta json:with_stack 1\n" : "") + "thread t\nspan \"" + text +
                "\" 1 2 python probe=calls\nspan \"" + text + "\" 3 4 python\nspan \"" + text +
                "\" 5 6 native probe=calls\nop \"" + text + "\" 7 8 probe=calls\n");
      const ProfileOptions options(trace);
      EXPECT_EQ(options.with_stack, with_stack);
      std::vector<std::string> names;
      for (const trace::NameId name : trace.tracks[0].spans.name) {
        names.push_back(options.NameOf(trace, trace.name(name)));
      }
      EXPECT_THAT(names, ElementsAre(with_stack ? as_kineto : text, text, text, text));
    }
  }
  for (const bool with_overloads : {true, false}) {
    const trace::Trace trace =
        Parse(std::string("process p window=0..9\n") +
              (with_overloads ? "meta json:capture_overload_names 1\n" : "") +
              "thread t\nspan add 1 2 framework overload=out\nspan mul 3 4 framework\n");
    const ProfileOptions options(trace);
    const auto& names = trace.tracks[0].spans.name;
    EXPECT_EQ(options.NameOf(trace, trace.name(names[0])), with_overloads ? "add.out" : "add");
    EXPECT_EQ(options.NameOf(trace, trace.name(names[1])), "mul");
    EXPECT_EQ(options.with_overloads, with_overloads);
  }
}

TEST(ProfileOptionsTest, EachIsAFactOfTheFirstProcess) {
  const auto of = [](const std::string& first, const std::string& second) {
    const ProfileOptions options(
        Parse("process p window=0..9\n" + first + "process q window=0..9\n" + second));
    return int{options.is_profile} + 2 * int{options.with_stack} + 4 * int{options.with_overloads} +
           8 * int{options.adjusts_steps};
  };
  EXPECT_EQ(of("", ""), 0);
  EXPECT_EQ(of("meta other 1\n", "meta trace_id 1\n"), 0);
  EXPECT_EQ(of("meta trace_id 0\nmeta other 1\n", ""), 1);
  EXPECT_EQ(of("meta json:with_stack 1\n", ""), 2);
  EXPECT_EQ(of("meta json:capture_overload_names 1\nmeta x 1\n", ""), 4);
  EXPECT_EQ(of("meta json:adjust_profiler_step 1\nmeta trace_id 1\n", ""), 9);
}

TEST(NamedInputsTest, AreThoseThatKinetoWrites) {
  EXPECT_THAT(NamedInputs(R"({"a": 1, "b": "x", "c": "x\"y", "d": ["p", "q"], "e": ["p", 1],
                              "f": [], "g": null, "h": {"i": 2}, "j": 1.5, "k": true})"),
              ElementsAre(Pair("a", "1"), Pair("b", "\"x\""), Pair("c", "\"None\""),
                          Pair("d", "[\"p\",\"q\"]"), Pair("f", "[]"), Pair("g", "null"),
                          Pair("h", "{\"i\":2}"), Pair("j", "1.5"), Pair("k", "true")));
  EXPECT_THAT(NamedInputs(R"({"stream": 3, "streams": "3"})"),
              ElementsAre(Pair("stream", "3"), Pair("streams", "\"3\"")));
  for (const char* none : {R"({"stream": "3"})", R"({"stream": 1.5})", "[1]", "1", "", "{"}) {
    EXPECT_THAT(NamedInputs(none), IsEmpty()) << none;
  }
}

TEST(ModuleNumbersTest, CountThoseOfAClassInTheOrderOfTheirFirstCalls) {
  const trace::Trace trace = Parse(
      "process p window=0..99\nthread t\n"
      "span \"nn.Module: Net\" 0 50 python\n"
      "span \"nn.Module: Net.b (Linear)\" 1 2 python\n"
      "span \"nn.Module: Net.a (Linear)\" 3 4 python\n"
      "span \"nn.Module: Net.b (Linear)\" 5 6 python\n"
      "span \"nn.Module: Net#2\" 7 8 python\n"
      "span \"Module: Net\" 13 14 python\n"
      "op \"nn.Module: Net.o (Linear)\" 20 21\n"
      "process q window=0..99\nthread t\n"
      "span \"nn.Module: Net.a (Linear)\" 1 2 python\n"
      "span \"nn.Module: Net.b (Linear)\" 3 4 python\n");
  const ModuleNumbers modules(trace);
  std::vector<std::string> told;
  for (const trace::Track& track : trace.tracks) {
    for (const trace::NameId name : track.spans.name) {
      told.push_back(modules.IsModule(name) ? modules.TextOf(track.process, name) : "-");
    }
  }
  EXPECT_THAT(told, ElementsAre("nn.Module: Net_0", "nn.Module: Linear_0", "nn.Module: Linear_1",
                                "nn.Module: Linear_0", "nn.Module: Net_1", "-", "-",
                                "nn.Module: Linear_0", "nn.Module: Linear_1"));
}

// ---- Jobs and devices ---------------------------------------------------------------------------

TEST(DistributedInfoTest, IsOfTheLowestRankAndTheOneThatItStatesItself) {
  const auto of = [](const std::vector<std::string>& processes) {
    std::string text;
    for (size_t i = 0; i < processes.size(); ++i) {
      text += "process p" + std::to_string(i) + " window=0..9\n" + processes[i];
    }
    return DistributedInfo(Parse(text));
  };
  const auto rank = [](int number, int size) {
    return "meta rank " + std::to_string(number) + "\nmeta world_size " + std::to_string(size) +
           "\n";
  };
  const std::string alone = R"({"rank": 0, "world_size": 1})",
                    stated = R"({"rank": 2, "world_size": 8, "backend": "nccl"})",
                    other = R"({"rank": 1, "world_size": 8, "backend": "gloo"})",
                    meta = "meta distributedInfo ";
  EXPECT_EQ(of({}), alone);
  EXPECT_EQ(of({"", ""}), alone);
  EXPECT_EQ(of({rank(3, 4), rank(1, 4), rank(2, 4)}), R"({"rank": 1, "world_size": 4})");
  EXPECT_EQ(of({rank(0, 1)}), alone);
  EXPECT_EQ(of({"", rank(3, 4)}), R"({"rank": 3, "world_size": 4})");
  EXPECT_EQ(of({meta + stated + "\n"}), stated);
  EXPECT_EQ(of({rank(0, 4), meta + stated + "\n"}), stated) << "who states one goes first";
  EXPECT_EQ(of({meta + stated + "\n", rank(0, 4)}), stated);
  EXPECT_EQ(of({meta + stated + "\n", meta + other + "\n"}), other);
  EXPECT_EQ(of({meta + other + "\n", meta + stated + "\n"}), other);
}

TEST(DeviceKinds, PropertiesAreThoseThatAreStatedOfTheDevice) {
  const trace::Trace trace = Parse(
      "process p window=0..9\nmeta other [{\"id\": 0, \"numSms\": 99}]\n"
      "meta deviceProperties [{\"id\": 0, \"name\": \"NVIDIA X\", \"totalGlobalMem\": 80, "
      "\"computeMajor\": 9, \"computeMinor\": 1, \"numSms\": 7}, {\"id\": 1, \"name\": \"AMD\", "
      "\"numSms\": \"many\"}, {\"id\": 2, \"name\": \"Intel Y\", \"numSms\": 3}, {\"id\": 3}, "
      "{\"name\": \"NVIDIA\"}, 5]\nprocess q window=0..9\nmeta deviceProperties {\"id\": 0}\n");
  const auto of = [&](size_t process, int64_t device) {
    std::string all;
    for (const auto& [name, text, number] : PropertiesOf(trace, trace.processes[process], device)) {
      all += name + "=" + (text.empty() ? std::to_string(number) : text) + " ";
    }
    return all;
  };
  EXPECT_EQ(of(0, 0),
            "memory_size=80 compute_cap_major=9 compute_cap_minor=1 core_count=7 "
            "device_vendor=NVIDIA ");
  EXPECT_EQ(of(0, 1), "device_vendor=AMD ");
  EXPECT_EQ(of(0, 2), "core_count=3 ");
  EXPECT_EQ(of(0, 3), "");
  EXPECT_EQ(of(0, 4), "");
  EXPECT_EQ(of(1, 0), "");
}

TEST(DeviceKinds, WorkIsAGpusByItsCategoryOrTheNameOfItsDevice) {
  const auto is = [](const char* device, const char* category, trace::Layer layer,
                     bool any = true) {
    trace::Builder builder;
    trace::TrackBuilder& track =
        builder.AddTrack(builder.AddProcess("p"), trace::TrackKind::kDevice);
    track.track().device_name = builder.Text(device);
    trace::Name name;
    name.text = builder.Text("work");
    name.layer = layer;
    if (*category != '\0') name.category = builder.Text(category);
    if (any) track.SpanAt(1, 2, builder.AddName(name));
    const trace::Trace trace = builder.Finish();
    return IsGpuWork(trace, trace.tracks[0]);
  };
  using trace::Layer;
  for (const char* category :
       {"kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset"}) {
    EXPECT_TRUE(is("CHIP", category, Layer::kDevice)) << category;
  }
  for (const char* device : {"NVIDIA H", "GeForce", "AMD Radeon", "Instinct M", "Adreno", "Mali-G",
                             "Intel Graphics", "Apple GPU"}) {
    EXPECT_TRUE(is(device, "", Layer::kDevice)) << device;
  }
  for (const char* device : {"", "CHIP", "GPU", "nvidia"}) {
    EXPECT_FALSE(is(device, "other", Layer::kDevice)) << device;
  }
  EXPECT_FALSE(is("NVIDIA", "kernel", Layer::kIdle));
  EXPECT_FALSE(is("NVIDIA", "kernel", Layer::kDevice, /*any=*/false));
}

// ---- Files --------------------------------------------------------------------------------------

TEST(ExportersTest, AreFoundByTheirNameAndByTheLongestEndOfAFilesName) {
  const std::pair<const char*, const char*> kFiles[] = {{"a.json", "chrome"},
                                                        {"a.json.gz", "chrome"},
                                                        {"json", ""},
                                                        {"a.speedscope.json", "speedscope"},
                                                        {"a.speedscope.json.gz", "speedscope"},
                                                        {".json", "chrome"},
                                                        {"a.pftrace", "perfetto"},
                                                        {"a.perfetto-trace", "perfetto"},
                                                        {"a.perfetto", "perfetto"},
                                                        {"a.collapsed", "collapsed"},
                                                        {"a.folded", "collapsed"},
                                                        {"a.pprof", "pprof"},
                                                        {"a.pprof.pb", "pprof"},
                                                        {"a.pprof.pb.gz", "pprof"},
                                                        {"a.pb", "xspace"},
                                                        {"a.xspace.pb", "xspace"},
                                                        {"a.xplane.pb", "xspace"},
                                                        {"a.JSON", ""},
                                                        {"a.json.gz.gz", ""},
                                                        {"", ""},
                                                        {"a.gz", ""}};
  for (const auto& [file, name] : kFiles) {
    const Exporter* found = ExporterOfFile(file);
    EXPECT_EQ(found == nullptr ? "" : std::string(found->name), name) << file;
  }
  for (const Exporter& exporter : Exporters()) {
    EXPECT_EQ(FindExporter(exporter.name), &exporter);
  }
  EXPECT_EQ(FindExporter(""), nullptr);
  EXPECT_EQ(FindExporter("chrom"), nullptr);
}

// ---- Rows ---------------------------------------------------------------------------------------

// Calls and operations, some of which end across others.
trace::Trace Crossing(uint32_t seed) {
  std::mt19937 random(seed);
  trace::Builder builder;
  trace::TrackBuilder& track = builder.AddTrack(builder.AddProcess("p"), trace::TrackKind::kThread);
  std::vector<trace::NameId> names;
  for (int i = 0; i < 6; ++i) {
    trace::Name name;
    name.text = builder.Text("n" + std::to_string(i));
    name.kind = i < 2 ? trace::Kind::kOperation : trace::Kind::kSpan;
    name.layer = i == 3  ? trace::Layer::kOverhead
                 : i < 2 ? trace::Layer::kNone
                         : trace::Layer::kNative;
    name.crosses = i == 4;
    if (i > 2) name.probe = builder.Text("probe");
    names.push_back(builder.AddName(name));
  }
  std::vector<trace::NameId> open;
  int64_t at = 0;
  for (int i = 0; i < 60; ++i) {
    at += 1 + static_cast<int64_t>(random() % 3);
    const trace::NameId name = names[random() % names.size()];
    if (random() % 2 == 0 && open.size() < 12) {
      track.Begin(at, name);
      open.push_back(name);
    } else if (!open.empty()) {
      random() % 3 == 0 ? track.EndNamed(at, open[random() % open.size()]) : track.EndSpan(at);
    }
  }
  return builder.Finish();
}

TEST(NestingRowsTest, OfEachTheSpansNestAndNoneIsMovedWithoutNeed) {
  size_t moved = 0, most = 0;
  for (uint32_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    const trace::Trace trace = Crossing(seed);
    const trace::Spans& spans = trace.tracks[0].spans;
    const trace::WholeSpans wholes(spans);
    const NestingRows rows(trace, spans, wholes);
    most = std::max<size_t>(most, rows.size());
    std::vector<std::vector<trace::SpanIndex>> of(rows.size());
    for (trace::SpanIndex s = 0; s < spans.size(); ++s) {
      if (wholes.first(s) == s) of.at(rows.of(s)).push_back(s);
    }
    const auto crosses = [&](trace::SpanIndex a, trace::SpanIndex b) {  // a begins first
      return wholes.end_ns(a) > spans.begin_ns[b] && wholes.end_ns(a) < wholes.end_ns(b);
    };
    for (uint32_t row = 0; row < of.size(); ++row) {
      EXPECT_TRUE(row == 0 || !of[row].empty());
      for (size_t i = 0; i < of[row].size(); ++i) {
        for (size_t j = i + 1; j < of[row].size(); ++j) {
          EXPECT_FALSE(crosses(of[row][i], of[row][j])) << of[row][i] << " " << of[row][j];
        }
      }
    }
    // On each row above its own a moved one would have crossed another, which begins before it or
    // stands there, too.
    for (uint32_t row = 1; row < of.size(); ++row) {
      for (const trace::SpanIndex s : of[row]) {
        ++moved;
        bool some = false;
        for (trace::SpanIndex other = 0; other < spans.size(); ++other) {
          if (wholes.first(other) != other || other == s) continue;
          some = some || crosses(std::min(s, other), std::max(s, other));
        }
        EXPECT_TRUE(some) << s;
        for (uint32_t below = 1; below < row; ++below) {
          bool taken = false;
          for (const trace::SpanIndex other : of[below]) {
            taken = taken || (other < s && crosses(other, s)) || (s < other && crosses(s, other));
          }
          EXPECT_TRUE(taken) << s << " has room on row " << below;
        }
      }
    }
  }
  EXPECT_GT(moved, 500u);
  EXPECT_GT(most, 2u);
}

}  // namespace
}  // namespace crosscut::exporting
