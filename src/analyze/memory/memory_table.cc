#include <algorithm>
#include <cstdlib>
#include <map>

#include "src/analyze/amounts.h"
#include "src/analyze/columns.h"
#include "src/analyze/figures.h"
#include "src/analyze/memory/memory_events.h"
#include "src/analyze/memory/tables.h"

namespace crosscut::analyze {
namespace {

constexpr char kNotRecorded[] = "(not recorded)";

struct Held {
  int64_t blocks = 0, bytes = 0;
};

// What was held behind so many changes, most first.
std::vector<std::pair<MemoryOwner, Held>> HeldAfter(const DeviceMemory& memory, size_t changes) {
  std::map<MemoryOwner, Held> by_owner;
  for (const MemoryBlock& block : memory.blocks) {
    if (block.begun >= changes || block.ended < changes) continue;
    Held& held = by_owner[block.owner];
    ++held.blocks;
    AddTo(&held.bytes, block.bytes);
  }
  std::vector<std::pair<MemoryOwner, Held>> rows(by_owner.begin(), by_owner.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second.bytes > b.second.bytes; });
  return rows;
}

}  // namespace

Table MemoryTable(const trace::Trace&, const Context& context) {
  TableRows table("memory", Text("process"), Text("device"), Integer("allocations"),
                  Integer("frees"), Integer("allocated_bytes"), Integer("freed_bytes"),
                  Integer("start_bytes"), Integer("peak_bytes"), Integer("peak_at_ns"),
                  Integer("end_bytes"), Integer("failures"));
  for (const DeviceMemory& memory : context.Shared<MemoryUse>().devices) {
    int64_t counts[2] = {}, bytes[2] = {};
    const int64_t start = memory.start_bytes();
    int64_t now = start;
    for (const MemoryChange& change : memory.changes) {
      const int freeing = change.bytes < 0 ? 1 : 0;
      ++counts[freeing];
      AddTo(&bytes[freeing], std::abs(change.bytes));
      now = change.TotalAfter(now);
    }
    const DeviceMemory::Peak most = memory.peak();
    table.Add(context.process_label(memory.process), memory.device, counts[0], counts[1],
              CellOf(bytes[0]), CellOf(bytes[1]), CellOf(start), CellOf(most.bytes), most.at_ns,
              CellOf(now), memory.failures.size());
  }
  return table.Make();
}

Table MemoryPeakTable(const trace::Trace& trace, const Context& context) {
  TableRows table("memory_peak", Text("process"), Text("device"), Text("operation"),
                  Text("operator"), Text("module"), Integer("blocks"), Integer("bytes"));
  for (const DeviceMemory& memory : context.Shared<MemoryUse>().devices) {
    if (memory.changes.empty()) continue;
    const DeviceMemory::Peak peak = memory.peak();
    const std::string& process = context.process_label(memory.process);
    int64_t known = 0;
    for (const auto& [owner, held] : HeldAfter(memory, peak.changes)) {
      table.Add(process, memory.device, trace.name_text(owner.operation), trace.name_text(owner.op),
                trace.name_text(owner.module), held.blocks, CellOf(held.bytes));
      AddTo(&known, held.bytes);
    }
    if (known == peak.bytes) continue;
    table.Add(process, memory.device, "", kNotRecorded, "", kMissing,
              CellOf(Without(peak.bytes, known)));
  }
  return table.Make();
}

Table MemoryTimelineTable(const trace::Trace& trace, const Context& context) {
  TableRows table("memory_timeline", Text("process"), Text("device"), Integer("begin_ns"),
                  Integer("end_ns"), Integer("min_bytes"), Integer("max_bytes"),
                  Integer("end_bytes"));
  for (const DeviceMemory& memory : context.Shared<MemoryUse>().devices) {
    if (memory.changes.empty()) continue;
    const trace::Process& of = trace.processes[memory.process.value];
    const int64_t from = std::min(of.start_ns, memory.changes.front().at_ns);
    const int64_t until = std::max(of.end_ns, memory.changes.back().at_ns + 1);
    const int64_t width = (until - from + kMemoryBins - 1) / kMemoryBins;
    int64_t now = memory.start_bytes();
    auto next = memory.changes.begin();
    for (int64_t at = from; at < until; at += width) {
      const int64_t to = std::min(at + width, until);
      int64_t low = now, high = now;
      const auto first = next;
      for (; next != memory.changes.end() && next->at_ns < to; ++next) {
        now = next->TotalAfter(now);
        low = std::min(low, now);
        high = std::max(high, now);
      }
      if (next == first && now == 0) continue;
      table.Add(context.process_label(memory.process), memory.device, at, to, CellOf(low),
                CellOf(high), CellOf(now));
    }
  }
  return table.Make();
}

namespace {

std::string FailureText(const MemoryFailure& failure, const std::string& device,
                        const std::string& op) {
  return "Out of memory (" + device + "): " + BytesText(failure.bytes) +
         (op.empty() ? "" : " for " + op) + " could not be allocated" +
         (failure.total == kMissing ? "." : ", with " + BytesText(failure.total) + " held.");
}

}  // namespace

Table MemoryFailuresTable(const trace::Trace& trace, const Context& context) {
  TableRows table("memory_failures", Text("process"), Text("thread"), Text("device"),
                  Text("operation"), Text("operator"), Integer("at_ns"), Integer("asked_bytes"),
                  Integer("allocated_bytes"), Integer("reserved_bytes"), Text("finding"));
  for (const DeviceMemory& memory : context.Shared<MemoryUse>().devices) {
    for (const MemoryFailure& failure : memory.failures) {
      const std::string_view op = trace.name_text(failure.owner.op);
      table.Add(context.process_label(memory.process), context.track_label(failure.track),
                memory.device, trace.name_text(failure.owner.operation), op, failure.at_ns,
                failure.bytes, failure.total, failure.reserved,
                FailureText(failure, memory.device, std::string(op)));
    }
  }
  return table.Make();
}

Table MemoryEventsTable(const trace::Trace&, const Context& context) {
  TableRows table("memory_events", Text("process"), Text("thread"), Text("device"),
                  Integer("at_ns"), Integer("span"), Integer("address"), Integer("bytes"),
                  Integer("total_bytes"));
  for (const DeviceMemory& memory : context.Shared<MemoryUse>().devices) {
    for (const MemoryChange& change : memory.changes) {
      table.Add(context.process_label(memory.process), context.track_label(change.track),
                memory.device, change.at_ns, change.span == trace::kNoSpan ? kMissing : change.span,
                change.address == 0 ? kMissing : change.address, change.bytes, change.total);
    }
  }
  return table.Make();
}

}  // namespace crosscut::analyze
