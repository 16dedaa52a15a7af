#include "src/export/left_out.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/export/exporter.h"
#include "src/trace/text.h"

namespace crosscut::exporting {
namespace {

using ::testing::ElementsAre;

// Of a span that a file of Chrome's states with an argument and two fields of its own.
TEST(LeftOut, FieldsBesideArgumentsAreToldByAllThatHaveNoRoomForThem) {
  Result<trace::Trace> trace = trace::ParseText(
      "process p pid=7 window=0..100\nthread main tid=7 main lead\nspan a 0 10 framework\n");
  ASSERT_TRUE(trace.ok()) << trace.status().message();
  trace::Args& args = trace->tracks[0].args;
  for (const char* key : {"shape", "tdur", "cname"}) {
    trace::Arg arg{trace->strings.Intern(key)};
    arg.value = 5;
    arg.beside = arg.key != trace->strings.Find("shape");
    args.Add(0, arg);
  }
  const auto told = [&](Result<Gaps> (*write)(const trace::Trace&, Sink*)) {
    std::string out;
    const auto sink = MemorySink(&out);
    return write(*trace, sink.get())->of_file;
  };
  const auto fields =
      ElementsAre("The exported file has no room for 2 fields of spans beside their arguments.");
  EXPECT_THAT(told(WriteChromeJson), fields);
  EXPECT_THAT(told(WritePerfetto), fields);
  EXPECT_THAT(told(WriteXSpace), fields);
  EXPECT_THAT(told(WriteSpeedscope),
              ElementsAre("The exported file has no room for 1 argument, 2 fields of spans beside "
                          "their arguments."));
}

}  // namespace
}  // namespace crosscut::exporting
