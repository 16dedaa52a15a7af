// A set of layers, and the words for it in tables.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "src/trace/trace.h"

namespace crosscut::analyze {

// One bit for each trace::Layer. In the cells of the accounting it holds the host layers that are
// active (python to native, overhead), or idle alone, or control alone, or nothing. Except with
// control, it also holds device while a device is busy.
using LayerSet = uint16_t;

inline constexpr LayerSet Bit(trace::Layer layer) {
  return static_cast<LayerSet>(1u << static_cast<int>(layer));
}
inline constexpr LayerSet kDeviceBit = Bit(trace::Layer::kDevice);
inline constexpr LayerSet kIdleBit = Bit(trace::Layer::kIdle);
inline constexpr LayerSet kControlBit = Bit(trace::Layer::kControl);
inline constexpr LayerSet kOursAlone = Bit(trace::Layer::kOverhead);
// The layers that are work on the host.
inline constexpr LayerSet kHostBits = 0xfe | Bit(trace::Layer::kOverhead);

// The layers without device, sorted and joined by "+": "framework+python", "idle", "control", "".
std::string LayersText(LayerSet set);
inline bool DeviceBusy(LayerSet set) { return (set & kDeviceBit) != 0; }

// The six shares of an operation's wall time.
enum class Share { kHost, kOverlap, kDevice, kIdle, kUnknown, kControl };
inline constexpr int kShareCount = 6;
using Shares = std::array<int64_t, kShareCount>;  // nanoseconds, by Share
// Their columns.
inline constexpr std::array<const char*, kShareCount> kShareColumns = {
    "host_ns", "overlap_ns", "device_ns", "idle_ns", "unknown_ns", "control_ns"};
// The share to which an instant with this set belongs.
Share ShareOf(LayerSet set);

}  // namespace crosscut::analyze
