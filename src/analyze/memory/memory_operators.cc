#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "src/analyze/amounts.h"
#include "src/analyze/columns.h"
#include "src/analyze/figures.h"
#include "src/analyze/memory/memory_events.h"
#include "src/analyze/memory/tables.h"
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
  while (count > 0 && process.steps[count - 1].control()) --count;
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
  TableRows table("memory_operators", Text("process"), Text("device"), Text("operator"),
                  Integer("allocations"), Integer("frees"), Integer("allocated_bytes"),
                  Integer("freed_bytes"), Integer("self_bytes"), Integer("total_bytes"));
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
      table.Add(context.process_label(memory.process), memory.device,
                trace.text(trace::StringId{name}), sum.counts[0], sum.counts[1],
                CellOf(sum.bytes[0]), CellOf(sum.bytes[1]),
                CellOf(Without(sum.bytes[0], sum.bytes[1])), CellOf(sum.total));
    }
  }
  return table.Make();
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
  TableRows table("memory_leaks", Text("process"), Text("device"), Text("operation"),
                  Text("operator"), Text("module"), Integer("steps"), Integer("leaking_steps"),
                  Integer("blocks"), Integer("bytes"), Integer("live_bytes"), Text("finding"));
  for (const DeviceMemory& memory : context.Shared<MemoryUse>().devices) {
    const trace::Process& of = trace.processes[memory.process.value];
    const int64_t seen = StepsSeen(of, memory);
    const std::map<MemoryOwner, Leak> leaks = LeaksOf(of, memory);
    std::vector<std::pair<MemoryOwner, Leak>> rows(leaks.begin(), leaks.end());
    std::stable_sort(rows.begin(), rows.end(),
                     [](const auto& a, const auto& b) { return a.second.bytes > b.second.bytes; });
    for (const auto& [owner, leak] : rows) {
      const std::string_view op = trace.name_text(owner.op);
      table.Add(context.process_label(memory.process), memory.device,
                trace.name_text(owner.operation), op, trace.name_text(owner.module), seen,
                leak.steps.size(), leak.blocks, CellOf(leak.bytes), CellOf(leak.live),
                LeakText(leak, seen, memory.device, std::string(op)));
    }
  }
  return table.Make();
}

}  // namespace crosscut::analyze
