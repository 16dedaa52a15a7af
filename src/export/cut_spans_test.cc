// Spans that were cut where others ended count once in every file that goes out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "src/export/exporter.h"
#include "src/export/nesting_rows.h"
#include "src/export/testing/memory_sink.h"
#include "src/trace/builder.h"
#include "src/xspace/reader.h"

namespace crosscut::exporting {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;
using trace::Kind;
using trace::SpanIndex;

// forward ends inside a call of a function that it contains, while that launches a kernel; twice.
class CutSpans : public testing::Test {
 protected:
  void SetUp() override {
    const trace::ProcessId process = builder_.AddProcess("p");
    trace::TrackBuilder& host = builder_.AddTrack(process, trace::TrackKind::kThread);
    trace::TrackBuilder& device = builder_.AddTrack(process, trace::TrackKind::kDevice);
    const trace::NameId forward = Name("forward", Kind::kOperation, trace::Layer::kNone),
                        work = Name("work", Kind::kSpan, trace::Layer::kPython),
                        launch = Name("launch", Kind::kSpan, trace::Layer::kRuntime),
                        gemm = Name("gemm", Kind::kSpan, trace::Layer::kDevice);
    for (const int64_t at : {0, 100}) {
      host.Begin(at, forward);
      host.Begin(at + 2, work);
      host.Begin(at + 15, launch);
      host.EndNamed(at + 20, forward);
      host.FlowOut(at + 25, static_cast<uint64_t>(at + 1));
      host.EndSpan(at + 30);
      host.EndSpan(at + 40);
      device.Begin(at + 50, gemm);
      device.FlowIn(at + 50, static_cast<uint64_t>(at + 1));
      device.End(at + 60);
    }
    builder_.process(process).end_ns = 200;
    trace_ = builder_.Finish();
  }

  trace::NameId Name(const char* text, Kind kind, trace::Layer layer) {
    trace::Name name;
    name.text = builder_.Text(text);
    name.kind = kind;
    name.layer = layer;
    if (kind == Kind::kSpan) name.probe = builder_.Text("pycall");
    return builder_.AddName(name);
  }

  std::string Written(Result<Gaps> (*write)(const trace::Trace&, Sink*)) const {
    std::string out;
    const auto sink = MemorySink(&out);
    EXPECT_TRUE(write(trace_, sink.get()).ok());
    EXPECT_TRUE(sink->Close().ok());
    return out;
  }

  trace::Builder builder_;
  trace::Trace trace_;
};

TEST_F(CutSpans, TheOperationOfTwoThatCrossMovesToAFurtherRow) {
  const trace::Spans& spans = trace_.tracks[0].spans;
  ASSERT_EQ(spans.size(), 10u);  // the function and the call in two parts each
  const trace::WholeSpans wholes(spans);
  const NestingRows rows(trace_, spans, wholes);
  EXPECT_EQ(rows.size(), 2u);
  std::vector<std::pair<std::string, uint32_t>> seen;
  for (SpanIndex i = 0; i < spans.size(); ++i) {
    if (wholes.first(i) != i) continue;
    seen.emplace_back(trace_.name_text(spans.name[i]), rows.of(i));
  }
  using Seen = std::pair<std::string, uint32_t>;
  EXPECT_THAT(seen, ElementsAre(Seen{"forward", 1}, Seen{"work", 0}, Seen{"launch", 0},
                                Seen{"forward", 1}, Seen{"work", 0}, Seen{"launch", 0}));
}

TEST_F(CutSpans, ChromesEventsJoinACallsLaterPartToItsWork) {
  simdjson::dom::parser parser;
  const std::string text = Written(WriteChromeJson);
  simdjson::dom::array events;
  ASSERT_FALSE(parser.parse(text)["traceEvents"].get(events));
  std::map<int64_t, std::vector<std::string>> by_correlation;
  for (const simdjson::dom::element event : events) {
    std::string_view name;
    int64_t correlation = 0;
    if (event["name"].get(name) || event["args"]["correlation"].get(correlation)) continue;
    by_correlation[correlation].emplace_back(name);
  }
  using Names = std::vector<std::string>;
  EXPECT_THAT(by_correlation, UnorderedElementsAre(std::pair(1, Names{"launch", "gemm"}),
                                                   std::pair(2, Names{"launch", "gemm"})));
}

TEST_F(CutSpans, AnXSpacesEventsAreWholeAndJoinACallsLaterPartToItsWork) {
  std::vector<std::string> told;
  const Status status = xspace::ForEachPlane(Written(WriteXSpace), [&](const xspace::Plane& plane) {
    return plane.ForEachLine([&](const xspace::Line& line) {
      return xspace::ForEachEvent(line, [&](const xspace::Event& event) {
        std::string text(plane.event_metadata(event.metadata_id).name);
        text += " " + std::to_string(event.offset_ps / 1000) + "+" +
                std::to_string(event.duration_ps / 1000);
        Status read = xspace::ForEachEventStat(event.bytes, [&](const xspace::Stat& stat) {
          if (plane.stat_name(stat.metadata_id) == "correlation_id") {
            text += " correlation " + std::to_string(stat.number);
          }
          return Status();
        });
        told.push_back(text);
        return read;
      });
    });
  });
  EXPECT_TRUE(status.ok());
  EXPECT_THAT(told, ElementsAre("forward 0+20", "work 2+38", "launch 15+15 correlation 1",
                                "forward 100+20", "work 102+38", "launch 115+15 correlation 2",
                                "gemm 50+10 correlation 1", "gemm 150+10 correlation 2"));
}

}  // namespace
}  // namespace crosscut::exporting
