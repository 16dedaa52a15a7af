// What an instant of a step is spent on: docs/verdict.md defines each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace crosscut::analyze {

enum class Cause : uint8_t {
  kInput,
  kPython,
  kFramework,
  kNative,
  kLaunches,
  kDevice,
  kCopies,
  kCommunication,
  kSynchronisation,
  kSimulator,
  kOtherProcess,
  kOtherRank,
  kCompilation,
  kAllocation,
  kGc,
  kLock,
  kWaiting,
  kDisk,
  kPreemption,
  kRecording,
  kUnknown,
};
inline constexpr size_t kCauses = 21;
using CauseTimes = std::array<int64_t, kCauses>;  // nanoseconds

// What devices do then, not the host.
inline bool IsOfDevices(Cause cause) { return cause == Cause::kDevice || cause == Cause::kCopies; }

}  // namespace crosscut::analyze
