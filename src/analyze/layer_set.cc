#include "src/analyze/layer_set.h"

#include <algorithm>
#include <vector>

namespace crosscut::analyze {

std::string LayersText(LayerSet set) {
  std::vector<std::string_view> names;
  for (int i = 1; i < trace::kLayerCount; ++i) {
    const auto layer = static_cast<trace::Layer>(i);
    if (layer != trace::Layer::kDevice && (set & Bit(layer))) {
      names.push_back(trace::LayerName(layer));
    }
  }
  std::sort(names.begin(), names.end());
  std::string text;
  for (std::string_view name : names) {
    if (!text.empty()) text += '+';
    text += name;
  }
  return text;
}

Share ShareOf(LayerSet set) {
  if (set & kControlBit) return Share::kControl;
  if (set & kHostBits) return DeviceBusy(set) ? Share::kOverlap : Share::kHost;
  if (DeviceBusy(set)) return Share::kDevice;
  return (set & kIdleBit) ? Share::kIdle : Share::kUnknown;
}

}  // namespace crosscut::analyze
