// What is made of files and of runs: imports, baselines; in which format a report is written.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "src/verbs/baseline.h"
#include "src/verbs/diff.h"
#include "src/verbs/import.h"
#include "src/verbs/report.h"
#include "src/verbs/runs.h"

namespace crosscut::verbs {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

constexpr char kText[] =
    "# crosscut trace\nprocess train pid=7 window=0..100\nthread main tid=7 lead\n"
    "op forward 0 50\nspan aten::add 10 20 framework\ngap A part is missing.\n";

class FilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/crosscut-files-test-XXXXXX";
    folder_ = mkdtemp(name);
    here_ = fs::current_path();
    fs::current_path(folder_);
    Write("a.txt", kText);
    Write("b.txt",
          "# crosscut trace\nprocess other window=0..9\nthread t\nop x 0 5\nop y 6 7\n"
          "thread u\nop z 0 5\n");
  }
  void TearDown() override {
    fs::current_path(here_);
    fs::remove_all(folder_);
  }
  static void Write(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
  }
  static std::string Read(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  static std::string Problem(const Result<Imported>& done) {
    EXPECT_FALSE(done.ok());
    return std::string(done.status().message());
  }

  std::string folder_;
  fs::path here_;
};

TEST_F(FilesTest, AnImportIsARunOfCopiesForItsOwnerAlone) {
  const auto done = ImportFiles({"a.txt", "./b.txt"}, "run");
  ASSERT_TRUE(done.ok()) << done.status().message();
  EXPECT_EQ(done->processes, 2u);
  EXPECT_EQ(done->tracks, 3u);
  EXPECT_EQ(done->spans, 5u);
  EXPECT_FALSE(done->incomplete);
  struct stat facts;
  ASSERT_EQ(stat("run", &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0700u);
  EXPECT_EQ(Read("run/run.json"), "{\"format\": 1,\n \"imported\": [\"0-a.txt\", \"1-b.txt\"]}\n");
  EXPECT_EQ(Read("run/0-a.txt"), kText);
  EXPECT_THAT(Problem(ImportFiles({"a.txt"}, "run")), HasSubstr("run: File exists"));
}

TEST_F(FilesTest, WhatCannotBeImportedIsNamedAndLeavesNothing) {
  ASSERT_TRUE(ImportFiles({"a.txt"}, "there").ok());
  Write("odd.txt", "nothing that is known");
  Write("wrong.txt", std::string(kText) + "zebra\n");
  EXPECT_EQ(Problem(ImportFiles({}, "run")), "no file to import");
  EXPECT_EQ(Problem(ImportFiles({"a.txt", "there"}, "run")),
            "there: a run already; every verb reads it as it is");
  EXPECT_THAT(Problem(ImportFiles({"a.txt", "odd.txt"}, "run")), HasSubstr("odd.txt"));
  EXPECT_THAT(Problem(ImportFiles({"none.txt"}, "run")), HasSubstr("none.txt"));
  EXPECT_THAT(Problem(ImportFiles({"a.txt"}, "a.txt")), HasSubstr("it is what is read"));
  // The copy's name is nobody's.
  const std::string wrong = Problem(ImportFiles({"a.txt", "wrong.txt"}, "run"));
  EXPECT_THAT(wrong, HasSubstr("line 7"));
  EXPECT_TRUE(wrong.starts_with("wrong.txt")) << wrong;
  EXPECT_FALSE(fs::exists("run"));
  size_t entries = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(".")) ++entries;
  EXPECT_EQ(entries, 5u) << "the four files and the first run";
}

std::vector<std::string> Expanded(const std::string& input) {
  const auto all = ExpandBaseline(input);
  return all.ok() ? *all : std::vector<std::string>{"! " + std::string(all.status().message())};
}

