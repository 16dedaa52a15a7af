#include "src/import/native/native_memory.h"

#include <algorithm>

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

  Live live;
  auto end = ends_.begin();
  for (const Event& event : events_) {
    for (; end != ends_.end() && *end <= event.at; ++end) End(*end, &live);
    TakeOne(event, &live);
  }
  for (; end != ends_.end(); ++end) End(*end, &live);
  events_ = {};
}

void NativeMemory::TakeOne(const Event& event, Live* live) {
  const bool cpu = (event.device & kTypeBits) == 0;
  int64_t& total = totals_[cpu ? kCpu : event.device];
  if (event.failed) return Tell(event, event.bytes, cpu ? total : event.allocated);
  const auto block = live->find({event.device, event.address});
  if (!cpu) {
    if (block != live->end()) live->erase(block);
    if (event.bytes > 0) live->emplace(std::pair(event.device, event.address), event);
    total = event.allocated;
    return Tell(event, event.bytes, total);
  }
  if (block != live->end()) {
    total -= block->second.bytes;
    Tell(event, -block->second.bytes, total);
    live->erase(block);
    if (event.bytes >= 0) ++unseen_frees_;
  }
  if (event.bytes < 0) return;
  live->emplace(std::pair(event.device, event.address), event);
  total += event.bytes;
  Tell(event, event.bytes, total);
}

void NativeMemory::End(int64_t at, Live* live) {
  for (const auto& [place, block] : *live) {
    const bool cpu = (place.first & kTypeBits) == 0;
    int64_t& left = totals_[cpu ? kCpu : place.first];
    left -= block.bytes;
    Event freed = block;
    freed.at = at;
    Tell(freed, -block.bytes, left);
  }
  held_at_end_ += live->size();
  live->clear();
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
