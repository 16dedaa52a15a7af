#include "src/trace/found.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "src/trace/text.h"

namespace crosscut::trace {
namespace {

using ::testing::ElementsAre;

// "op NAME", "part NAME" or "span NAME" of every span of each thread.
std::vector<std::string> Told(std::string_view text) {
  auto trace = ParseText(text);  // ends in PlaceFound
  EXPECT_TRUE(trace.ok()) << trace.status().message();
  PlaceFound(&*trace);  // and once more changes nothing
  std::vector<std::string> out;
  for (const Track& track : trace->tracks) {
    for (const NameId id : track.spans.name) {
      const Name& name = trace->name(id);
      out.push_back((name.kind == Kind::kOperation ? "op "
                     : name.kind == Kind::kPart    ? "part "
                                                   : "span ") +
                    std::string(trace->text(name.text)));
    }
  }
  return out;
}

TEST(Found, OperationsOfAnAdapterKeepTheirNameWhereTheProgramDoesNotUseIt) {
  EXPECT_THAT(Told("process p window=0..100\n"
                   "thread main\n"
                   "op forward 0 40 found\n"
                   "op mine 40 60\n"
                   "span forward 60 70\n"),
              ElementsAre("op forward", "op mine", "span forward"));
}

TEST(Found, InsideWhatTheProgramDeclaresTheyArePartsWithTheirName) {
  EXPECT_THAT(Told("process p window=0..100\n"
                   "thread main\n"
                   "op forward 0 40\n"
                   "op mine 5 30\n"
                   "op forward 10 20 found\n"
                   "op inner 12 14\n"
                   "op backward 20 30 found\n"
                   "span call 22 28\n"
                   "op optimizer 23 24 found\n"),
              ElementsAre("op forward", "op mine", "part forward", "op inner", "part backward",
                          "span call", "part optimizer"));
}

TEST(Found, AroundOrBesideTheProgramsTheyAreOperationsOfAnotherName) {
  EXPECT_THAT(Told("process p window=0..100\n"
                   "thread main\n"
                   "op forward 0 40 found\n"
                   "op forward 10 20\n"
                   "op forward 50 60 found\n"),
              ElementsAre("op forward (found)", "op forward", "op forward (found)"));
}

TEST(Found, AnotherProcessThatDeclaresTheNameChangesNothing) {
  EXPECT_THAT(Told("process p window=0..100\n"
                   "thread main\n"
                   "op forward 0 40 found\n"
                   "process q window=0..100\n"
                   "thread main\n"
                   "op forward 0 40\n"
                   "op forward 50 60 found\n"
                   "process r window=0..100\n"
                   "thread main\n"
                   "op forward 50 60 found\n"),
              ElementsAre("op forward", "op forward", "op forward (found)", "op forward"));
}

TEST(Found, ANameThatWasIntroducedAndNeverUsedChangesNothing) {
  auto trace = ParseText("process p window=0..100\nthread main\nop forward 0 40 found\n");
  ASSERT_TRUE(trace.ok());
  Name declared = trace->names[0];
  declared.found = false;
  trace->names.push_back(declared);
  PlaceFound(&*trace);
  EXPECT_EQ(trace->text(trace->name(trace->tracks[0].spans.name[0]).text), "forward");
}

}  // namespace
}  // namespace crosscut::trace
