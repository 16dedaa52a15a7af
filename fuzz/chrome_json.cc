// Feeds arbitrary bytes to the reader of Chrome's JSON traces, in pieces and windows of sizes that
// the first byte chooses, and makes a trace of what it finds.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "src/import/chrome/chrome_events.h"
#include "src/import/chrome/json_events.h"

using namespace crosscut;

namespace {

class Bytes : public import::TextStream {
 public:
  Bytes(const uint8_t* data, size_t size, size_t piece) : data_(data), left_(size), piece_(piece) {}
  Result<size_t> Read(std::span<char> to) override {
    const size_t n = std::min({to.size(), left_, piece_});
    if (n > 0) memcpy(to.data(), data_, n);
    data_ += n;
    left_ -= n;
    return n;
  }

 private:
  const uint8_t* data_;
  size_t left_, piece_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t window = size_t{64} << (data[0] & 7), piece = size_t{1} << (data[0] >> 4);
  Bytes bytes(data + 1, size - 1, piece);
  import::ChromeEvents events(/*keep=*/true);
  const Result<import::JsonReading> reading = import::ReadJsonEvents(&bytes, &events, window);
  if (!reading.ok()) return 0;
  const trace::Trace trace = events.Finish(*reading);
  // Spans nest: what analyses rely on.
  for (const trace::Track& track : trace.tracks) {
    for (size_t i = 0; i < track.spans.size(); ++i) {
      const trace::SpanIndex parent = track.spans.parent[i];
      if (track.spans.end_ns[i] < track.spans.begin_ns[i]) abort();
      if (parent == trace::kNoSpan) continue;
      if (parent >= i || track.spans.begin_ns[parent] > track.spans.begin_ns[i] ||
          track.spans.end_ns[parent] < track.spans.end_ns[i]) {
        abort();
      }
    }
  }
  return 0;
}
