// What inputs are recognised, and what is said of others: by their first bytes, names and folders.
#include "src/import/importer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "src/base/testing/folder.h"
#include "src/import/file_steps.h"
#include "src/import/xla_layers.h"

namespace crosscut::import {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using namespace std::string_literals;

class ImporterTest : public ::testing::Test {
 protected:
  ImporterTest() { fs::current_path(folder_.path()); }
  ~ImporterTest() override { fs::current_path(here_); }
  // A file that was written so many minutes ago.
  static void Put(const std::string& path, const std::string& text = "", int minutes = 0) {
    if (const auto folder = fs::path(path).parent_path(); !folder.empty()) {
      fs::create_directories(folder);
    }
    std::ofstream(path, std::ios::binary) << text;
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::minutes(minutes));
  }
  static std::string Said(const std::string& path) {
    const auto found = Recognize(path);
    return found.ok() ? std::string("= ") + found->importer->name
                      : std::string(found.status().message());
  }

  const fs::path here_ = fs::current_path();
  base::TestFolder folder_;
};

TEST_F(ImporterTest, FilesAreKnownByTheirFirstBytes) {
  const std::pair<std::string, std::string> kKnown[] = {{"# crosscut trace\n", "text"},
                                                        {"{\"traceEvents\": []}", "chrome_json"},
                                                        {"[{\"ph\": \"X\"}]", "chrome_json"}};
  for (const auto& [text, name] : kKnown) {
    Put("any.name", text);
    EXPECT_EQ(Said("any.name"), "= " + name);
  }
  Put("run/run.json", "{\"format\": 1}");
  EXPECT_EQ(Said("run"), "= native");
  Put("made/run.json", "{\"format\": 1, \"imported\": [\"0-a.txt\"]}");
  EXPECT_EQ(Said("made"), "= imported");
}

TEST_F(ImporterTest, WhatPeopleTakeForARecordingIsToldWhatItIs) {
  const std::string zstd = "compressed by zstd: unpack it",
                    script = "a Python script, not a recording of it: crosscut record -- python ",
                    other = "a script, not a recording of it: crosscut record -- ",
                    program = "a program, not a recording of it: crosscut record -- ";
  const struct {
    std::string name, bytes, said;
  } kAll[] = {
      {"a.bin", "", "an empty file: was it written to its end?"},
      {"a.zip", "PK\3\4more", "a zip archive: unpack it, and name what is in it"},
      {"a.zst", "(\xb5/\xfdmore", zstd},
      {"a.bz2", "BZh9", "compressed by bzip2: unpack it"},
      {"a.xz",
       "\xfd"
       "7zXZ",
       "compressed by xz: unpack it"},
      {"a.gz", "\x1f\x8b\x08\x00", "compressed by gzip, but no trace is in it"},
      {"a.sqlite", "SQLite format 3\0"s,
       "an SQLite database, as Nsight Systems exports it: Crosscut reads none"},
      {"perf.data", "PERFILE2", "a recording of perf: Crosscut reads none"},
      {"a.html", "<!doctype html>", "a page, for a browser: name the run that it was made of"},
      {"a.py", "import x\n", script + "a.py"},
      {"a b", "#!/usr/bin/env python3\n", script + "'a b'"},
      {"tool", "#!/bin/sh\npython x\n", other + "./tool"},
      {"d/tool", "#!/bin/sh", other + "d/tool"},
      {"prog",
       "\x7f"
       "ELF\2",
       program + "./prog"},
      {"p1-1.crosscut", "x", "a part of a run: name the run's folder, ."},
      {"d/p1-1.crosscut", "x", "a part of a run: name the run's folder, d"},
      {"d/run.json", "{}", "a part of a run: name the run's folder, d"},
      {"renamed", "CCUTLOG1", "a part of a run: name the run's folder, ."},
      {"empty.json", "[]", "a trace without any event"},
      {"line.json", "[]\n", "a trace without any event"},
  };
  for (const auto& [name, bytes, said] : kAll) {
    Put(name, bytes);
    EXPECT_EQ(Said(name), name + ": " + said);
  }
  const std::string known =
      "; it reads the folder of a run; a profile of TensorFlow, JAX or XProf (XSpace); a trace in "
      "Chrome's JSON format, as PyTorch (Kineto) writes it; the text form of a trace, as "
      "Crosscut's tests write it";
  const std::pair<std::string, std::string> kUnknown[] = {
      {"[] ", "[] "},
      {"something", "something"},
      {"first\nsecond", "first"},
      {std::string(24, 'x') + "y", std::string(24, 'x')},
      {"\nfirst", ""},
      {"a\tb", ""},
      {std::string(24, 'x') + "\t", std::string(24, 'x')}};
  for (const auto& [bytes, begin] : kUnknown) {
    Put("any", bytes);
    EXPECT_EQ(Said("any"), "any: no format that Crosscut reads" +
                               (begin.empty() ? "" : " (it begins with \"" + begin + "\")") +
                               known);
  }
}

