#include "src/base/shell_word.h"

#include <gtest/gtest.h>

namespace crosscut::base {
namespace {

TEST(ShellWord, QuotesOnlyWhatAShellWouldTakeApart) {
  EXPECT_EQ(ShellWord("crosscut-runs/train-1"), "crosscut-runs/train-1");
  EXPECT_EQ(ShellWord("/x/has space/run 1"), "'/x/has space/run 1'");
  EXPECT_EQ(ShellWord("it's"), "'it'\\''s'");
  EXPECT_EQ(ShellWord("$HOME;`a`*"), "'$HOME;`a`*'");
  EXPECT_EQ(ShellWord("~"), "'~'");
  EXPECT_EQ(ShellWord(""), "''");
}

}  // namespace
}  // namespace crosscut::base
