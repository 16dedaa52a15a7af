#include <algorithm>
#include <cmath>
#include <vector>

#include "src/analyze/columns.h"
#include "src/analyze/figures.h"
#include "src/analyze/intervals.h"
#include "src/analyze/processes/tables.h"
#include "src/analyze/processes/utilization.h"

namespace crosscut::analyze {
namespace {

constexpr size_t kFewest = 4;          // looks
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
  std::vector<double> bytes, steps;  // from look to look
  for (size_t i = 1; i < looks.size(); ++i) {
    bytes.push_back(looks[i].bytes - looks[i - 1].bytes);
    steps.push_back(looks[i].steps - looks[i - 1].steps);
  }
  const Ratio rate = RatioOf(bytes, steps);
  return {looks.front(), looks.back(), rate.value, rate.value - rate.half, rate.value + rate.half};
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
  TableRows table("memory_growth", Text("process"), Integer("begin_bytes"), Integer("end_bytes"),
                  Integer("steps"), Integer("step_bytes"), Integer("low_bytes"),
                  Integer("high_bytes"), Text("finding"));
  for (uint32_t i = 0; i < trace.processes.size(); ++i) {
    const trace::CounterSeries* resident = context.counter({i}, kResidentCounter);
    if (resident == nullptr) continue;
    const std::vector<Look> looks = LooksOf(trace.processes[i], *resident);
    if (looks.size() < kFewest || looks.back().steps <= looks.front().steps) continue;
    const Growth growth = GrowthOf(looks);
    table.Add(context.process_label({i}), Whole(growth.first.bytes), Whole(growth.last.bytes),
              std::llround(growth.last.steps - growth.first.steps), Whole(growth.per_step),
              Whole(growth.low), Whole(growth.high), growth.stands_out() ? TextOf(growth) : "");
  }
  return table.Make();
}

}  // namespace crosscut::analyze
