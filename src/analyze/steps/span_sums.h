// The spans of one process, summed by name, class of steps and block of steps.
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
  int64_t ns = 0;  // inclusive: a span in another of its name and step adds nothing
};

// A name and layer. Names that differ only in other attributes are one; `probe` is that of the
// first that the process has.
struct SpanName {
  trace::StringId text;
  trace::Layer layer;
  trace::StringId probe;
  std::vector<SpanSum> sums;  // by block; blocks without such a span have none
};

struct SpanSums {
  std::vector<StepCellBlock> blocks;
  std::vector<SpanName> names;
};

// Sums over the steps that count (overhead.h) and have a class. A level and class has at most 2,000
// blocks; if there are more, several become one. A span belongs to the step in which it begins.
// Takes linear time.
SpanSums SumSpans(const trace::Trace& trace, const ProcessTracks& tracks,
                  const trace::Process& process, const std::vector<StepSample>& samples,
                  const StepClasses& classes);

}  // namespace crosscut::analyze
