#include "src/import/xspace/xspace_memory.h"

namespace crosscut::import {
namespace {

constexpr std::string_view kAllocation = "MemoryAllocation", kFree = "MemoryDeallocation";

}  // namespace

bool AllocatorEvent::Knows(std::string_view event) {
  return event == kAllocation || event == kFree;
}

AllocatorEvent::AllocatorEvent(std::string_view event) : frees_(event == kFree) {}

void AllocatorEvent::Take(const xspace::Plane& plane, const xspace::Stat& stat) {
  using Type = xspace::Stat::Type;
  const std::string_view key = plane.stat_name(stat.metadata_id);
  const auto number = static_cast<int64_t>(stat.number);
  if (key == "allocator_name") {
    if (stat.type == Type::kText) name_ = stat.text;
    if (stat.type == Type::kRef) name_ = plane.stat_name(number);
    return;
  }
  // An address may have any bit; of amounts nobody has so many.
  const bool whole = stat.type == Type::kInt64 || stat.type == Type::kUint64;
  if (whole && key == "addr") address_ = number;
  if (!whole || number < 0) return;
  if (key == "device_ordinal" || key == "index_on_host") ordinal_ = number;
  if (key == "allocation_bytes") bytes_ = number;
  if (key == "bytes_allocated") allocated_ = number;
  if (key == "bytes_reserved") reserved_ = number;
}

// A free of nothing could not be told from an allocation.
bool AllocatorEvent::told() const { return bytes_ && (*bytes_ > 0 || !frees_); }

std::string AllocatorEvent::Allocator() const {
  if (!name_.empty()) return std::string(name_);
  return ordinal_ ? "device " + std::to_string(*ordinal_) : "(no name)";
}

// What is reserved for stacks is held as what is allocated on the heap is.
void AllocatorEvent::Tell(trace::Builder* builder, trace::TrackBuilder* track) const {
  track->ArgText(builder->Text("Allocator"), builder->Text(Allocator()));
  track->Arg(builder->Text("Bytes"), frees_ ? -*bytes_ : *bytes_);
  if (address_) track->Arg(builder->Text("Addr"), *address_);
  int64_t total = 0;
  if (allocated_ && !__builtin_add_overflow(*allocated_, reserved_.value_or(0), &total)) {
    track->Arg(builder->Text("Total Allocated"), total);
  }
}

}  // namespace crosscut::import
