#include "src/verbs/record.h"

#include <errno.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "src/verbs/recording/record_environment.h"
#include "src/verbs/recording/record_process.h"
#include "src/verbs/test_recording.h"

namespace crosscut::verbs {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// What Record() does to a child of ours, so that its signal mask is not this test's.
int StatusOfRecording(const RecordOptions& options) {
  const pid_t pid = fork();
  if (pid == 0) {
    const Result<RecordOutcome> outcome = Record(options);
    if (!outcome.ok()) _exit(99);
    if (waitpid(-1, nullptr, WNOHANG) == 0 || errno != ECHILD) _exit(98);  // a process is left
    EndAs(outcome->wait_status);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return status;
}

TEST(Record, EndsWithTheExitCodeOfItsCommand) {
  for (int code : {0, 1, 3, 127, 255}) {
    TempFolder folder;
    const int status = StatusOfRecording(Command(folder, "exit " + std::to_string(code)));
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), code);
  }
}

TEST(Record, DiesOfTheSignalItsCommandDiedOf) {
  for (int signal : {SIGTERM, SIGKILL, SIGSEGV, SIGABRT, SIGINT, SIGHUP, SIGUSR1}) {
    TempFolder folder;
    const int status =
        StatusOfRecording(Command(folder, "kill -" + std::to_string(signal) + " $$"));
    ASSERT_TRUE(WIFSIGNALED(status)) << signal;
    EXPECT_EQ(WTERMSIG(status), signal);
    EXPECT_FALSE(WCOREDUMP(status));
  }
}

TEST(Record, AnswersLikeAShellWhereTheCommandCannotRun) {
  TempFolder folder;
  RecordOptions options;
  std::vector<std::string> lines;
  options.say = [&](std::string_view line) { lines.emplace_back(line); };
  options.run_dir = folder / "run";
  options.command = {folder / "missing"};
  EXPECT_EQ(RecordHere(options)->wait_status, 127 << 8);
  EXPECT_THAT(lines, Contains(HasSubstr("no such file")));

  Write(folder / "plain", "no program");
  options.run_dir = folder / "run2";
  options.command = {folder / "plain"};
  EXPECT_EQ(RecordHere(options)->wait_status, 126 << 8);
}

TEST(Record, PassesOnSignalsThatAreSentToItAlone) {
  TempFolder folder;
  const std::string ready = folder / "ready";
  RecordOptions options =
      Command(folder, "trap 'exit 42' TERM; touch " + ready + "; while :; do sleep 0.01; done");
  const pid_t pid = fork();
  if (pid == 0) EndAs(Record(options)->wait_status);
  while (access(ready.c_str(), F_OK) != 0) usleep(1000);
  kill(pid, SIGTERM);
  int status = 0;
  waitpid(pid, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 42);
}

// It takes its own only when the command is done with it: both at once would be one.
TEST(Record, ASignalToTheWholeGroupReachesTheCommandOnce) {
  TempFolder folder;
  const std::string ready = folder / "ready", got = folder / "got", done = folder / "done";
  const auto await = [](const std::string& file) {
    while (access(file.c_str(), F_OK) != 0) usleep(1000);
  };
  // A shell that makes no process meanwhile, which would have its traps for a moment.
  const std::string command = "(trap '' USR1 USR2; exec sleep 100) & trap 'echo >> " + got +
                              "' USR1; trap 'touch " + done + "' USR2; touch " + ready +
                              "; while :; do wait; done";
  const pid_t pid = fork();
  if (pid == 0) {
    setpgid(0, 0);
    EndAs(Record(Command(folder, command))->wait_status);
  }
  await(ready);
  kill(pid, SIGSTOP);
  kill(-pid, SIGUSR1);
  await(got);
  kill(pid, SIGCONT);
  kill(pid, SIGUSR2);
  await(done);
  EXPECT_EQ(Read(got), "\n");
  kill(-pid, SIGTERM);
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
}

TEST(Record, StopsWhenItsCommandStopsAndGoesOnWithIt) {
  TempFolder folder;
  const std::string done = folder / "done";
  const pid_t pid = fork();
  if (pid == 0) {
    setpgid(0, 0);
    EndAs(Record(Command(folder, "kill -TSTP $$; touch " + done))->wait_status);
  }
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, WUNTRACED), pid);
  EXPECT_TRUE(WIFSTOPPED(status));
  EXPECT_NE(access(done.c_str(), F_OK), 0);
  kill(-pid, SIGCONT);
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(access(done.c_str(), F_OK), 0);
}

