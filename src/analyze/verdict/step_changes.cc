#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/change_points.h"
#include "src/analyze/columns.h"
#include "src/analyze/figures.h"
#include "src/analyze/quantiles.h"
#include "src/analyze/steps/step_summary.h"
#include "src/analyze/verdict/process_lines.h"
#include "src/analyze/verdict/step_contrast.h"
#include "src/analyze/verdict/tables.h"

namespace crosscut::analyze {
namespace {

constexpr size_t kWarmUp = 5;          // a part of so many
constexpr double kWorthSaying = 0.05;  // of the time of the steps

struct Row {
  uint32_t process;
  trace::StringId kind;
  const char* shape;
  int64_t first_step, last_step, spells;
  int64_t usual_ns, changed_ns, total_ns, delay_ns;
  std::string operation, line, finding;
  bool most = true;  // of the difference is in each of these, not a third alone
};

double MedianOf(std::span<const double> values) { return MiddleOf({values.begin(), values.end()}); }

// The sum of distances from a line through the medians of the first and the last third (Tukey's
// resistant line, 1977).
double ErrorOfLine(std::span<const double> values) {
  const size_t third = values.size() / 3;
  const double rise = (MedianOf(values.last(third)) - MedianOf(values.first(third))) /
                      static_cast<double>(values.size() - third);
  std::vector<double> level(values.size());
  for (size_t i = 0; i < level.size(); ++i) level[i] = values[i] - rise * static_cast<double>(i);
  const double middle = MiddleOf(level);
  double error = 0;
  for (const double value : level) error += std::abs(value - middle);
  return error;
}

struct Segment {
  size_t begin, end;
  double median;
};

// Steps of one kind in order of time, and how they change.
class Series {
 public:
  // `whole`: ComparedSteps::whole of the kind, as `walls` of the process's steps.
  Series(const trace::Process& process, const std::vector<uint32_t>& whole,
         const std::vector<int64_t>& walls)
      : process_(process), walls_(walls), whole_(whole) {
    for (const uint32_t step : whole) {
      if (!process.steps[step].after_switch) steps_.push_back(step);
    }
    steps_ = AtUsualLevel(process, steps_);
    for (const uint32_t step : steps_) values_.push_back(static_cast<double>(walls[step]));
  }

  // Whether it changes: then a part of it is longer than another.
  bool Change() {
    Cut();
    if (segments_.size() > 1 && segments_[0].median > segments_[1].median &&
        segments_[0].end <= values_.size() / kWarmUp) {
      begin_ = steps_[segments_[0].end];
      steps_.erase(steps_.begin(), steps_.begin() + static_cast<ptrdiff_t>(segments_[0].end));
      values_.erase(values_.begin(), values_.begin() + static_cast<ptrdiff_t>(segments_[0].end));
      Cut();
    }
    if (segments_.size() < 2) return false;
    if (const char* trend = Trend()) {
      Compare(trend);
    } else {
      Mark();
    }
    return usual_ns_ < changed_ns_;
  }

  void Fill(Row* row) const {
    row->shape = shape_;
    const std::vector<uint32_t> begin = Around(longer_.front().first, true);
    const std::vector<uint32_t> end = Around(longer_.back().second, false);
    row->first_step = process_.steps[begin.back()].number;
    row->last_step = process_.steps[end.front()].number;
    row->spells = static_cast<int64_t>(longer_.size());
    row->usual_ns = std::llround(usual_ns_), row->changed_ns = std::llround(changed_ns_);
    double total = 0;
    for (const auto& [begin, end] : longer_) {
      for (size_t i = begin; i < end; ++i) total += values_[i] - usual_ns_;
    }
    row->total_ns = std::max<int64_t>(std::llround(total), 0);
  }
  double sum_ns() const {
    double sum = 0;
    for (const double value : values_) sum += value;
    return sum;
  }

  // The recorded steps of all levels that lie in the longer parts, and in the others.
  StepSets Sets(uint32_t process) const {
    StepSets sets{process, {}, {}};
    for (const uint32_t s : Between(steps_.front(), steps_.back() + 1)) {
      const trace::Step& step = process_.steps[s];
      if (!step.profiled() || step.after_switch) continue;
      const auto at = static_cast<size_t>(std::upper_bound(steps_.begin(), steps_.end(), s) -
                                          steps_.begin() - 1);
      const auto holds = [&](const std::pair<size_t, size_t>& part) {
        return part.first <= at && at < part.second;
      };
      if (std::any_of(more_.begin(), more_.end(), holds)) {
        sets.more.insert(s);
      } else if (std::any_of(usual_.begin(), usual_.end(), holds)) {
        sets.usual.insert(s);
      }
    }
    return sets;
  }

 private:
  using Part = std::pair<size_t, size_t>;  // [begin, end) in steps_

