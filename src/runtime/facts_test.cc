// What the log says of the process, its session and its steps, read back word by word.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "crosscut/crosscut.h"
#include "src/base/process.h"
#include "src/base/testing/folder.h"
#include "src/format/ring.h"
#include "src/format/run_reader.h"

// What the preloaded library has.
extern "C" {
__attribute__((visibility("default"))) void (*crosscut_preload_starts)(int loads, int execs);
__attribute__((visibility("default"))) int crosscut_preload_costs(double costs[2][3]) {
  for (int i = 0; i < 6; ++i) costs[i / 3][i % 3] = i + 1;
  return 1;
}
}

namespace {

using Words = std::vector<uint64_t>;
using crosscut::format::WordBatch;
namespace format = crosscut::format;

struct Log {
  std::map<std::string, std::string> facts;  // the last of each key
  std::vector<Words> session;                // of other kinds: code and payload
  std::vector<Words> marks;                  // of threads but the drain's, likewise

  std::vector<Words> Of(uint64_t code) const {
    std::vector<Words> out;
    for (const auto* from : {&session, &marks}) {
      for (const Words& words : *from) {
        if (words[0] == code) out.push_back(words);
      }
    }
    return out;
  }
};

class FactsTest : public testing::Test {
 protected:
  FactsTest() {
    options_.struct_size = sizeof options_;
    options_.run_dir = run_.c_str();
    options_.memory_bytes = 4 << 20;
    options_.control_percent = 0;
    options_.seed = 99;
  }
  ~FactsTest() override { crosscut_stop(); }
  void Start() { ASSERT_EQ(crosscut_start(&options_), CROSSCUT_OK) << crosscut_error(); }

  // All that the run holds, whose one process is this.
  Log Read() {
    EXPECT_EQ(crosscut_flush(), CROSSCUT_OK) << crosscut_error();
    Log log;
    const auto run = format::RunReader::Open(run_);
    EXPECT_TRUE(run.ok()) << run.status().message();
    EXPECT_EQ((*run)->processes().size(), 1);
    format::ProcessReader* const process = (*run)->processes()[0];
    std::map<uint32_t, bool> tracks;  // a batch may go on in the middle of one
    const auto take = [&](const WordBatch& batch, std::vector<Words>* to) {
      bool& ours = tracks[batch.track];
      size_t n = 0;
      for (size_t at = 0; at < batch.words.size(); at += n) {
        n = format::EventLength(batch.words, at);
        Words words(batch.words.begin() + at, batch.words.begin() + at + n);
        words[0] &= 0xffff;
        if (words[0] == format::kThread) ours = (words[3] & format::kThreadIsOurs) != 0;
        const auto* text = reinterpret_cast<const char*>(words.data() + 4);
        if (words[0] == format::kMeta) {
          log.facts[std::string(text, words[1])] =
              std::string(text + (words[1] + 7) / 8 * 8, words[2]);
        } else if (to == &log.session || (!ours && words[0] != format::kThread)) {
          to->push_back(words);
        }
      }
      return crosscut::Status();
    };
    EXPECT_TRUE(
        process->ForEachSession([&](const WordBatch& b) { return take(b, &log.session); }).ok());
    EXPECT_TRUE(
        process->ForEachEvents([&](const WordBatch& b) { return take(b, &log.marks); }).ok());
    return log;
  }