TEST(Record, LeavesTheCommandTheSignalsAsItFoundThem) {
  TempFolder folder;
  const std::string plain = folder / "plain", recorded = folder / "recorded";
  const std::string show = "grep -E 'Sig(Blk|Ign)' /proc/self/status > ";
  // Not by system(), which ignores the C library's own signals in its child.
  const pid_t pid = fork();
  if (pid == 0) execlp("sh", "sh", "-c", (show + plain).c_str(), nullptr);
  waitpid(pid, nullptr, 0);
  StatusOfRecording(Command(folder, show + recorded));
  EXPECT_EQ(Read(plain), Read(recorded));
}

TEST(Record, SeesTheStatusAlsoWhereChildrenAreReapedByThemselves) {
  TempFolder folder;
  const pid_t pid = fork();
  if (pid == 0) {
    signal(SIGCHLD, SIG_IGN);
    EndAs(Record(Command(folder, "exit 5"))->wait_status);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 5);
}

TEST(Record, RefusesAFolderThatHoldsSomethingElse) {
  TempFolder folder;
  mkdir((folder / "mine").c_str(), 0700);
  Write(folder / "mine/thesis.txt", "years of work");
  RecordOptions options = Command(folder, "true");
  options.run_dir = folder / "mine";
  const Result<RecordOutcome> outcome = RecordHere(options);
  ASSERT_FALSE(outcome.ok());
  EXPECT_THAT(std::string(outcome.status().message()), HasSubstr("not empty"));
  EXPECT_EQ(Read(folder / "mine/thesis.txt"), "years of work");
}

TEST(Record, MovesAnEarlierRunAside) {
  TempFolder folder;
  const RecordOptions options = Command(folder, "true");
  StatusOfRecording(options);
  const std::string first = Read(folder / "run/run.json");
  StatusOfRecording(options);
  EXPECT_EQ(Read(folder / "run.1/run.json"), first);
  EXPECT_THAT(Read(folder / "run/run.json"), Not(first));
}

TEST(Record, WritesItsCommandAsValidJsonWhateverItsBytes) {
  TempFolder folder;
  RecordOptions options = Command(folder, "true");
  options.command.push_back("quote\" back\\ line\n bad\xff half \xed\xa0\x80");
  StatusOfRecording(options);
  EXPECT_THAT(Read(folder / "run/run.json"),
              HasSubstr("\"quote\\\" back\\\\ line\\n bad\ufffd half \ufffd\ufffd\ufffd\""));
}

TEST(Record, TalksInAtMostTenLines) {
  TempFolder folder;
  int lines = 0;
  RecordOptions options = Command(folder, "true");
  options.say = [&](std::string_view) { ++lines; };
  const Result<RecordOutcome> outcome = RecordHere(options);
  ASSERT_TRUE(outcome.ok());
  EXPECT_GE(lines, 1);
  EXPECT_LE(lines, 10);
}

TEST(PrepareEnvironment, ChangesOursAndNothingElse) {
  RecordOptions options;
  options.run_dir = "/runs/a";
  PackageLayout package;
  package.root = "/p/crosscut";
  package.inject = "/p/crosscut/inject";
  package.preload = "/p/crosscut/lib/pre.so";
  const std::vector<std::string> before = {"A=1", "PYTHONPATH=/mine:/p/crosscut/inject",
                                           "EMPTY=", "CROSSCUT_PARENT=p1-2",
                                           "LD_PRELOAD=/lib/jemalloc.so"};
  const std::vector<std::string> after = PrepareEnvironment(before, options, package, "").variables;
  EXPECT_THAT(after, Contains("A=1"));
  EXPECT_THAT(after, Contains("EMPTY="));
  EXPECT_THAT(after, Contains("PYTHONPATH=/p/crosscut/inject:/mine"));
  EXPECT_THAT(after, Contains("LD_PRELOAD=/lib/jemalloc.so:/p/crosscut/lib/pre.so"));
  EXPECT_THAT(after, Contains("CROSSCUT_RUN=/runs/a"));
  EXPECT_THAT(after, Not(Contains("CROSSCUT_PARENT=p1-2")));
  EXPECT_THAT(after, Contains("CROSSCUT_PARENT=")) << "setting it must not move the table";
}