TEST_F(FilesTest, ABaselineHasCopiesOfItsRunsUnderItsName) {
  EXPECT_EQ(ListBaselines()->text, "");
  EXPECT_THAT(Expanded("baseline:main"),
              ElementsAre(HasSubstr("there is no baseline main in .crosscut/baselines")));
  auto saved = SaveBaseline("main", {"a.txt", "b.txt"});
  ASSERT_TRUE(saved.ok()) << saved.status().message();
  EXPECT_EQ(saved->path, ".crosscut/baselines/main");
  EXPECT_EQ(saved->bytes, Read("a.txt").size() + Read("b.txt").size());
  EXPECT_FALSE(saved->replaced);
  const std::string first = ".crosscut/baselines/main/001-a.txt",
                    second = ".crosscut/baselines/main/002-b.txt";
  EXPECT_EQ(Read(first), kText);
  for (const char* name : {"main", "baseline:main"}) {
    EXPECT_THAT(Expanded(name), ElementsAre(first, second));
  }
  Write("main", "a file of that name");
  EXPECT_THAT(Expanded("main"), ElementsAre("main"));
  EXPECT_THAT(Expanded("baseline:main"), ElementsAre(first, second));
  EXPECT_THAT(Expanded("a.txt"), ElementsAre("a.txt"));
  EXPECT_THAT(Expanded("baseline:mian"), ElementsAre(HasSubstr("did you mean main?")));

  // A link is what it leads to.
  fs::create_symlink("b.txt", "link.txt");
  saved = SaveBaseline("main", {"link.txt"});
  ASSERT_TRUE(saved.ok());
  EXPECT_TRUE(saved->replaced);
  EXPECT_THAT(Expanded("baseline:main"), ElementsAre(".crosscut/baselines/main/001-link.txt"));
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(".crosscut/baselines/main/001-link.txt")));

  ASSERT_TRUE(ImportFiles({"a.txt"}, "run").ok());
  ASSERT_TRUE(SaveBaseline("longer-name_2.0", {"run", "run/"}).ok());
  EXPECT_THAT(ListBaselines()->text, MatchesRegex("longer-name_2.0  [0-9: -]{19}  2 runs  1 KiB\n"
                                                  "main             [0-9: -]{19}  1 run  1 KiB\n"));
  EXPECT_EQ(RemoveBaseline("none").code(), Status::Code::kUnsupported);
  ASSERT_TRUE(RemoveBaseline("main").ok());
  EXPECT_FALSE(fs::exists(".crosscut/baselines/main"));
  fs::create_directories(".crosscut/baselines/empty");
  EXPECT_THAT(Expanded("empty"), ElementsAre(HasSubstr("the baseline holds no run; save it anew")));
}

