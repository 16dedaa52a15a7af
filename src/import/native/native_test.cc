#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "src/format/log_reader.h"
#include "src/format/ring.h"
#include "src/import/importer.h"
#include "src/import/native/native_test_run.h"
#include "src/xspace/writer.h"

namespace crosscut::import {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
namespace fs = std::filesystem;

TEST_F(Native, ReadsNamesSpansAndFactsOfAProcess) {
  Words session = Session();
  session.Meta("pid", "77").Meta("script", "/somewhere/train.py").Meta("color", "blue");
  session.Meta("source:pytorch:state", "on").Meta("source:pytorch:version", "2.13");
  session.Name(0x100, "aten::mm", Attributes(format::kKindSpan, format::kLayerFramework, 0x102));
  session.Name(0x101, "forward", Attributes(format::kKindOperation, format::kLayerNone));
  session.Name(0x102, "op", Attributes(format::kKindText, format::kLayerNone));
  session.At(0, format::kProbeCost, {0x102, 10, 20, 25, 35, 100});
  session.At(900, format::kStop, {format::kStopExit});
  Words main;
  main.Thread(10, 1, format::kThreadIsMain | format::kLayerPython);
  main.At(100, 0x101).At(200, 0x100).At(200, format::kArg, {0x102, 5});
  main.At(300, format::kEnd).At(400, format::kEndNamed, {0x101});
  Write("p77-1", session, {main});
  const trace::Trace trace = Read();
  ASSERT_EQ(trace.processes.size(), 1u);
  const trace::Process& process = trace.processes[0];
  EXPECT_EQ(trace.command, "python 'a b.py'");
  EXPECT_EQ(process.pid, 77);
  EXPECT_EQ(trace.text(process.name), "train.py");
  EXPECT_TRUE(process.complete) << trace.text(process.why_incomplete);
  EXPECT_EQ(process.start_ns, 0);
  EXPECT_EQ(process.end_ns, 900);
  ASSERT_EQ(process.sources.size(), 1u);
  EXPECT_EQ(trace.text(process.sources[0].version), "2.13");
  ASSERT_EQ(process.probes.size(), 1u);
  EXPECT_EQ(process.probes[0].high_ps, 35);
  ASSERT_EQ(trace.tracks.size(), 1u);
  const trace::Track& track = trace.tracks[0];
  EXPECT_TRUE(track.main);
  EXPECT_EQ(track.os_id, 101);
  EXPECT_THAT(track.spans.begin_ns, ElementsAre(100, 200));
  EXPECT_THAT(track.spans.end_ns, ElementsAre(400, 300));
  const trace::Name& op = trace.name(track.spans.name[1]);
  EXPECT_EQ(op.layer, trace::Layer::kFramework);
  EXPECT_EQ(trace.text(op.probe), "op");
  ASSERT_EQ(track.args.size(), 1u);
  EXPECT_EQ((*track.args.of(1).begin()).value, 5);
  EXPECT_THAT(track.base, ElementsAre(trace::Layer::kPython));
  EXPECT_EQ(process.lead.value, 0u);
  EXPECT_FALSE(trace.damaged);
  ASSERT_EQ(process.clocks.size(), 1u);
  EXPECT_EQ(process.clocks[0].anchors, 2);
  EXPECT_EQ(process.clocks[0].error_ns, 20);
}

TEST_F(Native, AProcessThatDiedBeforeItsSecondAnchorHasItsClocksRateAllTheSame) {
  Words session;
  session.At(0, format::kAnchor, {format::kClockMonotonic, kFrom, 0, 10});
  session.Meta("ns_per_tick", "6/1");  // 3 ns
  session.Name(0x100, "work", Attributes(format::kKindSpan, format::kLayerNative));
  Words main;
  main.Thread(10, 1, format::kThreadIsMain).At(20, 0x100).At(60, format::kEnd);
  Write("p1-1", session, {main});
  const trace::Trace trace = Read();
  EXPECT_THAT(trace.tracks[0].spans.begin_ns, ElementsAre(30));
  EXPECT_THAT(trace.tracks[0].spans.end_ns, ElementsAre(90));
}

TEST_F(Native, TakesTheCallingLineOffANameThatSaysItHasOne) {
  Words session = Session();
  format::NameAttributes called = Attributes(format::kKindSpan, format::kLayerPython);
  called.flags = format::kFlagCalledAt;
  session.Name(0x100, "f (a.py:1)@41", called);
  session.Name(0x101, "f (a.py:1)@42", called);
  session.Name(0x102, "f (a.py:1)@43", Attributes(format::kKindSpan, format::kLayerPython));
  for (const char* text : {"f@", "f@0", "f@4x", "f@-4", "f@99999999999", "f"}) {
    session.Name(static_cast<uint32_t>(0x103 + session.words.size()), text, called);
  }
  Words main;
  main.Thread(0, 1, 0);
  for (uint64_t id = 0x100; id <= 0x102; ++id) main.At(10, id).At(20, format::kEnd);
  Write("p1-1", session, {main});
  const trace::Trace trace = Read();
  std::vector<std::string> texts;
  for (const trace::NameId id : trace.tracks[0].spans.name) {
    const trace::Name& name = trace.name(id);
    texts.push_back(std::string(trace.text(name.text)) + " " + std::to_string(name.called_at));
  }
  EXPECT_THAT(texts, ElementsAre("f (a.py:1) 41", "f (a.py:1) 42", "f (a.py:1)@43 0"));
  for (const trace::Name& name : trace.names) {
    if (name.called_at != 0) {
      EXPECT_EQ(trace.text(name.text), "f (a.py:1)");
    }
  }
}

TEST_F(Native, TakesTheOverloadOffANameThatSaysItHasOne) {
  Words session = Session();
  format::NameAttributes overloaded = Attributes(format::kKindSpan, format::kLayerFramework);
  overloaded.flags = format::kFlagOverloaded;
  const char* const texts[] = {"aten::add.Tensor", "aten::add.a.b", "aten::add", "aten::add.",
                               ".a"};
  uint32_t id = 0x100;
  for (const char* text : texts) session.Name(id++, text, overloaded);
  session.Name(id++, "train.py", Attributes(format::kKindSpan, format::kLayerFramework));
  Words main;
  main.Thread(0, 1, 0);
  for (uint64_t at = 0x100; at < id; ++at) main.At(10, at).At(20, format::kEnd);
  Write("p1-1", session, {main});
  const trace::Trace trace = Read();
  std::vector<std::string> got;
  for (const trace::NameId name : trace.tracks[0].spans.name) {
    got.push_back(std::string(trace.name_text(name)) + " " +
                  std::string(trace.text(trace.name(name).overload)));
  }
  EXPECT_THAT(got, ElementsAre("aten::add Tensor", "aten::add a.b", "aten::add ", "aten::add ",
                               ".a ", "train.py "));
}

TEST_F(Native, JoinsStepsAndKeepsThemOffTheStack) {
  Words session = Session();
  session.Name(0x100, "step", Attributes(format::kKindStep, format::kLayerNone));
  session.Name(0x101, "f", Attributes(format::kKindSpan, format::kLayerNative));
  session.At(900, format::kStop, {format::kStopExit});
  Words main;
  main.Thread(0, 1, format::kThreadIsMain);
  main.At(100, 0x100).At(100, format::kStepLevel, {0, 3}).At(150, 0x101);
  main.At(200, 0x100).At(200, format::kStepLevel, {1, format::kStepAfterSwitch});
  main.At(300, format::kEnd).At(400, format::kEndNamed, {0x100});
  Write("p1-1", session, {main});
  const trace::Trace trace = Read();
  const auto& steps = trace.processes[0].steps;
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].end_ns, 200);
  EXPECT_EQ(steps[0].level, 3);
  EXPECT_EQ(steps[1].level, 0);
  EXPECT_TRUE(steps[1].after_switch);
  EXPECT_EQ(steps[1].end_ns, 400);
  EXPECT_THAT(trace.tracks[0].spans.end_ns, ElementsAre(300));
}

