// What a comparison is made of: runs in memory, and two of everything.
#pragma once

#include <span>
#include <string>

#include "src/analyze/context.h"
#include "src/trace/trace.h"

namespace crosscut::compare {

// One run or file. Both outlive the comparison; `context` was made for `trace`.
struct Run {
  const trace::Trace* trace;
  const analyze::Context* context;
};

// The same of either side: A, to which B is compared.
template <class T>
struct Both {
  T a{}, b{};
};

using Sides = Both<std::span<const Run>>;

}  // namespace crosscut::compare