// The least of each that there can be is passed on, and what is not asked for is not there.
TEST(PrepareEnvironment, EachOptionHasItsVariables) {
  using Variables = std::set<std::string>;
  const auto of = [](const RecordOptions& options) {
    const auto all = PrepareEnvironment({}, options, {}, "").variables;
    return Variables(all.begin(), all.end());
  };
  const struct {
    std::function<void(RecordOptions*)> ask;
    Variables more;
  } cases[] = {
      {[](auto* o) { o->python = "calls"; }, {"CROSSCUT_PYTHON=calls"}},
      {[](auto* o) { o->sources = "a,b"; }, {"CROSSCUT_SOURCES=a,b"}},
      {[](auto* o) { o->sample_rate = 1; }, {"CROSSCUT_SAMPLE_RATE=1"}},
      {[](auto* o) { o->allocations = true; }, {"CROSSCUT_ALLOCATIONS=1"}},
      {[](auto* o) { o->memory_mib = 1; }, {"CROSSCUT_MEMORY=1"}},
      {[](auto* o) { o->control_percent = 0; }, {"CROSSCUT_CONTROL_STEPS=0"}},
      {[](auto* o) { o->control_percent = 0.5; }, {"CROSSCUT_CONTROL_STEPS=0.5"}},
      {[](auto* o) { o->shapes = true; }, {"CROSSCUT_SHAPES=1"}},
      {[](auto* o) { o->scalars = true; }, {"CROSSCUT_SCALARS=1"}},
      {[](auto* o) { o->plan = "light"; }, {"CROSSCUT_PLAN=light"}},
      {[](auto* o) { o->budget = "off"; }, {"CROSSCUT_BUDGET=off"}},
      {[](auto* o) { o->dormant = true; }, {"CROSSCUT_DORMANT=1"}},
      {[](auto* o) { o->keep_seconds = 0.001; }, {"CROSSCUT_DORMANT=0", "CROSSCUT_KEEP=0.001"}},
      {[](auto* o) { o->stop_after_steps = 1; },
       {"CROSSCUT_DORMANT=0", "CROSSCUT_STOP_AFTER_STEPS=1"}},
      {[](auto* o) {
         o->wrap = {"a:native", "b:comm"};
       },
       {"CROSSCUT_WRAP=a:native\nb:comm"}},
      {[](auto* o) { o->device_type = "GPU"; }, {"CROSSCUT_DEVICE_TYPE=GPU"}},
      {[](auto* o) { o->device_tracer_level = 0; }, {"CROSSCUT_DEVICE_TRACER_LEVEL=0"}},
      {[](auto* o) { o->device_tracer_level = 2; }, {"CROSSCUT_DEVICE_TRACER_LEVEL=2"}},
      {[](auto* o) {
         o->environment = {{"CROSSCUT_X", "1"}};
       },
       {"CROSSCUT_X=1"}}};
  const Variables without = of({});
  for (const auto& [ask, more] : cases) {
    RecordOptions options;
    ask(&options);
    Variables expected = without;
    expected.insert(more.begin(), more.end());
    EXPECT_EQ(of(options), expected) << *more.begin();
  }
  RecordOptions soon;
  soon.stop_after_seconds = 0.001;
  const Variables stops = of(soon);
  EXPECT_EQ(stops.size(), without.size() + 2);
  EXPECT_TRUE(stops.contains("CROSSCUT_DORMANT=0"));
}

TEST(PrepareEnvironment, EmptyEntriesOfPathListsStay) {
  RecordOptions options;
  PackageLayout package;
  package.root = "/p";
  package.inject = "/p/inject";
  package.preload = "/p/pre.so";
  const auto set = [&](const std::string& variable) {
    return PrepareEnvironment({variable}, options, package, "").variables;
  };
  EXPECT_THAT(set("PYTHONPATH="), Contains("PYTHONPATH=/p/inject"));
  EXPECT_THAT(set("PYTHONPATH=:"), Contains("PYTHONPATH=/p/inject::"));
  EXPECT_THAT(set("PYTHONPATH=:/a"), Contains("PYTHONPATH=/p/inject::/a"));
  EXPECT_THAT(set("PYTHONPATH=/a::/p/inject:/b:"), Contains("PYTHONPATH=/p/inject:/a::/b:"));
  EXPECT_THAT(set("PYTHONPATH=/p/inject"), Contains("PYTHONPATH=/p/inject"));
  EXPECT_THAT(set("LD_PRELOAD=/a:"), Contains("LD_PRELOAD=/a::/p/pre.so"));
  EXPECT_THAT(set("LD_PRELOAD=/p/pre.so"), Contains("LD_PRELOAD=/p/pre.so"));
}

