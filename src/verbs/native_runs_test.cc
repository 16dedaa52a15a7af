// Runs as a recorder leaves them, in what verbs say of them: runs, info, report, cuts.
#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include <map>
#include <sstream>
#include <utility>

#include "src/base/process.h"
#include "src/base/time.h"
#include "src/import/native/native_test_run.h"
#include "src/report/numbers.h"
#include "src/verbs/cut.h"
#include "src/verbs/info.h"
#include "src/verbs/report.h"
#include "src/verbs/runs.h"

namespace crosscut::verbs {
namespace {

namespace fs = std::filesystem;
using import::Words;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class NativeRuns : public import::Native {
 protected:
  NativeRuns() {
    setenv("TZ", "UTC", 1);
    tzset();
  }
  // Of a process that is stopped, or alive as this one, or was killed; which began at `from`.
  void Add(const std::string& key, bool stopped, bool alive = false, uint64_t from = 0) {
    Words session, main;
    session.At(from, format::kStart, {TickOf(from)});
    session.At(from, format::kAnchor, {format::kClockMonotonic, TickOf(from), from, 10});
    session.At(1000, format::kAnchor, {format::kClockMonotonic, TickOf(1000), 1000, 20});
    session.Name(0x100, "work", import::Attributes(format::kKindSpan, format::kLayerNative));
    if (stopped) session.At(3000, format::kStop, {format::kStopAsked});
    main.Thread(0, 1, format::kThreadIsMain).At(500, 0x100).At(2500, format::kEnd);
    if (!alive) return Write(key, session, {main}, /*finish=*/stopped);
    const base::ProcessIdentity self = base::ThisProcess();
    const format::LogIdentity identity = {
        99, self.pid, self.start, TickOf(0), self.pid_namespace, static_cast<uint32_t>(self.boot)};
    auto file = base::OpenFile((dir_ / (key + ".crosscut")).string(), base::OpenMode::kCreateNew);
    auto log = format::LogWriter::Create(std::move(*file), identity);
    ASSERT_TRUE((*log)->AppendSession({0, 0, TickOf(0), session.words}).ok());
    const format::Piece piece{0, 0, TickOf(0), main.words};
    ASSERT_TRUE((*log)->AppendEvents(1, {&piece, 1}).ok());
  }
  static uint64_t TickOf(uint64_t ns) { return import::TickOf(ns); }
};

// A line's cells by the heads of its columns. The unit of a time may have a letter of two bytes.
std::map<std::string, std::string> Cells(const std::string& head, const std::string& line) {
  std::map<std::string, std::string> cells;
  // "took" and "processes" stand at the right of their columns, all others at the left.
  const std::pair<const char*, size_t> kColumns[] = {{"began", 0},
                                                     {"took", head.find("began") + 21},
                                                     {"processes", head.find("took") + 6},
                                                     {"state", head.find("state")},
                                                     {"run", head.find("run", head.find("state"))},
                                                     {"command", head.find("command")}};
  const size_t letter = line.find("µ");
  const auto at = [&](size_t column) { return column > letter ? column + 1 : column; };
  for (size_t i = 0; i < std::size(kColumns); ++i) {
    const size_t from = at(kColumns[i].second);
    const size_t to = i + 1 < std::size(kColumns) ? at(kColumns[i + 1].second) : line.size();
    std::string text = line.substr(from, to - from);
    text.erase(0, text.find_first_not_of(' '));
    text.erase(text.find_last_not_of(' ') + 1);
    cells[kColumns[i].first] = text;
  }
  return cells;
}

// The cells of each line by the name of its run.
std::map<std::string, std::map<std::string, std::string>> Listed(const fs::path& all) {
  const auto listed = Runs(all.string(), 0);
  EXPECT_TRUE(listed.ok()) << listed.status().message();
  std::istringstream lines(listed->text);
  std::string head;
  EXPECT_TRUE(std::getline(lines, head));
  std::map<std::string, std::map<std::string, std::string>> cells;
  for (std::string line; std::getline(lines, line);) {
    auto one = Cells(head, line);
    cells[fs::path(one["run"]).filename()] = one;
  }
  return cells;
}

// The states of a run by those of its processes.
TEST_F(NativeRuns, AreListedByWhatTheirProcessesDo) {
  const fs::path all = fs::path(folder_.path()) / "all";
  fs::create_directory(all);
  using Lives = std::vector<std::pair<bool, bool>>;  // of each process: stopped, alive
  const struct {
    const char* name;
    Lives processes;
    const char *took, *count, *state;
  } kAll[] = {
      {"empty", {}, "-", "0", "empty"},
      {"ended", {{true, false}, {true, false}}, "3.000 µs", "2", "ended"},
      {"mixed",
       {{true, false}, {false, false}, {false, false}},
       "3.000 µs",
       "3",
       "ended, 2 killed"},
      {"killed", {{false, false}}, "2.500 µs", "1", "killed"},
      {"stopped", {{true, false}, {true, true}}, "3.000 µs", "2", "stopped"},
      {"recording", {{true, false}, {false, true}}, "", "2", "recording"},
      {"wrong", {}, "-", "-", "unreadable"},
  };
  for (const auto& [name, processes, took, count, state] : kAll) {
    for (size_t i = 0; i < processes.size(); ++i) {
      const uint64_t from = i == 0 || processes.size() == 1 ? 0 : 200;
      Add("p" + std::to_string(i), processes[i].first, processes[i].second, from);
    }
    if (name == std::string("wrong")) std::ofstream(dir_ / "run.json") << "{\"format\": 99}";
    fs::create_directory(all / name);
    for (const auto& file : fs::directory_iterator(dir_)) {
      if (!file.is_regular_file()) continue;
      fs::copy(file.path(), all / name / file.path().filename());
      if (file.path().extension() == ".crosscut") fs::remove(file.path());
    }
  }
  const int64_t before = base::RealtimeNs();
  auto cells = Listed(all);
  const int64_t after = base::RealtimeNs();
  EXPECT_EQ(cells.size(), std::size(kAll));
  for (const auto& [name, processes, took, count, state] : kAll) {
    auto& one = cells[name];
    EXPECT_TRUE(*took == '\0' || one["took"] == took) << name << ": " << one["took"];
    EXPECT_EQ(one["processes"], count) << name;
    EXPECT_EQ(one["state"], state) << name;
    if (name == std::string("wrong")) continue;
    EXPECT_EQ(one["began"], "1970-01-01 00:00:00");
    EXPECT_EQ(one["command"], "python 'a b.py'");
  }
  // What goes on took as long as it goes on; a clock that was set back makes no time.
  EXPECT_THAT(cells["recording"]["took"],
              AnyOf(report::FormatNs(before - 7), report::FormatNs(after - 7)));
  std::ofstream(all / "recording/run.json")
      << "{\"format\": 1, \"started_realtime_ns\": " << after + 3'600'000'000'000 << "}";
  EXPECT_EQ(Listed(all)["recording"]["took"], "0 ns");
}

TEST_F(NativeRuns, AreToldWithoutAnalysis) {
  Words session = Session(), main;
  session.Name(0x100, "work", import::Attributes(format::kKindSpan, format::kLayerNative));
  session.Meta("process_name", "trainer").Meta("key", "va\nlue").Meta("start_method", "spawn");
  session.At(3000, format::kStop, {format::kStopExit});
  main.Thread(0, 1, format::kThreadIsMain).At(500, 0x100).At(2500, format::kEnd);
  main.At(2600, format::kDrop, {format::kDropFull, 1, TickOf(2600), TickOf(2600)});
  Words second;
  second.Thread(0, 2, 0).At(500, 0x100).At(600, format::kEnd).At(700, 0x100);
  Write("p1-1", session, {main, second});
  Words child = Session();
  child.Meta("parent_key", "p1-1").Meta("start_method", "fork");
  child.At(1000, format::kStop, {format::kStopError});
  Write("p2-2", child, {});
  const auto info = Info(dir_.string());
  ASSERT_TRUE(info.ok()) << info.status().message();
  EXPECT_THAT(info->text, HasSubstr("command: python 'a b.py'\n"));
  EXPECT_THAT(info->text,
              HasSubstr("\n  key       p1-1 (spawn)\n  window    3.000 µs, complete\n"
                        "  holds     3 spans, 2 tracks, 0 steps; 1 event is missing\n"));
  EXPECT_THAT(info->text, HasSubstr("\n  key       p2-2, child of trainer"));
  EXPECT_THAT(info->text, HasSubstr(" (fork)\n  window    1.000 µs, incomplete: recording stopped "
                                    "by an error\n  holds     0 spans, 0 tracks, 0 steps\n"));
  EXPECT_THAT(info->text, Not(HasSubstr("va\nlue"))) << "what is stored drives no terminal";
  EXPECT_FALSE(info->incomplete);
}

TEST_F(NativeRuns, AStepThatIsAskedForIsOneThatThereIs) {
  ReportOptions options;
  options.format = ReportFormat::kHtml;
  options.steps = {3};
  Write("p1-1", Session(), {});
  EXPECT_EQ(Report(dir_.string(), options).status().message(),
            "no step has the number 3: the run has no steps");
  fs::remove(dir_ / "p1-1.crosscut");
  Words session = Session(), main;
  session.Name(0x100, "batch", import::Attributes(format::kKindStep, format::kLayerNone));
  session.At(5000, format::kStop, {format::kStopExit});
  main.Thread(0, 1, format::kThreadIsMain);
  for (const uint64_t number : {4u, 5u, 7u}) {
    main.At(500 * number, 0x100).At(500 * number, format::kStepLevel, {number, 3});
    main.At(500 * number + 400, format::kEndNamed, {0x100});
  }
  Write("p1-1", session, {main});
  const std::pair<std::vector<int64_t>, const char*> kAll[] = {
      {{4, 5, 7}, ""},
      {{3}, "no step has the number 3; the first one is 4, the last one 7"},
      {{7, 6}, "no step has the number 6; the first one is 4, the last one 7"}};
  for (const auto& [steps, problem] : kAll) {
    options.steps = steps;
    EXPECT_EQ(Report(dir_.string(), options).status().message(), problem);
  }
}

TEST_F(NativeRuns, APartOfOneIsARunOfItsOwnOrNothing) {
  Add("p1-1", true);
  const std::string out = fs::path(folder_.path()) / "cut";
  const format::Cut cut = {{{TickOf(400), TickOf(2600), 400, 2600}}, {{"job", "seven"}}};
  ASSERT_TRUE(CutRun(dir_.string(), "p1-1", cut, out).ok());
  struct stat facts;
  ASSERT_EQ(stat(out.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0700u);
  std::ifstream was(dir_ / "run.json"), is(out + "/run.json");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(is), {}),
            std::string(std::istreambuf_iterator<char>(was), {}));
  const auto info = Info(out);
  ASSERT_TRUE(info.ok()) << info.status().message();
  EXPECT_THAT(info->text, HasSubstr("  window    2.200 µs, complete\n  holds     1 span, 1 track"));
  EXPECT_THAT(info->text, HasSubstr("job = seven\n"));
  // Never over another, and nothing is left where it fails.
  EXPECT_THAT(std::string(CutRun(dir_.string(), "p1-1", cut, out).message()),
              HasSubstr("/cut: File exists"));
  const std::string other = fs::path(folder_.path()) / "other";
  EXPECT_EQ(CutRun(dir_.string(), "p9-9", cut, other).code(), Status::Code::kNotFound);
  EXPECT_FALSE(fs::exists(other));
  fs::remove(dir_ / "run.json");  // a run that the program itself began may have none yet
  ASSERT_TRUE(CutRun(dir_.string(), "p1-1", cut, other).ok());
  EXPECT_FALSE(fs::exists(other + "/run.json"));
  EXPECT_TRUE(fs::exists(other + "/p1-1.crosscut"));
}

}  // namespace
}  // namespace crosscut::verbs
