#include "src/analyze/memory/memory_table.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "src/analyze/amounts.h"
#include "src/analyze/columns.h"
#include "src/analyze/figures.h"
#include "src/analyze/memory/memory_events.h"

namespace crosscut::analyze {
namespace {

constexpr char kNotRecorded[] = "(not recorded)";

struct Held {
  int64_t blocks = 0, bytes = 0;
};

// What was held at the peak, most first.
std::vector<std::pair<MemoryOwner, Held>> HeldAtPeak(const DeviceMemory& memory, int64_t at_ns) {
  std::map<MemoryOwner, Held> by_owner;
  for (const MemoryBlock& block : memory.blocks) {
    if (block.begin_ns > at_ns || block.end_ns <= at_ns) continue;
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
  Texts process, device;
  Integers allocations, frees, allocated, freed, start, peak, peak_at, end, failures;
  for (const DeviceMemory& memory : context.Shared<MemoryUse>().devices) {
    int64_t counts[2] = {}, bytes[2] = {};
    int64_t now = memory.start_bytes();
    start.push_back(CellOf(now));
    for (const MemoryChange& change : memory.changes) {
      const int freeing = change.bytes < 0 ? 1 : 0;
      ++counts[freeing];
      AddTo(&bytes[freeing], std::abs(change.bytes));
      now = change.TotalAfter(now);
    }
    const DeviceMemory::Peak most = memory.peak();
    process.push_back(context.process_label(memory.process));
    device.push_back(memory.device);
    allocations.push_back(counts[0]);
    frees.push_back(counts[1]);
    allocated.push_back(CellOf(bytes[0]));
    freed.push_back(CellOf(bytes[1]));
    peak.push_back(CellOf(most.bytes));
    peak_at.push_back(most.at_ns);
    end.push_back(CellOf(now));
    failures.push_back(static_cast<int64_t>(memory.failures.size()));
  }
  return MakeTable("memory", MakeColumn("process", process), MakeColumn("device", device),
                   MakeColumn("allocations", allocations), MakeColumn("frees", frees),
                   MakeColumn("allocated_bytes", allocated), MakeColumn("freed_bytes", freed),
                   MakeColumn("start_bytes", start), MakeColumn("peak_bytes", peak),
                   MakeColumn("peak_at_ns", peak_at), MakeColumn("end_bytes", end),
                   MakeColumn("failures", failures));
}

Table MemoryPeakTable(const trace::Trace& trace, const Context& context) {
  Texts process, device, operation, op, module;
  Integers blocks, bytes;
  for (const DeviceMemory& memory : context.Shared<MemoryUse>().devices) {
    if (memory.changes.empty()) continue;
    const DeviceMemory::Peak peak = memory.peak();
    const auto text = [&](trace::NameId name) {
      return name.valid() ? std::string(trace.text(trace.name(name).text)) : std::string();
    };
    const auto add = [&](std::string_view of, Held held) {
      process.push_back(context.process_label(memory.process));
      device.push_back(memory.device);
      op.push_back(of);
      blocks.push_back(held.blocks);
      bytes.push_back(CellOf(held.bytes));
    };
    int64_t known = 0;
    for (const auto& [owner, held] : HeldAtPeak(memory, peak.at_ns)) {
      operation.push_back(text(owner.operation));
      module.push_back(text(owner.module));
      add(text(owner.op), held);
      AddTo(&known, held.bytes);
    }
    if (known == peak.bytes) continue;
    operation.emplace_back();
    module.emplace_back();
    add(kNotRecorded, {kMissing, Without(peak.bytes, known)});
  }
  return MakeTable("memory_peak", MakeColumn("process", process), MakeColumn("device", device),
                   MakeColumn("operation", operation), MakeColumn("operator", op),
                   MakeColumn("module", module), MakeColumn("blocks", blocks),
                   MakeColumn("bytes", bytes));
}

Table MemoryTimelineTable(const trace::Trace& trace, const Context& context) {
  Texts process, device;
  Integers begin, end, least, most, last;
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
      process.push_back(context.process_label(memory.process));
      device.push_back(memory.device);
      begin.push_back(at);
      end.push_back(to);
      least.push_back(CellOf(low));
      most.push_back(CellOf(high));
      last.push_back(CellOf(now));
    }
  }
  return MakeTable("memory_timeline", MakeColumn("process", process), MakeColumn("device", device),
                   MakeColumn("begin_ns", begin), MakeColumn("end_ns", end),
                   MakeColumn("min_bytes", least), MakeColumn("max_bytes", most),
                   MakeColumn("end_bytes", last));
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
  Texts process, thread, device, operation, op, finding;
  Integers at, asked, allocated, reserved;
  for (const DeviceMemory& memory : context.Shared<MemoryUse>().devices) {
    for (const MemoryFailure& failure : memory.failures) {
      const auto text = [&](trace::NameId name) {
        return name.valid() ? std::string(trace.text(trace.name(name).text)) : std::string();
      };
      process.push_back(context.process_label(memory.process));
      thread.push_back(context.track_label(failure.track));
      device.push_back(memory.device);
      operation.push_back(text(failure.owner.operation));
      op.push_back(text(failure.owner.op));
      at.push_back(failure.at_ns);
      asked.push_back(failure.bytes);
      allocated.push_back(failure.total);
      reserved.push_back(failure.reserved);
      finding.push_back(FailureText(failure, device.back(), op.back()));
    }
  }
  return MakeTable("memory_failures", MakeColumn("process", process), MakeColumn("thread", thread),
                   MakeColumn("device", device), MakeColumn("operation", operation),
                   MakeColumn("operator", op), MakeColumn("at_ns", at),
                   MakeColumn("asked_bytes", asked), MakeColumn("allocated_bytes", allocated),
                   MakeColumn("reserved_bytes", reserved), MakeColumn("finding", finding));
}

Table MemoryEventsTable(const trace::Trace&, const Context& context) {
  Texts process, thread, device;
  Integers at, span, address, bytes, total;
  for (const DeviceMemory& memory : context.Shared<MemoryUse>().devices) {
    for (const MemoryChange& change : memory.changes) {
      process.push_back(context.process_label(memory.process));
      thread.push_back(context.track_label(change.track));
      device.push_back(memory.device);
      at.push_back(change.at_ns);
      span.push_back(change.span == trace::kNoSpan ? kMissing : change.span);
      address.push_back(change.address == 0 ? kMissing : change.address);
      bytes.push_back(change.bytes);
      total.push_back(change.total);
    }
  }
  return MakeTable("memory_events", MakeColumn("process", process), MakeColumn("thread", thread),
                   MakeColumn("device", device), MakeColumn("at_ns", at), MakeColumn("span", span),
                   MakeColumn("address", address), MakeColumn("bytes", bytes),
                   MakeColumn("total_bytes", total));
}

}  // namespace crosscut::analyze
