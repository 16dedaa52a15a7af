#include "src/trace/namesakes.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "src/trace/builder.h"

namespace crosscut::trace {
namespace {

TEST(Namesakes, OfOneTrackAfterTheOtherAreThoseOfEach) {
  std::mt19937_64 random(1);
  Builder builder;
  const ProcessId process = builder.AddProcess("p");
  const NameId name = builder.AddName({builder.Text("n")});
  for (int t = 0; t < 50; ++t) {
    TrackBuilder& track = builder.AddTrack(process, TrackKind::kThread);
    int64_t at = 0;
    for (size_t i = random() % 40; i > 0; --i) {
      random() % 3 != 0 ? track.Begin(++at, name) : track.End(++at);
    }
  }
  const Trace trace = builder.Finish();
  Namesakes all;
  for (const Track& track : trace.tracks) {
    Namesakes own(track.spans);
    all.Begin(track.spans);
    for (SpanIndex i = 0; i < track.spans.size(); ++i) {
      const auto key = static_cast<uint32_t>(random() % 6);
      const uint32_t drawn = key == 5 ? Namesakes::kNoKey : key;
      ASSERT_EQ(all.Enter(i, drawn), own.Enter(i, drawn));
      ASSERT_EQ(all.KeyedAround(), own.KeyedAround());
      ASSERT_EQ(all.Innermost(2), own.Innermost(2));
    }
  }
}

}  // namespace
}  // namespace crosscut::trace