  // Those of all levels with such an index.
  std::span<const uint32_t> Between(uint32_t from, uint32_t to) const {
    const auto begin = std::lower_bound(whole_.begin(), whole_.end(), from);
    return {begin, std::lower_bound(begin, whole_.end(), to)};
  }

  void Cut() {
    segments_.clear();
    std::vector<size_t> edges = FindChanges(values_);
    edges.push_back(values_.size());
    for (size_t begin = 0; const size_t end : edges) {
      if (begin == end) continue;
      segments_.push_back({begin, end, MedianOf(std::span(values_).subspan(begin, end - begin))});
      begin = end;
    }
  }

  // The last step before a change and the first behind it, of steps of any level: between the
  // compared ones at `at` where it fits best. Where the series begins or ends there is one.
  std::vector<uint32_t> Around(size_t at, bool rises) const {
    const uint32_t from = at == 0 ? begin_ : steps_[at - 1];
    const std::span<const uint32_t> between =
        Between(from, at == steps_.size() ? UINT32_MAX : steps_[at] + 1);
    if (at == 0) return {between.front()};
    if (at == steps_.size()) return {between.back()};
    const double middle = (usual_ns_ + changed_ns_) / 2;
    int fits = 0, most = 0;  // steps that are as before, less those that are as behind
    size_t last = 0;
    for (size_t i = 1; i + 1 < between.size(); ++i) {
      fits += (static_cast<double>(walls_[between[i]]) < middle) == rises ? 1 : -1;
      if (fits > most) most = fits, last = i;
    }
    return {between[last], between[last + 1]};
  }

  // "grows" or "shrinks": it goes one way in several cuts, or a line fits better than segments.
  const char* Trend() const {
    const bool up = segments_.front().median < segments_.back().median;
    for (size_t i = 1; i < segments_.size(); ++i) {
      if ((segments_[i - 1].median < segments_[i].median) != up) return nullptr;
    }
    double error = 0;
    for (const Segment& segment : segments_) {
      for (size_t i = segment.begin; i < segment.end; ++i)
        error += std::abs(values_[i] - segment.median);
    }
    if (segments_.size() == 2 && ErrorOfLine(values_) >= error) return nullptr;
    return up ? "grows" : "shrinks";
  }

  // The thirds.
  void Compare(const char* trend) {
    shape_ = trend;
    const size_t all = values_.size(), third = all / 3;
    const bool up = segments_.front().median < segments_.back().median;
    const Part first = {0, third}, last = {all - third, all};
    more_ = {up ? last : first}, usual_ = {up ? first : last};
    longer_ = {{0, all}};
    usual_ns_ = MedianOf(std::span(values_).subspan(usual_[0].first, third));
    changed_ns_ = MedianOf(std::span(values_).subspan(more_[0].first, third));
  }

  // Each segment is a longer one or not.
  void Mark() {
    const auto [low, high] =
        std::minmax_element(segments_.begin(), segments_.end(),
                            [](const Segment& a, const Segment& b) { return a.median < b.median; });
    const double middle = (low->median + high->median) / 2;
    std::vector<double> usual, changed;
    for (const Segment& segment : segments_) {
      const bool more = segment.median > middle;
      std::vector<Part>& parts = more ? longer_ : usual_;
      if (!parts.empty() && parts.back().second == segment.begin) {
        parts.back().second = segment.end;
      } else {
        parts.emplace_back(segment.begin, segment.end);
      }
      std::vector<double>& of = more ? changed : usual;
      of.insert(of.end(), values_.begin() + static_cast<ptrdiff_t>(segment.begin),
                values_.begin() + static_cast<ptrdiff_t>(segment.end));
    }
    more_ = longer_;
    usual_ns_ = MedianOf(usual), changed_ns_ = MedianOf(changed);
    shape_ = longer_.size() > 1                    ? "alternates"
             : longer_[0].first == 0               ? "ends"
             : longer_[0].second == values_.size() ? "begins"
                                                   : "spell";
  }

