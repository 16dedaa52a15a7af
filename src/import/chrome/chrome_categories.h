// What the categories of a Chrome trace mean: Kineto's, Crosscut's and VizTracer's.
#pragma once

#include <cstddef>
#include <string_view>

#include "src/trace/trace.h"

namespace crosscut::import {

enum class Place : unsigned char {
  kThread,      // a span of a thread
  kDevice,      // work on a stream of a device
  kAnnotation,  // an annotation's shadow on a stream: no work
  kSync,        // a wait that the device's library recorded: no work
  kNowhere,     // about the trace itself
  kArrows,      // ends of arrows, of a row that is not known yet
};

inline constexpr size_t kPlaces = 6;

struct Category {
  Place place = Place::kThread;
  trace::Layer layer = trace::Layer::kNative;
  trace::Kind kind = trace::Kind::kSpan;
  bool launches = false;  // its correlation leads to work on a device
  bool found = false;     // an adapter of Crosscut's found it, the program did not declare it
};

// The category of that name, in upper or lower case. Null where it is not known; use Category()
// then.
const Category* FindCategory(std::string_view name);

}  // namespace crosscut::import
