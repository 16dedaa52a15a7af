// Samples of threads, as the log of a process has them.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "src/import/native/native_test_run.h"
#include "src/trace/samples.h"

namespace crosscut::import {
namespace {

TEST_F(Native, ASampleSaysWhereFramesOfItsStackAreMissing) {
  Words session = Session();
  const auto text = Attributes(format::kKindText, format::kLayerNone);
  session.Name(0x101, "[sample]", Attributes(format::kKindSpan, format::kLayerNone, 0x102));
  session.Name(0x102, "sample", text).Name(0x103, "thread", text).Name(0x104, "frame", text);
  session.Name(0x105, "part", text).Name(0x106, "a.py:1 f", text);
  session.At(900, format::kStop, {format::kStopExit});
  Words sampled, looks;
  sampled.Thread(0, 1, 0);
  looks.Thread(0, 2, 0);
  for (const uint64_t part : {0, 1, 2}) {  // whole, the inner part, changed
    const uint64_t at = 100 + 100 * part;
    looks.At(at, format::kInstant, {0x101}).At(at, format::kArg, {0x103, 101});
    looks.At(at, format::kArgName, {0x104, 0x106});
    if (part != 0) looks.At(at, format::kArg, {0x105, part});
  }
  Write("p1-1", session, {sampled, looks});
  const trace::Trace trace = Read();
  ASSERT_EQ(trace.tracks.size(), 2u);
  std::vector<bool> cut;
  const trace::SampleReader reader(trace.strings);
  reader.ForEach(trace, trace.tracks[0], [&](int64_t, const trace::Sample& sample) {
    EXPECT_EQ(trace.text(sample.stack), "a.py:1 f");
    cut.push_back(sample.cut);
  });
  EXPECT_EQ(cut, (std::vector<bool>{false, true, true}));
}

}  // namespace
}  // namespace crosscut::import
