// What a recording leaves, what it says and where it refuses to begin.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <vector>

#include "src/base/descriptors.h"
#include "src/base/process.h"
#include "src/base/time.h"
#include "src/format/test_words.h"
#include "src/verbs/recording/machine.h"
#include "src/verbs/test_recording.h"

namespace crosscut::verbs {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kVariables[] = {"CROSSCUT_SEED",   "CROSSCUT_PLUGINS", "CROSSCUT_SOURCES",
                                      "CROSSCUT_PYTHON", "SLURM_JOB_ID",     "PBS_JOBID",
                                      "LSB_JOBID",       "COBALT_JOBID",     "FLUX_JOB_ID",
                                      "JOB_ID",          "XDG_CACHE_HOME"};

class RecordRunTest : public ::testing::Test {
 protected:
  RecordRunTest() {
    for (const char* variable : kVariables) unsetenv(variable);
    setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1);
    fs::current_path(folder_.path());
  }
  ~RecordRunTest() override {
    fs::current_path(here_);
    for (const char* variable : kVariables) unsetenv(variable);
  }
  // Without what the place of this test's program makes it say.
  Result<RecordOutcome> Run(RecordOptions options) {
    said_.clear();
    options.say = [this](std::string_view line) {
      if (!line.starts_with("the injected files are missing")) said_.emplace_back(line);
    };
    return RecordHere(options);
  }
  std::string Problem(const RecordOptions& options) {
    const auto outcome = Run(options);
    EXPECT_FALSE(outcome.ok());
    return outcome.ok() ? "" : std::string(outcome.status().message());
  }
  // The folder into which a run goes, or why it does not.
  std::string Into(const std::string& dir) {
    RecordOptions options = Command(folder_, "true");
    options.run_dir = dir;
    const auto outcome = Run(options);
    return outcome.ok() ? outcome->run_dir : "! " + std::string(outcome.status().message());
  }
  static mode_t Mode(const std::string& path) {
    struct stat facts;
    return stat(path.c_str(), &facts) == 0 ? facts.st_mode & 07777 : 0;
  }

  const fs::path here_ = fs::current_path();
  TempFolder folder_;
  std::vector<std::string> said_;
};

std::string Date() {
  const time_t now = time(nullptr);
  char text[32];
  return {text, strftime(text, sizeof text, "%Y%m%d-%H%M%S", localtime(&now))};
}

TEST_F(RecordRunTest, WithoutANameItsFolderHasTheProgramsAndTheTimeAndIsForItsOwner) {
  const std::string longest(70, 'n');
  const std::pair<std::string, std::string> kAll[] = {{"train.py", "train"},
                                                      {"a b;c@[`{:", "a_b_c_____"},
                                                      {".hidden", "hidden"},
                                                      {"-.-dash", "dash"},
                                                      {"---", "run"},
                                                      {".py", "run"},
                                                      {"x.pyc", "x.pyc"},
                                                      {"A-Z_0.9", "A-Z_0.9"},
                                                      {longest, std::string(64, 'n')}};
  const mode_t mask = umask(0);
  for (const auto& [program, shown] : kAll) {
    Write(folder_ / program, "#!/bin/sh\n", 0755);
    RecordOptions options;
    options.command = {"./" + program};
    const std::string before = Date();
    const auto outcome = Run(options);
    ASSERT_TRUE(outcome.ok()) << outcome.status().message();
    const std::string head = folder_ / "crosscut-runs/" + shown + "-",
                      end = "-" + std::to_string(getpid());
    ASSERT_TRUE(outcome->run_dir.starts_with(head) && outcome->run_dir.ends_with(end))
        << outcome->run_dir;
    const std::string date =
        outcome->run_dir.substr(head.size(), outcome->run_dir.size() - head.size() - end.size());
    EXPECT_THAT(date, testing::MatchesRegex("[0-9]{8}-[0-9]{6}"));
    EXPECT_LE(before, date);
    EXPECT_LE(date, Date());
    EXPECT_EQ(Mode(folder_ / "crosscut-runs"), 0755u);
    EXPECT_EQ(Mode(outcome->run_dir), 0700u);
    EXPECT_EQ(Mode(outcome->run_dir + "/run.json"), 0600u);
    fs::remove_all(outcome->run_dir);
  }
  umask(mask);
}

