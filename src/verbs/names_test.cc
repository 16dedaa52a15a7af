// What is named, found and shown: programs, runs, pages, commands that cannot be started.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "src/verbs/browser.h"
#include "src/verbs/recording/machine.h"
#include "src/verbs/recording/program_name.h"
#include "src/verbs/recording/ring_watch.h"
#include "src/verbs/recording/run_name.h"
#include "src/verbs/recording/start_problem.h"
#include "src/verbs/runs.h"

namespace crosscut::verbs {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class NamesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/crosscut-names-test-XXXXXX";
    folder_ = mkdtemp(name);
    here_ = std::filesystem::current_path();
    std::filesystem::current_path(folder_);
    for (const char* variable :
         {"BROWSER", "DISPLAY", "WAYLAND_DISPLAY", "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID",
          "COBALT_JOBID", "FLUX_JOB_ID", "JOB_ID", "RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_RANK",
          "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE", "SLURM_PROCID", "SLURM_NTASKS"}) {
      unsetenv(variable);
    }
  }
  void TearDown() override {
    std::filesystem::current_path(here_);
    std::filesystem::remove_all(folder_);
  }
  std::string At(const std::string& name) const { return folder_ + "/" + name; }
  static void Write(const std::string& path, const std::string& text, mode_t mode = 0644) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << text;
    chmod(path.c_str(), mode);
  }
  static std::string Read(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  std::string folder_, here_;
};

TEST(ProgramName, IsTheScriptThatPythonRuns) {
  const std::pair<std::vector<std::string>, const char*> kAll[] = {
      {{"/usr/bin/train", "x"}, "train"},
      {{"train"}, "train"},
      {{"/usr/bin/python3.11", "/home/me/train.py", "x.py"}, "train.py"},
      {{"python", "-u", "train.py"}, "train.py"},
      {{"python", "-m", "pkg.main", "train.py"}, "pkg.main"},
      {{"python", "-m"}, "python"},
      {{"python", "-c", "print()"}, "python"},
      {{"python3", "-", "x.py"}, "python3"},
      {{"python", "-W", "ignore", "-X", "dev", "train.py"}, "train.py"},
      {{"python", "-W"}, "python"},
      {{"python"}, "python"},
  };
  for (const auto& [command, name] : kAll) EXPECT_EQ(ProgramName(command), name);
}

TEST(ProcessTitle, HasTheProgramAndTheNumber) {
  const std::string pid = std::to_string(getpid());
  EXPECT_EQ(ProcessTitle(getpid()), "verbs_names_test (pid " + pid + ")");
  EXPECT_EQ(ProcessTitle(999999999), "process 999999999");
}

TEST_F(NamesTest, APageLiesInTheRunOrBesideTheFile) {
  EXPECT_EQ(PageOf(folder_), folder_ + "/report.html");
  EXPECT_EQ(PageOf(folder_ + "/"), folder_ + "/report.html");
  EXPECT_EQ(PageOf(At("trace.json")), At("trace.json.html"));
}

TEST(FileUrl, EscapesWhatIsNoLetter) {
  EXPECT_EQ(FileUrl("/a-b_c.d~e/Z9"), "file:///a-b_c.d~e/Z9");
  EXPECT_EQ(FileUrl("/a b%\xc3\xbc?#\x1f"), "file:///a%20b%25%C3%BC%3F%23%1F");
}