TEST_F(Native, LeavesOutTheFoundStepThatTheProgramsFirstOneCutsOff) {
  Words session = Session();
  format::NameAttributes found = Attributes(format::kKindStep, format::kLayerNone);
  session.Name(0x101, "step", found);
  found.flags = format::kFlagFound;
  session.Name(0x100, "step", found);
  session.At(900, format::kStop, {format::kStopExit});
  Words main;
  main.Thread(0, 1, format::kThreadIsMain);
  for (const uint64_t at : {100, 200, 300}) main.At(at, 0x100);
  for (const uint64_t at : {310, 400}) main.At(at, 0x101);
  Write("p1-1", session, {main});
  const trace::Trace trace = Read();
  std::vector<int64_t> begins, ends;
  for (const trace::Step& step : trace.processes[0].steps) {
    begins.push_back(step.begin_ns);
    ends.push_back(step.end_ns);
  }
  EXPECT_THAT(begins, ElementsAre(100, 200, 310, 400));
  EXPECT_THAT(ends, ElementsAre(200, 300, 400, 400)) << "of the last one nothing is known";
}

TEST_F(Native, SpansThatGoOnArePartsOfOne) {
  Words session = Session();
  auto attributes = Attributes(format::kKindOperation, format::kLayerNone);
  session.Name(0x100, "serve", attributes);
  attributes.flags |= format::kFlagGoesOn;
  session.Name(0x101, "serve", attributes);
  session.At(900, format::kStop, {format::kStopExit});
  Words main;
  main.Thread(10, 1, format::kThreadIsMain | format::kLayerPython);
  main.At(100, 0x100).At(200, format::kEndNamed, {0x100});
  main.At(300, 0x101).At(400, format::kEndNamed, {0x101});
  Write("p1-1", session, {main});
  const trace::Trace trace = Read();
  const trace::Spans& spans = trace.tracks[0].spans;
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans.name[0], spans.name[1]);
  EXPECT_THAT(spans.continued, ElementsAre(1u));
  EXPECT_EQ(trace.tracks[0].unbalanced, 0);
  EXPECT_THAT(trace.gaps, ::testing::IsEmpty());
}

