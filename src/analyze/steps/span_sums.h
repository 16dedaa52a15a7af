// Spans of one process summed by name, class of steps and block of steps.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/steps/step_classes.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

// Neighbouring steps of one class and level.
struct StepCellBlock {
  uint32_t step_class;
  uint8_t level;
  int64_t steps = 0;
};

// Spans of one name and layer in one block.
struct SpanSum {
  uint32_t block;  // index into SpanSums::blocks
  int64_t count = 0, self_ns = 0;
  int64_t ns = 0;  // inclusive: one inside another of its step adds nothing
};

// A name and layer; names that differ only in other attributes are one.
struct SpanName {
  trace::StringId text;
  trace::Layer layer;
  trace::StringId probe;
  std::vector<SpanSum> sums;  // blocks without a span of the name are not there
};

struct SpanSums {
  std::vector<StepCellBlock> blocks;
  std::vector<SpanName> names;
};

// Over the steps that count (overhead.h) and have a class. At most 2,000 blocks of a level and
// class: more are put together. A span belongs to the step in which it begins. Linear time.
SpanSums SumSpans(const trace::Trace& trace, const ProcessTracks& tracks,
                  const trace::Process& process, const std::vector<StepSample>& samples,
                  const StepClasses& classes);

}  // namespace crosscut::analyze
