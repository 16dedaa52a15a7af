#include "src/analyze/verdict/periodic_steps.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/columns.h"
#include "src/analyze/steps/step_summary.h"
#include "src/trace/samples.h"

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
      : trace_(trace),
        accounting_(context.Shared<Accounting>()),
        owner_(trace.processes[process]),
        process_(process),
        compared_(compared),
        walls_(walls) {}

  bool Find(Row* row);

 private:
  bool IsPeriodic(uint32_t step) const {
    const int64_t since = owner_.steps[step].number - period_.first;
    return since >= 0 && since % period_.period == 0;
  }
  void FindWork(Row* row) const;
  std::pair<std::string, double> TopOperation() const;
  std::pair<std::string, double> TopLine() const;

  const trace::Trace& trace_;
  const Accounting& accounting_;
  const trace::Process& owner_;
  const uint32_t process_;
  const ComparedSteps& compared_;
  const std::vector<int64_t>& walls_;
  Period period_;
  std::set<uint32_t> slow_,
      usual_;  // periodic steps that are slow, and steps that are not periodic
};

bool KindOfSteps::Find(Row* row) {
  if (compared_.steps.size() < kFewestSteps) return false;
  std::vector<int64_t> lengths, longest, numbers;
  for (const uint32_t step : compared_.steps) lengths.push_back(walls_[step]);
  const auto [median, limit] = UsualLengthOf(std::move(lengths));
  // Control steps and those at another level are slow or not all the same.
  std::vector<uint32_t> all;
  for (uint32_t step = 0; step < owner_.steps.size(); ++step) {
    const bool counts = owner_.steps[step].kind == compared_.kind && !owner_.steps[step].open;
    if (!counts || walls_[step] == 0) continue;
    all.push_back(step);
    longest.push_back(walls_[step]);
  }
  // What the slow ones have in common is half as long as the third longest at least: noise that is
  // slow, too, is shorter, and two single ones may be longer.
  if (longest.size() < kFewestSteps) return false;
  std::nth_element(longest.begin(), longest.begin() + 2, longest.end(), std::greater<>());
  const int64_t from = std::max(limit, median + (longest[2] - median) / 2);
  int64_t last = 0;
  for (const uint32_t step : all) {
    last = std::max(last, owner_.steps[step].number);
    if (walls_[step] > from) numbers.push_back(owner_.steps[step].number);
  }
  std::sort(numbers.begin(), numbers.end());
  period_ = FindPeriod(numbers, last);
  if (period_.period == 0) return false;
  std::vector<int64_t> usual, periodic;
  for (const uint32_t step : all) {
    const bool slow = IsPeriodic(step) && walls_[step] > from;
    if (!slow && IsPeriodic(step)) continue;
    (slow ? periodic : usual).push_back(walls_[step]);
    if (owner_.steps[step].profiled()) (slow ? slow_ : usual_).insert(step);
  }
  *row = {process_, compared_.kind, period_, Median(usual), Median(periodic), ""};
  FindWork(row);
  return true;
}

// The operation of which a periodic step has most more than another: its text and how much in ns.
std::pair<std::string, double> KindOfSteps::TopOperation() const {
  std::map<uint32_t, double> more;  // by operation
  for (const StepCell& cell : accounting_.processes[process_].overlap.steps) {
    const auto ns = static_cast<double>(cell.ns);
    if (slow_.contains(cell.step)) more[cell.operation] += ns / static_cast<double>(slow_.size());
    if (usual_.contains(cell.step)) more[cell.operation] -= ns / static_cast<double>(usual_.size());
  }
  const auto top = std::max_element(more.begin(), more.end(),
                                    [](auto& a, auto& b) { return a.second < b.second; });
  if (top == more.end()) return {"", 0};
  return {std::string(trace_.text(accounting_.names.operations[top->first])), top->second};
}

