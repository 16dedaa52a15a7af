#include "src/analyze/memory/memory_operators.h"

#include <algorithm>
#include <map>
#include <set>

#include "src/analyze/columns.h"
#include "src/analyze/memory/memory_events.h"

namespace crosscut::analyze {
namespace {

using trace::kNoSpan;

struct OperatorSum {
  int64_t counts[2] = {}, bytes[2] = {};  // of allocations, of frees
  int64_t total = 0;
};

void AddChange(const trace::Trace& trace, const MemoryChange& change,
               std::map<uint32_t, OperatorSum>* sums) {
  const trace::Spans& spans = trace.tracks[change.track.value].spans;
  std::vector<uint32_t> names;  // texts, innermost first, each once
  for (auto span = change.span; span != kNoSpan; span = spans.parent[span]) {
    if (!IsOperator(trace, spans.name[span])) continue;
    const uint32_t name = trace.name(spans.name[span]).text.value;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  if (names.empty()) names.push_back(trace::StringId::None().value);
  OperatorSum& own = (*sums)[names.front()];
  const int freeing = change.bytes < 0 ? 1 : 0;
  ++own.counts[freeing];
  own.bytes[freeing] += change.bytes < 0 ? -change.bytes : change.bytes;
  for (const uint32_t name : names) (*sums)[name].total += change.bytes;
}

// The steps of a process that leaks are looked for in: of the last one nobody told the end, and at
// the end of control steps nobody saw what was freed.
size_t StepsToJudge(const trace::Process& process) {
  size_t count = process.steps.size();
  if (count > 0 && process.steps[count - 1].open) --count;
  while (count > 0 && process.steps[count - 1].level == 0) --count;
  return count > kLeakSteps ? count - kLeakSteps : 0;
}

// Of the steps that are judged, those in which something was allocated: with a step plan memory
// is not recorded in all of them.
int64_t StepsSeen(const trace::Process& process, const DeviceMemory& memory) {
  int64_t seen = 0;
  auto block = memory.blocks.begin();
  for (size_t i = 0; i < StepsToJudge(process); ++i) {
    const trace::Step& step = process.steps[i];
    while (block != memory.blocks.end() && block->begin_ns < step.begin_ns) ++block;
    if (block != memory.blocks.end() && block->begin_ns < step.end_ns) ++seen;
  }
  return seen;
}

struct Leak {
  std::set<size_t> steps;
  int64_t blocks = 0, bytes = 0, live = 0;
};

std::map<MemoryOwner, Leak> LeaksOf(const trace::Process& process, const DeviceMemory& memory) {
  std::map<MemoryOwner, Leak> leaks;
  const size_t judged = StepsToJudge(process);
  const auto first = process.steps.begin();
  for (const MemoryBlock& block : memory.blocks) {
    const auto after =
        std::upper_bound(first, first + static_cast<int64_t>(judged), block.begin_ns,
                         [](int64_t at, const trace::Step& step) { return at < step.begin_ns; });
    if (after == first) continue;
    const auto step = static_cast<size_t>(after - first - 1);
    if (block.begin_ns >= process.steps[step].end_ns) continue;
    if (block.end_ns <= process.steps[step + kLeakSteps].end_ns) continue;
    Leak& leak = leaks[block.owner];
    leak.steps.insert(step);
    ++leak.blocks;
    leak.bytes += block.bytes;
    if (block.end_ns == INT64_MAX) leak.live += block.bytes;
  }
  return leaks;
}

}  // namespace

Table MemoryOperatorsTable(const trace::Trace& trace, const Context& context) {
  Texts process, device, op;
  Integers allocations, frees, allocated, freed, self, total;
  for (const DeviceMemory& memory : context.Shared<MemoryUse>().devices) {
    std::map<uint32_t, OperatorSum> sums;
    for (const MemoryChange& change : memory.changes) AddChange(trace, change, &sums);
    std::vector<std::pair<uint32_t, OperatorSum>> rows(sums.begin(), sums.end());
    std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
      return a.second.bytes[0] > b.second.bytes[0];
    });
    for (const auto& [name, sum] : rows) {
      process.push_back(context.process_label(memory.process));
      device.push_back(memory.DeviceText());
      op.emplace_back(trace.text(trace::StringId{name}));
      allocations.push_back(sum.counts[0]);
      frees.push_back(sum.counts[1]);
      allocated.push_back(sum.bytes[0]);
      freed.push_back(sum.bytes[1]);
      self.push_back(sum.bytes[0] - sum.bytes[1]);
      total.push_back(sum.total);
    }
  }
  return MakeTable("memory_operators", MakeColumn("process", process), MakeColumn("device", device),
                   MakeColumn("operator", op), MakeColumn("allocations", allocations),
                   MakeColumn("frees", frees), MakeColumn("allocated_bytes", allocated),
                   MakeColumn("freed_bytes", freed), MakeColumn("self_bytes", self),
                   MakeColumn("total_bytes", total));
}

Table MemoryLeaksTable(const trace::Trace& trace, const Context& context) {
  Texts process, device, operation, op, module;
  Integers steps, leaking, blocks, bytes, live;
  const auto text = [&](trace::NameId name) {
    return name.valid() ? std::string(trace.text(trace.name(name).text)) : std::string();
  };
  for (const DeviceMemory& memory : context.Shared<MemoryUse>().devices) {
    const trace::Process& of = trace.processes[memory.process.value];
    const int64_t seen = StepsSeen(of, memory);
    const std::map<MemoryOwner, Leak> leaks = LeaksOf(of, memory);
    std::vector<std::pair<MemoryOwner, Leak>> rows(leaks.begin(), leaks.end());
    std::stable_sort(rows.begin(), rows.end(),
                     [](const auto& a, const auto& b) { return a.second.bytes > b.second.bytes; });
    for (const auto& [owner, leak] : rows) {
      process.push_back(context.process_label(memory.process));
      device.push_back(memory.DeviceText());
      operation.push_back(text(owner.operation));
      op.push_back(text(owner.op));
      module.push_back(text(owner.module));
      steps.push_back(seen);
      leaking.push_back(static_cast<int64_t>(leak.steps.size()));
      blocks.push_back(leak.blocks);
      bytes.push_back(leak.bytes);
      live.push_back(leak.live);
    }
  }
  return MakeTable("memory_leaks", MakeColumn("process", process), MakeColumn("device", device),
                   MakeColumn("operation", operation), MakeColumn("operator", op),
                   MakeColumn("module", module), MakeColumn("steps", steps),
                   MakeColumn("leaking_steps", leaking), MakeColumn("blocks", blocks),
                   MakeColumn("bytes", bytes), MakeColumn("live_bytes", live));
}

}  // namespace crosscut::analyze
