#include "src/verbs/output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace crosscut::verbs {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class OutputTest : public ::testing::Test {
 protected:
  OutputTest() {
    std::string name = ::testing::TempDir() + "crosscut-output-XXXXXX";
    dir_ = mkdtemp(name.data());
    Put("trace.json");
    fs::create_directory(dir_ / "run");
    for (const char* part :
         {"run.json", "12-0.crosscut", "12-0.demo-0.xplane.pb", "0-a.json", "9"}) {
      Put(std::string("run/") + part);
    }
  }
  ~OutputTest() override { fs::remove_all(dir_); }

  std::string At(const std::string& name) const { return dir_ / name; }
  void Put(const std::string& name) const { std::ofstream(dir_ / name) << "input"; }
  std::string Read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(dir_ / name).rdbuf();
    return text.str();
  }
  Status Write(const std::string& file) const {
    return WriteOutput(At(file), {At("trace.json"), At("run")}, "output").status();
  }
  void ExpectRefused(const std::string& file) const {
    const Status status = Write(file);
    EXPECT_EQ(status.code(), Status::Code::kUnsupported) << file;
    EXPECT_THAT(std::string(status.message()), HasSubstr("it is what is read")) << file;
    EXPECT_EQ(Read(file), "input");
  }

  fs::path dir_;
};

TEST_F(OutputTest, IsNeverWhatItIsMadeOfByAnyName) {
  fs::create_symlink("trace.json", dir_ / "link");
  fs::create_hard_link(dir_ / "trace.json", dir_ / "other");
  fs::create_symlink("run/run.json", dir_ / "far");
  for (const char* name : {"trace.json", "link", "other", "far"}) ExpectRefused(name);
}

TEST_F(OutputTest, IsNoPartOfARunThatItIsMadeOf) {
  for (const char* part : {"run.json", "12-0.crosscut", "12-0.demo-0.xplane.pb", "0-a.json", "9"}) {
    ExpectRefused(std::string("run/") + part);
  }
}

TEST_F(OutputTest, MayLieInTheRunAndTakeAnEarliersPlace) {
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(Write("run/report.html").ok());
    EXPECT_EQ(Read("run/report.html"), "output");
    EXPECT_TRUE(Write("run/a1").ok());
  }
  ASSERT_TRUE(Write("fresh").ok());
}

TEST_F(OutputTest, AFolderMayLieInTheInputUnderAnyNameButIsNoInput) {
  for (const char* name : {"2026-11-29", "note-cluster", "of.crosscut", "plain"}) {
    fs::create_directory(dir_ / "run" / name);
    EXPECT_TRUE(RefuseInput(At(std::string("run/") + name), {At("run")}).ok()) << name;
  }
  fs::create_directory_symlink("run", dir_ / "alias");
  EXPECT_FALSE(RefuseInput(At("alias"), {At("run")}).ok());
}

TEST_F(OutputTest, NamesOfCopiesFitAndKeepTheirEnd) {
  EXPECT_EQ(NameOfCopy("0-", "a/b.json"), "0-b.json");
  EXPECT_EQ(NameOfCopy("001-", "./runs/r1/"), "001-r1");
  const std::string longest = std::string(250, 'a') + ".json";
  EXPECT_EQ(NameOfCopy("0-", longest), "0-" + std::string(248, 'a') + ".json");
  const std::string umlauts = "a\u00e4" + std::string(252, 'b');
  EXPECT_EQ(NameOfCopy("0-", umlauts), "0-" + std::string(252, 'b'));
}

TEST(KibiBytes, CountTheOneThatIsBegun) {
  const std::pair<uint64_t, const char*> kAll[] = {{0, "0 KiB"},    {1, "1 KiB"},
                                                   {1024, "1 KiB"}, {1025, "2 KiB"},
                                                   {2048, "2 KiB"}, {2049, "3 KiB"}};
  for (const auto& [bytes, text] : kAll) EXPECT_EQ(KibiBytes(bytes), text);
}

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& at : fs::directory_iterator(folder)) {
    names.push_back(at.path().filename());
  }
  return names;
}

TEST_F(OutputTest, AFolderIsThereWhenItIsWholeAndElseNothing) {
  fs::create_directory(At("made"));
  {
    auto given_up = NewFolder::For(At("made/run"), {.mode = 0700});
    ASSERT_TRUE(given_up.ok());
    std::ofstream(given_up->path() + "/log") << "half";
    EXPECT_FALSE(fs::exists(At("made/run")));
  }
  EXPECT_TRUE(fs::is_empty(At("made")));
  auto one = NewFolder::For(At("made/run") + "/", {.mode = 0700});
  auto other = NewFolder::For(At("made/run"), {.mode = 0700});
  std::ofstream(one->path() + "/log") << "one";
  EXPECT_TRUE(one->Place().ok());
  const Status second = other->Place();
  EXPECT_NE(second.message().find("/run: File exists; name a folder"), std::string_view::npos);
  EXPECT_FALSE(NewFolder::For(At("made/run"), {.mode = 0700}).ok());
  EXPECT_EQ(NamesIn(At("made/run")), std::vector<std::string>{"log"});
}

TEST_F(OutputTest, AFolderKeepsNothingOpenAndSaysWhyItCannotBeMade) {
  const auto open_files = [] { return NamesIn("/proc/self/fd").size(); };
  const size_t before = open_files();
  EXPECT_TRUE(NewFolder::For(At("made"), {.mode = 0700})->Place().ok());
  EXPECT_EQ(NewFolder::For(At("no/run"), {.mode = 0700}).status().message(),
            At("no/run") + ": No such file or directory");
  EXPECT_TRUE(NewFolder::For("/", {.mode = 0700}).status().message().starts_with("/: File exists"));
  EXPECT_EQ(open_files(), before);
}

TEST_F(OutputTest, AFolderIsPlacedWhereItWasBegunThoughThatWasRenamed) {
  fs::create_directory(At("made"));
  auto folder = NewFolder::For(At("made/run"), {.mode = 0700});
  ASSERT_TRUE(folder.ok());
  fs::rename(At("made"), At("moved"));
  std::ofstream(folder->path() + "/log") << "one";
  EXPECT_TRUE(folder->Place().ok());
  EXPECT_EQ(Read("moved/run/log"), "one");
}

TEST_F(OutputTest, AFolderMayTakeThePlaceOfAnother) {
  fs::create_directory(At("made"));
  for (const char* text : {"one", "other"}) {
    auto folder = NewFolder::For(At("made/kept"), {.mode = 0700, .replace = true});
    std::ofstream(folder->path() + "/" + text) << text;
    EXPECT_TRUE(folder->Place().ok());
  }
  EXPECT_EQ(NamesIn(At("made/kept")), std::vector<std::string>{"other"});
  EXPECT_EQ(NamesIn(At("made")), std::vector<std::string>{"kept"});
}

}  // namespace
}  // namespace crosscut::verbs
