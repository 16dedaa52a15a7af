#include "src/trace/stacks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/trace/text.h"

namespace crosscut::trace {
namespace {

using ::testing::ElementsAre;

// Two ways into layer(): from line 7 and from line 8 of train().
constexpr std::string_view kTraining = R"text(# crosscut trace
process p pid=1 window=0..100
thread main tid=1 base=python main
span "train (train.py:5)" 0 100 python
span "layer (model.py:3)" 10 30 python at=7
span torch.mm 12 28 framework at=4
span aten::mm 14 24 framework
op forward 40 70
span "layer (model.py:3)" 45 65 python at=8
span aten::mm 50 60 framework
)text";

Trace Parse(std::string_view text) {
  auto trace = ParseText(text);
  EXPECT_TRUE(trace.ok()) << trace.status().message();
  return std::move(*trace);
}

std::vector<std::string> Texts(const StackTree& tree, const std::vector<StackTree::Node>& nodes) {
  std::vector<std::string> texts;
  for (const StackTree::Node node : nodes) texts.push_back(tree.Text(node));
  return texts;
}

TEST(Stacks, PythonStacksStandAtTheLinesThatCalled) {
  const Trace trace = Parse(kTraining);
  StackTree tree(trace);
  EXPECT_THAT(Texts(tree, PythonStacks(trace, trace.tracks[0], &tree)),
              ElementsAre("", "train.py:7 train", "train.py:7 train;model.py:4 layer",
                          "train.py:7 train;model.py:4 layer", "train (train.py:5)",
                          "train.py:8 train", "train.py:8 train;layer (model.py:3)"));
}

TEST(Stacks, FullStacksMergeWhatDiffersInTheCallingLineAlone) {
  const Trace trace = Parse(kTraining);
  StackTree tree(trace);
  EXPECT_THAT(
      Texts(tree, FullStacks(trace.tracks[0], &tree)),
      ElementsAre("train (train.py:5)", "train (train.py:5);layer (model.py:3)",
                  "train (train.py:5);layer (model.py:3);torch.mm",
                  "train (train.py:5);layer (model.py:3);torch.mm;aten::mm",
                  "train (train.py:5);forward", "train (train.py:5);forward;layer (model.py:3)",
                  "train (train.py:5);forward;layer (model.py:3);aten::mm"));
  EXPECT_EQ(tree.size(), 8u);  // with the empty one
}

TEST(Stacks, SelfTimesAddUpToTheSpansAtTheTop) {
  const Trace trace = Parse(kTraining);
  const Spans& spans = trace.tracks[0].spans;
  EXPECT_THAT(SelfTimes(spans), ElementsAre(50, 4, 6, 10, 10, 10, 10));
  // The operation's 10 ns are the function's that declared it.
  EXPECT_THAT(FunctionSelfTimes(trace, spans), ElementsAre(60, 4, 6, 10, 0, 10, 10));
}

TEST(Stacks, NamesCannotBreakTheText) {
  const Trace trace = Parse("process p window=0..9\nthread t base=python\nspan a;b 0 5 native\n");
  StackTree tree(trace);
  EXPECT_EQ(tree.Text(FullStacks(trace.tracks[0], &tree)[0]), "a_b");
}

TEST(Stacks, PlacesOfCodeAreToldFromOtherNames) {
  CodePlace place;
  ASSERT_TRUE(ParseCodePlace("Model.forward (nn/model.py:31)", &place));
  EXPECT_EQ(place.function, "Model.forward");
  EXPECT_EQ(place.file, "nn/model.py");
  EXPECT_EQ(place.line, 31);
  ASSERT_TRUE(ParseCodePlace("f (g) (<string>:1)", &place));
  EXPECT_EQ(place.function, "f (g)");
  for (const char* other :
       {"", "aten::mm", "f (x)", "f (x:)", "f (x:1) ", "garbage (a:1b)", "a:1 (b)", "(x:1)"}) {
    EXPECT_FALSE(ParseCodePlace(other, &place)) << other;
  }
}

}  // namespace
}  // namespace crosscut::trace
