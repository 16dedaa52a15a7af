// Operators by their inputs, and how much they compute.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "src/analyze/amounts.h"
#include "src/analyze/operators/flops.h"
#include "src/analyze/operators/tables.h"
#include "src/analyze/testing/test_trace.h"
#include "src/analyze/time/tables.h"
#include "src/trace/builder.h"

namespace crosscut::analyze {
namespace {

using ::testing::ElementsAre;
using testing::Parse;

TEST(Flops, OfMatrixProductsAreTwoForEachMultiplication) {
  EXPECT_EQ(FlopsOf("aten::mm", "[[2, 3], [3, 5]]", "[]"), 2 * 2 * 3 * 5);
  EXPECT_EQ(FlopsOf("aten::addmm", "[[5], [2, 3], [3, 5], [], []]", "[]"), 2 * 2 * 3 * 5);
  EXPECT_EQ(FlopsOf("aten::bmm", "[[7, 2, 3], [7, 3, 5]]", "[]"), 7 * 2 * 2 * 3 * 5);
  EXPECT_EQ(FlopsOf("aten::baddbmm", "[[1], [7, 2, 3], [7, 3, 5]]", "[]"), 7 * 2 * 2 * 3 * 5);
  EXPECT_EQ(FlopsOf("aten::mul", "[[4, 6], []]", "[]"), 24);
}

TEST(Flops, OfConvolutionsFollowStridePaddingDilationAndGroups) {
  const auto of = [](const char* dims, const std::string& more) {
    return FlopsOf("aten::convolution", dims, R"(["", "", "", )" + more + "]");
  };
  EXPECT_EQ(of("[[2, 6, 8, 8], [4, 6, 3, 3], [4]]",
               R"("[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1")"),
            2 * 2 * 8 * 8 * 9 * 6 * 4);
  EXPECT_EQ(of("[[2, 6, 8, 8], [4, 3, 3, 3], [4]]",
               R"("[2, 2]", "[0, 0]", "[2, 2]", "False", "[0, 0]", "2")"),
            2 * 2 * 2 * 2 * 9 * 6 * 4 / 2);
  EXPECT_EQ(of("[[2, 3, 10], [5, 3, 4], []]", R"("[3]", "[0]", "[1]", "False", "[0]", "1")"),
            2 * 2 * 3 * 4 * 3 * 5);
  EXPECT_EQ(of("[[4, 3, 16, 16], [3, 8, 3, 3], [8]]",
               R"("[1, 1]", "[0, 0]", "[1, 1]", "True", "[0, 0]", "1")"),
            2 * 4 * 16 * 16 * 9 * 3 * 8);
}

TEST(Flops, OfAConvolutionsBackwardAreThoseOfTheGradientsThatAreMade) {
  const auto of = [](const char* dims, const std::string& transposed, const std::string& made) {
    return FlopsOf("aten::convolution_backward", dims,
                   R"(["", "", "", "[4]", "[1, 1]", "[1, 1]", "[1, 1]", ")" + transposed +
                       R"(", "[0, 0]", "1", ")" + made + R"("])");
  };
  const char* square = "[[2, 4, 8, 8], [2, 6, 8, 8], [4, 6, 3, 3], [], [], [], [], [], [], [], []]";
  constexpr int64_t kOne = 2 * 2 * 8 * 8 * 9 * 6 * 4;
  EXPECT_EQ(of(square, "False", "[True, True, True]"), 2 * kOne);
  EXPECT_EQ(of(square, "False", "[False, True, True]"), kOne);
  EXPECT_EQ(of(square, "False", "[True, False, False]"), kOne);
  EXPECT_EQ(of(square, "False", "[False, False, True]"), 0);
  EXPECT_EQ(of("[[4, 8, 18, 18], [4, 3, 16, 16], [3, 8, 3, 3]]", "True", "[False, True, True]"),
            2 * 4 * 16 * 16 * 9 * 3 * 8);
  EXPECT_EQ(of(square, "", "[True, True, True]"), kMissing);
  EXPECT_EQ(of(square, "False", ""), kMissing);
}

TEST(Flops, OfAttentionAreTwoProductsOfMatricesAndFiveBackward) {
  EXPECT_EQ(FlopsOf("aten::_scaled_dot_product_flash_attention_for_cpu",
                    "[[2, 4, 16, 8], [2, 4, 32, 8], [2, 4, 32, 8]]", "[]"),
            2 * 2 * 4 * 16 * 32 * 8 * 2);
  EXPECT_EQ(FlopsOf("aten::_scaled_dot_product_efficient_attention",
                    "[[2, 4, 16, 8], [2, 2, 32, 8], [2, 2, 32, 24]]", "[]"),
            2 * 2 * 4 * 16 * 32 * (8 + 24));
  EXPECT_EQ(FlopsOf("aten::_scaled_dot_product_flash_attention_for_cpu_backward",
                    "[[2, 4, 16, 24], [2, 4, 16, 8], [2, 4, 32, 8], [2, 4, 32, 24]]", "[]"),
            2 * 2 * 4 * 16 * 32 * (3 * 8 + 2 * 24));
  EXPECT_EQ(FlopsOf("aten::_scaled_dot_product_attention_math",
                    "[[2, 4, 16, 8], [2, 4, 32, 8], [2, 4, 32, 8]]", "[]"),
            kMissing);
}

TEST(Flops, AreMissingWhereTheyCannotBeKnown) {
  EXPECT_EQ(FlopsOf("aten::mm", "", ""), kMissing);
  EXPECT_EQ(FlopsOf("aten::mm", "[[2, 3], [4, 5]]", ""), kMissing);
  EXPECT_EQ(FlopsOf("aten::mm", "[[2, 3", ""), kMissing);
  EXPECT_EQ(FlopsOf("aten::mm", "[[-2, 3], [3, 5]]", ""), kMissing);
  EXPECT_EQ(FlopsOf("aten::mm", "[[4611686018427387904, 8], [8, 5]]", ""), kMissing);
  EXPECT_EQ(FlopsOf("aten::convolution", "[[2, 6, 8, 8], [4, 3, 3, 3]]", "[]"), kMissing);
  EXPECT_EQ(FlopsOf("aten::convolution", "[[2, 6, 8, 8], [4, 3, 3, 3]]",
                    R"(["", "", "", "[0, 0]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "2"])"),
            kMissing);
  EXPECT_EQ(FlopsOf("mm", "[[2, 3], [3, 5]]", ""), kMissing);
  EXPECT_EQ(FlopsOf("aten::relu", "[[2, 3]]", ""), kMissing);
}

