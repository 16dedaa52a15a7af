// Which layer is in force: docs/accounting.md, 2, "A thread's layer".
#pragma once

#include <algorithm>
#include <cstdint>

#include "src/trace/trace.h"

namespace crosscut::trace {

// One that a thread can be in.
inline bool IsOfHost(Layer layer) { return layer >= Layer::kPython && layer <= Layer::kOverhead; }

// Whether such spans have a layer of their own on a thread.
inline bool HasLayer(const Name& name) { return name.kind == Kind::kSpan && IsOfHost(name.layer); }

// Inside a span of that name, where `below` is in force around it.
inline Layer LayerInside(const Name& name, Layer below) {
  if (below == Layer::kOverhead) return below;  // what our own work calls is ours, too
  return HasLayer(name) ? name.layer : below;
}

// The same on that track: work on a device has layer device where it states none.
inline Layer LayerInside(const Track& track, const Name& name, Layer below) {
  if (track.kind != TrackKind::kDevice) return LayerInside(name, below);
  if (name.kind != Kind::kSpan) return below;
  return name.layer == Layer::kNone ? Layer::kDevice : name.layer;
}

// Outside of every span of the track.
inline Layer BaseAt(const Track& track, int64_t at_ns) {
  const auto after = std::upper_bound(track.base_at_ns.begin(), track.base_at_ns.end(), at_ns);
  if (after == track.base_at_ns.begin()) return Layer::kNone;
  return track.base[static_cast<size_t>(after - track.base_at_ns.begin()) - 1];
}

}  // namespace crosscut::trace
