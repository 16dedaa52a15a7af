// Feeds arbitrary bytes to the import as if a plugin had collected them in a recorded process, and
// finishes the trace: what comes out must be properly nested whatever went in.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "src/import/xspace/xspace_planes.h"
#include "src/trace/builder.h"

using namespace crosscut;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr int64_t kEpoch = 1'800'000'000'000'000'000;
  trace::Builder builder;
  const trace::ProcessId process = builder.AddProcess("p1");
  builder.process(process).start_ns = 1000;
  builder.process(process).end_ns = 2'000'000;
  import::DeviceNumbers devices;
  import::Placement placement;
  placement.devices = &devices;
  placement.offset_ns = kEpoch;
  placement.counts_from = kEpoch + 1000;
  placement.steps = (size & 1) != 0;
  import::XSpacePlanes planes(&builder, process, placement);
  (void)planes.Take({reinterpret_cast<const char*>(data), size});
  (void)planes.LeftOut();
  const trace::Trace trace = builder.Finish();
  for (const trace::Track& track : trace.tracks) {
    const trace::Spans& spans = track.spans;
    for (size_t i = 0; i < spans.size(); ++i) {
      if (spans.end_ns[i] < spans.begin_ns[i]) abort();
      const trace::SpanIndex parent = spans.parent[i];
      if (parent == trace::kNoSpan) continue;
      if (parent >= i || spans.begin_ns[parent] > spans.begin_ns[i] ||
          spans.end_ns[parent] < spans.end_ns[i]) {
        abort();
      }
    }
  }
  return 0;
}