TEST_F(Native, TheLogTellsWhichSpanGoesOn) {
  Words session = Session();
  auto attributes = Attributes(format::kKindOperation, format::kLayerNone);
  session.Name(0x100, "serve", attributes);
  attributes.flags |= format::kFlagGoesOn;
  session.Name(0x101, "serve", attributes);
  session.At(900, format::kStop, {format::kStopExit});
  Words main;
  main.Thread(10, 1, format::kThreadIsMain | format::kLayerPython);
  for (const uint64_t at : {100, 200}) {
    main.At(at, 0x100).At(at + 10, 0x100);  // one in another
    main.At(at + 50, format::kEndNamed, {0x100}).At(at + 50, format::kEndNamed, {0x100});
  }
  main.At(300, 0x101).At(300, format::kGoesOnWith, {TickOf(250), 1});
  main.At(310, 0x101).At(310, format::kGoesOnWith, {TickOf(150), 0});
  main.At(320, 0x101).At(320, format::kGoesOnWith, {TickOf(250), 0});
  const uint64_t damaged = uint64_t{1} << 32;
  main.At(330, 0x101).At(330, format::kGoesOnWith, {TickOf(150), damaged});
  Write("p1-1", session, {main});
  const trace::Trace trace = Read();
  EXPECT_THAT(trace.tracks[0].spans.continued, ElementsAre(4u, 5u, 6u, 7u));
  EXPECT_THAT(trace.tracks[0].spans.parts_before, ElementsAre(2u, 1u, 3u, 0u));
}

// Key -> name of each process.
std::map<std::string, std::string> NamesByKey(const trace::Trace& trace) {
  std::map<std::string, std::string> names;
  for (const trace::Process& process : trace.processes) {
    names.emplace(trace.text(process.key), trace.text(process.name));
  }
  return names;
}

TEST_F(Native, AChildHasItsParentsNameWhereItRunsItsProgram) {
  Words parent = Session();
  parent.Meta("script", "a.py");
  Write("p1-1", parent, {});
  int number = 2;
  for (const char* method : {"fork", "spawn", "subprocess"}) {
    Words child = Session();
    child.Meta("parent_key", "p1-1").Meta("start_method", method).Meta("argv0", "/bin/tool");
    Write("p" + std::to_string(number) + "-1", child, {});
    ++number;
  }
  Words code = Session();
  code.Meta("parent_key", "p1-1").Meta("start_method", "subprocess").Meta("code", "-c import x");
  Write("p5-1", code, {});
  EXPECT_THAT(NamesByKey(Read()),
              ElementsAre(Pair("p1-1", "a.py"), Pair("p2-1", "a.py"), Pair("p3-1", "a.py"),
                          Pair("p4-1", "tool"), Pair("p5-1", "python -c import x")));
}

