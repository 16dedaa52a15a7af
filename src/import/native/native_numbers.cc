// The format and the trace say the same things by the same numbers: the reader takes them over as
// they are. Nothing here runs.
#include <utility>

#include "src/format/format.h"
#include "src/trace/trace.h"

namespace crosscut::import {
namespace {

using trace::Kind;
using trace::Layer;

constexpr std::pair<format::Layer, Layer> kLayers[] = {
    {format::kLayerNone, Layer::kNone},           {format::kLayerPython, Layer::kPython},
    {format::kLayerFramework, Layer::kFramework}, {format::kLayerRuntime, Layer::kRuntime},
    {format::kLayerSimulator, Layer::kSimulator}, {format::kLayerData, Layer::kData},
    {format::kLayerComm, Layer::kComm},           {format::kLayerNative, Layer::kNative},
    {format::kLayerIdle, Layer::kIdle},           {format::kLayerOverhead, Layer::kOverhead},
    {format::kLayerDevice, Layer::kDevice},       {format::kLayerControl, Layer::kControl},
};
constexpr std::pair<format::Kind, Kind> kKinds[] = {
    {format::kKindSpan, Kind::kSpan}, {format::kKindOperation, Kind::kOperation},
    {format::kKindStep, Kind::kStep}, {format::kKindPhase, Kind::kPhase},
    {format::kKindText, Kind::kText},
};

template <class Pairs>
constexpr bool AreEqual(const Pairs& pairs) {
  for (const auto& [written, read] : pairs) {
    if (static_cast<int>(written) != static_cast<int>(read)) return false;
  }
  return true;
}

static_assert(AreEqual(kLayers) && std::size(kLayers) == trace::kLayerCount);
static_assert(AreEqual(kKinds));

}  // namespace
}  // namespace crosscut::import
