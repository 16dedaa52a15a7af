#include "src/analyze/verdict/called_back.h"

namespace crosscut::analyze {

void CalledBack::Add(Cause cause, const ThreadSample& other) {
  if (!other.feeds && !other.called_back) return;
  Seen& seen = seen_[static_cast<size_t>(cause)];
  seen.all.Add(other.line, {other.covers_ns, 1, 0});
  seen.feeds += other.feeds;
  seen.waits += !other.runs;
  seen.native += other.code == Code::kNative;
}

std::optional<CalledBack::Work> CalledBack::For(Cause cause, const Blamed& locked) const {
  if (cause != Cause::kFramework && cause != Cause::kInput) return std::nullopt;
  const Seen& seen = seen_[static_cast<size_t>(cause)];
  const int64_t samples = seen.all.all.samples;
  if (samples == 0 || 2 * samples < locked.samples) return std::nullopt;
  const auto most = [samples](int64_t of_them) { return 2 * of_them > samples; };
  Work work = {Cause::kPython, Scaled(seen.all, locked.ns)};
  if (cause == Cause::kInput || most(seen.feeds)) {
    work.cause = Cause::kInput;
  } else if (most(seen.native)) {
    work.cause = Cause::kNative;
  } else if (most(seen.waits)) {
    work.cause = Cause::kWaiting;
  }
  return work;
}

}  // namespace crosscut::analyze