// A rank's loader has its environment, and the rank itself states more once its group is there.
TEST_F(Native, ARankHasItsNameWhateverItsHelpersInherit) {
  const auto state = [](Words* words, const char* rank, const char* size, const char* from) {
    words->Meta("rank", rank).Meta("world_size", size).Meta("rank_from", from);
  };
  Words agent = Session();  // a launcher on one of two hosts
  agent.Meta("script", "agent.py");
  state(&agent, "0", "2", "SLURM_PROCID");
  Write("p1-1", agent, {});
  Words rank = Session();
  rank.Meta("script", "a.py").Meta("parent_key", "p1-1").Meta("start_method", "subprocess");
  state(&rank, "0", "2", "RANK");
  state(&rank, "0", "2", "torch.distributed");
  Write("p2-1", rank, {});
  for (const char* key : {"p3-1", "p4-1"}) {
    Words helper = Session();
    helper.Meta("parent_key", "p2-1").Meta("start_method", key[1] == '3' ? "fork" : "spawn");
    state(&helper, "0", "2", "RANK");
    Write(key, helper, {});
  }
  EXPECT_THAT(NamesByKey(Read()), ElementsAre(Pair("p1-1", "agent.py"), Pair("p2-1", "rank 0"),
                                              Pair("p3-1", "a.py"), Pair("p4-1", "a.py")));
}

TEST_F(Native, LinksParentsFlowsCountersAndLosses) {
  Words session = Session();
  session.Meta("script", "a.py");
  session.Name(0x100, "f", Attributes(format::kKindSpan, format::kLayerNative));
  const uint64_t shared = uint64_t{1} << 63 | 9;
  Words main;
  main.Thread(0, 1, 0).At(100, 0x100).At(110, format::kFlowOut, {shared}).At(120, format::kEnd);
  main.At(130, format::kCounter, {0x100, 42});
  main.At(300, format::kDrop, {format::kDropFull, 7, TickOf(200), TickOf(280)});
  Write("p1-1", session, {main});
  Words child = Session();
  child.Meta("parent_key", "p1-1").Meta("start_method", "fork");
  child.Name(0x100, "g", Attributes(format::kKindSpan, format::kLayerNative));
  Words thread;
  thread.Thread(150, 1, 0).At(160, 0x100).At(170, format::kFlowIn, {shared}).At(180, format::kEnd);
  thread.At(400, format::kThreadEnd);
  Write("p2-2", child, {thread});
  const trace::Trace trace = Read();
  ASSERT_EQ(trace.processes.size(), 2u);
  const size_t forked = trace.text(trace.processes[1].key) == "p2-2" ? 1 : 0;
  EXPECT_EQ(trace.processes[forked].parent.value, 1 - forked);
  EXPECT_EQ(trace.text(trace.processes[forked].name), "a.py");
  ASSERT_EQ(trace.flows.size(), 1u);
  EXPECT_NE(trace.flows[0].from_track, trace.flows[0].to_track);
  EXPECT_EQ(trace.counters.at(0).value.at(0), 42);
  for (const trace::Track& track : trace.tracks) {
    const bool is_child = track.process.value == forked;
    ASSERT_EQ(track.losses.size(), is_child ? 0u : 1u);
    if (is_child) {
      EXPECT_EQ(track.end_ns, 400);
    } else {
      EXPECT_EQ(track.losses[0].count, 7);
    }
  }
}

