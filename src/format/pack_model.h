// What packer and unpacker expect of the next word, learnt from the words before it in the same
// chunk. Both run the same model over the same words, so only the difference is stored. A change
// here changes the format.
#pragma once

#include <cstdint>
#include <cstring>

#include "src/format/format.h"

namespace crosscut::format {

// The time before an event depends on what it is and on what came before it. The end of a leaf
// shows how long leaves of that name take; an end behind a child's end shows how long the parent's
// tail is.
class TickModel {
 public:
  // What the next expectation depends on, apart from the tables. The caller keeps it in a local
  // variable, which stores into columns cannot change.
  struct Walk {
    uint32_t depth = 0;
    uint32_t context = 0;
  };

  void Reset() {
    memset(expected_, 0, sizeof expected_);
    memset(open_, 0, sizeof open_);
  }

  // The place of the expectation for an event of `code`; valid until the next call.
  uint32_t* Find(Walk walk, uint16_t code) {
    const uint32_t key = (walk.context * 0x9e3779b1u) ^ (code * 0x85ebca6bu);
    return &expected_[key * 0xc2b2ae35u >> (32 - kTableBits)];
  }

  // Learns from an event of `code` that came `delta` ticks after the one before it. `place` is from
  // Find.
  void Learn(Walk* walk, uint32_t* place, uint16_t code, int64_t delta) {
    const int64_t seen = delta < 0 ? 0 : delta > kLongest ? kLongest : delta;
    const int64_t before = *place;
    *place = static_cast<uint32_t>(before == 0 ? seen : before + ((seen - before) >> 2));
    if (code == kEnd) {
      walk->context = open_[--walk->depth & kDepthMask] ^ 0x5000u;
      return;
    }
    if (code >= kFirstNameCode || code == kBeginWide) open_[++walk->depth & kDepthMask] = code;
    walk->context = code;
  }

 private:
  static constexpr int kTableBits = 12;
  static constexpr uint32_t kDepthMask = 63;
  static constexpr int64_t kLongest = INT32_MAX;

  uint32_t expected_[1 << kTableBits];
  uint16_t open_[kDepthMask + 1] = {};
};

// Payload words near a value that is already known are stored as their distance from it.
class PayloadModel {
 public:
  void Reset() { memset(last_, 0, sizeof last_); }

  // True where word `slot` of an event at `tick` is stored as a distance from *near. `payload`: the
  // event's payload; only words before `slot` are read.
  bool Near(uint16_t code, int slot, const uint64_t* payload, uint64_t tick, uint64_t* near) const {
    switch (code) {
      case kFlowOut:
      case kFlowIn:
      case kStepLevel:
        if (slot != 0) return false;
        *near = last_[code];
        return true;
      case kCounter:
      case kArg:
        if (slot != 1) return false;
        *near = last_[Place(payload[0])];
        return true;
      case kSpanAt:
        if (slot == 0) return false;
        *near = slot == 1 ? tick : payload[1];
        return true;
      case kSpanOn:
      case kInstantOn:
      case kCounterOn:
        if (slot < 2 || (slot == 3 && code != kSpanOn)) return false;
        *near = slot == 2 ? last_[Place(payload[0])] : payload[2];
        return true;
      case kFlowOn:
        if (slot != 1) return false;
        *near = last_[code];
        return true;
      // An allocator hands out first what came back last.
      case kAllocated:
      case kFreed:
        if (slot != 0) return false;
        *near = last_[code == kAllocated ? kFreed : kAllocated];
        return true;
      case kMemory:
        if (slot != 1 && slot < 3) return false;
        *near = slot == 1 ? last_[code] : last_[Place(payload[0] + slot)];
        if (slot == 3) *near += payload[2];
        return true;
      case kFreedAt: *near = tick; return slot == 1;
      case kGoesOnWith: *near = tick; return slot == 0;
      case kThread: *near = tick; return slot == 3;
      case kDrop: *near = tick; return slot >= 2;
      default: return false;
    }
  }

  void Learn(uint16_t code, const uint64_t* payload) {
    switch (code) {
      case kFlowOut:
      case kFlowIn:
      case kStepLevel: last_[code] = payload[0]; break;
      case kCounter:
      case kArg: last_[Place(payload[0])] = payload[1]; break;
      case kSpanOn:
      case kInstantOn:
      case kCounterOn: last_[Place(payload[0])] = payload[2]; break;
      case kFlowOn: last_[code] = payload[1]; break;
      case kAllocated:
      case kFreed: last_[code] = payload[0]; break;
      case kMemory:
        last_[code] = payload[1];
        last_[Place(payload[0] + 3)] = payload[3];
        last_[Place(payload[0] + 4)] = payload[4];
        break;
      default: break;
    }
  }

 private:
  static size_t Place(uint64_t name) { return 32 + (name * 0x9e3779b97f4a7c15u >> 56); }
  uint64_t last_[32 + 256];
};

}  // namespace crosscut::format