TEST(PrepareEnvironment, AnEndOfTheRecordingIsThatOfAnArmedProcessesFirstWindow) {
  RecordOptions options;
  options.stop_after_steps = 100;
  const PreparedEnvironment steps = PrepareEnvironment({}, options, {}, "");
  EXPECT_THAT(steps.variables, Contains("CROSSCUT_STOP_AFTER_STEPS=100"));
  EXPECT_THAT(steps.variables, Contains("CROSSCUT_DORMANT=0"));
  EXPECT_THAT(steps.variables, Not(Contains(HasSubstr("CROSSCUT_STOP_AT"))));
  options.stop_after_steps = 0;
  options.stop_after_seconds = 2.5;
  timespec before;
  clock_gettime(CLOCK_MONOTONIC, &before);
  int64_t at = 0;
  for (const std::string& variable : PrepareEnvironment({}, options, {}, "").variables) {
    if (variable.starts_with("CROSSCUT_STOP_AT=")) at = std::stoll(variable.substr(17));
  }
  EXPECT_GE(at, int64_t{before.tv_sec} * 1'000'000'000 + before.tv_nsec + 2'500'000'000);
  const std::vector<std::string> without =
      PrepareEnvironment({"CROSSCUT_STOP_AT=5"}, RecordOptions(), {}, "").variables;
  EXPECT_THAT(without, Not(Contains(HasSubstr("CROSSCUT_STOP"))));
  EXPECT_THAT(without, Not(Contains("CROSSCUT_DORMANT=0")));
}

TEST(PrepareEnvironment, PreloadsNothingWhereTheLoaderWouldSplitThePath) {
  RecordOptions options;
  PackageLayout package;
  package.root = "/a b";
  package.inject = "/a b/inject";
  package.preload = "/a b/lib/pre.so";
  for (const std::string& variable : PrepareEnvironment({}, options, package, "").variables) {
    EXPECT_THAT(variable, Not(HasSubstr("LD_PRELOAD")));
  }
}

TEST(PrepareEnvironment, PutsTheOpenClLayerUnderTheUsersOwn) {
  RecordOptions options;
  PackageLayout package;
  package.opencl = "/p/lib/cl.so";
  const std::vector<std::string> before = {"OPENCL_LAYERS=/my/layer.so", "CROSSCUT_PLUGINS=/a.so"};
  const std::vector<std::string> after = PrepareEnvironment(before, options, package, "").variables;
  EXPECT_THAT(after, Contains("OPENCL_LAYERS=/p/lib/cl.so:/my/layer.so"));
  EXPECT_THAT(after, Contains("CROSSCUT_PLUGINS=/a.so:/p/lib/cl.so"));
  // Recording inside a recording adds it once.
  const std::vector<std::string> again = PrepareEnvironment(after, options, package, "").variables;
  EXPECT_THAT(again, Contains("OPENCL_LAYERS=/p/lib/cl.so:/my/layer.so"));
  EXPECT_THAT(again, Contains("CROSSCUT_PLUGINS=/a.so:/p/lib/cl.so"));
}

TEST(PrepareEnvironment, LeavesOpenClAloneWhereItIsNotWantedOrNotThere) {
  RecordOptions options;
  PackageLayout package;
  auto layered = [&](const std::string& sources) {
    options.sources = sources;
    for (const std::string& variable : PrepareEnvironment({}, options, package, "").variables) {
      if (variable.starts_with("OPENCL_LAYERS=")) return true;
    }
    return false;
  };
  EXPECT_FALSE(layered(""));
  package.opencl = "/p/lib/cl.so";
  EXPECT_TRUE(layered(""));
  EXPECT_TRUE(layered("opencl"));
  EXPECT_TRUE(layered("pytorch,opencl"));
  EXPECT_FALSE(layered("pytorch"));
  EXPECT_FALSE(layered("none"));
  package.opencl = "/a:b/cl.so";
  EXPECT_FALSE(layered(""));
}

TEST(FindPackage, FindsThePluginsInstalledBesideIt) {
  TempFolder folder;
  const std::filesystem::path root = folder.path();
  std::filesystem::create_directories(root / "lib" / "plugins");
  for (const char* name : {"libb.so", "liba.so", "notes.txt"}) {
    std::ofstream(root / "lib" / "plugins" / name) << "x";
  }
  const PackageLayout package = FindPackage((root / "bin" / "crosscut").string());
  const std::string a = root / "lib" / "plugins" / "liba.so";
  const std::string b = root / "lib" / "plugins" / "libb.so";
  EXPECT_THAT(package.installed, testing::ElementsAre(a, b));
  EXPECT_THAT(PrepareEnvironment({}, RecordOptions(), package, "").variables,
              Contains("CROSSCUT_PLUGINS=" + a + ":" + b));
}