TEST_F(Native, SpansCalledAlikeHaveTheirOwnArgumentsAndThoseOfTheObject) {
  Words session = Session();
  session.Name(0x100, "op", Attributes(format::kKindSpan, format::kLayerFramework));
  session.Name(0x101, "{}", Attributes(format::kKindText, format::kLayerNone));
  session.Name(0x102, R"({"dims": [2, 3], "n": 4})",
               Attributes(format::kKindText, format::kLayerNone));
  session.Name(0x103, "bytes", Attributes(format::kKindText, format::kLayerNone));
  std::vector<Words> threads(2);
  for (uint64_t t = 0; t < 2; ++t) {
    threads[t].Thread(0, t + 1, 0);
    for (const uint64_t at : {100, 200, 300, 400}) {
      threads[t].At(at, 0x100);
      if (at == 300) threads[t].At(at, format::kArg, {0x103, 1});
      threads[t].At(at, format::kArgName, {0x101, 0x102});
      if (at == 200) threads[t].At(at, format::kArg, {0x103, 2});
      threads[t].At(at + 50, format::kEnd);
    }
  }
  Write("p1", session, threads);
  const trace::Trace trace = Read();
  ASSERT_EQ(trace.tracks.size(), 2u);
  for (const trace::Track& track : trace.tracks) {
    std::vector<std::string> found;
    for (trace::SpanIndex i = 0; i < track.spans.size(); ++i) {
      std::string& text = found.emplace_back();
      for (const trace::Arg& arg : track.args.of(i)) {
        text += std::string(trace.text(arg.key)) + "=" +
                (arg.is_text ? std::string(trace.text(arg.text())) : std::to_string(arg.value)) +
                " ";
      }
    }
    EXPECT_THAT(found, ElementsAre("dims=[2, 3] n=4 ", "dims=[2, 3] n=4 bytes=2 ",
                                   "bytes=1 dims=[2, 3] n=4 ", "dims=[2, 3] n=4 "));
  }
}

TEST_F(Native, GoesOnBehindADamagedPlaceAndTells) {
  Words session = Session();
  session.Name(0x100, "f", Attributes(format::kKindSpan, format::kLayerNative));
  std::vector<Words> threads(2);
  threads[0].Thread(0, 1, 0);
  threads[1].Thread(0, 2, 0);
  for (uint64_t i = 0; i < 400; ++i) {
    for (Words& words : threads) words.At(2 * i, 0x100).At(2 * i + 1, format::kEnd);
  }
  Write("p1-1", session, threads);
  const fs::path log = dir_ / "p1-1.crosscut";
  const auto size = static_cast<std::streamoff>(fs::file_size(log));
  const std::vector<format::LogChunk> chunks = (*format::LogReader::Open(log.string()))->chunks();
  ASSERT_EQ(chunks.size(), 3u);  // the session, and a chunk for each thread
  // Of what is left at each place: all but what the damaged chunk held. Without the names of the
  // session's chunk events count as told of something that was never introduced. Chunks are found
  // by the index or, where that is damaged, too, one behind the other.
  for (const bool index : {true, false}) {
    for (std::streamoff at = format::kLogHeaderBytes; at < size - 16; at += 3) {
      SCOPED_TRACE(::testing::Message() << at << (index ? ", with the index" : ""));
      const auto flip = [&] {
        std::fstream file(log, std::ios::in | std::ios::out | std::ios::binary);
        for (const std::streamoff place : {at, size - 8}) {
          if (place != at && index) continue;
          const int was = file.seekg(place).get();
          file.seekp(place).put(static_cast<char>(was ^ 0x5a));
        }
      };
      flip();
      const trace::Trace trace = Read();
      flip();
      const auto tells = [&trace](std::string_view words) {
        return std::any_of(trace.gaps.begin(), trace.gaps.end(), [words](const auto& gap) {
          return gap.find("p1-1") != std::string::npos && gap.find(words) != std::string::npos;
        });
      };
      const auto hit = std::find_if(chunks.begin(), chunks.end(), [at](const auto& chunk) {
        const auto place = static_cast<uint64_t>(at);
        return chunk.offset <= place &&
               place < chunk.offset + format::kChunkHeaderBytes + chunk.bytes;
      });
      EXPECT_EQ(trace.damaged, tells("damaged"));
      if (hit != chunks.end()) {
        EXPECT_TRUE(trace.damaged);
      }
      const bool nameless = hit != chunks.end() && hit->type == format::kChunkSession;
      EXPECT_EQ(tells("800 events name something that was never introduced"), nameless);
      if (nameless) continue;
      size_t spans = 0;
      for (const trace::Track& track : trace.tracks) {
        for (size_t i = 0; i < track.spans.size(); ++i, ++spans) {
          ASSERT_EQ(track.spans.begin_ns[i], static_cast<int64_t>(2 * i));
          ASSERT_LE(track.spans.end_ns[i] - track.spans.begin_ns[i], 1);  // a tick is 2 ns
        }
      }
      ASSERT_EQ(spans, hit == chunks.end() ? 800u : 400u);  // the other thread's
    }
  }
}

