// The session's state machine, through the C API, against a model of it.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "crosscut/crosscut.h"
#include "src/base/testing/folder.h"
#include "src/format/ring.h"
#include "src/format/run_reader.h"
#include "src/runtime/process_log.h"
#include "src/runtime/settings.h"

namespace {

class SessionTest : public testing::Test {
 protected:
  SessionTest() {
    options_.struct_size = sizeof options_;
    options_.run_dir = run_.c_str();
    options_.memory_bytes = 4 << 20;
    options_.control_percent = 50;
    options_.seed = 1;
  }
  ~SessionTest() override { crosscut_stop(); }
  crosscut::base::TestFolder folder_;
  const std::string dir_ = folder_.path(), run_ = dir_ + "/run";
  crosscut_options options_ = {};
};

struct Model {
  bool open = false, paused = false;
};

TEST_F(SessionTest, RandomCallsAnswerAsTheModelDoes) {
  std::mt19937 random(1);
  Model model;
  const uint32_t name = crosscut_intern("x", 1, CROSSCUT_SPAN, CROSSCUT_NATIVE, 0, 0);
  for (int i = 0; i < 20'000; ++i) {
    const int off = model.open ? CROSSCUT_OK : CROSSCUT_ENOTRUNNING;
    switch (random() % 9) {
      case 0:
        EXPECT_EQ(crosscut_start(&options_), model.open ? CROSSCUT_ERUNNING : CROSSCUT_OK);
        model.open = true;
        break;
      case 1:
        EXPECT_EQ(crosscut_stop(), off);
        model = {};
        break;
      case 2:
        EXPECT_EQ(crosscut_pause(), off);
        model.paused = model.open;
        break;
      case 3:
        EXPECT_EQ(crosscut_resume(), off);
        model.paused = false;
        break;
      case 4: crosscut_begin(name); break;
      case 5: crosscut_end(); break;
      case 6: crosscut_end_named(name); break;
      case 7: crosscut_step(0); break;
      case 8: crosscut_step_end(); break;
    }
    ASSERT_EQ(crosscut_active(), model.open) << i;
  }
}

struct Levels {
  int level = CROSSCUT_LEVEL_CONTROL;
  int calls = 0, calibrations = 0;
  bool marked_while_calibrating = false;
};

TEST_F(SessionTest, ARunThatFollowsALossyOneIsWritten) {
  const uint32_t name = crosscut_intern("x", 1, CROSSCUT_SPAN, CROSSCUT_NATIVE, 0, 0);
  options_.control_percent = 0;
  ASSERT_EQ(crosscut_start(&options_), CROSSCUT_OK);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([name] {
      for (int i = 0; i < 500'000; ++i) {
        crosscut_begin(name);
        crosscut_end();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  crosscut_stop();
  const std::string second = dir_ + "/second";
  options_.run_dir = second.c_str();
  ASSERT_EQ(crosscut_start(&options_), CROSSCUT_OK);
  crosscut_begin(name);
  crosscut_end();
  EXPECT_EQ(crosscut_snapshot(), CROSSCUT_OK) << crosscut_error();
  crosscut_stop();
}

uint64_t BeginsIn(const std::string& dir, uint32_t name) {
  uint64_t begins = 0;
  const auto run = crosscut::format::RunReader::Open(dir);
  EXPECT_TRUE(run.ok()) << run.status().message();
  for (crosscut::format::ProcessReader* process : (*run)->processes()) {
    EXPECT_FALSE(process->info().has_ring);
    const auto status = process->ForEachEvents([&](const crosscut::format::WordBatch& batch) {
      for (size_t at = 0; at < batch.words.size();
           at += crosscut::format::EventLength(batch.words, at)) {
        begins += (batch.words[at] & crosscut::format::kCodeMask) == name;
      }
      return crosscut::Status();
    });
    EXPECT_TRUE(status.ok()) << status.message();
  }
  return begins;
}

TEST_F(SessionTest, WhatIsCopiedAfterAFlushIsWhole) {
  options_.control_percent = 0;
  const uint32_t name = crosscut_intern("copied", 6, CROSSCUT_SPAN, CROSSCUT_NATIVE, 0, 0);
  uint64_t marked = 0;
  for (const bool stopped : {false, true, true, false, true}) {
    ASSERT_EQ(crosscut_start(&options_), CROSSCUT_OK) << crosscut_error();
    for (int i = 0; i < 100; ++i, ++marked) {
      crosscut_begin(name);
      crosscut_end();
    }
    if (stopped) crosscut_stop();
    ASSERT_EQ(crosscut_flush(), CROSSCUT_OK) << crosscut_error();
    const std::string copy = dir_ + "/copy" + std::to_string(marked);
    std::filesystem::copy(run_, copy, std::filesystem::copy_options::recursive);
    EXPECT_EQ(BeginsIn(copy, name), marked);
    crosscut_stop();
  }
}

TEST_F(SessionTest, SourcesFollowTheStepPlanAndEndWithdrawn) {
  Levels levels;
  crosscut_source source = {};
  source.struct_size = sizeof source;
  source.name = "test";
  source.self = &levels;
  source.set_level = [](void* self, crosscut_level level) {
    static_cast<Levels*>(self)->level = level;
    ++static_cast<Levels*>(self)->calls;
    return crosscut_start(nullptr) == CROSSCUT_ERUNNING ? 0 : 1;  // re-entry is refused
  };
  source.calibrate = [](void* self) {
    ++static_cast<Levels*>(self)->calibrations;
    static_cast<Levels*>(self)->marked_while_calibrating = crosscut_recording() != 0;
  };
  const int handle = crosscut_source_add(&source);
  ASSERT_GT(handle, 0) << crosscut_error();
  EXPECT_EQ(levels.calls, 0);
  ASSERT_EQ(crosscut_start(&options_), CROSSCUT_OK) << crosscut_error();
  EXPECT_EQ(levels.level, CROSSCUT_LEVEL_EVERYTHING);
  EXPECT_EQ(levels.calibrations, 1);
  EXPECT_FALSE(levels.marked_while_calibrating);
  bool control = false, recorded = false;
  for (int i = 0; i < 60; ++i) {
    crosscut_step(0);
    control = control || levels.level == CROSSCUT_LEVEL_CONTROL;
    recorded = recorded || levels.level == CROSSCUT_LEVEL_EVERYTHING;
  }
  EXPECT_TRUE(control);
  EXPECT_TRUE(recorded);
  EXPECT_EQ(crosscut_stop(), CROSSCUT_OK);
  EXPECT_EQ(levels.level, CROSSCUT_LEVEL_CONTROL);
  crosscut_source_remove(handle);
}

std::atomic<bool> passes, removed;

// Whether the ring of a removed run is there at the end, where the drain is in the middle of a
// pass.
bool RingStays(const crosscut_options& options) {
  crosscut::record::Settings settings;
  crosscut::record::ProcessLog log;
  const auto pass = [] {
    passes = true;
    while (!removed) usleep(1000);
    usleep(300'000);
  };
  if (FillSettings(&options, crosscut::record::kPlanOfRuns, &settings) != CROSSCUT_OK) return true;
  if (log.Open(settings, {nullptr, pass, nullptr, nullptr}) != CROSSCUT_OK) return true;
  const std::string ring = crosscut::format::RingPath("/dev/shm", getpid(), log.header()->nonce);
  if (access(ring.c_str(), F_OK) != 0) return true;
  while (!passes) usleep(1000);
  std::filesystem::remove_all(options.run_dir);
  removed = true;
  log.LeaveFiles(/*recorded=*/true);
  return access(ring.c_str(), F_OK) == 0;
}

TEST_F(SessionTest, TheRingOfARemovedRunGoesWithItsProcessHoweverLateTheDrainIs) {
  const pid_t child = fork();
  if (child == 0) _exit(RingStays(options_) ? 1 : 0);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// From a control step on, which it ends, until the next step behind it.
TEST_F(SessionTest, WhileTheWholeIsAskedForEveryStepIsRecordedWhateverThePlanSays) {
  int level = CROSSCUT_LEVEL_CONTROL;
  crosscut_source source = {};
  source.struct_size = sizeof source;
  source.name = "test";
  source.self = &level;
  source.set_level = [](void* self, crosscut_level now) {
    *static_cast<int*>(self) = now;
    return 0;
  };
  const int handle = crosscut_source_add(&source);
  EXPECT_EQ(crosscut_whole(1), CROSSCUT_ENOTRUNNING);
  ASSERT_EQ(crosscut_start(&options_), CROSSCUT_OK) << crosscut_error();
  for (int i = 0; i < 200 && crosscut_in_control() == 0; ++i) crosscut_step(0);
  ASSERT_EQ(crosscut_in_control(), 1);
  EXPECT_EQ(crosscut_whole(1), CROSSCUT_OK);
  EXPECT_EQ(crosscut_in_control(), 0);
  EXPECT_EQ(level, CROSSCUT_LEVEL_EVERYTHING);
  for (int i = 0; i < 200; ++i) {
    crosscut_step(0);
    EXPECT_EQ(level, CROSSCUT_LEVEL_EVERYTHING);
  }
  EXPECT_EQ(crosscut_whole(0), CROSSCUT_OK);
  for (int i = 0; i < 200 && crosscut_in_control() == 0; ++i) crosscut_step(0);
  EXPECT_EQ(crosscut_in_control(), 1);
  EXPECT_EQ(crosscut_pause(), CROSSCUT_OK);
  EXPECT_EQ(crosscut_whole(1), CROSSCUT_ENOTRUNNING);
  EXPECT_EQ(crosscut_stop(), CROSSCUT_OK);
  // The next session begins without it.
  ASSERT_EQ(crosscut_start(&options_), CROSSCUT_OK) << crosscut_error();
  for (int i = 0; i < 200 && crosscut_in_control() == 0; ++i) crosscut_step(0);
  EXPECT_EQ(crosscut_in_control(), 1);
  EXPECT_EQ(crosscut_stop(), CROSSCUT_OK);
  crosscut_source_remove(handle);
}

// Of steps that cost more than the budget has.
TEST_F(SessionTest, SourcesThatKnowMarksGoOnInStepsThatAreLeftOut) {
  const uint32_t name = crosscut_intern("dear", 4, CROSSCUT_SPAN, CROSSCUT_NATIVE, 0, 0);
  options_.control_percent = 4;
  options_.plan = "balanced";
  options_.budget_percent = 0.5;
  int levels[3] = {};
  int handles[3];
  for (int i = 0; i < 3; ++i) {
    crosscut_source source = {};
    source.struct_size = i == 0 ? offsetof(crosscut_source, marks) : sizeof source;
    source.name = "test";
    source.self = &levels[i];
    source.set_level = [](void* self, crosscut_level level) {
      *static_cast<int*>(self) = level;
      return 0;
    };
    source.marks = i != 1 ? 1 : 0;
    handles[i] = crosscut_source_add(&source);
    ASSERT_GT(handles[i], 0) << crosscut_error();
  }
  ASSERT_EQ(crosscut_start(&options_), CROSSCUT_OK) << crosscut_error();
  int left_out = 0;
  for (int i = 0; i < 1'000; ++i) {
    crosscut_step(0);
    EXPECT_EQ(levels[0], levels[1]);
    if (levels[2] != CROSSCUT_LEVEL_MARKS) {
      EXPECT_EQ(levels[1], levels[2]);
      for (int n = 0; n < 1'000 && levels[2] != CROSSCUT_LEVEL_CONTROL; ++n) {
        crosscut_begin(name);
        crosscut_end();
      }
      continue;
    }
    EXPECT_EQ(levels[1], CROSSCUT_LEVEL_CONTROL);
    EXPECT_EQ(crosscut_in_control(), 0);
    ++left_out;
  }
  EXPECT_GT(left_out, 300);
  EXPECT_EQ(crosscut_stop(), CROSSCUT_OK);
  for (const int level : levels) EXPECT_EQ(level, CROSSCUT_LEVEL_CONTROL);
  for (const int handle : handles) crosscut_source_remove(handle);
}

// The bytes of what the session says of itself: names and values of facts stand in it as they are.
std::string FactsOf(const std::string& dir) {
  std::string out;
  const auto run = crosscut::format::RunReader::Open(dir);
  EXPECT_TRUE(run.ok()) << run.status().message();
  for (crosscut::format::ProcessReader* process : (*run)->processes()) {
    EXPECT_TRUE(process
                    ->ForEachSession([&](const crosscut::format::WordBatch& batch) {
                      out.append(reinterpret_cast<const char*>(batch.words.data()),
                                 batch.words.size_bytes());
                      return crosscut::Status();
                    })
                    .ok());
  }
  return out;
}

TEST_F(SessionTest, ARankIsToldWhereItIsBelowTheNumberOfRanks) {
  for (int size = 0; size < 4; ++size) {
    for (int rank = -1; rank < 5; ++rank) {
      setenv("RANK", std::to_string(rank).c_str(), 1);
      setenv("WORLD_SIZE", std::to_string(size).c_str(), 1);
      const std::string run = dir_ + "/" + std::to_string(size) + "of" + std::to_string(rank);
      options_.run_dir = run.c_str();
      ASSERT_EQ(crosscut_start(&options_), CROSSCUT_OK) << crosscut_error();
      crosscut_stop();
      const bool told = FactsOf(run).find("rank_from") != std::string::npos;
      EXPECT_EQ(told, rank >= 0 && rank < size) << rank << " of " << size;
    }
  }
  unsetenv("RANK");
  unsetenv("WORLD_SIZE");
}

// docs/environment.md: 64 MiB, of which the ring has three quarters.
TEST_F(SessionTest, WithoutANumberTheMemoryIsTheDefault) {
  options_.memory_bytes = 0;
  unsetenv("CROSSCUT_MEMORY");
  ASSERT_EQ(crosscut_start(&options_), CROSSCUT_OK) << crosscut_error();
  const auto run = crosscut::format::RunReader::Open(run_);
  ASSERT_TRUE(run.ok());
  EXPECT_EQ((*run)->processes().at(0)->info().ring.chunk_count, (48u << 20) / (64u << 10));
  crosscut_stop();
  EXPECT_NE(FactsOf(run_).find(std::to_string(64 << 20)), std::string::npos);
}

// Three quarters of 4 MiB are 48 chunks, and its header is as long as one.
TEST_F(SessionTest, ARingHasWhatTheLimitOfFilesLeavesAndSaysSo) {
  const auto holds = [&](uint64_t limit, uint64_t chunks, const std::string& note) {
    std::filesystem::create_directory(run_);
    std::ofstream(run_ + "/run.json") << R"({"seed":1,"ring_dir":")" << dir_ << "\"}";
    const pid_t child = fork();
    if (child == 0) {
      const rlimit most = {limit, limit};
      setrlimit(RLIMIT_FSIZE, &most);
      if (crosscut_start(&options_) != CROSSCUT_OK) _exit(note == crosscut_error() ? 0 : 2);
      const auto run = crosscut::format::RunReader::Open(run_);
      if (!run.ok() || (*run)->processes().size() != 1) _exit(3);
      const uint64_t has = (*run)->processes()[0]->info().ring.chunk_count;
      crosscut_stop();
      const std::string facts = FactsOf(run_);
      const bool told = facts.find("ring_note") != std::string::npos;
      _exit(has != chunks                           ? 4
            : told != !note.empty()                 ? 5
            : facts.find(note) == std::string::npos ? 6
                                                    : 0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    std::filesystem::remove_all(run_);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -status;
  };
  constexpr uint64_t kChunk = 64 << 10;
  const auto note = [&](int chunks) {
    return std::to_string(chunks * 64) + " KiB instead of 3072 KiB: " + dir_ +
           " takes files only up to the limit of their size (ulimit -f)";
  };
  EXPECT_EQ(holds(49 * kChunk, 48, ""), 0);
  EXPECT_EQ(holds(49 * kChunk - 1, 47, note(47)), 0);
  EXPECT_EQ(holds(48 * kChunk, 47, note(47)), 0);
  EXPECT_EQ(holds(9 * kChunk, 8, note(8)), 0);
  EXPECT_EQ(holds(9 * kChunk - 1, 0,
                  "cannot make a ring: File too large in /dev/shm, File too large in the run "
                  "directory"),
            0);
}

TEST_F(SessionTest, AThreadIsDisarmedOnceTheRecordingEnded) {
  const uint32_t name = crosscut_intern("x", 1, CROSSCUT_SPAN, CROSSCUT_NATIVE, 0, 0);
  options_.control_percent = 0;
  ASSERT_EQ(crosscut_start(&options_), CROSSCUT_OK);
  std::atomic<int> turn{0};
  const auto wait_for = [&turn](int value) {
    for (int is = turn; is < value; is = turn) turn.wait(is);
  };
  const auto next = [&turn](int value) {
    turn = value;
    turn.notify_all();
  };
  std::thread other([&] {
    crosscut_begin(name);
    crosscut_end();
    EXPECT_EQ(crosscut_this_thread->enabled, 1u);
    next(1);
    wait_for(2);
    EXPECT_EQ(crosscut_this_thread->enabled, 0u) << "without a call of its own";
    crosscut_begin(name);
    EXPECT_EQ(crosscut_this_thread->enabled, 0u) << "and after one";
  });
  wait_for(1);
  crosscut_begin(name);
  crosscut_end();
  EXPECT_EQ(crosscut_this_thread->enabled, 1u);
  crosscut_stop();
  EXPECT_EQ(crosscut_this_thread->enabled, 0u);
  // One that armed itself at that very moment finds out at its next mark, and is left alone then.
  __atomic_store_n(&crosscut_this_thread->enabled, 2u, __ATOMIC_SEQ_CST);
  crosscut_begin(name);
  EXPECT_EQ(crosscut_this_thread->enabled, 0u);
  next(2);
  other.join();
}

}  // namespace