TEST_F(RecordRunTest, ItsDescriptionHasTheSeedTheJobTheTimeTheMachineAndTheCommand) {
  RecordOptions options = Command(folder_, "true");
  options.seed = 77;
  for (const char* job : {"", "one \"job\""}) {
    options.job = job;
    timespec before, after;
    clock_gettime(CLOCK_REALTIME, &before);
    ASSERT_TRUE(Run(options).ok());
    clock_gettime(CLOCK_REALTIME, &after);
    const std::string json = Read(folder_ / "run/run.json");
    const std::string head = std::string("{\"format\": 1,\n \"seed\": 77,\n ") +
                             (*job == '\0' ? "" : "\"job\": \"one \\\"job\\\"\",\n ") +
                             "\"started_realtime_ns\": ",
                      end = ",\n \"machine\": \"" + DescribeMachine() +
                            "\",\n \"command\": [\"sh\", \"-c\", \"true\"]}\n";
    ASSERT_TRUE(json.starts_with(head) && json.ends_with(end)) << json;
    const int64_t ns = std::stoll(json.substr(head.size()));
    EXPECT_GE(ns, int64_t{before.tv_sec} * 1'000'000'000 + before.tv_nsec);
    EXPECT_LE(ns, int64_t{after.tv_sec} * 1'000'000'000 + after.tv_nsec);
    EXPECT_EQ(json.size(), head.size() + end.size() + std::to_string(ns).size());
  }
}

// FNV-1a's own test vectors stand for "a" and "foobar".
TEST_F(RecordRunTest, TheSeedIsTheOneThatIsNamedOrTheJobsOrAnyOther) {
  const struct {
    uint64_t option;
    const char *variable, *job, *batch_job, *expected;
  } kAll[] = {{5, "9", "j", "k", "5"},
              {0, "9", "j", "", "9"},
              {0, "0x1F", "", "", "31"},
              {0, "", "a", "foobar", "12638187200555641996"},
              {0, "0", "foobar", "", "9625390261332436968"},
              {0, "", "", "a", "12638187200555641996"}};
  RecordOptions options = Command(folder_, "env > variables");
  const auto seed = [&] {
    EXPECT_TRUE(Run(options).ok());
    const std::string json = Read(folder_ / "run/run.json");
    const size_t at = json.find("\"seed\": ") + 8;
    const std::string number = json.substr(at, json.find(',', at) - at);
    EXPECT_THAT("\n" + Read(folder_ / "variables"), HasSubstr("\nCROSSCUT_SEED=" + number + "\n"));
    return number;
  };
  for (const auto& [option, variable, job, batch_job, expected] : kAll) {
    options.seed = option;
    options.job = job;
    setenv("CROSSCUT_SEED", variable, 1);
    setenv("SLURM_JOB_ID", batch_job, 1);
    EXPECT_EQ(seed(), expected);
    const std::string name = *job != '\0' ? job : batch_job;
    EXPECT_EQ(Read(folder_ / "run/run.json").find("\"job\": \"" + name + "\"") == std::string::npos,
              name.empty());
  }
  unsetenv("CROSSCUT_SEED");
  unsetenv("SLURM_JOB_ID");
  options.seed = 0;
  options.job = "";
  const std::string one = seed(), other = seed();
  EXPECT_NE(one, other);
  EXPECT_NE(one, "0");
  fs::remove_all(folder_ / "run");
  setenv("CROSSCUT_SEED", "12x", 1);
  EXPECT_EQ(Problem(options), "CROSSCUT_SEED is 12x: not a whole number");
  EXPECT_FALSE(fs::exists(folder_ / "run"));
}

TEST_F(RecordRunTest, ItsFolderIsKnownAgainByNumbersAndPath) {
  ASSERT_TRUE(Run(Command(folder_, "env > variables")).ok());
  const std::string dir = folder_ / "run", all = "\n" + Read(folder_ / "variables");
  const int fd = open(dir.c_str(), O_PATH | O_CLOEXEC);
  struct stat facts;
  ASSERT_EQ(fstat(fd, &facts), 0);
  std::ostringstream id;
  id << std::hex << base::ThisProcess().boot << ":" << facts.st_dev << ":" << facts.st_ino << ":"
     << base::MadeNs(fd) << ":" << dir;
  close(fd);
  EXPECT_THAT(all, HasSubstr("\nCROSSCUT_RUN_ID=" + id.str() + "\n"));
  EXPECT_THAT(all, HasSubstr("\nCROSSCUT_RUN=" + dir + "\n"));
}

TEST_F(RecordRunTest, InTheEndItIsSaidWhatThereIsAndWhatIsMissing) {
  const std::string dir = folder_ / "run";
  const std::string none =
      "nothing was recorded: Crosscut got into none of the command's processes (run directory " +
      dir + ")";
  const auto recorded = [&](const std::string& count) {
    return count + " recorded in " + dir + "; next: crosscut report " + dir;
  };
  const auto empty = [&](const std::string& key) {
    return key + ": " + dir + "/" + key + ".crosscut: shorter than a log's header";
  };
  using Lines = std::vector<std::string>;
  const struct {
    const char* script;
    Lines said;
    const char* note;  // of how it ended
  } kAll[] = {
      {"true", {none}, ""},
      {"exit 3", {none}, "the command ended with exit status 3\n"},
      {"kill -TERM $$", {none}, "the command was ended by signal 15 (Terminated)\n"},
      {"touch $CROSSCUT_RUN/p1.crosscut", {empty("p1"), recorded("1 process")}, ""},
      {"touch $CROSSCUT_RUN/p1.crosscut $CROSSCUT_RUN/p2.crosscut $CROSSCUT_RUN/crosscut; exit 1",
       {empty("p1"), empty("p2"), recorded("2 processes")},
       "the command ended with exit status 1\n"},
      {"for i in 1 2 3; do echo no $i > $CROSSCUT_RUN/note-$i.txt; done",
       {"no 1", "no 2", "no 3", none},
       ""},
      {"for i in 1 2 3 4 5; do echo no $i > $CROSSCUT_RUN/note-$i.txt; done",
       {"no 1", "no 2", "no 3", "2 more such notes are in " + dir, none},
       ""},
  };
  for (const auto& [script, said, note] : kAll) {
    const auto outcome = Run(Command(folder_, script));
    ASSERT_TRUE(outcome.ok()) << script;
    EXPECT_EQ(outcome->run_dir, dir);
    EXPECT_THAT(said_, ElementsAreArray(said)) << script;
    EXPECT_EQ(Read(dir + "/note-ended.txt"), note) << script;
    fs::remove_all(dir);
  }
  RecordOptions dormant = Command(folder_, "true");
  dormant.dormant = true;
  ASSERT_TRUE(Run(dormant).ok());
  EXPECT_THAT(said_, ElementsAre("ready: crosscut start " + dir,
                                 "nothing was recorded: nobody asked for it (crosscut start)"));
}

TEST_F(RecordRunTest, ItsFolderMayBeMovedOrRemovedMeanwhile) {
  const std::string dir = folder_ / "run";
  auto outcome = Run(Command(folder_, "mv $CROSSCUT_RUN moved; exit 4"));
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->run_dir, folder_ / "moved");
  const std::string note = dir +
                           " was moved while it was recorded: processes that began later are not "
                           "in the recording";
  EXPECT_EQ(Read(folder_ / "moved/note-moved.txt"), note + "\n");
  EXPECT_EQ(Read(folder_ / "moved/note-ended.txt"), "the command ended with exit status 4\n");
  ASSERT_EQ(said_.size(), 2u);
  EXPECT_EQ(said_[0], note);
  outcome = Run(Command(folder_, "rm -r $CROSSCUT_RUN"));
  ASSERT_TRUE(outcome.ok());
  EXPECT_THAT(said_, ElementsAre("nothing is left of the recording: " + dir +
                                 " was removed in the meantime"));
  EXPECT_FALSE(fs::exists(dir));
}

TEST_F(RecordRunTest, AScriptWhoseInterpreterIsMissingLeavesNoRun) {
  Write(folder_ / "orphan", "#!/no/such/shell\n", 0755);
  RecordOptions options = Command(folder_, "");
  options.command = {"./orphan"};
  const auto outcome = Run(options);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->wait_status, 127 << 8);
  EXPECT_THAT(said_, ElementsAre("./orphan: /no/such/shell, which its first line names, is not "
                                 "there"));
  EXPECT_FALSE(fs::exists(folder_ / "run"));
}