TEST_F(NamesTest, ABrowserIsTheFirstOfThoseNamedThatShowsThePage) {
  EXPECT_EQ(ShowPage("/x/page.html"), "") << "there is none";
  const std::string told = At("told");
  Write(At("shows"), "#!/bin/sh\necho \"$@\" >> " + told + "\n", 0755);
  Write(At("fails"), "#!/bin/sh\necho failed >> " + told + "\nexit 3\n", 0755);
  const std::string url = "file:///x/a%20page.html";
  setenv("BROWSER", At("shows").c_str(), 1);
  EXPECT_EQ(ShowPage("/x/a page.html"), At("shows"));
  EXPECT_EQ(Read(told), url + "\n");
  // Empty ones are passed over; "&" is for shells that wait; "%s" is where the URL belongs.
  const std::string list = "::  & :" + At("fails") + ":" + At("none") + ":" + At("shows") +
                           " --new %s --then &:" + At("fails");
  setenv("BROWSER", list.c_str(), 1);
  EXPECT_EQ(ShowPage("/x/a page.html"), At("shows"));
  EXPECT_EQ(Read(told), url + "\nfailed\n--new " + url + " --then\n");
  setenv("BROWSER", (At("fails") + ":").c_str(), 1);
  EXPECT_EQ(ShowPage("/x/page.html"), "");
  // With a display it is alone: in a session of its own, without our terminal.
  Write(At("alone"),
        "#!/bin/sh\nps -o sid= -p $$ | tr -d ' ' > " + told + "\necho loud; echo loud >&2\n", 0755);
  setenv("DISPLAY", ":9", 1);
  setenv("BROWSER", At("alone").c_str(), 1);
  EXPECT_EQ(ShowPage("/x/page.html"), At("alone"));
  EXPECT_NE(Read(told), std::to_string(getsid(0)) + "\n");
  // One that fails there is passed over for the desktop's own, which is not here.
  Write(At("bin/xdg-open"), "#!/bin/sh\necho desktop $1 > " + told + "\n", 0755);
  const std::string path = getenv("PATH");
  setenv("PATH", (At("bin") + ":" + path).c_str(), 1);
  for (const char* display : {"DISPLAY", "WAYLAND_DISPLAY"}) {
    unsetenv("DISPLAY");
    setenv(display, "there", 1);
    setenv("BROWSER", At("fails").c_str(), 1);
    EXPECT_EQ(ShowPage("/x/page.html"), "xdg-open");
    EXPECT_EQ(Read(told), "desktop file:///x/page.html\n");
    Write(told, "");
  }
  unsetenv("WAYLAND_DISPLAY");
  setenv("DISPLAY", "", 1);
  EXPECT_EQ(ShowPage("/x/page.html"), "") << "an empty name is no display";
  setenv("PATH", path.c_str(), 1);
}

TEST_F(NamesTest, PlaceholdersInARunsNameAreReplaced) {
  const auto of = [](const std::string& name) {
    const auto expanded = ExpandRunName(name);
    return expanded.ok() ? *expanded : std::string(expanded.status().message());
  };
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  setenv("CROSSCUT_NAMES_TEST", "value", 1);
  EXPECT_EQ(of("plain"), "plain");
  EXPECT_EQ(of("a%%b"), "a%b");
  EXPECT_EQ(of("%p"), std::to_string(getpid()));
  EXPECT_EQ(of("%h.x"), std::string(host) + ".x");
  EXPECT_EQ(of("-%q{CROSSCUT_NAMES_TEST}-%q{CROSSCUT_NAMES_TEST}"), "-value-value");
  EXPECT_EQ(of("x%q{CROSSCUT_NOT_SET}y"),
            "-o x%q{CROSSCUT_NOT_SET}y: %q{CROSSCUT_NOT_SET}: CROSSCUT_NOT_SET is not set");
  for (const char* wrong : {"x%", "x%z", "x%q", "x%qNAME", "x%q{NAME", "x%z{NAME}"}) {
    EXPECT_THAT(of(wrong), HasSubstr("the placeholders are %p, %h, %r, %j, %q{NAME} and %%"));
  }
  EXPECT_THAT(of("x%zy"), StartsWith("-o x%zy: %z: "));

  EXPECT_THAT(of("%j"), HasSubstr("(SLURM_JOB_ID, PBS_JOBID, LSB_JOBID, COBALT_JOBID, FLUX_JOB_ID, "
                                  "JOB_ID)"));
  EXPECT_EQ(BatchJob(), "");
  const char* jobs[] = {"JOB_ID",    "FLUX_JOB_ID", "COBALT_JOBID",
                        "LSB_JOBID", "PBS_JOBID",   "SLURM_JOB_ID"};
  for (const char* job : jobs) {  // each goes before those set so far
    setenv(job, job, 1);
    EXPECT_EQ(BatchJob(), job);
    EXPECT_EQ(of("%j"), job);
  }

  EXPECT_THAT(of("%r"), HasSubstr("(RANK, OMPI_COMM_WORLD_RANK, PMI_RANK, SLURM_PROCID)"));
  setenv("SLURM_PROCID", "4", 1);
  EXPECT_EQ(of("%r"), "4");
  setenv("OMPI_COMM_WORLD_RANK", "3", 1);
  EXPECT_EQ(of("%r"), "3");
  setenv("SLURM_NTASKS", "8", 1);
  EXPECT_EQ(of("%r"), "4") << "who tells a size goes first";
  setenv("SLURM_NTASKS", "many", 1);
  EXPECT_EQ(of("%r"), "3");
  setenv("OMPI_COMM_WORLD_RANK", "-1", 1);
  EXPECT_EQ(of("%r"), "4") << "no number";
}