// One call that others pass on, as PyTorch's operators call one another.
constexpr char kCalls[] = R"_(# crosscut trace
process train pid=7 window=0..1000
thread main tid=7 main lead
span aten::conv2d 0 100 framework probe=op
arg "Input Dims" "[[6, 8, 8], [4, 6, 3, 3], [4], [], [], [], []]"
span aten::convolution 10 90 framework probe=op
arg "Input Dims" "[[1, 6, 8, 8], [4, 6, 3, 3], [4], [], [], [], [], [], []]"
arg "Concrete Inputs" ["","","","[1, 1]","[1, 1]","[1, 1]","False","[0, 0]","1"]
span aten::_convolution 20 80 framework probe=op
arg "Input Dims" "[[1, 6, 8, 8], [4, 6, 3, 3], [4], [], [], [], [], [], []]"
arg "Concrete Inputs" ["","","","[1, 1]","[1, 1]","[1, 1]","False","[0, 0]","1"]
span aten::mm 200 300 framework probe=op
arg "Input Dims" "[[2, 3], [3, 5]]"
span aten::bmm 210 290 framework probe=op
arg "Input Dims" "[[7, 2, 3], [7, 3, 5]]"
span aten::mul 220 230 framework probe=op
arg "Input Dims" "[[4], []]"
span aten::mul 222 228 framework probe=op
arg "Input Dims" "[[4], []]"
)_";

TEST(Flops, AreCountedOnceWhereOperatorsCallOneAnother) {
  const trace::Trace trace = Parse(kCalls);
  const Context context(trace);
  constexpr int64_t kConvolution = 2 * 8 * 8 * 9 * 6 * 4;
  EXPECT_THAT(
      SpansTable(trace, context).integers("flops"),
      ElementsAre(kConvolution, kMissing, kMissing, kMissing, 7 * 2 * 2 * 3 * 5, 4, kMissing));
  int64_t sum = 0;
  const Table operators = OperatorsTable(trace, context);
  for (const int64_t flops : operators.integers("flops")) {
    sum += flops == kMissing ? 0 : flops;
  }
  EXPECT_EQ(sum, kConvolution + 7 * 2 * 2 * 3 * 5 + 4);
}

