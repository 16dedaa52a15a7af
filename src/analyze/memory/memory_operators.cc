#include "src/analyze/memory/memory_operators.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "src/analyze/amounts.h"
#include "src/analyze/columns.h"
#include "src/analyze/figures.h"
#include "src/analyze/memory/memory_events.h"
#include "src/trace/namesakes.h"
#include "src/trace/spans_around.h"

namespace crosscut::analyze {
namespace {

using trace::kNoSpan;

struct OperatorSum {
  int64_t counts[2] = {}, bytes[2] = {};  // of allocations, of frees
  int64_t total = 0;
};

using OperatorSums = std::map<uint32_t, OperatorSum>;  // by the text of the operator's name

void AddOwn(const MemoryChange& change, OperatorSum* own) {
  const int freeing = change.bytes < 0 ? 1 : 0;
  ++own->counts[freeing];
  AddTo(&own->bytes[freeing], std::abs(change.bytes));
}

// What changed in a span, and whether anything did.
struct Inside {
  int64_t bytes = 0;
  bool any = false;
};

// Totals of a track's operators, `inside` by span: of nested calls of one name the outermost has
// it.
void AddTotals(const trace::Trace& trace, const trace::Spans& spans, std::vector<Inside> inside,
               OperatorSums* sums) {
  for (size_t i = spans.size(); i-- > 0;) {  // children before their parents
    if (spans.parent[i] == kNoSpan || !inside[i].any) continue;
    AddTo(&inside[spans.parent[i]].bytes, inside[i].bytes);
    inside[spans.parent[i]].any = true;
  }
  trace::Namesakes open(spans);
  for (trace::SpanIndex i = 0; i < spans.size(); ++i) {
    const bool counts = inside[i].any && IsOperator(trace, spans.name[i]);
    const uint32_t text = trace.name(spans.name[i]).text.value;
    const bool outermost = open.Enter(i, counts ? text : trace::Namesakes::kNoKey) == kNoSpan;
    if (counts && outermost) AddTo(&(*sums)[text].total, inside[i].bytes);
  }
}

OperatorSums SumsOf(const trace::Trace& trace, const DeviceMemory& memory,
                    trace::SpansAround* operators) {
  OperatorSums sums;
  std::map<uint32_t, std::vector<Inside>> inside;  // by track
  for (const MemoryChange& change : memory.changes) {
    const trace::Spans& spans = trace.tracks[change.track.value].spans;
    const trace::SpanIndex op = operators->Of(change.track, change.span);
    if (op == kNoSpan) {
      OperatorSum& none = sums[trace::StringId::None().value];
      AddOwn(change, &none);
      AddTo(&none.total, change.bytes);
      continue;
    }
    AddOwn(change, &sums[trace.name(spans.name[op]).text.value]);
    std::vector<Inside>& of_track = inside[change.track.value];
    of_track.resize(spans.size());
    AddTo(&of_track[op].bytes, change.bytes);
    of_track[op].any = true;
  }
  for (auto& [track, of_track] : inside) {
    AddTotals(trace, trace.tracks[track].spans, std::move(of_track), &sums);
  }
  return sums;
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
    AddTo(&leak.bytes, block.bytes);
    if (block.end_ns == INT64_MAX) AddTo(&leak.live, block.bytes);
  }
  return leaks;
}

}  // namespace

Table MemoryOperatorsTable(const trace::Trace& trace, const Context& context) {
  Texts process, device, op;
  Integers allocations, frees, allocated, freed, self, total;
  trace::SpansAround operators(trace, [&](trace::TrackId track, trace::SpanIndex span) {
    return IsOperator(trace, trace.tracks[track.value].spans.name[span]);
  });
  for (const DeviceMemory& memory : context.Shared<MemoryUse>().devices) {
    const OperatorSums sums = SumsOf(trace, memory, &operators);
    std::vector<std::pair<uint32_t, OperatorSum>> rows(sums.begin(), sums.end());
    std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
      return a.second.bytes[0] > b.second.bytes[0];
    });
    for (const auto& [name, sum] : rows) {
      process.push_back(context.process_label(memory.process));
      device.push_back(memory.device);
      op.emplace_back(trace.text(trace::StringId{name}));
      allocations.push_back(sum.counts[0]);
      frees.push_back(sum.counts[1]);
      allocated.push_back(CellOf(sum.bytes[0]));
      freed.push_back(CellOf(sum.bytes[1]));
      self.push_back(CellOf(Without(sum.bytes[0], sum.bytes[1])));
      total.push_back(CellOf(sum.total));
    }
  }
  return MakeTable("memory_operators", MakeColumn("process", process), MakeColumn("device", device),
                   MakeColumn("operator", op), MakeColumn("allocations", allocations),
                   MakeColumn("frees", frees), MakeColumn("allocated_bytes", allocated),
                   MakeColumn("freed_bytes", freed), MakeColumn("self_bytes", self),
                   MakeColumn("total_bytes", total));
}

namespace {

// What at least half of the steps leave behind; "" for less.
std::string LeakText(const Leak& leak, int64_t steps, const std::string& device,
                     const std::string& op) {
  const auto leaking = static_cast<int64_t>(leak.steps.size());
  if (leaking < 3 || 2 * leaking < steps) return "";
  const bool known = leak.bytes != kTooMuch;
  return (known ? BytesText(leak.bytes) : "An unknown amount") + " of memory (" + device +
         ") that " + (op.empty() ? "no operator" : op) + " allocated in " +
         std::to_string(leaking) + " of " + std::to_string(steps) +
         " steps were still held two steps later.";
}

}  // namespace

Table MemoryLeaksTable(const trace::Trace& trace, const Context& context) {
  Texts process, device, operation, op, module, finding;
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
      device.push_back(memory.device);
      operation.push_back(text(owner.operation));
      op.push_back(text(owner.op));
      module.push_back(text(owner.module));
      steps.push_back(seen);
      leaking.push_back(static_cast<int64_t>(leak.steps.size()));
      blocks.push_back(leak.blocks);
      bytes.push_back(CellOf(leak.bytes));
      live.push_back(CellOf(leak.live));
      finding.push_back(LeakText(leak, seen, device.back(), op.back()));
    }
  }
  return MakeTable("memory_leaks", MakeColumn("process", process), MakeColumn("device", device),
                   MakeColumn("operation", operation), MakeColumn("operator", op),
                   MakeColumn("module", module), MakeColumn("steps", steps),
                   MakeColumn("leaking_steps", leaking), MakeColumn("blocks", blocks),
                   MakeColumn("bytes", bytes), MakeColumn("live_bytes", live),
                   MakeColumn("finding", finding));
}

}  // namespace crosscut::analyze
