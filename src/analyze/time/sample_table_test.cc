#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/analyze/findings.h"
#include "src/analyze/time/tables.h"
#include "src/trace/text.h"

namespace crosscut::analyze {
namespace {

std::vector<std::string> Rows(const char* text) {
  const auto trace = trace::ParseText(text);
  EXPECT_TRUE(trace.ok()) << trace.status().message();
  const Context context(*trace);
  const Table table = SamplesTable(*trace, context);
  std::vector<std::string> rows(table.rows());
  for (const Column& column : table.columns) {
    for (size_t i = 0; i < rows.size(); ++i) {
      if (column.name == "process") continue;
      if (!rows[i].empty()) rows[i] += '|';
      if (const auto* texts = std::get_if<Texts>(&column.cells)) {
        rows[i] += (*texts)[i];
      } else {
        const int64_t cell = std::get<Integers>(column.cells)[i];
        rows[i] += cell == kMissing ? "-" : std::to_string(cell);
      }
    }
  }
  return rows;
}

TEST(SampleTable, PutsEachSampleIntoTheSpansAroundIt) {
  const auto rows = Rows(R"(process train pid=7 window=0..100
thread main tid=7 base=python main lead
op forward 0 50
span aten::mm 10 30 framework
instant [sample] 15
arg covers_ns 10
arg "Python stack" "train.py:9 <module>;train.py:4 main"
arg "Own line" "nets/train.py:4 main"
arg Library libmkl.so
arg Function gemm
arg run_delay_ns 3
instant [sample] 25
arg covers_ns 11
arg run_delay_ns 4
arg "Python stack" "train.py:9 <module>;train.py:4 main"
arg "Own line" "nets/train.py:4 main"
arg Library libmkl.so
arg Function gemm
instant [sample] 30
arg covers_ns 5
arg "Python stack" "train.py:9 <module>"
arg "Waits for" futex
instant other 40
arg covers_ns 1000
instant [sample] 60
arg covers_ns 30
)");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0], "main||python|||||||1|30|-");
  EXPECT_EQ(rows[1],
            "main|forward|framework|aten::mm|train.py:4 main|nets/train.py:4 main|"
            "libmkl.so|gemm||2|21|7");
  EXPECT_EQ(rows[2], "main|forward|python|forward|train.py:9 <module>||||futex|1|5|-");
}

TEST(SampleTable, ThreadsWithoutAnOperationHaveTheLeads) {
  const auto rows = Rows(R"(process train pid=7 window=0..100
thread main tid=7 base=python main lead
op backward 0 50
thread worker tid=8
instant [sample] 20
arg covers_ns 10
instant [sample] 70
arg covers_ns 9
thread sampler tid=9 ours
instant [sample] 20
arg covers_ns 8
arg Thread 12
arg Library libgomp.so.1
)");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0], "worker|backward||||||||1|10|-");
  EXPECT_EQ(rows[1], "worker|||||||||1|9|-");
  EXPECT_EQ(rows[2], "thread 12||||||libgomp.so.1|||1|8|-");
}

TEST(SampleTable, FindsNativeCodeThatNoSpanShows) {
  const auto trace = trace::ParseText(R"(process train pid=7 window=0..100
thread main tid=7 base=python main lead
instant [sample] 10
arg covers_ns 10
arg "Python stack" "train.py:9 <module>"
arg Library libcrypto.so.3
instant [sample] 20
arg covers_ns 90
arg "Python stack" "train.py:9 <module>"
arg Library libpython3.11.so.1.0
)");
  ASSERT_TRUE(trace.ok());
  const Context context(*trace);
  const Table findings = FindingsTable(*trace, context);
  ASSERT_EQ(findings.rows(), 1u);
  EXPECT_EQ(findings.texts("message")[0],
            "Thread main seems to spend 10 ns (10 % of its time) in Python that is in fact "
            "native code of libcrypto.so.3, called most from train.py:9 <module>: --wrap "
            "MODULE:LAYER records such calls.");
}

TEST(SampleTable, NoSampleStandsForMoreThanTheWindow) {
  const auto rows = Rows(R"(process train pid=7 window=0..100
thread main tid=7 base=python main lead
instant [sample] 10
arg covers_ns 9223372036854775807
arg run_delay_ns 9223372036854775807
arg "Own line" "a.py:1 f"
instant [sample] 20
arg covers_ns -9223372036854775807
arg run_delay_ns -9223372036854775807
arg "Own line" "a.py:2 f"
)");
  EXPECT_EQ(rows, (std::vector<std::string>{"main||python|||a.py:1 f||||1|100|100",
                                            "main||python|||a.py:2 f||||1|0|-"}));
}

// What has no layer of a thread keeps the one around it.
TEST(SampleTable, ASpanWithoutALayerOfThreadsKeepsTheOneAround) {
  const auto rows = Rows(R"(process train pid=7 window=0..100
thread main tid=7 base=python main lead
span call 0 50 framework
span kernel 10 40 device
instant [sample] 20
arg covers_ns 10
)");
  EXPECT_EQ(rows, (std::vector<std::string>{"main||framework|kernel||||||1|10|-"}));
}

TEST(SampleTable, IsEmptyWhereNobodyLooked) {
  EXPECT_TRUE(Rows("process p pid=7 window=0..100\nthread main tid=7\ninstant tick 5\n").empty());
}

}  // namespace
}  // namespace crosscut::analyze