TEST_F(FilesTest, ABaselinesFolderIsAsTheMaskLeavesItAndItsTimeIsTold) {
  const mode_t mask = umask(0);
  ASSERT_TRUE(SaveBaseline("main", {"a.txt"}).ok());
  umask(mask);
  struct stat facts;
  ASSERT_EQ(stat(".crosscut/baselines/main", &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0777u);
  const timespec times[] = {{0, 0}, {2'000'000'000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, ".crosscut/baselines/main", times, 0), 0);
  EXPECT_EQ(ListBaselines()->text,
            "main  " + LocalTime(2'000'000'000'000'000'000) + "  1 run  1 KiB\n");
}

TEST_F(FilesTest, ABaselinesNameIsNoPathAndNoOption) {
  const std::string longest(100, 'n');
  for (const std::string& good : {std::string("a"), std::string("Az09-_."), longest}) {
    EXPECT_TRUE(SaveBaseline(good, {"a.txt"}).ok()) << good;
  }
  for (const std::string& bad :
       {std::string(), std::string("-a"), std::string(".a"), std::string("a/b"), std::string("a b"),
        std::string("a:b"), std::string("a@"), std::string("a["), std::string("a`"),
        std::string("a{"), std::string("a\xc3\xbc"), longest + "n"}) {
    EXPECT_EQ(SaveBaseline(bad, {"a.txt"}).status().code(), Status::Code::kUnsupported) << bad;
    EXPECT_EQ(RemoveBaseline(bad).code(), Status::Code::kUnsupported) << bad;
    EXPECT_THAT(Expanded("baseline:" + bad), ElementsAre(HasSubstr("cannot be the name of a")));
    EXPECT_THAT(Expanded(bad), ElementsAre(bad));
  }
}

TEST_F(FilesTest, ABaselineHoldsNothingThatCannotBeRead) {
  Write("wrong.txt", std::string(kText) + "zebra\n");
  EXPECT_FALSE(SaveBaseline("main", {"a.txt", "wrong.txt"}).ok());
  EXPECT_FALSE(SaveBaseline("main", {"none.txt"}).ok());
  EXPECT_FALSE(fs::exists(".crosscut"));
  ASSERT_TRUE(ImportFiles({"a.txt"}, "run").ok());
  fs::current_path("run");
  EXPECT_THAT(std::string(SaveBaseline("main", {"../run"}).status().message()),
              HasSubstr("the baseline would lie in it; save it from another folder"));
  EXPECT_TRUE(SaveBaseline("main", {"0-a.txt"}).ok());
  fs::current_path(folder_);
}

TEST_F(FilesTest, AComparisonTellsWhatIsMissingOnEitherSide) {
  DiffOptions options;
  options.a = {"a.txt"};
  options.b = {"b.txt"};
  for (const ReportFormat format :
       {ReportFormat::kText, ReportFormat::kMarkdown, ReportFormat::kJson}) {
    options.format = format;
    const auto diff = Diff(options);
    ASSERT_TRUE(diff.ok()) << diff.status().message();
    EXPECT_THAT(diff->inputs, ElementsAre("a.txt", "b.txt"));
    EXPECT_THAT(diff->output.text, HasSubstr("A: A part is missing."));
    EXPECT_FALSE(diff->output.incomplete);
  }
  options.format = ReportFormat::kText;
  options.b = {"b.txt", "a.txt"};
  EXPECT_THAT(Diff(options)->output.text, HasSubstr("B, a.txt: A part is missing."));
  // Four are told, and how many more there are.
  std::string many = kText;
  for (int i = 2; i <= 4; ++i) many += "gap Part " + std::to_string(i) + " is missing.\n";
  Write("many.txt", many);
  options.a = {"many.txt"};
  options.b = {"b.txt"};
  EXPECT_THAT(Diff(options)->output.text, HasSubstr("A: Part 4 is missing."));
  EXPECT_THAT(Diff(options)->output.text, Not(HasSubstr("more gaps")));
  Write("many.txt", many + "gap Part 5 is missing.\n");
  EXPECT_THAT(Diff(options)->output.text, Not(HasSubstr("Part 5")));
  EXPECT_THAT(Diff(options)->output.text,
              HasSubstr("1 more gap: crosscut info shows those of an input."));
}

TEST(ReportFormat, IsWhatTheFilesNameEndsWith) {
  const std::pair<const char*, ReportFormat> kAll[] = {{"a.html", ReportFormat::kHtml},
                                                       {"a.htm", ReportFormat::kHtml},
                                                       {"a.html.gz", ReportFormat::kHtml},
                                                       {"a.md", ReportFormat::kMarkdown},
                                                       {"a.markdown", ReportFormat::kMarkdown},
                                                       {"a.md.gz", ReportFormat::kMarkdown},
                                                       {"a.json", ReportFormat::kJson},
                                                       {"a.json.gz", ReportFormat::kJson},
                                                       {"a.txt", ReportFormat::kText},
                                                       {"json", ReportFormat::kText},
                                                       {"", ReportFormat::kText},
                                                       {".gz", ReportFormat::kText}};
  for (const auto& [file, format] : kAll) EXPECT_EQ(ReportFormatOf(file), format) << file;
}

}  // namespace
}  // namespace crosscut::verbs
