#include "src/analyze/verdict/awaited_threads.h"

#include <algorithm>
#include <cmath>

#include "src/analyze/verdict/process_causes.h"

namespace crosscut::analyze {
namespace {

// So few samples may all be a chance; below this part of them nothing is moved.
constexpr int64_t kFewest = 3;
constexpr double kLeastPart = 0.1;
// Threads that live too short for a sample of their own have the lines of those that samples met.
constexpr int64_t kFewestForAll = 10;

}  // namespace

void AwaitedThreads::AddLead(Cause behind, Lead lead, const LeadPiece& piece) {
  Behind& sum = of(behind);
  sum.all.Add(piece.blamed);
  awaits_ = lead.awaits;
  if (lead.awaits) sum.awaiting.Add(piece);
  if (lead.awaits && lead.span) sum.by_span_ns += piece.blamed.ns;
  if (!lead.awaits || !lead.future) return;
  sum.futures.Add(piece.line, piece.blamed);
  if (piece.blamed.samples > 0) sum.futures_ns += lead.covers_ns;
}

void AwaitedThreads::AddOther(Cause behind, const ThreadSample& other, bool has_child) {
  const bool at_line = IsOwnLine(other.line.kind);
  Behind& sum = of(behind);
  sum.others_awaiting_child += other.awaits_process && has_child;
  if (at_line || other.knows_native) {
    sum.others_run.Add(other);
  } else {
    sum.without_line[other.stack.value].Add(other);
  }
  sum.others_running += other.runs;
  sum.others_at_lines += other.runs && at_line;
  if (!other.in_item || !at_line) return;
  sum.items.Add(other.line, {other.covers_ns, 1, 0});
  sum.items_ns += other.at_ns - std::max(other.at_ns - other.covers_ns, sum.items_until_ns);
  sum.items_until_ns = other.at_ns;
}

// Who hands work over may be between a wait and the GIL: where that is, it is seen waiting.
bool AwaitedThreads::Behind::IsNative() const {
  Run all = others_run;
  for (const auto& [stack, run] : without_line) {
    all.in_interpreter += run.in_interpreter;
    if (run.in_native > run.locked) all.in_native += run.in_native;
  }
  return all.in_native > all.in_interpreter;
}

AwaitedThreads::Moved AwaitedThreads::Move(Cause behind) const {
  const Behind& sum = behind_[static_cast<size_t>(behind)];
  const Blamed& awaiting = sum.awaiting.all;
  if (awaiting.samples < kFewest && 2 * sum.by_span_ns <= sum.all.ns) return {};
  const double part = static_cast<double>(awaiting.ns) / static_cast<double>(sum.all.ns);
  if (part < kLeastPart) return {};
  Moved out = {behind, sum.awaiting, {}};
  int64_t theirs = sum.others.all.ns;
  if (sum.others.all.samples >= kFewestForAll) {
    const double at_lines = Share(sum.others_at_lines, sum.others_running);
    theirs = std::clamp<int64_t>(std::llround(at_lines * static_cast<double>(awaiting.ns)), theirs,
                                 awaiting.ns);
  }
  out.to_lines = Scaled(sum.others, theirs);
  for (const auto& [line, blamed] : Scaled(sum.alone, awaiting.ns - theirs)) {
    out.to_lines[line].Add(blamed);
  }
  if (behind == Cause::kPython && sum.IsNative()) out.to = Cause::kNative;  // that nothing wraps
  if (behind != Cause::kWaiting) return out;
  out.to_lines = sum.awaiting.told().lines;
  if (sum.items.all.samples >= kFewest) {
    // Nobody works, so who was given work waits, and the lead waits for that, while it is seen.
    const Told futures = PartOf(sum.futures, std::min(1.0, Share(sum.items_ns, sum.futures_ns)));
    for (const auto& [line, blamed] : futures.lines) out.to_lines[line].Take(blamed);
    for (const auto& [line, blamed] : Scaled(sum.items, futures.all.ns)) {
      out.to_lines[line].Add(blamed);
    }
  }
  if (2 * sum.others_awaiting_child >= awaiting.samples) out.to = Cause::kOtherProcess;
  return out;
}

}  // namespace crosscut::analyze