// One of a process that has ended, and one that this process has mapped as its own.
TEST_F(RecordRunTest, InTheEndRingsOfEndedProcessesAreEmptiedAndTheLivingAreCounted) {
  const std::string dir = folder_ / "run";
  fs::create_directory(dir);
  struct stat run;
  ASSERT_EQ(stat(dir.c_str(), &run), 0);
  const base::ProcessIdentity self = base::ThisProcess();
  std::string script;
  void* page = nullptr;
  for (const bool alive : {false, true}) {
    format::testing::RingBuilder ring(2, alive ? 0x22 : 0x11);
    format::RingHeader& header = ring.header();
    if (alive) {
      header.pid = self.pid;
      header.pid_start = self.start;
      header.pid_namespace = self.pid_namespace;
      header.boot = self.boot;
      strcpy(header.log_name, "p2-2.crosscut");
    }
    header.run_device = run.st_dev;
    header.run_inode = run.st_ino;
    ring.Fill(0, 0, 1, {format::testing::Word(1, format::kName), 0x100, 0, 4, 0x64636261});
    const std::string path = format::RingPath(folder_.path(), header.pid, header.nonce);
    Write(path, {ring.bytes().data(), ring.bytes().size()}, 0600);
    script += "cp -p '" + path + "' $CROSSCUT_RUN; ";
    if (!alive) continue;
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    page = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
  }
  ASSERT_TRUE(Run(Command(folder_, script)).ok());
  munmap(page, 4096);
  EXPECT_THAT(said_,
              ElementsAre("1 process(es) of the run are still alive and go on recording",
                          "1 process recorded in " + dir + "; next: crosscut report " + dir));
  EXPECT_TRUE(fs::exists(dir + "/p1-1.crosscut"));
  EXPECT_FALSE(fs::exists(format::RingPath(dir, 999999999, 0x11)));
  EXPECT_TRUE(fs::exists(format::RingPath(dir, self.pid, 0x22)));
}

