#include "src/analyze/processes/memory_growth.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "src/analyze/accounting/overhead.h"
#include "src/analyze/columns.h"
#include "src/analyze/figures.h"
#include "src/analyze/processes/utilization.h"

namespace crosscut::analyze {
namespace {

constexpr size_t kFewest = 4;          // looks
constexpr size_t kStretches = 10;      // at most
constexpr double kWorthSaying = 0.05;  // of the memory
constexpr double kLeastBytes = 8 << 20;

// The memory at one look, and how many steps had begun.
struct Look {
  double steps, bytes;
};

struct Growth {
  Look first, last;
  double per_step, low, high;

  double bytes() const { return last.bytes - first.bytes; }
  bool stands_out() const {
    return low > 0 && last.bytes < 0x1p62 && bytes() >= kLeastBytes &&
           bytes() >= kWorthSaying * first.bytes;
  }
};

std::vector<Look> LooksOf(const trace::Process& process, const trace::CounterSeries& resident) {
  std::vector<Look> looks;
  if (process.steps.empty()) return looks;
  const size_t settled = process.steps.size() / 3;
  const int64_t from = process.steps[settled].begin_ns, to = process.steps.back().end_ns;
  size_t begun = settled;
  for (size_t i = 0; i < resident.at_ns.size(); ++i) {
    const int64_t at = resident.at_ns[i];
    if (at < from || at > to) continue;
    while (begun < process.steps.size() && process.steps[begun].begin_ns <= at) ++begun;
    looks.push_back({static_cast<double>(begun), static_cast<double>(resident.value[i])});
  }
  return looks;
}

// Requires: kFewest looks, and steps between the first and the last.
Growth GrowthOf(const std::vector<Look>& looks) {
  const size_t stretches = std::min(looks.size() - 1, kStretches);
  std::vector<double> rates;  // bytes a step of each stretch in which steps began
  for (size_t k = 0; k < stretches; ++k) {
    const Look& a = looks[k * (looks.size() - 1) / stretches];
    const Look& b = looks[(k + 1) * (looks.size() - 1) / stretches];
    if (b.steps > a.steps) rates.push_back((b.bytes - a.bytes) / (b.steps - a.steps));
  }
  Growth growth = {looks.front(), looks.back(), 0, 0, 0};
  growth.per_step = growth.bytes() / (growth.last.steps - growth.first.steps);
  double squares = 0;
  for (const double rate : rates) squares += (rate - growth.per_step) * (rate - growth.per_step);
  const auto count = static_cast<double>(rates.size());
  const double error = rates.size() < 2
                           ? INFINITY
                           : StudentFactor(count - 1) * std::sqrt(squares / (count - 1) / count);
  growth.low = growth.per_step - error;
  growth.high = growth.per_step + error;
  return growth;
}

// Missing where it is not known, or more than a cell holds: files of others may say anything.
int64_t Whole(double value) {
  return std::abs(value) < 0x1p62 ? std::llround(value) : kMissing;  // false for NaN, too
}

std::string TextOf(const Growth& growth) {
  const auto bytes = [](double value) { return BytesText(std::llround(value)); };
  return "Resident memory grew by " + bytes(growth.per_step) +
         " a step (95 %: " + bytes(growth.low) + " to " + bytes(growth.high) + "), by " +
         bytes(growth.bytes()) + " to " + bytes(growth.last.bytes) + " in the last " +
         std::to_string(std::llround(growth.last.steps - growth.first.steps)) + " steps.";
}

}  // namespace

Table MemoryGrowthTable(const trace::Trace& trace, const Context& context) {
  Texts process, finding;
  Integers begin, end, steps, per_step, low, high;
  for (uint32_t i = 0; i < trace.processes.size(); ++i) {
    const trace::CounterSeries* resident = context.counter({i}, kResidentCounter);
    if (resident == nullptr) continue;
    const std::vector<Look> looks = LooksOf(trace.processes[i], *resident);
    if (looks.size() < kFewest || looks.back().steps <= looks.front().steps) continue;
    const Growth growth = GrowthOf(looks);
    process.push_back(context.process_label({i}));
    begin.push_back(Whole(growth.first.bytes));
    end.push_back(Whole(growth.last.bytes));
    steps.push_back(std::llround(growth.last.steps - growth.first.steps));
    per_step.push_back(Whole(growth.per_step));
    low.push_back(Whole(growth.low));
    high.push_back(Whole(growth.high));
    finding.push_back(growth.stands_out() ? TextOf(growth) : "");
  }
  return MakeTable(
      "memory_growth", MakeColumn("process", process), MakeColumn("begin_bytes", begin),
      MakeColumn("end_bytes", end), MakeColumn("steps", steps), MakeColumn("step_bytes", per_step),
      MakeColumn("low_bytes", low), MakeColumn("high_bytes", high), MakeColumn("finding", finding));
}

}  // namespace crosscut::analyze
