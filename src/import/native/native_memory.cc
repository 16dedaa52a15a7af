#include "src/import/native/native_memory.h"

#include <algorithm>
#include <unordered_map>

#include "src/format/format.h"

namespace crosscut::import {
namespace {

constexpr uint64_t kCpu = format::MemoryDevice(0, -1);
constexpr uint64_t kTypeBits = uint64_t{0xffffffff} << 32;

int64_t Signed(uint64_t word) { return static_cast<int64_t>(word); }

}  // namespace

bool NativeMemory::Knows(uint16_t code) {
  return (code >= format::kAllocated && code <= format::kFreedAt) || code == format::kMemory ||
         code == format::kNoMemory;
}

void NativeMemory::Take(trace::TrackBuilder* track, int64_t at, uint16_t code,
                        std::span<const uint64_t> payload) {
  Event event = {at, 0, kCpu, 0, 0, 0, track, false};
  switch (code) {
    case format::kAllocated:
      event.address = payload[0];
      event.bytes = std::max<int64_t>(Signed(payload[1]), 0);
      break;
    case format::kFreedAt: event.at = clock_->ToNs(payload[1]); [[fallthrough]];
    case format::kFreed:
      event.address = payload[0];
      event.bytes = -1;
      break;
    case format::kMemory:
      event.device = payload[0];
      event.address = payload[1];
      event.bytes = Signed(payload[2]);
      event.allocated = Signed(payload[3]);
      event.reserved = Signed(payload[4]);
      break;
    default:
      event.device = payload[0];
      event.bytes = Signed(payload[1]);
      event.allocated = Signed(payload[2]);
      event.reserved = Signed(payload[3]);
      event.failed = true;
      break;
  }
  events_.push_back(event);
}

void NativeMemory::Finish() {
  if (events_.empty()) return;
  std::stable_sort(events_.begin(), events_.end(),
                   [](const Event& a, const Event& b) { return a.at < b.at; });
  constexpr const char* kKeys[] = {"Device Type", "Device Id",       "Addr",
                                   "Bytes",       "Total Allocated", "Total Reserved"};
  for (size_t i = 0; i < std::size(kKeys); ++i) keys_[i] = builder_->Text(kKeys[i]);
  trace::Name name;
  name.probe = builder_->Text("allocation");
  name.text = builder_->Text("[memory]");
  changed_ = builder_->AddName(name);
  name.text = builder_->Text("[OutOfMemory]");
  failed_ = builder_->AddName(name);

  std::unordered_map<uint64_t, int64_t> live;  // of the CPU
  int64_t total = 0;
  for (const Event& event : events_) {
    const bool cpu = (event.device & kTypeBits) == 0;
    if (!cpu || event.failed) {
      Tell(event, event.bytes, cpu ? total : event.allocated);
      continue;
    }
    const auto block = live.find(event.address);
    if (block != live.end()) {
      total -= block->second;
      Tell(event, -block->second, total);
      live.erase(block);
      if (event.bytes >= 0) ++unseen_frees_;
    }
    if (event.bytes < 0) continue;
    live.emplace(event.address, event.bytes);
    total += event.bytes;
    Tell(event, event.bytes, total);
  }
  events_ = {};
}

trace::NameId NativeMemory::CounterOf(uint64_t device) {
  const auto [found, added] = counters_.try_emplace(device);
  if (added) {
    trace::Name name;
    name.text = builder_->Text(
        "allocated bytes, " +
        trace::MemoryDeviceName(static_cast<int64_t>(device >> 32), static_cast<int32_t>(device)));
    found->second = builder_->AddName(name);
  }
  return found->second;
}

void NativeMemory::Tell(const Event& event, int64_t bytes, int64_t allocated) {
  trace::TrackBuilder& track = *event.track;
  track.Instant(event.at, event.failed ? failed_ : changed_);
  track.Arg(keys_[0], static_cast<int64_t>(event.device >> 32));
  track.Arg(keys_[1], static_cast<int32_t>(event.device));
  if (!event.failed) track.Arg(keys_[2], Signed(event.address));
  track.Arg(keys_[3], bytes);
  track.Arg(keys_[4], allocated);
  track.Arg(keys_[5], event.reserved);
  if (!event.failed) {
    builder_->Count(track.track().process, CounterOf(event.device), event.at, allocated);
  }
}

}  // namespace crosscut::import
