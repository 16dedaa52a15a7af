// What the allocators of TensorFlow and XLA say in a host plane: an event for each allocation and
// each free. They become the instants of src/trace/memory_marks.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/trace/builder.h"
#include "src/xspace/reader.h"

namespace crosscut::import {

class AllocatorEvent {
 public:
  // Whether events of that name are an allocator's.
  static bool Knows(std::string_view event);

  explicit AllocatorEvent(std::string_view event);
  void Take(const xspace::Plane& plane, const xspace::Stat& stat);
  // Whether it says how many bytes it is about.
  bool told() const;
  // The arguments of the instant that came last on the track. Requires: told().
  void Tell(trace::Builder* builder, trace::TrackBuilder* track) const;

 private:
  std::string Allocator() const;

  bool frees_;
  std::string_view name_;
  std::optional<int64_t> ordinal_, bytes_, allocated_, reserved_, address_;
};

}  // namespace crosscut::import
