#include "src/runtime/step_pieces.h"

#include <algorithm>

#include "src/base/time.h"
#include "src/collect/clock.h"
#include "src/collect/recorder.h"
#include "src/collect/usage.h"

namespace crosscut::record {
namespace {

constexpr int64_t kReadEveryNs = 50'000'000;
constexpr double kNewestRead = 0.125;  // of what a reading takes on average

}  // namespace

void StepPieces::Set(double ns_per_tick) {
  ns_per_tick_ = ns_per_tick;
  Drop();
}

int64_t StepPieces::CpuNs() {
  if (!reads_clocks_.load(std::memory_order_relaxed)) return -1;
  const uint64_t begin = ClockNow();
  const int64_t ns = base::NsOf(CLOCK_THREAD_CPUTIME_ID);
  ReadingTook(static_cast<double>(ClockNow() - begin) * ns_per_tick_);
  return ns;
}

void StepPieces::ReadingTook(double ns) {
  read_ns_on_average_ += kNewestRead * (ns - read_ns_on_average_);
}

void StepPieces::Begin(uint64_t tick, uint64_t words) {
  piece_ = {};
  begin_ = tick;
  words_ = words;
  thread_ = pthread_self();
  os_id_.store(Recorder::OsIdOfThisThread(), std::memory_order_relaxed);
  cpu_ns_ = CpuNs();
  waited_ns_ = delay_told_ = 0;
  delay_seen_ = delay_ns_.load();
}

void StepPieces::StepEnded(format::StepLevel level, bool after_switch) {
  piece_.level = level;
  piece_.after_switch = after_switch;
  if (after_switch) since_change_ = 0;
  ++piece_.steps;
}

void StepPieces::Switched(uint64_t tick) {
  if (begin_ == 0) return;
  const int64_t worked_ns = CpuNs() - cpu_ns_;
  piece_.switch_ticks = static_cast<double>(tick - begin_);
  if (cpu_ns_ >= 0 && worked_ns >= 0) {
    piece_.switch_ticks =
        std::min(piece_.switch_ticks, static_cast<double>(worked_ns) / ns_per_tick_);
  }
}

StepBudget::Piece StepPieces::Take(uint64_t tick, uint64_t words) {
  ++since_change_;
  StepBudget::Piece piece = piece_;
  piece.ticks = piece.cpu_ticks = static_cast<double>(tick - begin_);
  if (pthread_equal(thread_, pthread_self()) == 0) {
    piece.words = -1;
    Begin(tick, words);
    return piece;
  }
  const int64_t cpu_ns = CpuNs(), worked_ns = cpu_ns - cpu_ns_;
  if (cpu_ns >= 0 && cpu_ns_ >= 0 && worked_ns > 0) {
    piece.cpu_ticks = std::min(piece.ticks, static_cast<double>(worked_ns) / ns_per_tick_);
  }
  piece.words = words > words_ ? static_cast<double>(words - words_) : 0;
  waited_ns_ += (piece.ticks - piece.cpu_ticks) * ns_per_tick_;
  piece_ = {};
  begin_ = tick;
  words_ = words;
  cpu_ns_ = cpu_ns;
  return piece;
}

double StepPieces::TakeRunDelay() {
  const auto delay = static_cast<double>(delay_ns_.load(std::memory_order_relaxed) - delay_seen_);
  const double more = std::max(0.0, std::min(delay, waited_ns_) - delay_told_);
  delay_told_ += more;
  return more / ns_per_tick_;
}

void StepPieces::ReadRunDelay() {
  const int64_t now = base::MonotonicNs();
  const int os_id = os_id_.load(std::memory_order_relaxed);
  if (os_id == 0 || now < next_read_ns_) return;
  next_read_ns_ = now + kReadEveryNs;
  const int64_t delay = RunDelayNs(os_id);
  if (delay < 0) return;
  if (os_id == read_of_ && delay > read_ns_) delay_ns_.fetch_add(delay - read_ns_);
  read_of_ = os_id;
  read_ns_ = delay;
}

}  // namespace crosscut::record