TEST_F(NamesTest, WhyACommandCannotBeStartedAsExecvpSees) {
  Write(At("bin/tool"), "#!/bin/sh\n", 0755);
  Write(At("bin/data"), "x", 0644);
  Write(At("script.py"), "print()\n", 0644);
  Write(At("run.sh"), "true\n", 0644);
  Write(At("with space.sh"), "true\n", 0644);
  Write(At("perl script"), "#!/usr/bin/env -S perl -w\n", 0644);
  Write(At("awk"), "#! /usr/bin/awk -f\n", 0644);
  Write(At("plain"), "x\n", 0644);
  Write(At("local"), "#!/bin/sh\n", 0755);
  Write(At("orphan"), "#!/no/such/shell -x\n", 0755);
  Write(At("orphaned"),
        "\x7f"
        "ELF\n",
        0755);
  const std::string path = At("none") + ":" + At("bin");
  EXPECT_EQ(StartError("tool", path), 0);
  EXPECT_EQ(StartError("data", path), EACCES);
  EXPECT_EQ(StartError("data", path + ":/nowhere"), EACCES);
  EXPECT_EQ(StartError("nothing", path), ENOENT);
  EXPECT_EQ(StartError("", path), ENOENT);
  EXPECT_EQ(StartError("plain", ""), EACCES) << "an empty entry is this folder";
  EXPECT_EQ(StartError("plain", path + ":"), EACCES);
  EXPECT_EQ(StartError("plain", path), ENOENT);
  EXPECT_EQ(StartError("./plain", path), EACCES);
  EXPECT_EQ(StartError("./local", path), 0);
  EXPECT_EQ(StartError("./bin", path), EACCES);
  EXPECT_EQ(StartError("./nothing", path), ENOENT);

  const auto problem = [&](std::vector<std::string> command, int error) {
    return StartProblem(command, error, path);
  };
  EXPECT_EQ(problem({"tol"}, ENOENT), "tol: no such command; did you mean tool?");
  EXPECT_EQ(problem({"./plan"}, ENOENT), "./plan: no such file; did you mean ./plain?");
  EXPECT_EQ(problem({"./bin"}, EACCES), "./bin is a folder");
  EXPECT_EQ(problem({"qqqqq"}, EACCES), "qqqqq: Permission denied");
  EXPECT_EQ(problem({"./plain"}, EACCES),
            "./plain is not executable; to make it so: chmod +x ./plain");
  EXPECT_EQ(problem({"script.py", "a b"}, EACCES),
            "script.py is a script that is not executable; type: crosscut record python3 script.py "
            "'a b'");
  Write(At("bin/python"), "#!/bin/sh\n", 0755);
  EXPECT_THAT(problem({"script.py"}, EACCES), HasSubstr("crosscut record python script.py"));
  EXPECT_THAT(problem({"run.sh", "x"}, EACCES), HasSubstr("type: crosscut record sh run.sh x"));
  EXPECT_THAT(problem({"./perl script"}, EACCES), HasSubstr("record perl './perl script'"));
  EXPECT_THAT(problem({"./awk"}, EACCES), HasSubstr("record awk ./awk"));
  EXPECT_EQ(problem({"local", "-x"}, ENOENT),
            "local lies in this folder, not in PATH; type: crosscut record ./local -x");
  EXPECT_EQ(problem({"./orphan"}, ENOENT),
            "./orphan: /no/such/shell, which its first line names, is not there");
  // The kernel takes so much of a first line.
  Write(At("long"), "#!" + std::string(300, 'l') + "\n", 0755);
  EXPECT_EQ(problem({"./long"}, ENOENT),
            "./long: " + std::string(254, 'l') + ", which its first line names, is not there");
  EXPECT_EQ(problem({"./orphaned"}, ENOENT), "./orphaned: the loader that it names is not there");
  EXPECT_EQ(problem({"./orphaned"}, ENOEXEC), "./orphaned: Exec format error");
}

