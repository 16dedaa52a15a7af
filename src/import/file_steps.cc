#include "src/import/file_steps.h"

#include <algorithm>

namespace crosscut::import {

uint64_t PutSteps(trace::Builder* builder, std::vector<FileStep> steps) {
  std::stable_sort(steps.begin(), steps.end(),
                   [](const FileStep& a, const FileStep& b) { return a.begin_ns < b.begin_ns; });
  uint64_t cut = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    const FileStep& step = steps[i];
    const int64_t next = i + 1 < steps.size() ? steps[i + 1].begin_ns : INT64_MAX;
    cut += step.end_ns > next ? 1 : 0;
    builder->StepBegin(step.track, step.begin_ns, step.name);
    builder->StepLevel(step.track, step.number, step.level, step.after_switch);
    if (!step.open || next != INT64_MAX) {
      builder->StepEnd(step.track, std::min(step.end_ns, next));
    }
  }
  return cut;
}

}  // namespace crosscut::import