// CMake says where our own plugins go, FindPackage() where they are looked for.
TEST(FindPackage, FindsEveryPluginOfThisBuild) {
  const PackageLayout package = FindPackage(CROSSCUT_BINARY_DIR "/python/crosscut/bin/crosscut");
  for (const std::string built : {CROSSCUT_CUPTI, CROSSCUT_OPENCL}) {
    if (built.empty()) continue;  // left out: the headers that it needs are not here
    const std::string name = built.substr(built.rfind('/') + 1);
    EXPECT_EQ(std::filesystem::weakly_canonical(OwnPlugin(package, name)),
              std::filesystem::weakly_canonical(built));
  }
  EXPECT_EQ(OwnPlugin(package, "libother.so"), "");
  EXPECT_EQ(OwnPlugin(package, "libcrosscut.so.1"), "");
}

TEST(PrepareEnvironment, NamesThePluginForNvidiaWhereItsDriverIs) {
  RecordOptions options;
  PackageLayout package;
  package.cupti = "/p/plugins/cupti/libcrosscut_cupti.so";  // not there: the run will say so
  const auto plugins = [&](bool nvidia, const std::string& sources) {
    package.nvidia = nvidia;
    options.sources = sources;
    for (const std::string& variable : PrepareEnvironment({}, options, package, "").variables) {
      if (variable.starts_with("CROSSCUT_PLUGINS=")) return variable.substr(17);
    }
    return std::string("unset");
  };
  EXPECT_EQ(plugins(true, ""), package.cupti);
  EXPECT_EQ(plugins(true, "pytorch,cupti"), package.cupti);
  EXPECT_EQ(plugins(true, "pytorch"), "");
  EXPECT_EQ(plugins(false, ""), "");
}

TEST(PrepareEnvironment, SaysWhichNamedSourcesCannotBeHad) {
  RecordOptions options;
  PackageLayout package;
  package.root = package.inject = "/p";
  package.opencl = "/p/lib/libcrosscut_opencl.so";
  const auto problems = [&](bool nvidia, const std::string& sources) {
    package.nvidia = nvidia;
    options.sources = sources;
    return PrepareEnvironment({}, options, package, "").problems;
  };
  EXPECT_TRUE(problems(false, "").empty());  // nobody asked
  EXPECT_TRUE(problems(true, "cupti,opencl").empty());
  ASSERT_EQ(problems(false, "pytorch,cupti").size(), 1U);
  EXPECT_NE(problems(false, "cupti").front().find("no NVIDIA driver"), std::string::npos);
  package.opencl = "";
  ASSERT_EQ(problems(true, "opencl").size(), 1U);
  EXPECT_NE(problems(true, "opencl").front().find("built without it"), std::string::npos);
}

TEST(ObstacleOf, NamesWhatKeepsUsOut) {
  TempFolder folder;
  EXPECT_EQ(ObstacleOf("/bin/sh"), "");
  EXPECT_EQ(ObstacleOf(folder / "missing"), "");
  const std::string program = folder / "program";
  ASSERT_EQ(system(("cp /bin/true " + program).c_str()), 0);
  if (geteuid() == 0) {
    ASSERT_EQ(chown(program.c_str(), 12345, 12345), 0);
    chmod(program.c_str(), 04755);
    EXPECT_EQ(ObstacleOf(program), "is setuid");
    chmod(program.c_str(), 02755);
    EXPECT_EQ(ObstacleOf(program), "is setgid");
  }
}

TEST(FindInPath, FindsWhatAShellWouldRun) {
  TempFolder folder;
  mkdir((folder / "a").c_str(), 0700);
  mkdir((folder / "b").c_str(), 0700);
  Write(folder / "a/tool", "");
  Write(folder / "b/tool", "");
  chmod((folder / "b/tool").c_str(), 0755);
  const std::string path = (folder / "a") + ":" + (folder / "b");
  EXPECT_EQ(FindInPath("tool", path), folder / "b/tool");
  EXPECT_EQ(FindInPath("other", path), "");
}

}  // namespace
}  // namespace crosscut::verbs