TEST_F(RecordRunTest, AFolderIsTakenWhereItIsFreeAndAnEarlierRunStepsAside) {
  const mode_t mask = umask(0);
  EXPECT_EQ(Into("a/b/c//"), folder_ / "a/b/c");
  EXPECT_EQ(Mode("a"), 0755u);
  EXPECT_EQ(Mode("a/b"), 0755u);
  EXPECT_EQ(Mode("a/b/c"), 0700u);
  umask(mask);
  // To the first free name.
  Write("a/b/c.2", "");
  for (const char* earlier : {"a/b/c.1", "a/b/c.3"}) {
    EXPECT_EQ(Into("a/b/c"), folder_ / "a/b/c");
    ASSERT_FALSE(said_.empty());
    EXPECT_EQ(said_[0], std::string("the earlier run is now ") + earlier);
    EXPECT_TRUE(fs::exists(std::string(earlier) + "/run.json"));
  }
  fs::create_directory("empty");
  EXPECT_EQ(Into("empty"), folder_ / "empty");
  fs::create_directory("full");
  Write("full/thesis.txt", "");
  EXPECT_EQ(Into("full"), "! full is not empty and holds no run: name another folder");
  Write("file", "");
  EXPECT_EQ(Into("file"), "! file is not a folder");
  EXPECT_EQ(Into("file/run"), "! cannot make the folder file/run: Not a directory");
  // A link stays, and what it leads to is the run.
  fs::create_directory("real");
  fs::create_symlink("real/one", "link");
  fs::create_symlink("../link", "real/back");
  fs::create_symlink(folder_ / "real/two", "absolute");
  fs::create_symlink("round", "round");
  EXPECT_EQ(Into("link"), folder_ / "real/one");
  EXPECT_EQ(Into("real/back"), folder_ / "real/one");
  EXPECT_TRUE(fs::exists("real/one.1/run.json"));
  EXPECT_EQ(Into("absolute"), folder_ / "real/two");
  EXPECT_EQ(Into("round"), "! round is not a folder");
  for (const char* link : {"link", "real/back", "absolute"}) EXPECT_TRUE(fs::is_symlink(link));
  // Another command's, as long as it records.
  const int fd = open("empty", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(flock(fd, LOCK_EX), 0);
  EXPECT_EQ(Into("empty"), "! empty is being recorded right now: name another folder (-o)");
  close(fd);
  EXPECT_EQ(Into("empty"), folder_ / "empty");
  if (geteuid() != 0) return;
  fs::create_directory("theirs");
  ASSERT_EQ(chown("theirs", 12345, 12345), 0);
  EXPECT_EQ(Into("theirs"), "! theirs is another user's folder: name one of your own (-o)");
  ASSERT_EQ(lchown("link", 12345, 12345), 0);
  EXPECT_EQ(Into("link"), "! link is not a folder") << "a stranger's link is not followed";
}

TEST_F(RecordRunTest, SoManyLinksAreFollowedAndSoManyNamesAreTried) {
  fs::create_symlink(folder_ / "far", "l1");
  for (int i = 2; i <= 41; ++i)
    fs::create_symlink("l" + std::to_string(i - 1), "l" + std::to_string(i));
  EXPECT_EQ(Into("l40"), folder_ / "far");
  EXPECT_EQ(Into("l41"), "! l1 is not a folder");
  for (int i = 1; i < 10000; ++i) Write("run." + std::to_string(i), "");
  EXPECT_EQ(Into("run"), folder_ / "run");
  EXPECT_EQ(Into("run"), "! run and 9999 earlier runs exist: name another folder (-o)");
  fs::remove("run.9999");
  EXPECT_EQ(Into("run"), folder_ / "run");
}

// The command is longer than the limit, so that even run.json is.
TEST_F(RecordRunTest, WhereFilesMayHaveAlmostNothingTheCommandRunsUnrecorded) {
  const auto with_limit = [&](rlim_t bytes) {
    const pid_t pid = fork();
    if (pid == 0) {
      const struct rlimit limit = {bytes, bytes};
      setrlimit(RLIMIT_FSIZE, &limit);
      RecordOptions options = Command(folder_, "exit 5");
      options.command.push_back(std::string(100'000, 'x'));
      const auto outcome = Record(options);  // unrecorded, it takes this process's place
      _exit(outcome.ok() ? 99 : 98);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    return WEXITSTATUS(status);
  };
  EXPECT_EQ(with_limit(65535), 5);
  EXPECT_FALSE(fs::exists(folder_ / "run"));
  EXPECT_EQ(with_limit(65536), 98) << "another trouble of that folder";
}

TEST_F(RecordRunTest, WhyAPluginCannotBeLoadedIsSaidBeforeAnythingIsMade) {
  Write("demo_plugin.so", "");
  const std::pair<const char*, const char*> kAll[] = {
      {"a:b.so", "a:b.so: plugins are listed with ':' between them, so no path may have one"},
      {"libcrosscut_cupti.so,x=1",
       "libcrosscut_cupti.so: this Crosscut was built without it, where CUPTI's headers were "
       "missing"},
      {"./demo_plugn.so,x=1",
       "./demo_plugn.so: No such file or directory; did you mean ./demo_plugin.so?"},
      {"tensorflow-plugin",
       "tensorflow-plugin: No such file or directory; did you mean tensorflow-plugins?"},
      {"demo_plugin.so/x", "demo_plugin.so/x: Not a directory"}};
  for (const auto& [plugin, problem] : kAll) {
    RecordOptions options = Command(folder_, "true");
    options.plugins = {"demo_plugin.so", plugin};
    EXPECT_EQ(Problem(options), std::string("--plugin: ") + problem);
    EXPECT_FALSE(fs::exists("run"));
  }
}

// There is no checker beside this test's program, so that each is loaded all the same.
TEST_F(RecordRunTest, PluginsAreTriedBeforehandAndNoMoreThanTenLinesAreSaid) {
  RecordOptions options = Command(folder_, "echo $CROSSCUT_PLUGINS > plugins");
  options.plugins = {"one.so,a=b", "two.so", "tensorflow-plugins"};
  std::string list;
  for (const std::string& name : {std::string("one.so"), std::string("two.so")}) Write(name, "");
  ASSERT_TRUE(Run(options).ok());
  EXPECT_EQ(Read("plugins"),
            folder_ / "one.so,a=b:" + (folder_ / "two.so") + ":tensorflow-plugins\n");
  EXPECT_EQ(said_.size(), 1u) << "what a registration's try could not tell is no news";
  options.probe_plugins = true;
  ASSERT_TRUE(Run(options).ok());
  ASSERT_EQ(said_.size(), 4u);
  EXPECT_THAT(said_[1], HasSubstr("plugin " + (folder_ / "one.so,a=b") + " could not be tried"));
  EXPECT_THAT(said_[2], HasSubstr("plugin " + (folder_ / "two.so") + " could not be tried"));
  for (int i = 0; i < 12; ++i) options.plugins.push_back("two.so,n=" + std::to_string(i));
  int lines = 0;
  options.say = [&](std::string_view) { ++lines; };
  ASSERT_TRUE(RecordHere(options).ok());
  EXPECT_EQ(lines, 10);
}

TEST_F(RecordRunTest, WhatIsNamedWronglyIsToldByWhoNamedIt) {
  RecordOptions options = Command(folder_, "true");
  options.sources = "opencl,zebra";
  EXPECT_TRUE(Problem(options).starts_with("--sources: unknown source zebra"));
  setenv("CROSSCUT_SOURCES", "opencl,zebra", 1);
  EXPECT_TRUE(Problem(options).starts_with("CROSSCUT_SOURCES: unknown source zebra"));
  setenv("CROSSCUT_SOURCES", "opencl", 1);
  EXPECT_TRUE(Problem(options).starts_with("--sources: "));
  options.sources = " opencl , cupti";
  options.python = "zebra";
  EXPECT_TRUE(Problem(options).starts_with("--python: "));
  setenv("CROSSCUT_PYTHON", "zebra", 1);
  EXPECT_TRUE(Problem(options).starts_with("CROSSCUT_PYTHON: "));
  options.python = "calls";
  options.budget = "2x";
  EXPECT_EQ(Problem(options), "--budget: \"2x\" is neither a share in per cent, like 2, nor off");
  for (const char* budget : {"off", "2", "0.5"}) {
    options.budget = budget;
    options.plan = "half";
    EXPECT_TRUE(Problem(options).starts_with("--plan: ")) << budget;
  }
  options.plan = "";
  options.command = {"sh", "-c", "echo $CROSSCUT_SOURCES > sources"};
  ASSERT_TRUE(Run(options).ok());
  EXPECT_EQ(Read("sources"), "opencl,cupti\n") << "blanks around names do not count";
  options.command.clear();
  EXPECT_EQ(Problem(options), "no command to record");
}

}  // namespace
}  // namespace crosscut::verbs