TEST_F(ImporterTest, OfAFolderWithoutARunItIsToldWhatLiesInIt) {
  fs::create_directory("empty");
  EXPECT_EQ(Said("empty"), "empty: an empty folder; crosscut record makes runs");
  Put("none/readme.txt");
  Put("none/run.jso");
  EXPECT_EQ(Said("none"), "none: a folder without a run or a trace in it");
  Put("one/x/a.json.gz");
  EXPECT_EQ(Said("one"), "one: a folder with a trace in it: name one/x/a.json.gz");
  Put("some/old.json", "", 9);
  Put("some/new.xplane.pb", "", 1);
  Put("some/b new.json", "", 1);
  Put("some/oldest.json.gz", "", 90);
  EXPECT_THAT(Said("some"), HasSubstr("some: a folder of 4 traces: name one of them, such as "));
  fs::last_write_time("some/new.xplane.pb", fs::last_write_time("some/b new.json"));
  EXPECT_EQ(Said("some"),
            "some: a folder of 4 traces: name one of them, such as 'some/b new.json', the newest; "
            "crosscut import FILE... -o RUN makes one run of several");
  // Runs go before traces, and what lies in them is theirs.
  Put("some/r1/run.json", "", 50);
  EXPECT_EQ(Said("some"), "some: a folder with a run in it: name some/r1");
  Put("some/r2/run.json", "", 40);
  Put("some/r2/inner/run.json", "", 0);
  EXPECT_EQ(Said("some"),
            "some: a folder of 2 runs: name one of them, such as some/r2, the newest");
  // As deep as TensorBoard's profiles lie, and no deeper.
  Put("deep/1/2/3/4/a.json");
  EXPECT_EQ(Said("deep"), "deep: a folder with a trace in it: name deep/1/2/3/4/a.json");
  Put("deeper/1/2/3/4/5/a.json");
  EXPECT_EQ(Said("deeper"), "deeper: a folder without a run or a trace in it");
}

TEST_F(ImporterTest, WhatCannotBeReadIsTold) {
  EXPECT_EQ(Said("nothing"),
            "nothing: no such file or directory; name a run, the folder that crosscut record made, "
            "or a trace");
  Put("trace.json");
  EXPECT_EQ(Said("trase.json"), "trase.json: no such file or directory; did you mean trace.json?");
  ASSERT_EQ(mkfifo("pipe", 0600), 0);
  const std::string rest = ", not a file or directory; copy its output to a file and name that";
  EXPECT_EQ(Said("pipe"), "pipe: a pipe" + rest);
  EXPECT_EQ(Said("/dev/null"), "/dev/null: a device" + rest);
}

TEST_F(ImporterTest, BytesThatAreNoTextAreReplacedAndCounted) {
  Put("a.txt",
      "# crosscut trace\nprocess p window=0..9\nthread t\nspan \"a\xff\" 1 2\n"
      "span \"b\xff\" 3 4\ngap bad \xff gap\n");
  const auto trace = Import("a.txt");
  ASSERT_TRUE(trace.ok()) << trace.status().message();
  ASSERT_EQ(trace->gaps.size(), 2u);
  EXPECT_EQ(trace->gaps[0], "bad \xef\xbf\xbd gap");
  EXPECT_EQ(trace->gaps[1], "2 texts hold bytes that are no UTF-8: U+FFFD stands for them.");
  EXPECT_EQ(trace->name_text(trace->tracks[0].spans.name[0]), "a\xef\xbf\xbd");
  Put("wrong.txt", "# crosscut trace\nzebra\n");
  EXPECT_THAT(std::string(Import("wrong.txt").status().message()), HasSubstr("wrong.txt: line 2"));
}

// ---- Words of XLA and its tools -----------------------------------------------------------------

