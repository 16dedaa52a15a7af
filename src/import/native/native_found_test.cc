#include "src/import/native/native_found.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "src/trace/text.h"

namespace crosscut::import {
namespace {

using ::testing::ElementsAre;

// "op NAME" or "span NAME" of every span of the first thread.
std::vector<std::string> Told(std::string_view text) {
  auto trace = trace::ParseText(text);
  EXPECT_TRUE(trace.ok()) << trace.status().message();
  TellFoundApart(&*trace);
  std::vector<std::string> out;
  for (const trace::NameId id : trace->tracks[0].spans.name) {
    const trace::Name& name = trace->name(id);
    out.push_back((name.kind == trace::Kind::kOperation ? "op " : "span ") +
                  std::string(trace->text(name.text)));
  }
  return out;
}

TEST(NativeFound, OperationsOfAnAdapterKeepTheirNameWhereTheProgramDoesNotUseIt) {
  EXPECT_THAT(Told("process p window=0..100\n"
                   "thread main\n"
                   "op forward 0 40 found\n"
                   "op mine 40 60\n"
                   "span forward 60 70\n"),
              ElementsAre("op forward", "op mine", "span forward"));
}

TEST(NativeFound, InsideTheProgramsOfThatNameTheyAreSpans) {
  EXPECT_THAT(Told("process p window=0..100\n"
                   "thread main\n"
                   "op forward 0 40\n"
                   "op mine 5 30\n"
                   "op forward 10 20 found\n"
                   "op backward 20 30 found\n"),
              ElementsAre("op forward", "op mine", "span forward (found)", "op backward"));
}

TEST(NativeFound, AroundOrBesideTheProgramsTheyAreOperationsOfAnotherName) {
  EXPECT_THAT(Told("process p window=0..100\n"
                   "thread main\n"
                   "op forward 0 40 found\n"
                   "op forward 10 20\n"
                   "op forward 50 60 found\n"),
              ElementsAre("op forward (found)", "op forward", "op forward (found)"));
}

TEST(NativeFound, ANameThatWasIntroducedAndNeverUsedChangesNothing) {
  auto trace = trace::ParseText("process p window=0..100\nthread main\nop forward 0 40 found\n");
  ASSERT_TRUE(trace.ok());
  trace::Name declared = trace->names[0];
  declared.found = false;
  trace->names.push_back(declared);
  TellFoundApart(&*trace);
  EXPECT_EQ(trace->text(trace->name(trace->tracks[0].spans.name[0]).text), "forward");
}

}  // namespace
}  // namespace crosscut::import