// The same of lines that samples of the lead saw.
std::pair<std::string, double> KindOfSteps::TopLine() const {
  const trace::SampleReader reader(trace_.strings);
  if (!reader.any() || owner_.lead.value >= trace_.tracks.size()) return {"", 0};
  std::vector<uint32_t> order(slow_.begin(), slow_.end());
  order.insert(order.end(), usual_.begin(), usual_.end());
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return owner_.steps[a].begin_ns < owner_.steps[b].begin_ns;
  });
  std::map<uint32_t, double> more;  // by StringId
  size_t at = 0;
  reader.ForEach(trace_, trace_.tracks[owner_.lead.value],
                 [&](int64_t when, const trace::Sample& sample) {
                   while (at < order.size() && owner_.steps[order[at]].end_ns <= when) ++at;
                   if (at == order.size() || owner_.steps[order[at]].begin_ns > when) return;
                   if (sample.thread != 0 || !sample.own_line.valid()) return;
                   const auto ns = static_cast<double>(sample.covers_ns);
                   if (slow_.contains(order[at])) {
                     more[sample.own_line.value] += ns / static_cast<double>(slow_.size());
                   } else if (usual_.contains(order[at])) {
                     more[sample.own_line.value] -= ns / static_cast<double>(usual_.size());
                   }
                 });
  const auto top = std::max_element(more.begin(), more.end(),
                                    [](auto& a, auto& b) { return a.second < b.second; });
  if (top == more.end()) return {"", 0};
  return {std::string(trace_.text({top->first})), top->second};
}

void KindOfSteps::FindWork(Row* row) const {
  const double third = static_cast<double>(row->periodic_ns - row->usual_ns) / 3;
  const auto [line, line_ns] = TopLine();
  const auto [operation, operation_ns] = TopOperation();
  if (line_ns >= third) {
    row->work = line;
    row->what = "line";
  } else if (operation_ns >= third && !operation.empty()) {
    row->work = operation;
    row->what = "operation";
  }
}

}  // namespace

Period FindPeriod(const std::vector<int64_t>& slow, int64_t last) {
  Period best;
  if (slow.size() < kFewestSlow) return best;
  std::set<int64_t> candidates;
  for (size_t i = 1; i < slow.size(); ++i) candidates.insert(slow[i] - slow[i - 1]);
  for (const int64_t period : candidates) {
    if (period < 2) continue;
    std::map<int64_t, std::vector<int64_t>> by_rest;
    for (const int64_t number : slow) by_rest[number % period].push_back(number);
    for (const auto& [rest, numbers] : by_rest) {
      const auto count = static_cast<int64_t>(numbers.size());
      const int64_t places = (last - numbers.front()) / period + 1;
      if (count < static_cast<int64_t>(kFewestSlow) || 5 * count < 4 * places) continue;
      if (3 * numbers.size() < 2 * slow.size() || count <= best.count) continue;
      best = {period, numbers.front(), count, places - count};
    }
  }
  return best;
}

Table PeriodicStepsTable(const trace::Trace& trace, const Context& context) {
  std::vector<Row> rows;
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const ProcessOverlap& overlap = context.Shared<Accounting>().processes[p].overlap;
    const std::vector<int64_t> walls = StepWalls(trace.processes[p], overlap);
    for (const ComparedSteps& compared : CompareSteps(trace.processes[p], walls)) {
      Row row{};
      if (KindOfSteps(trace, context, p, compared, walls).Find(&row)) rows.push_back(row);
    }
  }
  return TableOf("periodic_steps", rows)
      .Text("process", [&](const Row& r) { return context.process_label({r.process}); })
      .Text("kind", [&](const Row& r) { return trace.text(r.kind); })
      .Integer("period", [](const Row& r) { return r.period.period; })
      .Integer("first_step", [](const Row& r) { return r.period.first; })
      .Integer("count", [](const Row& r) { return r.period.count; })
      .Integer("missed", [](const Row& r) { return r.period.missed; })
      .Integer("usual_ns", &Row::usual_ns)
      .Integer("periodic_ns", &Row::periodic_ns)
      .Integer("extra_ns", [](const Row& r) { return r.periodic_ns - r.usual_ns; })
      .Text("work", &Row::work)
      .Text("what", &Row::what)
      .Make();
}

}  // namespace crosscut::analyze
