#include "src/base/nearest.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace crosscut::base {
namespace {

using Names = std::vector<std::string>;

TEST(Nearest, FindsWhatDiffersByAFewLetters) {
  const Names verbs = {"record", "report", "table", "export", "import"};
  EXPECT_EQ(Nearest("repot", verbs), Names{"report"});    // a letter is missing
  EXPECT_EQ(Nearest("tabble", verbs), Names{"table"});    // one is too many
  EXPECT_EQ(Nearest("exxort", verbs).front(), "export");  // one is another
  EXPECT_EQ(Nearest("recrod", verbs), Names{"record"});   // two are swapped: one mistake, not two
  EXPECT_EQ(Nearest("TABLE", verbs), Names{"table"});     // capitals do not matter
  EXPECT_EQ(Nearest("sing", verbs), Names{});             // none is near
  EXPECT_EQ(Nearest("", verbs), Names{});
}

TEST(Nearest, PutsTheLikeliestFirst) {
  EXPECT_EQ(Nearest("export", {"import", "export"}), (Names{"export", "import"}));
}

TEST(Nearest, TakesABeginningForItsNames) {
  EXPECT_EQ(Nearest("kernel", {"launches", "kernel_types", "kernels"}),
            (Names{"kernels", "kernel_types"}));
  EXPECT_EQ(Nearest("ke", {"kernels", "kernel_types"}), Names{});
}

TEST(Nearest, ShowsThreeAtMost) {
  EXPECT_EQ(Nearest("step", {"steps", "step_kinds", "step_layers", "step_summary"}).size(), 3U);
}

TEST(Nearest, TakesHyphensForUnderscores) {
  EXPECT_EQ(Nearest("step-kinds", {"step_kinds"}), Names{"step_kinds"});
}

TEST(Nearest, FileIsOneOfTheSameFolder) {
  char folder[] = "/tmp/crosscut_nearest_XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/";
  for (const char* name : {"run-1", "run-2", "other.json"}) std::ofstream(path + name);
  EXPECT_EQ(DidYouMeanFile(path + "othr.json"), "; did you mean " + path + "other.json?");
  EXPECT_EQ(DidYouMeanFile(path + "run-3/"),
            "; did you mean " + path + "run-1 or " + path + "run-2?");
  EXPECT_EQ(DidYouMeanFile(path + "nothing like it"), "");
  EXPECT_EQ(DidYouMeanFile(path + "none/run-1"), "");
  std::filesystem::remove_all(folder);
}

TEST(UnknownName, ListsAFewNamesAndLeavesOutMany) {
  EXPECT_EQ(UnknownName("format", "cvs", {"csv", "json"}),
            "unknown format cvs; did you mean csv? The formats are csv, json");
  EXPECT_EQ(UnknownName("format", "pdf", {"csv", "json"}),
            "unknown format pdf; the formats are csv, json");
  EXPECT_EQ(UnknownName("format", "", {"csv"}), "unknown format \"\"; the formats are csv");
  EXPECT_EQ(UnknownName("table", "nothing", Names(13, "x")), "unknown table nothing");
}

}  // namespace
}  // namespace crosscut::base