TEST_F(Native, SaysWhatIsNoRun) {
  EXPECT_EQ(Import((dir_ / "nothing").string()).status().code(), Status::Code::kNotFound);
  std::ofstream(dir_ / "x") << "hello";
  EXPECT_EQ(Import((dir_ / "x").string()).status().code(), Status::Code::kInvalid);
}

// What plugins push stands on tracks of their devices, at times of the devices' clocks.
TEST_F(Native, PutsPushedEventsOnTheirTracksByTheTracksClocks) {
  Words session = Session();
  session.Name(0x100, "launch", Attributes(format::kKindSpan, format::kLayerRuntime));
  session.Name(0x101, "kernel", Attributes(format::kKindSpan, format::kLayerDevice));
  session.Name(0x102, "bytes", Attributes(format::kKindText, format::kLayerNone));
  session.Name(0x103, "Queue 7", Attributes(format::kKindText, format::kLayerNone));
  session.Name(0x104, "CHIP", Attributes(format::kKindText, format::kLayerNone));
  session.At(0, format::kTrack, {50, 3, 7, 16, 0x103, 0x104});
  session.At(0, format::kTrack, {51, 3, 8, format::kClockMonotonic, 0x103, 0});
  // The chip's clock runs at half speed from 1,000,000.
  session.At(10, format::kAnchor, {16, 1'000'000, 0, 25});
  session.At(900, format::kAnchor, {16, 1'000'500, 1000, 25});
  session.Meta("clock:16", "chip: counter");
  Words thread;
  thread.Thread(0, 1, format::kThreadIsMain);
  thread.At(100, 0x100).At(110, format::kFlowOut, {5}).At(120, format::kEnd);
  thread.At(700, format::kSpanOn, {50, 0x101, 1'000'150, 1'000'250});
  thread.At(700, format::kArgOn, {50, 0x102, 64}).At(700, format::kFlowOn, {50, 5});
  thread.At(710, format::kSpanOn, {50, 0x101, 1'000'050, 1'000'100});  // told late
  thread.At(720, format::kInstantOn, {51, 0x101, 640});
  thread.At(720, format::kCounterOn, {51, 0x101, 650, 9});
  thread.At(730, format::kDropOn, {50, 3, 1'000'300, 1'000'400});
  thread.At(740, format::kDropOn, {0, 2, 500, 600});
  thread.At(745, format::kDropOn, {0, UINT64_MAX, UINT64_MAX, 600});  // damaged
  thread.At(750, format::kSpanOn, {99, 0x101, 1, 2});                 // nobody declared that track
  Write("p1", session, {thread});
  const trace::Trace trace = Read();
  ASSERT_EQ(trace.tracks.size(), 3u);
  const auto device = std::find_if(trace.tracks.begin(), trace.tracks.end(), [](const auto& t) {
    return t.kind == trace::TrackKind::kDevice && t.os_id == 7;
  });
  ASSERT_NE(device, trace.tracks.end());
  EXPECT_EQ(device->device, 3);
  EXPECT_EQ(trace.text(device->name), "Queue 7");
  EXPECT_EQ(trace.text(device->device_name), "CHIP");
  EXPECT_EQ(device->spans.begin_ns, (trace::Column<int64_t>{100, 300}));
  EXPECT_EQ(device->spans.end_ns, (trace::Column<int64_t>{200, 500}));
  ASSERT_EQ(device->args.size(), 1u);
  EXPECT_EQ((*device->args.of(1).begin()).value, 64);
  ASSERT_EQ(device->losses.size(), 1u);
  EXPECT_EQ(device->losses[0].count, 3);
  EXPECT_EQ(device->losses[0].begin_ns, 600);
  ASSERT_EQ(trace.flows.size(), 1u);
  EXPECT_EQ(trace.flows[0].to, 1u);
  EXPECT_EQ(trace.flows[0].to_ns, 300);
  ASSERT_EQ(trace.counters.size(), 1u);
  EXPECT_EQ(trace.counters[0].at_ns[0], 650);
  const auto host = std::find_if(trace.tracks.begin(), trace.tracks.end(),
                                 [](const auto& t) { return t.kind == trace::TrackKind::kThread; });
  ASSERT_EQ(host->losses.size(), 2u);
  EXPECT_EQ(host->losses[0].end_ns, 600);
  EXPECT_GT(host->losses[1].count, 0);
  EXPECT_GE(host->losses[1].end_ns, host->losses[1].begin_ns);
  const trace::Clock& clock = trace.processes[0].clocks[0];
  EXPECT_EQ(trace.text(clock.name), "chip: counter");
  EXPECT_EQ(clock.anchors, 2);
  EXPECT_EQ(clock.error_ns, 25);
  EXPECT_TRUE(trace.damaged) << "the event on an undeclared track is told";
}