TEST(Flops, ThatDoNotFitAreNotKnownAndStayIt) {
  EXPECT_EQ(CellOf(Together(3, 5)), 8);
  for (const auto& [a, b] : {std::pair(INT64_MAX / 2, INT64_MAX / 2 + 2), {INT64_MIN + 5, -9}}) {
    const int64_t many = Together(a, b);
    EXPECT_EQ(CellOf(many), kMissing);
    EXPECT_EQ(CellOf(Together(Together(many, -7), 1)), kMissing);
    EXPECT_EQ(CellOf(Without(8, many)), kMissing);
  }
  for (const char* odd : {"4611686018427387904", "-9223372036854775808", "-3"}) {
    const std::string all = std::string("\"[") + odd + ", 1]\"";
    EXPECT_EQ(FlopsOf("aten::convolution", "[[1, 6, 8, 8], [4, 6, 3, 3], [4]]",
                      "[\"\",\"\",\"\",\"[1, 1]\"," + all + "," + all + ",\"False\"]"),
              kMissing);
  }
  const trace::Trace trace = Parse(R"_(# crosscut trace
process train pid=7 window=0..1000
thread main tid=7 main lead
span aten::mm 0 10 framework probe=op
arg "Input Dims" "[[1500000, 1500000], [1500000, 1500000]]"
span aten::mm 20 30 framework probe=op
arg "Input Dims" "[[1500000, 1500000], [1500000, 1500000]]"
span aten::mm 40 50 framework probe=op
arg "Input Dims" "[[1500000, 1500000], [1500000, 1500000]]"
)_");
  const Context context(trace);
  EXPECT_THAT(OperatorsTable(trace, context).integers("flops"), ElementsAre(kMissing));
  EXPECT_GT(SpansTable(trace, context).integers("flops")[0], 0);
}

TEST(Operators, AreGroupedByWhatTheyWereCalledWith) {
  const trace::Trace trace = Parse(R"_(# crosscut trace
process train pid=7 window=0..1000
thread main tid=7 main lead
span torch.mm 0 100 framework probe=boundary
span aten::mm 10 90 framework probe=op
arg "Input Dims" "[[2, 3], [3, 5]]"
span aten::empty 20 30 framework probe=op
span aten::mm 110 210 framework probe=op
arg "Input Dims" "[[2, 3], [3, 5]]"
span cudaLaunchKernel 120 130 runtime
out 1 120
span aten::mm 300 310 framework probe=op
arg "Input Dims" "[[4, 3], [3, 5]]"
device stream7 device=0 stream=7
span gemm 130 170 device
in 1 130
)_");
  const Context context(trace);
  const Table table = OperatorsTable(trace, context);
  EXPECT_THAT(table.texts("name"), ElementsAre("aten::mm", "aten::empty", "aten::mm"));
  EXPECT_THAT(table.texts("input_dims"), ElementsAre("[[2, 3], [3, 5]]", "", "[[4, 3], [3, 5]]"));
  EXPECT_THAT(table.integers("count"), ElementsAre(2, 1, 1));
  EXPECT_THAT(table.integers("total_ns"), ElementsAre(180, 10, 10));
  EXPECT_THAT(table.integers("self_ns"), ElementsAre(80 - 10 + 100 - 10, 10, 10));
  EXPECT_THAT(table.integers("self_device_ns"), ElementsAre(40, 0, 0));
  EXPECT_THAT(table.integers("flops"), ElementsAre(120, kMissing, 120));
}

TEST(Operators, AreGroupedByOverload) {
  EXPECT_THAT(testing::Rows(Parse(R"_(# crosscut trace
process train pid=7 window=0..1000
thread main tid=7 main lead
span aten::add 0 100 framework probe=op overload=Tensor
span aten::add 110 130 framework probe=op overload=out
span aten::add 200 300 framework probe=op overload=Tensor at=7
span aten::add 400 401 framework probe=op
)_"),
                            "operators"),
              ElementsAre("framework aten::add Tensor - - 2 200 200 0 ? 200 200 200",
                          "framework aten::add out - - 1 20 20 0 ? 20 20 20",
                          "framework aten::add - - - 1 1 1 0 ? 1 1 1"));
}

TEST(Spans, AreListedWithTheSpanAroundThemAndWhatAutogradNumbers) {
  const trace::Trace trace = Parse(R"_(# crosscut trace
process train pid=7 window=0..1000
thread main tid=7 main lead
op forward 0 500
span aten::mm 10 90 framework probe=op overload=out
arg "Input Dims" "[[2, 3], [3, 5]]"
arg "Sequence number" 4
span MmBackward0 600 700 framework probe=op
arg "Sequence number" 4
arg "Fwd thread id" 1
device stream7 device=0 stream=7
span gemm 130 170 device
)_");
  const Context context(trace);
  const Table table = SpansTable(trace, context);
  EXPECT_THAT(table.texts("name"), ElementsAre("forward", "aten::mm", "MmBackward0"));
  EXPECT_THAT(table.texts("overload"), ElementsAre("", "out", ""));
  EXPECT_THAT(table.texts("kind"), ElementsAre("operation", "span", "span"));
  EXPECT_THAT(table.integers("span"), ElementsAre(0, 1, 2));
  EXPECT_THAT(table.integers("parent"), ElementsAre(kMissing, 0, kMissing));
  EXPECT_THAT(table.integers("begin_ns"), ElementsAre(0, 10, 600));
  EXPECT_THAT(table.integers("sequence_number"), ElementsAre(kMissing, 4, 4));
  EXPECT_THAT(table.integers("forward_thread"), ElementsAre(kMissing, kMissing, 1));
  EXPECT_THAT(table.texts("input_dims"), ElementsAre("", "[[2, 3], [3, 5]]", ""));
}

