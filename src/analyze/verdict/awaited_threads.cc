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
  // Who hands work over may be between a wait and the GIL.
  if (other.runs && (at_line || other.knows_native)) {
    sum.others_in_native += other.code == Code::kNative;
    sum.others_in_interpreter += other.code == Code::kInterpreter;
  }
  sum.others_running += other.runs;
  sum.others_at_lines += other.runs && at_line;
  if (!other.in_item || !at_line) return;
  sum.items.Add(other.line, {other.covers_ns, 1, 0});
  sum.items_ns += other.at_ns - std::max(other.at_ns - other.covers_ns, sum.items_until_ns);
  sum.items_until_ns = other.at_ns;
}

AwaitedThreads::Moved AwaitedThreads::Move(Cause behind) const {
  const Behind& sum = behind_[static_cast<size_t>(behind)];
  const Blamed& awaiting = sum.awaiting.all;
  if (awaiting.samples < kFewest && 2 * sum.by_span_ns <= sum.all.ns) return {};
  const double part = static_cast<double>(awaiting.ns) / static_cast<double>(sum.all.ns);
  if (part < kLeastPart) return {};
  Moved out = {behind, sum.awaiting, sum.others};
  Told known;
  for (const auto& [line, blamed] : sum.others) {
    if (IsSampled(line.kind)) known.Add(line, blamed);
  }
  if (known.all.samples >= kFewestForAll && sum.others_running > 0) {
    const double at_lines =
        static_cast<double>(sum.others_at_lines) / static_cast<double>(sum.others_running);
    const auto all = std::clamp<int64_t>(std::llround(at_lines * static_cast<double>(awaiting.ns)),
                                         known.all.ns, awaiting.ns);
    out.to_lines = Scaled(known, all);
    out.to_lines[Line()].ns += awaiting.ns - all;
  }
  if (behind == Cause::kPython && sum.others_in_native > sum.others_in_interpreter) {
    out.to = Cause::kNative;  // that nothing wraps
  }
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