  const trace::Process& process_;
  const std::vector<int64_t>& walls_;
  const std::vector<uint32_t>& whole_;
  std::vector<uint32_t> steps_;  // of these, those that are compared
  std::vector<double> values_;   // their lengths
  uint32_t begin_ = 0;           // where warm-up ends
  std::vector<Segment> segments_;
  const char* shape_ = "";
  std::vector<Part> longer_, more_, usual_;
  double usual_ns_ = 0, changed_ns_ = 0;
};

// How long the lead waited for a processor in a step of `steps`; kMissing where samples do not
// tell.
int64_t DelayOf(const Context& context, const trace::Process& process,
                const std::set<uint32_t>& steps) {
  const std::vector<std::vector<ThreadSample>>& all = context.Shared<ThreadFacts>().samples;
  if (process.lead.value >= all.size() || steps.empty()) return kMissing;
  int64_t sum = 0;
  bool known = false;
  auto step = steps.begin();
  for (const ThreadSample& sample : all[process.lead.value]) {
    while (step != steps.end() && process.steps[*step].end_ns <= sample.at_ns) ++step;
    if (step == steps.end()) break;
    if (sample.at_ns < process.steps[*step].begin_ns || sample.run_delay_ns < 0) continue;
    known = true;
    sum += std::min(sample.run_delay_ns, sample.covers_ns);
  }
  return known ? sum / static_cast<int64_t>(steps.size()) : kMissing;
}

void FindWork(const Context& context, const StepSets& sets, Row* row) {
  row->delay_ns = kMissing;
  if (sets.more.empty() || sets.usual.empty()) return;
  const double third = static_cast<double>(row->changed_ns - row->usual_ns) / 3;
  const MoreWork operation = OperationWithMore(context, sets);
  const MoreWork line = LineWithMore(context, sets);
  for (const auto& [more, what] :
       {std::pair(&operation, &row->operation), std::pair(&line, &row->line)}) {
    if (more->extra_ns() < third || more->what.empty()) continue;
    *what = more->what;
    row->most = row->most && more->extra_ns() >= 1.5 * third;
  }
  const trace::Process& process = context.trace().processes[sets.process];
  const int64_t delay = DelayOf(context, process, sets.more);
  const int64_t usual = DelayOf(context, process, sets.usual);
  if (delay != kMissing && usual != kMissing) row->delay_ns = std::max<int64_t>(delay - usual, 0);
}

std::string Sentence(const Row& row, std::string_view kind) {
  const std::string shape = row.shape, first = std::to_string(row.first_step);
  const std::string last = std::to_string(row.last_step);
  const std::string steps = kind == "step" ? "steps" : "steps of kind " + std::string(kind);
  char times[40];
  std::snprintf(times, sizeof times, "%.3g times as long",
                static_cast<double>(row.changed_ns) / static_cast<double>(row.usual_ns));
  const std::string changed = TimeText(row.changed_ns), usual = TimeText(row.usual_ns);
  const std::string both = ", " + changed + " instead of " + usual + ".";
  std::string out;
  if (shape == "begins") {
    out = "From step " + first + " on " + steps + " take " + times + both;
  } else if (shape == "ends") {
    out = "Up to step " + last + " " + steps + " take " + times + both;
  } else if (shape == "spell") {
    out = "From step " + first + " to step " + last + " " + steps + " take " + times + both;
  } else if (shape == "alternates") {
    out = "In " + std::to_string(row.spells) + " stretches, from step " + first + " to step " +
          last + ", " + steps + " take " + times + both;
  } else {
    const bool up = shape == "grows";
    out = "S" + steps.substr(1) + (up ? " grow longer: " : " grow shorter: ") +
          (up ? usual : changed) + " in the first third, " + (up ? changed : usual) +
          " in the last.";
  }
  std::string work = row.operation;
  if (!row.line.empty()) work += (work.empty() ? "" : ", ") + row.line;
  const char* part = row.most ? " Most" : " A third or more";
  return work.empty() ? out : out + part + " of the difference is in " + work + ".";
}

}  // namespace

Table StepChangesTable(const trace::Trace& trace, const Context& context) {
  TableRows table("step_changes", Text("process"), Text("kind"), Text("shape"),
                  Integer("first_step"), Integer("last_step"), Integer("spells"),
                  Integer("usual_ns"), Integer("changed_ns"), Integer("total_ns"),
                  Integer("delay_ns"), Text("operation"), Text("line"), Text("finding"));
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const trace::Process& process = trace.processes[p];
    const std::vector<int64_t> walls =
        StepWalls(process, context.Shared<Accounting>().processes[p].overlap);
    for (const ComparedSteps& compared : CompareSteps(process, walls)) {
      Row row{};
      row.process = p, row.kind = compared.kind;
      Series series(process, compared.whole, walls);
      if (!series.Change()) continue;
      series.Fill(&row);
      FindWork(context, series.Sets(p), &row);
      const bool busy =
          row.delay_ns != kMissing && 3 * row.delay_ns > row.changed_ns - row.usual_ns;
      if (!busy && row.usual_ns > 0 &&
          static_cast<double>(row.total_ns) >= kWorthSaying * series.sum_ns()) {
        row.finding = Sentence(row, trace.text(row.kind));
      }
      table.Add(context.process_label({p}), trace.text(row.kind), row.shape, row.first_step,
                row.last_step, row.spells, row.usual_ns, row.changed_ns, row.total_ns, row.delay_ns,
                row.operation, row.line, row.finding);
    }
  }
  return table.Make();
}

}  // namespace crosscut::analyze