TEST_F(Native, TakesInTheProfilesThatSourcesCollected) {
  constexpr int64_t kEpoch = 1'800'000'000'000'000'000;  // CLOCK_REALTIME at trace time 0
  Words session = Session();
  session.At(0, format::kAnchor, {format::kClockRealtime, TickOf(0), kEpoch, 40});
  session.Meta("collected:0",
               "xspace\tchip\tp1.chip-0.xplane.pb\t" + std::to_string(kEpoch + 100) + "\t55");
  session.Meta("collected:1", "xspace\tgone\tp1.gone-1.xplane.pb\t0\t0");
  session.Meta("collected:2", "xspace\tevil\t../../etc/passwd\t0\t0");
  Words thread;
  thread.Thread(0, 1, format::kThreadIsMain);
  Write("p1", session, {thread});
  xspace::SpaceWriter space;
  xspace::PlaneWriter& plane = space.AddPlane(100, "/device:CUSTOM:chip");
  const int64_t kernel = plane.EventName("kernel");
  plane.AddLine(1, "Queue 1", kEpoch + 200).Event(kernel, 0, 50'000);
  plane.AddLine(2, "Queue 2", 300).Event(kernel, 1'000, 7'000);  // from the profile's begin
  // Lines of two planes have the same id.
  for (const char* name : {"/host:compiler", "/host:runtime"}) {
    xspace::PlaneWriter& host = space.AddPlane(1, name);
    host.AddLine(1, "worker", kEpoch + 500).Event(host.EventName("call"), 0, 20'000);
  }
  space.AddWarning("5 kernels were dropped");
  std::ofstream(dir_ / "p1.chip-0.xplane.pb") << *space.Finish() << std::string(16, '\0');
  const trace::Trace trace = Read();
  std::vector<std::pair<int64_t, int64_t>> spans;
  for (const trace::Track& track : trace.tracks) {
    for (size_t i = 0; i < track.spans.size(); ++i) {
      spans.emplace_back(track.spans.begin_ns[i], track.spans.end_ns[i]);
    }
  }
  using Span = std::pair<int64_t, int64_t>;
  EXPECT_THAT(spans, testing::UnorderedElementsAre(Span{200, 250}, Span{401, 408}, Span{500, 520},
                                                   Span{500, 520}));
  EXPECT_THAT(trace.gaps, testing::Contains(testing::HasSubstr("gone")));
  EXPECT_THAT(trace.gaps, testing::Contains(testing::HasSubstr("evil")));
  EXPECT_THAT(
      trace.gaps,
      testing::Contains(testing::HasSubstr("chip says of its profile: 5 kernels were dropped.")));
  EXPECT_TRUE(trace.processes[0].profiled_beside);
}

// "<ns> <what> <bytes> of <total>" of every instant on the track.
std::vector<std::string> MemoryOf(const trace::Trace& trace, const trace::Track& track) {
  std::vector<std::string> out;
  for (uint32_t i = 0; i < track.instants.at_ns.size(); ++i) {
    std::map<std::string_view, int64_t> values;
    for (const trace::Arg& arg : track.instant_args.of(i)) values[trace.text(arg.key)] = arg.value;
    out.push_back(std::to_string(track.instants.at_ns[i]) + " " +
                  std::string(trace.name_text(track.instants.name[i])) + " " +
                  std::to_string(values["Device Type"]) + ":" +
                  std::to_string(values["Device Id"]) + " " + std::to_string(values["Bytes"]) +
                  " of " + std::to_string(values["Total Allocated"]) + "/" +
                  std::to_string(values["Total Reserved"]));
  }
  return out;
}

TEST_F(Native, SizesAndTotalsOfMemoryComeFromAllThreads) {
  Words session = Session();
  session.Name(0x100, "mark", Attributes(format::kKindSpan, format::kLayerNone));
  const uint64_t gpu = format::MemoryDevice(1, 3);
  Words main;
  main.Thread(0, 1, format::kThreadIsMain);
  main.At(10, format::kAllocated, {0xa000, 100}).At(30, format::kAllocated, {0xb000, 50});
  main.At(36, format::kInstant, {0x100});
  main.At(60, format::kFreed, {0xc000});                // from before the recording
  main.At(90, format::kFreedAt, {0xb000, TickOf(50)});  // told late
  main.At(100, format::kAllocated, {0xd000, 7}).At(110, format::kAllocated, {0xd000, 8});
  main.At(120, format::kNoMemory, {format::MemoryDevice(0, -1), 1000, 0, 0});
  Words other;
  other.Thread(20, 2, 0).At(40, format::kFreed, {0xa000});
  other.At(70, format::kMemory, {gpu, 0xa000, 512, 4096, 8192});
  other.At(80, format::kMemory, {gpu, 0xa000, static_cast<uint64_t>(-512), 3584, 8192});
  Write("p1", session, {main, other});
  const trace::Trace trace = Read();
  EXPECT_THAT(MemoryOf(trace, trace.tracks[0]),
              ElementsAre("10 [memory] 0:-1 100 of 100/0", "30 [memory] 0:-1 50 of 150/0",
                          "36 mark 0:0 0 of 0/0", "50 [memory] 0:-1 -50 of 0/0",
                          "100 [memory] 0:-1 7 of 7/0", "110 [memory] 0:-1 -7 of 0/0",
                          "110 [memory] 0:-1 8 of 8/0", "120 [OutOfMemory] 0:-1 1000 of 8/0"));
  EXPECT_THAT(MemoryOf(trace, trace.tracks[1]),
              ElementsAre("40 [memory] 0:-1 -100 of 50/0", "70 [memory] 1:3 512 of 4096/8192",
                          "80 [memory] 1:3 -512 of 3584/8192"));
  ASSERT_EQ(trace.counters.size(), 2u);
  EXPECT_EQ(trace.name_text(trace.counters[0].name), "allocated bytes, cpu");
  EXPECT_THAT(trace.counters[1].value, ElementsAre(4096, 3584));
  EXPECT_THAT(trace.gaps,
              testing::Contains(HasSubstr("1 block of memory was freed unseen: it counts")));
  EXPECT_FALSE(trace.damaged);
}

TEST_F(Native, BlocksThatAreHeldWhenAllocationsAreRecordedNoMoreCountAsFreedThere) {
  Words session = Session();
  session.Meta("source:allocations:state", "on");
  session.At(100, format::kMeta, {24, 3, 0});
  for (const char* text : {"source:a", "llocatio", "ns:state", "off"}) {
    uint64_t word = 0;
    std::memcpy(&word, text, strlen(text));
    session.words.push_back(word);
  }
  const uint64_t gpu = format::MemoryDevice(1, 3);
  Words main;
  main.Thread(0, 1, format::kThreadIsMain);
  main.At(10, format::kAllocated, {0xa000, 100}).At(30, format::kAllocated, {0xb000, 50});
  main.At(40, format::kMemory, {gpu, 0xc000, 512, 4096, 8192}).At(50, format::kFreed, {0xa000});
  main.At(60, format::kMemory, {gpu, 0xd000, 100, 4196, 8192});
  main.At(70, format::kMemory, {gpu, 0xd000, static_cast<uint64_t>(-100), 3000, 8192});
  main.At(200, format::kAllocated, {0xa000, 8});
  Write("p1", session, {main});
  const trace::Trace trace = Read();
  EXPECT_THAT(MemoryOf(trace, trace.tracks[0]),
              ElementsAre("10 [memory] 0:-1 100 of 100/0", "30 [memory] 0:-1 50 of 150/0",
                          "40 [memory] 1:3 512 of 4096/8192", "50 [memory] 0:-1 -100 of 50/0",
                          "60 [memory] 1:3 100 of 4196/8192", "70 [memory] 1:3 -100 of 3000/8192",
                          "100 [memory] 0:-1 -50 of 0/0", "100 [memory] 1:3 -512 of 2488/8192",
                          "200 [memory] 0:-1 8 of 8/0"));
  EXPECT_THAT(trace.gaps, testing::Contains(HasSubstr(
                              "2 blocks of memory were held when allocations were recorded no "
                              "more: they count as freed there")));
}

}  // namespace
}  // namespace crosscut::import