  crosscut::base::TestFolder folder_;
  const std::string dir_ = folder_.path(), run_ = dir_ + "/run";
  crosscut_options options_ = {};
};

TEST_F(FactsTest, TheProcessSaysWhoItIsAndHowItRecords) {
  options_.plan = "operators=10,everything=2,control=5";
  options_.control_percent = -1;
  options_.budget_percent = 2.5;
  Start();
  crosscut_process_name("trainer");
  crosscut_meta("script", "train.py");
  crosscut_meta("script", "again.py");
  crosscut_meta(nullptr, "x");
  crosscut_meta("none", nullptr);
  const std::string key = crosscut_process_key();
  EXPECT_EQ(crosscut_run_dir(), run_);
  crosscut_stop();
  EXPECT_STREQ(crosscut_process_key(), "");
  crosscut_meta("late", "x");
  const Log log = Read();
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  const crosscut::base::ProcessIdentity self = crosscut::base::ThisProcess();
  char boot[40];
  snprintf(boot, sizeof boot, "%016llx", static_cast<unsigned long long>(self.boot));
  const std::map<std::string, std::string> want = {
      {"pid", std::to_string(getpid())},
      {"parent_pid", std::to_string(getppid())},
      {"host", host},
      {"process_name", "trainer"},
      {"script", "again.py"},
      {"memory_bytes", std::to_string(4 << 20)},
      {"policy", "drop_newest"},
      {"control_percent", "5"},
      {"budget_percent", "2.5"},
      {"plan", "control=5,boundary=83,operators=10,everything=2"},
      {"seed", "99"},
      {"start_method", "api"},
      {"process_key", key},
      {"executable", std::filesystem::read_symlink("/proc/self/exe").string()}};
  for (const auto& [fact, value] : want) {
    ASSERT_EQ(log.facts.count(fact), 1) << fact;
    EXPECT_EQ(log.facts.at(fact), value) << fact;
  }
  EXPECT_EQ(log.facts.at("boot_id").rfind(boot, 0), 0);
  for (const char* none : {"parent_key", "rank", "late", "none", "window", "armed", "lead_track"}) {
    EXPECT_EQ(log.facts.count(none), 0) << none;
  }
}

// By the ring alone a reader knows whose it is and what its ticks are.
TEST_F(FactsTest, TheRingsHeaderSaysWhoseItIsAndWhatItsTicksAre) {
  Start();
  const std::string key = crosscut_process_key();
  const Log log = Read();
  const auto file = format::RingFile::Open(log.facts.at("ring"), {}, /*writable=*/false);
  ASSERT_TRUE(file.ok()) << file.status().message();
  const auto ns = [](clockid_t id) {
    timespec t;
    clock_gettime(id, &t);
    return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
  };
  const int64_t before = ns(CLOCK_MONOTONIC);
  const uint64_t tick = crosscut_now();
  const int64_t after = ns(CLOCK_MONOTONIC), real = ns(CLOCK_REALTIME) - ns(CLOCK_MONOTONIC);
  format::RingHeader header;
  uint64_t chunks = 0;
  ASSERT_TRUE(file->ReadHeader(&header, &chunks).ok());
  const crosscut::base::ProcessIdentity self = crosscut::base::ThisProcess();
  EXPECT_EQ(header.pid, self.pid);
  EXPECT_EQ(header.pid_start, self.start);
  EXPECT_EQ(header.pid_namespace, self.pid_namespace);
  EXPECT_EQ(header.boot, self.boot);
  struct stat run;
  ASSERT_EQ(stat(run_.c_str(), &run), 0);
  EXPECT_EQ(header.run_device, run.st_dev);
  EXPECT_EQ(header.run_inode, run.st_ino);
  EXPECT_EQ(std::string(header.control.run_dir), run_);
  EXPECT_EQ(std::string(header.log_name), key + ".crosscut");
  EXPECT_EQ(header.state, uint32_t{format::kRingRecording});
  EXPECT_EQ(header.stop_reason, 0u);
  EXPECT_EQ(header.stop_tick, 0u);
  EXPECT_NE(header.nonce, 0u);
  EXPECT_EQ(chunks, header.chunk_count);
  EXPECT_LE(chunks, (4u << 20) / format::kRingChunkBytes);
  EXPECT_GE(chunks, (2u << 20) / format::kRingChunkBytes);
  EXPECT_LE(header.start_tick, tick);
  EXPECT_GE(header.start_tick, header.anchor_tick - (tick - header.anchor_tick));
  EXPECT_EQ(log.facts.at("ns_per_tick"),
            std::to_string(header.ns_mult) + "/" + std::to_string(header.ns_shift));
  // The rate is that of a fraction of a millisecond; a clock without its anchor is wrong by hours.
  const double since = static_cast<double>(tick - header.anchor_tick) *
                       static_cast<double>(header.ns_mult) /
                       static_cast<double>(uint64_t{1} << header.ns_shift);
  const double is = static_cast<double>(header.anchor_ns) + since, slack = 1e8 + since / 10;
  EXPECT_GE(is, static_cast<double>(before) - slack);
  EXPECT_LE(is, static_cast<double>(after) + slack);
  EXPECT_NEAR(static_cast<double>(header.anchor_realtime_ns - header.anchor_ns),
              static_cast<double>(real), 1e8);
  crosscut_stop();
}

TEST_F(FactsTest, WhatSetTheProcessGoingIsToldByTheEnvironment) {
  const std::string own = "p" + std::to_string(getpid()) + "-1";
  const struct {
    const char *run, *parent, *method;
  } cases[] = {{nullptr, nullptr, "api"},
               {"", "", "record"},
               {"", "p1-2", "subprocess"},
               {nullptr, "p1-2", "subprocess"},
               {"", own.c_str(), "exec"}};
  for (const auto& [run, parent, method] : cases) {
    if (run != nullptr) setenv("CROSSCUT_RUN", run_.c_str(), 1);
    if (parent != nullptr) setenv("CROSSCUT_PARENT", parent, 1);
    Start();
    crosscut_stop();
    const Log log = Read();
    unsetenv("CROSSCUT_RUN");
    unsetenv("CROSSCUT_PARENT");
    EXPECT_EQ(log.facts.at("start_method"), method);
    const bool told = parent != nullptr && *parent != '\0';
    ASSERT_EQ(log.facts.count("parent_key"), told ? 1 : 0);
    if (told) {
      EXPECT_EQ(log.facts.at("parent_key"), parent);
    }
    std::filesystem::remove_all(run_);
  }
}

TEST_F(FactsTest, LaunchersTellTheRankAndWhatStandsBeside) {
  struct Case {
    std::map<std::string, std::string> variables, facts;
  };
  const std::vector<Case> cases = {
      {{{"RANK", "1"},
        {"WORLD_SIZE", "2"},
        {"LOCAL_RANK", "0"},
        {"GROUP_RANK", "3"},
        {"TORCHELASTIC_RESTART_COUNT", "2"},
        {"ROLE_NAME", "actor"},
        {"TORCHELASTIC_RUN_ID", "none"},
        {"SLURM_JOB_ID", "77"},
        {"SLURM_PROCID", "5"},
        {"SLURM_NTASKS", "8"}},
       {{"rank", "1"},
        {"world_size", "2"},
        {"local_rank", "0"},
        {"rank_from", "RANK"},
        {"node_rank", "3"},
        {"restart", "2"},
        {"role", "actor"},
        {"job", "77"}}},
      {{{"RANK", "x1"},
        {"WORLD_SIZE", "2"},
        {"PMI_RANK", "0"},
        {"PMI_SIZE", "1"},
        {"MPI_LOCALRANKID", "-1"},
        {"GROUP_RANK", "1x"},
        {"SLURM_NODEID", "0"},
        {"SLURM_RESTART_COUNT", ""}},
       {{"rank", "0"}, {"world_size", "1"}, {"rank_from", "PMI_RANK"}, {"node_rank", "0"}}},
      {{{"RANK", "1"}, {"ROLE_NAME", "actor"}}, {}}};
  for (const Case& one : cases) {
    for (const auto& [name, value] : one.variables) setenv(name.c_str(), value.c_str(), 1);
    Start();
    crosscut_stop();
    Log log = Read();
    for (const auto& [name, value] : one.variables) unsetenv(name.c_str());
    std::map<std::string, std::string> got;
    for (const char* key :
         {"rank", "world_size", "local_rank", "rank_from", "node_rank", "restart", "role", "job"}) {
      if (log.facts.count(key) != 0) got[key] = log.facts[key];
    }
    EXPECT_EQ(got, one.facts);
    std::filesystem::remove_all(run_);
  }
}

TEST_F(FactsTest, SessionsAndPausesHaveTheirEdgesInOrder) {
  Start();
  const uint64_t before = crosscut_now();
  EXPECT_EQ(crosscut_pause(), CROSSCUT_OK);
  EXPECT_EQ(crosscut_pause(), CROSSCUT_OK);  // it is
  EXPECT_EQ(crosscut_resume(), CROSSCUT_OK);
  EXPECT_EQ(crosscut_resume(), CROSSCUT_OK);
  crosscut_frames(1);
  crosscut_frames(0);
  crosscut_stop();
  Start();
  crosscut_stop();
  const Log log = Read();
  std::vector<Words> edges;
  for (const Words& words : log.session) {
    switch (words[0]) {
      case format::kStart: edges.push_back({words[0]}); break;
      case format::kPause:
      case format::kResume:
      case format::kStop:
      case format::kFrames: edges.push_back(words);
    }
  }
  EXPECT_EQ(edges, (std::vector<Words>{{0x27},
                                       {0x23},
                                       {0x24},
                                       {0x29, 1},
                                       {0x29, 0},
                                       {0x25, format::kStopAsked},
                                       {0x27},
                                       {0x25, format::kStopAsked}}));
  const std::vector<Words> starts = log.Of(format::kStart);
  EXPECT_LT(starts[0][1], before);
  EXPECT_GT(starts[1][1], before);
}

TEST_F(FactsTest, StepsHaveTheirNumbersAndLevels) {
  const uint32_t kind = crosscut_intern("epoch", 5, CROSSCUT_STEP, CROSSCUT_LAYER_NONE, 0, 0);
  const uint32_t no_step = crosscut_intern("x", 1, CROSSCUT_SPAN, CROSSCUT_NATIVE, 0, 0);
  options_.plan = "full";
  Start();
  EXPECT_EQ(crosscut_step(kind), 0);
  EXPECT_EQ(crosscut_step(kind), 1);
  crosscut_step_end();
  crosscut_step_end();  // there is none
  EXPECT_EQ(crosscut_step(no_step), 2) << "another one's kind is the usual one";
  crosscut_phase("warm up");
  crosscut_phase(nullptr);
  crosscut_phase(nullptr);
  crosscut_stop();
  const Log log = Read();
  EXPECT_EQ(log.Of(format::kStepLevel),
            (std::vector<Words>{{0x0b, 0, 3}, {0x0b, 1, 3}, {0x0b, 2, 3}}));
  std::map<uint64_t, std::string> names;
  std::map<uint64_t, format::NameAttributes> attributes;
  for (const Words& words : log.Of(format::kName)) {
    names[words[1]] = std::string(reinterpret_cast<const char*>(words.data() + 4), words[3]);
    attributes[words[1]] = format::NameAttributes::Unpack(words[2]);
  }
  std::vector<std::string> order;
  for (const Words& words : log.marks) {
    if (words[0] >= format::kFirstNameCode) order.push_back(names[words[0]]);
    if (words[0] == format::kEndNamed) order.push_back("end " + names[words[1]]);
  }
  EXPECT_EQ(order, (std::vector<std::string>{"epoch", "epoch", "end epoch", "step", "warm up",
                                             "end warm up"}));
  for (const auto& [id, name] : names) {
    if (name == "warm up") {
      EXPECT_EQ(attributes[id].kind, format::kKindPhase);
      EXPECT_EQ(attributes[id].flags, format::kFlagNoLayer);
    }
    if (name == "step" && attributes[id].kind != format::kKindText) {
      EXPECT_EQ(attributes[id].kind, format::kKindStep);
      EXPECT_EQ(names[attributes[id].probe], "step");
    }
  }
}

bool runs_tasks = false;
std::string asked_of_tasks;

// What follows tasks stays for the rest of the process: here it then runs none.
TEST_F(FactsTest, WhoFollowsTasksOpensAndClosesWhatTheyRun) {
  static const crosscut_tasks those = {
      sizeof those, [](uint32_t) { return asked_of_tasks += "open ", runs_tasks ? 1 : 0; },
      [](uint32_t) { return asked_of_tasks += "close ", runs_tasks ? 1 : 0; },
      [](uint32_t) { asked_of_tasks += "forget "; }};
  crosscut_tasks older = those;
  --older.struct_size;
  const uint32_t name =
      crosscut_intern("of a task", SIZE_MAX, CROSSCUT_OPERATION, CROSSCUT_LAYER_NONE, 0, 0);
  crosscut_follow_tasks(nullptr);
  crosscut_follow_tasks(&older);
  EXPECT_EQ(crosscut_tasks_followed_, 0u);
  Start();
  EXPECT_EQ(crosscut_open_(name), 0);  // a begin
  crosscut_close_(name);               // an end
  crosscut_task_forget(name);
  crosscut_follow_tasks(&those);
  EXPECT_EQ(asked_of_tasks, "");
  runs_tasks = true;
  EXPECT_EQ(crosscut_open(name), 1);
  crosscut_close(name, 1);
  runs_tasks = false;
  EXPECT_EQ(crosscut_open(name), 0);  // a begin
  crosscut_close(name, 0);            // an end: it is not asked
  crosscut_close(name, 1);            // an end: nobody knows it
  crosscut_task_forget(name);
  EXPECT_EQ(asked_of_tasks, "open close open close forget ");
  crosscut_stop();
  std::string marks;
  for (const Words& words : Read().marks) {
    if (words[0] == name) marks += "begin ";
    if (words[0] == format::kEndNamed && words[1] == name) marks += "end ";
  }
  EXPECT_EQ(marks, "begin end begin end end ");
}

template <int kNumber>
int32_t* Local() {
  static thread_local int32_t local = kNumber;
  return &local;
}

TEST_F(FactsTest, OfVariablesOfTasksThereAreEight) {
  int32_t* addresses[CROSSCUT_TASK_LOCALS];
  EXPECT_EQ(crosscut_task_locals(addresses), 0);
  using Of = int32_t* (*)();
  const Of all[] = {Local<1>, Local<2>, Local<3>, Local<4>, Local<5>, Local<6>, Local<7>, Local<8>};
  for (int i = 0; i < 8; ++i) {
    for (int again = 0; again < 2; ++again) EXPECT_EQ(crosscut_task_local(all[i]), CROSSCUT_OK);
    ASSERT_EQ(crosscut_task_locals(addresses), i + 1);
    for (int k = 0; k <= i; ++k) EXPECT_EQ(addresses[k], all[k]());
  }
  EXPECT_EQ(crosscut_task_local(Local<9>), CROSSCUT_ENOMEM);
  EXPECT_EQ(crosscut_task_local(Local<3>), CROSSCUT_OK);
  EXPECT_EQ(crosscut_task_locals(addresses), 8);
}

TEST_F(FactsTest, ProgressAndTheLeadAreTold) {
  Start();
  crosscut_step(0);
  crosscut_lead();
  for (const double share : {0.0, 0.25, 1.0}) crosscut_progress(share);
  for (const double none : {-0.1, 1.1, 0.0 / 0.0}) crosscut_progress(none);
  crosscut_stop();
  crosscut_progress(0.5);
  const Log log = Read();
  std::vector<uint64_t> values;
  for (const Words& words : log.Of(format::kCounter)) values.push_back(words[2]);
  EXPECT_EQ(values, (std::vector<uint64_t>{0, 250'000'000, 1'000'000'000}));
  for (const Words& words : log.Of(format::kName)) {
    if (std::string(reinterpret_cast<const char*>(words.data() + 4), words[3]) ==
        "crosscut.progress") {
      EXPECT_EQ(words[2], 0u) << "it has no layer, no flag and no probe";
    }
  }
  const std::vector<Words> lost = log.Of(format::kDrop);
  ASSERT_EQ(lost.size(), 3);
  for (const Words& words : lost) EXPECT_EQ(words[1], uint64_t{format::kDropValue});
  EXPECT_GT(std::stoi(log.facts.at("lead_track")), 0);
}

TEST_F(FactsTest, SourcesKeepWhatWasToldOfThemIntoEveryLog) {
  crosscut_source_state("chip", "1.2", "on", "ready");
  crosscut_source_state("chip", nullptr, "failed", nullptr);  // the rest stays
  crosscut_source_state(nullptr, "x", "on", "x");
  crosscut_probe_cost(crosscut_intern("p", 1, CROSSCUT_TEXT, CROSSCUT_LAYER_NONE, 0, 0), 1, 2, 3, 4,
                      5);
  const uint32_t probe = crosscut_intern("q", 1, CROSSCUT_TEXT, CROSSCUT_LAYER_NONE, 0, 0);
  crosscut_probe_cost(probe, 9, 9, 9, 9, 9);
  crosscut_probe_cost(probe, 6, 7, 8, 9, 10);  // the last one counts
  Start();
  crosscut_source_state("chip", nullptr, nullptr, "gone");
  crosscut_stop();
  const Log log = Read();
  EXPECT_EQ(log.facts.at("source:chip:version"), "1.2");
  EXPECT_EQ(log.facts.at("source:chip:state"), "failed");
  EXPECT_EQ(log.facts.at("source:chip:message"), "gone");
  std::vector<Words> costs;
  for (const Words& words : log.Of(format::kProbeCost)) {
    if (words[1] == probe || words[1] == probe - 1) costs.push_back(words);
  }
  EXPECT_EQ(costs,
            (std::vector<Words>{{0x26, probe - 1, 1, 2, 3, 4, 5}, {0x26, probe, 6, 7, 8, 9, 10}}));
}

#ifndef __SANITIZE_THREAD__  // its vfork() is a fork()
TEST_F(FactsTest, StartsOfProgramsAreMarkedAndWhatTheyCostIsToldOnce) {
  ASSERT_NE(crosscut_preload_starts, nullptr);
  const auto child_starts = [](int times) {
    const pid_t child = vfork();
    if (child == 0) {
      for (int i = 0; i < times; ++i) crosscut_preload_starts(1, 1);
      _exit(0);
    }
    waitpid(child, nullptr, 0);
  };
  crosscut_preload_starts(0, 0);
  Start();
  child_starts(1);  // of a thread that has marked nothing: it would have to take a lock
  for (int i = 0; i < 3; ++i) crosscut_preload_starts(0, 0);
  child_starts(4);
  crosscut_preload_starts(1, 1);  // this process becomes another program
  crosscut_pause();
  crosscut_preload_starts(0, 0);
  child_starts(1);
  crosscut_resume();
  EXPECT_EQ(crosscut_flush(), CROSSCUT_OK);
  crosscut_preload_starts(0, 0);
  child_starts(20'000);  // no further than the chunk
  crosscut_stop();
  std::map<uint64_t, int> starts;
  const Log log = Read();
  for (const Words& words : log.Of(format::kInstant)) ++starts[words[1]];
  ASSERT_EQ(starts.size(), 2);
  EXPECT_EQ(starts.begin()->second, 4);
  EXPECT_GT(starts.rbegin()->second, 1000);
  EXPECT_LT(starts.rbegin()->second, 5000);
  const auto text = [](const char* of) {
    return crosscut_intern(of, SIZE_MAX, CROSSCUT_TEXT, CROSSCUT_LAYER_NONE, 0, 0);
  };
  const std::vector<Words> costs = log.Of(format::kProbeCost);
  for (const Words& cost :
       {Words{0x26, text("programs started, also in control steps"), 1000, 0, 2000, 3000, 1},
        Words{0x26, text("programs started with Crosscut's library, also in control steps"), 4000,
              0, 5000, 6000, 1}}) {
    EXPECT_EQ(std::count(costs.begin(), costs.end(), cost), 1);
  }
}
#endif

TEST_F(FactsTest, AProfileIsAFileThatAFactNames) {
  EXPECT_EQ(crosscut_collected("jax", "xspace", "abc", 3, 1, 2), CROSSCUT_ENOTRUNNING);
  Start();
  EXPECT_EQ(crosscut_collected("j/ax 0", "xspace", "abc", 3, 1234, 56), CROSSCUT_OK);
  EXPECT_EQ(crosscut_collected("jax", "xspace", nullptr, 0, -1, 0), CROSSCUT_OK);
  EXPECT_EQ(crosscut_collected("jax", "chrome", "abc", 3, 1, 2), CROSSCUT_EINVAL);
  EXPECT_EQ(std::string(crosscut_error()),
            "'chrome' is not a format of profiles: the only one is xspace");
  EXPECT_EQ(crosscut_collected("jax", "xspace", nullptr, 1, 1, 2), CROSSCUT_EINVAL);
  EXPECT_EQ(crosscut_collected(nullptr, "xspace", "abc", 3, 1, 2), CROSSCUT_EINVAL);
  EXPECT_EQ(crosscut_collected("jax", nullptr, "abc", 3, 1, 2), CROSSCUT_EINVAL);
  const std::string key = crosscut_process_key();
  crosscut_stop();
  const Log log = Read();
  const std::string first = log.facts.at("collected:0"), second = log.facts.at("collected:1");
  const std::string name = key + ".j_ax_0-0.xplane.pb", empty = key + ".jax-1.xplane.pb";
  EXPECT_EQ(first, "xspace\tj_ax_0\t" + name + "\t1234\t56");
  EXPECT_EQ(second, "xspace\tjax\t" + empty + "\t-1\t0");
  EXPECT_EQ(log.facts.count("collected:2"), 0);
  std::stringstream bytes;
  bytes << std::ifstream(run_ + "/" + name).rdbuf();
  EXPECT_EQ(bytes.str(), "abc");
  EXPECT_EQ(std::filesystem::file_size(run_ + "/" + empty), 0);
  for (const auto& file : std::filesystem::directory_iterator(run_)) {
    EXPECT_NE(file.path().extension(), ".part");
  }
}

TEST_F(FactsTest, WhatTheCApiIsAskedWronglyItRefusesInWords) {
  crosscut_source source = {};
  EXPECT_EQ(crosscut_source_add(nullptr), 0);
  EXPECT_EQ(crosscut_source_add(&source), 0);
  EXPECT_EQ(std::string(crosscut_error()), "a source needs struct_size, name and set_level");
  crosscut_program program = {};
  EXPECT_EQ(crosscut_on_demand(&program), CROSSCUT_EINVAL);
  EXPECT_EQ(crosscut_on_demand(nullptr), CROSSCUT_EINVAL);
  EXPECT_EQ(crosscut_other_profiler(nullptr, CROSSCUT_PROFILER_STARTS), CROSSCUT_EINVAL);
  EXPECT_EQ(crosscut_other_profiler("x", static_cast<crosscut_profiler_moment>(4)),
            CROSSCUT_EINVAL);
  EXPECT_EQ(crosscut_other_profiler("x", CROSSCUT_PROFILER_ENDED), CROSSCUT_OK);
  options_.struct_size = offsetof(crosscut_options, memory_bytes) - 1;
  EXPECT_EQ(crosscut_start(&options_), CROSSCUT_EINVAL);
  EXPECT_EQ(std::string(crosscut_error()), "crosscut_options.struct_size is not set");
  for (int (*function)() :
       {&crosscut_stop, &crosscut_pause, &crosscut_resume, &crosscut_snapshot}) {
    EXPECT_EQ(function(), CROSSCUT_ENOTRUNNING);
    EXPECT_EQ(std::string(crosscut_error()), "no session is open");
  }
  EXPECT_EQ(crosscut_whole(1), CROSSCUT_ENOTRUNNING);
  EXPECT_EQ(crosscut_step(0), 0);
  EXPECT_EQ(crosscut_intern(nullptr, 3, CROSSCUT_SPAN, CROSSCUT_NATIVE, 0, 0), 0);
}

TEST_F(FactsTest, NamesAreWhatIsAskedFor) {
  const auto name = [](const char* text, size_t bytes, crosscut_kind kind) {
    return crosscut_intern(text, bytes, kind, CROSSCUT_NATIVE, 0, 0);
  };
  EXPECT_EQ(name("abc", SIZE_MAX, CROSSCUT_SPAN), name("abcd", 3, CROSSCUT_SPAN));
  EXPECT_NE(name("abc", 3, CROSSCUT_SPAN), name("abc", 3, CROSSCUT_OPERATION));
  EXPECT_EQ(name("abc", 3, CROSSCUT_OPERATION),
            crosscut_intern("abc", 3, CROSSCUT_OPERATION, CROSSCUT_NATIVE, CROSSCUT_NO_LAYER, 0))
      << "operations leave the layer below them in force";
}

// The cost of a mark is measured once in a process, before anything is corrected by it.
TEST_F(FactsTest, WhatMarksCostIsMeasuredOnce) {
  Start();
  crosscut_flush();
  crosscut_stop();
  const Log log = Read();
  std::map<uint64_t, std::string> names;
  for (const Words& words : log.Of(format::kName)) {
    names[words[1]] = std::string(reinterpret_cast<const char*>(words.data() + 4), words[3]);
  }
  std::map<std::string, Words> costs;
  for (const Words& words : log.Of(format::kProbeCost)) costs[names[words[1]]] = words;
  for (const char* probe : {"span", "drain", "operation", "step"}) {
    ASSERT_EQ(costs.count(probe), 1) << probe;
    const Words& cost = costs[probe];
    EXPECT_EQ(cost[6], 40 * 200);
    EXPECT_GT(cost[2] + cost[3], 1'000) << "more than a nanosecond";
    EXPECT_LE(cost[4], cost[2] + cost[3] + 1);
    EXPECT_LE(cost[2] + cost[3], cost[5] + 1);
  }
  EXPECT_GT(costs["step"][2] + costs["step"][3], costs["span"][2] + costs["span"][3])
      << "two events, by the slow path";
}

}  // namespace
