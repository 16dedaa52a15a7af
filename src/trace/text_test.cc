#include "src/trace/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crosscut::trace {
namespace {

using ::testing::HasSubstr;

TEST(Text, MakesATrace) {
  const auto result = ParseText(R"(# crosscut trace
process train pid=7 window=0..100 name=train.py
pause 90 95
probe op 10 5 12 18 100
source pytorch 2.13.0 on all of it
thread main tid=8 base=python main
op forward 0 50
span aten::add 10 20 framework probe=op
arg bytes 12
arg note "two words"
out 1 15
step step 0 60 number=3 level=0 switch
device gpu0 device=1 stream=7
span kernel 30 45 device
in 1 30
process worker parent=train start=fork window=10..80 incomplete="killed by signal 9"
count queue 12 3
gap Something is missing.
)");
  ASSERT_TRUE(result.ok()) << result.status().message();
  const Trace& trace = *result;
  ASSERT_EQ(trace.processes.size(), 2u);
  const Process& train = trace.processes[0];
  EXPECT_EQ(train.pid, 7);
  EXPECT_EQ(train.paused.size(), 1u);
  EXPECT_EQ(train.probes[0].high_ps, 18);
  EXPECT_EQ(trace.text(train.sources[0].message), "all of it");
  ASSERT_EQ(train.steps.size(), 1u);
  EXPECT_EQ(train.steps[0].number, 3);
  EXPECT_TRUE(train.steps[0].after_switch);
  EXPECT_EQ(train.lead.value, 0u);
  EXPECT_EQ(trace.processes[1].parent.value, 0u);
  EXPECT_FALSE(trace.processes[1].complete);
  EXPECT_EQ(trace.text(trace.processes[1].why_incomplete), "killed by signal 9");
  const Track& main = trace.tracks[0];
  ASSERT_EQ(main.spans.size(), 2u);
  EXPECT_EQ(trace.name_text(main.spans.name[0]), "forward");
  EXPECT_EQ(trace.name(main.spans.name[1]).layer, Layer::kFramework);
  EXPECT_EQ(main.spans.parent[1], 0u);
  std::vector<Arg> args;
  for (const Arg& arg : main.args.of(1)) args.push_back(arg);
  ASSERT_EQ(args.size(), 2u);
  EXPECT_EQ(trace.text(args[1].text()), "two words");
  EXPECT_EQ(trace.tracks[1].device, 1);
  ASSERT_EQ(trace.flows.size(), 1u);
  EXPECT_EQ(trace.flows[0].from, 1u);
  EXPECT_EQ(trace.flows[0].to, 0u);
  EXPECT_EQ(trace.counters[0].value[0], 3);
  EXPECT_EQ(trace.gaps[0], "Something is missing.");
}

TEST(Text, NamesTheLineThatIsWrong) {
  for (const char* text : {"process p window=0..10\nspan a 1 2\n", "process p window=0..10\nfoo\n",
                           "\nprocess p window=9..1\n", "process p window=0..10\npause 1\n"}) {
    const auto result = ParseText(text);
    ASSERT_FALSE(result.ok()) << text;
    EXPECT_THAT(std::string(result.status().message()), HasSubstr("line 2")) << text;
  }
}

}  // namespace
}  // namespace crosscut::trace
