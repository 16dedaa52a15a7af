// Feeds arbitrary bytes to the reader of XSpaces and visits all that it finds.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "src/xspace/reader.h"

using namespace crosscut::xspace;

namespace {

// What it hands out must lie inside the input.
std::string_view input;
void Require(std::string_view text) {
  const bool inside = text.data() >= input.data() && text.end() <= input.end();
  if (!text.empty() && !inside) abort();
}

crosscut::Status TakeStat(const Plane& plane, const Stat& stat) {
  Require(stat.text);
  Require(plane.stat_name(stat.metadata_id));
  return {};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  input = {reinterpret_cast<const char*>(data), size};
  (void)LooksLikeSpace(input);
  for (const auto which : {Texts::kErrors, Texts::kWarnings, Texts::kHostnames}) {
    (void)SpaceTexts(input, which);
  }
  (void)ForEachPlane(input, [](const Plane& plane) {
    const auto stat = [&](const Stat& s) { return TakeStat(plane, s); };
    Require(plane.name);
    (void)plane.ForEachStat(stat);
    return plane.ForEachLine([&](const Line& line) {
      Require(line.name);
      return ForEachEvent(line, [&](const Event& event) {
        const EventMetadata metadata = plane.event_metadata(event.metadata_id);
        Require(metadata.name);
        (void)ForEachMetadataStat(metadata.bytes, stat);
        return ForEachEventStat(event.bytes, stat);
      });
    });
  });
  return 0;
}
