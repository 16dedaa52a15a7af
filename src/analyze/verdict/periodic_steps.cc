#include "src/analyze/verdict/periodic_steps.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <string>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/columns.h"
#include "src/analyze/steps/step_summary.h"
#include "src/analyze/verdict/step_contrast.h"

namespace crosscut::analyze {
namespace {

constexpr size_t kFewestSlow = 3;
constexpr size_t kFewestSteps = 10;

struct Row {
  uint32_t process;
  trace::StringId kind;
  Period period;
  int64_t usual_ns, periodic_ns;
  std::string work;
  const char* what = "none";
};

// Steps of one kind and what sets the periodic ones apart.
class KindOfSteps {
 public:
  KindOfSteps(const trace::Trace& trace, const Context& context, uint32_t process,
              const ComparedSteps& compared, const std::vector<int64_t>& walls)
      : context_(context),
        owner_(trace.processes[process]),
        compared_(compared),
        walls_(walls),
        sets_{process, {}, {}} {}

  bool Find(Row* row);

 private:
  // By what periods are counted: their numbers, or the order where these begin anew or repeat.
  std::vector<int64_t> PlacesOf(const std::vector<uint32_t>& steps) const;
  void FindWork(Row* row) const;

  const Context& context_;
  const trace::Process& owner_;
  const ComparedSteps& compared_;
  const std::vector<int64_t>& walls_;
  StepSets sets_;  // periodic steps that are slow, and steps that are not periodic
};

std::vector<int64_t> KindOfSteps::PlacesOf(const std::vector<uint32_t>& steps) const {
  std::vector<int64_t> places;
  places.reserve(steps.size());
  for (const uint32_t step : steps) places.push_back(owner_.steps[step].number);
  const bool rise =
      std::adjacent_find(places.begin(), places.end(), std::greater_equal<>()) == places.end();
  if (!rise) std::iota(places.begin(), places.end(), 0);
  return places;
}

bool KindOfSteps::Find(Row* row) {
  if (compared_.steps.size() < kFewestSteps) return false;
  std::vector<int64_t> lengths, longest, slow;
  for (const uint32_t step : compared_.steps) lengths.push_back(walls_[step]);
  const auto [median, limit] = UsualLengthOf(std::move(lengths));
  // Control steps and those at another level are slow or not all the same.
  const std::vector<uint32_t>& all = compared_.whole;
  for (const uint32_t step : all) longest.push_back(walls_[step]);
  // What the slow ones have in common is half as long as the third longest at least: noise that is
  // slow, too, is shorter, and two single ones may be longer.
  if (longest.size() < kFewestSteps) return false;
  std::nth_element(longest.begin(), longest.begin() + 2, longest.end(), std::greater<>());
  const int64_t from = std::max(limit, median + (longest[2] - median) / 2);
  const std::vector<int64_t> places = PlacesOf(all);
  for (size_t i = 0; i < all.size(); ++i) {
    if (walls_[all[i]] > from) slow.push_back(places[i]);
  }
  Period period = FindPeriod(slow, places.back());
  if (period.period == 0) return false;
  std::vector<int64_t> usual, periodic;
  for (size_t i = 0; i < all.size(); ++i) {
    const bool is_periodic = period.Has(places[i]), is_slow = walls_[all[i]] > from;
    if (is_periodic && !is_slow) continue;
    (is_periodic ? periodic : usual).push_back(walls_[all[i]]);
    if (owner_.steps[all[i]].profiled()) (is_periodic ? sets_.more : sets_.usual).insert(all[i]);
  }
  if (usual.empty()) return false;  // nothing tells what is usual
  const auto first = std::lower_bound(places.begin(), places.end(), period.first);
  period.first = owner_.steps[all[static_cast<size_t>(first - places.begin())]].number;
  *row = {sets_.process, compared_.kind, period, Median(usual), Median(periodic), ""};
  FindWork(row);
  return true;
}

void KindOfSteps::FindWork(Row* row) const {
  if (sets_.more.empty() || sets_.usual.empty()) return;
  const double third = static_cast<double>(row->periodic_ns - row->usual_ns) / 3;
  const MoreWork line = LineWithMore(context_, sets_);
  const MoreWork operation = OperationWithMore(context_, sets_);
  if (line.extra_ns() >= third) {
    row->work = line.what;
    row->what = "line";
  } else if (operation.extra_ns() >= third && !operation.what.empty()) {
    row->work = operation.what;
    row->what = "operation";
  }
}

uint64_t Distance(int64_t from, int64_t to) {
  return static_cast<uint64_t>(to) - static_cast<uint64_t>(from);
}

}  // namespace

bool Period::Has(int64_t place) const {
  return place >= first && Distance(first, place) % static_cast<uint64_t>(period) == 0;
}

Period FindPeriod(const std::vector<int64_t>& slow, int64_t last) {
  Period best;
  if (slow.size() < kFewestSlow) return best;
  std::map<uint64_t, size_t> distances;  // of neighbours: how often
  for (size_t i = 1; i < slow.size(); ++i) ++distances[Distance(slow[i - 1], slow[i])];
  for (const auto& [distance, times] : distances) {
    // Of n places a fifth may be empty, and of the slow ones a third may lie between: a sixth of
    // them, less one, follow another at the distance of the period.
    if (distance < 2 || distance > INT64_MAX || 6 * (times + 1) < slow.size()) continue;
    const auto period = static_cast<int64_t>(distance);
    std::map<uint64_t, std::vector<int64_t>> by_rest;
    for (const int64_t place : slow) by_rest[Distance(slow[0], place) % distance].push_back(place);
    for (const auto& [rest, numbers] : by_rest) {
      const auto count = static_cast<int64_t>(numbers.size());
      const uint64_t places = Distance(numbers.front(), last) / distance + 1;
      if (numbers.size() < kFewestSlow || 5 * numbers.size() / 4 < places) continue;
      if (3 * numbers.size() < 2 * slow.size() || count <= best.count) continue;
      best = {period, numbers.front(), count, static_cast<int64_t>(places) - count};
    }
  }
  return best;
}

Table PeriodicStepsTable(const trace::Trace& trace, const Context& context) {
  TableRows table("periodic_steps", Text("process"), Text("kind"), Integer("period"),
                  Integer("first_step"), Integer("count"), Integer("missed"), Integer("usual_ns"),
                  Integer("periodic_ns"), Integer("extra_ns"), Text("work"), Text("what"));
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const ProcessOverlap& overlap = context.Shared<Accounting>().processes[p].overlap;
    const std::vector<int64_t> walls = StepWalls(trace.processes[p], overlap);
    for (const ComparedSteps& compared : CompareSteps(trace.processes[p], walls)) {
      Row r{};
      if (!KindOfSteps(trace, context, p, compared, walls).Find(&r)) continue;
      table.Add(context.process_label({p}), trace.text(r.kind), r.period.period, r.period.first,
                r.period.count, r.period.missed, r.usual_ns, r.periodic_ns,
                r.periodic_ns - r.usual_ns, r.work, r.what);
    }
  }
  return table.Make();
}

}  // namespace crosscut::analyze