TEST(XlaWords, LayersGoByTheBeginOfAnEventOrItsType) {
  using trace::Layer;
  const std::pair<const char*, Layer> kAll[] = {
      {"$train.py:3 f", Layer::kPython},
      {"Iterator::Map", Layer::kData},
      {"MakeIterator", Layer::kData},
      {"PrefetchProduce", Layer::kData},
      {"PrefetchConsume", Layer::kData},
      {"tf_data_service", Layer::kData},
      {"PrefetchedH2D", Layer::kData},
      {"InfeedEnqueue", Layer::kData},
      {"cudaMalloc", Layer::kRuntime},
      {"hipMalloc", Layer::kRuntime},
      {"hsa_init", Layer::kRuntime},
      {"cuLaunchKernel", Layer::kRuntime},
      {"zeInit", Layer::kRuntime},
      {"clFinish", Layer::kRuntime},
      {"cu", Layer::kFramework},
      {"cut", Layer::kFramework},
      {"cumsum", Layer::kFramework},
      {"EagerLocalExecute: MakeIterator", Layer::kFramework},
      {"PjitFunction(update)", Layer::kFramework},
      {"ThunkExecutor::Execute", Layer::kFramework},
      {"model/dense/Relu:_FusedMatMul", Layer::kFramework},
      {"model/IteratorGetNext:IteratorGetNext", Layer::kData},
      {"AllReduce", Layer::kComm},
      {"AllGather", Layer::kComm},
      {"ReduceScatter", Layer::kComm},
      {"CollectiveReduce", Layer::kComm},
      {"NcclAllReduce", Layer::kComm},
      {"ncclSend", Layer::kComm},
      {"all-reduce", Layer::kComm},
      {"all-reduce.3", Layer::kComm},
      {"all-gather-start", Layer::kComm},
      {"collective-permute-done.1", Layer::kComm},
      {"send", Layer::kComm},
      {"recv.2", Layer::kComm},
      {"sender", Layer::kFramework},
      {"all-reduce-promotion", Layer::kFramework},
      {"model/dense/X:AllReduce", Layer::kComm},
      {"model/X:Relu", Layer::kFramework},
      {":AllReduce", Layer::kFramework},
      {"a::AllReduce", Layer::kFramework},
      {"a: AllReduce", Layer::kFramework},
      {"AllReduce:", Layer::kComm},
      {"MatMul", Layer::kFramework}};
  for (const auto& [event, layer] : kAll) EXPECT_EQ(HostLayer(event), layer) << event;
}

TEST(XlaWords, LinesThatAreDerivedArePassedOverAndPlanesHaveNumbers) {
  constexpr int64_t kFirst = 0xdeadbeef;
  EXPECT_FALSE(IsDerivedLine(kFirst - 1, "x", false));
  EXPECT_TRUE(IsDerivedLine(kFirst, "x", false));
  EXPECT_TRUE(IsDerivedLine(kFirst + 388, "x", false));
  EXPECT_FALSE(IsDerivedLine(kFirst + 389, "x", false));
  for (const char* name :
       {"Steps", "XLA Modules", "XLA TraceMe", "Framework Ops", "Framework Name Scope",
        "Source code", "Launch Stats", "Host Offload Ops"}) {
    EXPECT_TRUE(IsDerivedLine(1, name, false)) << name;
  }
  EXPECT_TRUE(IsDerivedLine(1, "XLA Ops", true));
  EXPECT_FALSE(IsDerivedLine(1, "XLA Ops", false));
  EXPECT_FALSE(IsDerivedLine(1, "Stream #7", true));
  EXPECT_TRUE(IsDerivedLine(1, "Async XLA Ops", true));
  EXPECT_TRUE(IsDerivedLine(1, "_counters_", true));
  EXPECT_FALSE(IsDerivedLine(1, "Copy engine", true)) << "a queue of the device beside its streams";
  EXPECT_EQ(OrdinalOf("/device:GPU:12"), 12);
  EXPECT_EQ(OrdinalOf("/device:GPU:3 (x)"), 3);
  EXPECT_EQ(OrdinalOf("/device:GPU:"), std::nullopt);
  EXPECT_EQ(OrdinalOf("7"), std::nullopt);
  EXPECT_TRUE(IsDevicePlane("#Chip 0") && IsDevicePlane("/device:TPU:0"));
  EXPECT_FALSE(IsDevicePlane("/host:CPU"));
  EXPECT_TRUE(IsHostPlane("/host:CPU"));
  EXPECT_TRUE(IsBookkeeping("ThreadpoolListener::Record") && IsBookkeeping("end: x"));
  EXPECT_FALSE(IsBookkeeping("end:x"));
}

TEST(FileSteps, AreInTheOrderOfTimeAndEndAtTheNextOnesBegin) {
  trace::Builder builder;
  const trace::TrackId track =
      builder.AddTrack(builder.AddProcess("p"), trace::TrackKind::kThread).id();
  const trace::NameId name = builder.AddName({builder.Text("step"), trace::Kind::kStep});
  std::vector<FileStep> steps;
  for (const auto& [begin, end, number, open] :
       {std::tuple(300, 400, 3, true), std::tuple(100, 250, 1, false),
        std::tuple(200, 300, 2, false)}) {
    FileStep step = {};
    step.track = track;
    step.name = name;
    step.begin_ns = begin;
    step.end_ns = end;
    step.number = number;
    step.level = 3;
    step.open = open;
    steps.push_back(step);
  }
  EXPECT_EQ(PutSteps(&builder, steps), 1u) << "the first ends behind the second's begin";
  const trace::Trace trace = builder.Finish();
  std::vector<std::pair<int64_t, int64_t>> times;
  for (const trace::Step& step : trace.processes[0].steps) {
    times.emplace_back(step.number, step.begin_ns);
    EXPECT_EQ(step.open, step.number == 3);
    EXPECT_TRUE(step.open || step.end_ns == step.begin_ns + 100);
  }
  EXPECT_EQ(times, (std::vector<std::pair<int64_t, int64_t>>{{1, 100}, {2, 200}, {3, 300}}));
}

}  // namespace
}  // namespace crosscut::import