TEST_F(NamesTest, RunsAreListedTheNewestFirst) {
  EXPECT_EQ(FindRuns("none").status().code(), Status::Code::kNotFound);
  EXPECT_TRUE(FindRuns(".")->empty());
  EXPECT_EQ(Runs(".", 0)->text, "");
  Write(At("old/run.json"), "{\"format\": 1, \"started_realtime_ns\": 1000000000}");
  Write(At("crosscut-runs/new/run.json"), "{\"format\": 1, \"started_realtime_ns\": 3000000000}");
  Write(At("b/run.json"), "{\"format\": 1, \"started_realtime_ns\": 2000000000}");
  Write(At("a/run.json"), "{\"format\": 1, \"started_realtime_ns\": 2000000000}");
  Write(At("copied/run.json"), "{\"format\": 1, \"imported\": [\"0-x\"]}");
  const timespec times[] = {{9, 500}, {9, 500}};
  ASSERT_EQ(utimensat(AT_FDCWD, At("copied/run.json").c_str(), times, 0), 0);
  Write(At("other/run.json"), "{\"sizes\": 1}");
  Write(At("bad/run.json"), "no JSON");
  std::filesystem::create_directories(At("folder/run.json"));
  std::filesystem::create_directories(At("empty"));
  for (const std::string& prefix : {std::string(), folder_ + "/"}) {
    const auto runs = FindRuns(prefix.empty() ? "." : folder_);
    ASSERT_TRUE(runs.ok());
    std::vector<std::string> names;
    for (const FoundRun& run : *runs) names.push_back(run.path);
    EXPECT_EQ(names, (std::vector<std::string>{prefix + "copied", prefix + "crosscut-runs/new",
                                               prefix + "a", prefix + "b", prefix + "old"}));
    EXPECT_TRUE(runs->front().imported);
    EXPECT_EQ(runs->front().started_ns, 9'000'000'500);
    EXPECT_FALSE(runs->back().imported);
    EXPECT_EQ(runs->back().started_ns, 1'000'000'000);
  }
  EXPECT_EQ(FindRuns(folder_ + "/")->front().path, At("copied"));
  EXPECT_TRUE(IsRun("old"));
  for (const char* none : {"other", "bad", "folder", "empty", "nowhere"}) EXPECT_FALSE(IsRun(none));

  setenv("TZ", "UTC", 1);
  tzset();
  const std::string text = Runs(".", 0)->text;
  EXPECT_EQ(text,
            "began                took  processes  state     run                command\n"
            "1970-01-01 00:00:09     -          -  imported  copied             \n"
            "1970-01-01 00:00:03     -          0  empty     crosscut-runs/new  \n"
            "1970-01-01 00:00:02     -          0  empty     a                  \n"
            "1970-01-01 00:00:02     -          0  empty     b                  \n"
            "1970-01-01 00:00:01     -          0  empty     old                \n");
  EXPECT_EQ(Runs(".", static_cast<int>(text.find('\n')))->text, text) << "they fit";
  // Lines are cut to so many columns, the last of which says so.
  std::istringstream cut(Runs(".", 24)->text), whole(text);
  for (std::string line, all; std::getline(cut, line) && std::getline(whole, all);) {
    EXPECT_EQ(line, all.substr(0, 23) + "…");
  }
}

TEST(Machine, HasTheProcessorsThatThisProcessMayUse) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  const std::string all = DescribeMachine();
  const int count = CPU_COUNT(&before);
  EXPECT_TRUE(
      all.ends_with(count == 1 ? ", 1 processor" : ", " + std::to_string(count) + " processors"))
      << all;
  CPU_ZERO(&one);
  for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  const std::string alone = DescribeMachine();
  sched_setaffinity(0, sizeof before, &before);
  EXPECT_TRUE(alone.ends_with(", 1 processor")) << alone;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    EXPECT_EQ(all.substr(0, all.rfind(", ")), line.substr(line.find(": ") + 2));
    break;
  }
}

TEST_F(NamesTest, ARunThatWasMovedIsFoundByItsOpenDirectory) {
  std::filesystem::create_directory("run");
  const int folder = open("run", O_PATH | O_DIRECTORY | O_CLOEXEC);
  EXPECT_EQ(PlaceOfRun("run", -1), "run");
  EXPECT_EQ(PlaceOfRun("run", folder), "run");
  EXPECT_FALSE(RemoveRingsOfRemovedRun(-1));
  EXPECT_FALSE(RemoveRingsOfRemovedRun(folder));
  std::filesystem::rename("run", "moved");
  EXPECT_EQ(PlaceOfRun("run", folder), std::filesystem::canonical("moved").string());
  std::filesystem::create_directory("run");  // another one, under its name
  EXPECT_EQ(PlaceOfRun("run", folder), std::filesystem::canonical("moved").string());
  std::filesystem::remove("moved");
  EXPECT_EQ(PlaceOfRun("run", folder), "run");
  EXPECT_TRUE(RemoveRingsOfRemovedRun(folder));
  close(folder);
}

}  // namespace
}  // namespace crosscut::verbs