// As files have them whose times are off: the second begins in the first and ends behind it.
TEST(Operators, ThatWereCutKeepTheirInputsInEachPart) {
  trace::Builder builder;
  trace::TrackBuilder& track = builder.AddTrack(builder.AddProcess("p"), trace::TrackKind::kThread);
  const trace::NameId mm = builder.AddName(
      {builder.Text("aten::mm"), trace::Kind::kSpan, trace::Layer::kFramework, false, {}});
  const auto begin = [&](int64_t at, const char* dims) {
    track.Begin(at, mm);
    track.ArgText(builder.Text("Input Dims"), builder.Text(dims));
  };
  begin(0, "[[2, 2]]");
  begin(20, "[[3, 3]]");
  track.EndAt(50, 0);
  track.End(80);
  const std::vector<std::string> rows = testing::Rows(builder.Finish(), "operators");
  EXPECT_THAT(rows, ElementsAre("framework aten::mm - [[3, 3]] - 1 60 60 0 ? 30 30 60",
                                "framework aten::mm - [[2, 2]] - 1 50 20 0 ? 50 50 50"));
}

// A convolution that was cut calls the one with the FLOPs in its second part.
TEST(Flops, OfACallInALaterPartAreOfItsOperator) {
  trace::Builder builder;
  trace::TrackBuilder& track = builder.AddTrack(builder.AddProcess("p"), trace::TrackKind::kThread);
  const auto name = [&](const char* text) {
    return builder.AddName(
        {builder.Text(text), trace::Kind::kSpan, trace::Layer::kFramework, false, {}});
  };
  track.Begin(0, name("aten::other"));
  track.Begin(20, name("aten::conv2d"));
  track.EndAt(50, 0);  // cuts conv2d
  track.Begin(60, name("aten::convolution"));
  track.ArgText(builder.Text("Input Dims"),
                builder.Text("[[1, 6, 8, 8], [4, 6, 3, 3], [4], [], [], [], [], [], []]"));
  track.ArgText(builder.Text("Concrete Inputs"),
                builder.Text(R"(["","","","[1, 1]","[1, 1]","[1, 1]","False","[0, 0]","1"])"));
  track.End(70);
  track.End(80);
  const trace::Trace trace = builder.Finish();
  const Table table = testing::Compute(trace, "operators");
  int64_t sum = 0;
  for (const int64_t flops : table.integers("flops")) sum += flops == kMissing ? 0 : flops;
  EXPECT_EQ(sum, 2 * 8 * 8 * 9 * 6 * 4);
}

// Deep calls of one name with many calls inside: time is linear.
TEST(Flops, OfCallsDeepInTheirNamesakesTakeLinearTime) {
  constexpr int64_t kDeep = 100'000, kCalls = 100'000;
  testing::TestTrace t;
  const auto p = t.Process("p", 0, 4 * kDeep + 2 * kCalls);
  const auto lead = t.Lead(p);
  const auto mm = t.Name("aten::mm", trace::Kind::kSpan, trace::Layer::kFramework);
  const int64_t end = 4 * kDeep + 2 * kCalls;
  for (int64_t i = 0; i < kDeep; ++i) t.Span(lead, i, end - i, mm);
  for (int64_t i = 0; i < kCalls; ++i) t.Span(lead, kDeep + 2 * i, kDeep + 2 * i + 1, mm);
  trace::Trace& trace = t.Finish();
  trace::Args& args = trace.tracks[0].args;
  for (uint32_t i = kDeep; i < kDeep + kCalls; ++i) {
    args.Add(i, {trace.strings.Intern("Input Dims"), true,
                 trace.strings.Intern("[[2, 3], [3, 5]]").value});
  }
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(testing::Compute(trace, "operators").integers("flops")[0], kCalls * 60);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

}  // namespace
}  // namespace crosscut::analyze
