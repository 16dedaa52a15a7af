#include "src/analyze/accounting/overhead_tables.h"

#include <array>
#include <cmath>
#include <numeric>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/columns.h"

namespace crosscut::analyze {
namespace {

struct ProbeSum {
  bool known = false;
  int64_t count = 0;
  double inside = 0, outside = 0, low = 0, high = 0, subtracted = 0;  // picoseconds

  // Work on threads of our own, which is measured and no part of the program's time.
  void AddOwn(const Accounting::OwnWork& own) {
    known |= own.count > 0;
    count += own.count;
    const double ps = static_cast<double>(own.ns) * 1000;
    for (double* sum : {&inside, &low, &high}) *sum += ps;
  }
};

// The sums of probes, and of what they cost that no control step shows, by NameCodes number.
struct ProbeSums {
  std::vector<ProbeSum> switched, unswitched;
};

void AddProcess(const trace::Process& p, const Accounting& a, const ProcessAccount& account,
                ProbeSums* all_sums) {
  std::vector<ProbeSum>& sums = all_sums->switched;
  const Scale& scale = account.scale;
  for (size_t i = 1; i < a.names.probes.size(); ++i) {
    const ProbeCounts& n = account.overlap.probes[i];
    sums[i].count += n.lead + n.waited + n.other;
    sums[i].known |= sums[i].count > 0;
    for (const trace::ProbeCost& cost : p.probes) {
      if (cost.probe != a.names.probes[i]) continue;
      const auto all = static_cast<double>(n.lead + n.waited + n.other);
      const auto inside = static_cast<double>(cost.inside_ps);
      const auto outside = static_cast<double>(cost.outside_ps);
      sums[i].known = true;
      sums[i].inside += all * inside * scale.value;
      sums[i].outside += all * outside * scale.value;
      sums[i].low += all * (inside + outside) * scale.low;
      sums[i].high += all * (inside + outside) * scale.high;
      sums[i].subtracted += static_cast<double>(n.in_cells_ps) * scale.value;
      if (cost.unswitched_ps <= 0) continue;
      ProbeSum& more = all_sums->unswitched[i];
      more.known = true;
      more.count += n.lead + n.waited + n.other;
      more.inside += all * static_cast<double>(cost.unswitched_ps);
      more.low += all * static_cast<double>(cost.unswitched_low_ps);
      more.high += all * static_cast<double>(cost.unswitched_high_ps);
      more.subtracted += static_cast<double>(n.unswitched_in_cells_ps);
    }
  }
}

int64_t Nanoseconds(double ps) { return std::llround(ps / 1000); }

struct Rows {
  Texts probe;
  Integers count, inside, outside, total, low, high, subtracted;

  void Add(std::string_view name, int64_t n, const ProbeSum& s) {
    probe.push_back(name);
    count.push_back(n);
    inside.push_back(Nanoseconds(s.inside));
    outside.push_back(Nanoseconds(s.outside));
    total.push_back(inside.back() + outside.back());
    low.push_back(Nanoseconds(s.low));
    high.push_back(Nanoseconds(s.high));
    subtracted.push_back(Nanoseconds(s.subtracted));
  }
};

ProbeSum Real(int64_t ns, int64_t subtracted_ns) {
  const double ps = static_cast<double>(ns) * 1000;
  return {true, 0, ps, 0, ps, ps, static_cast<double>(subtracted_ns) * 1000};
}

// What switches cost beyond what was timed.
struct Switches {
  int64_t count = 0;
  double value = 0, low = 0, high = 0;  // nanoseconds

  void Add(const trace::Process& p, const ProcessAccount& account) {
    const Estimates& e = account.estimates;
    if (e.high.after_switch == 0 && e.high.to_control == 0) return;
    for (const trace::Step& step : p.steps) count += step.after_switch;
    for (const Cell& cell : account.overlap.cells) {
      if (cell.layers == kOursAlone) continue;
      const auto ns = static_cast<double>(cell.switched_ns);
      value += ns * SwitchedShare(e.value, cell);
      low += ns * SwitchedShare(e.low, cell);
      high += ns * SwitchedShare(e.high, cell);
    }
  }
  ProbeSum sum() const {
    return {true, count, value * 1000, 0, low * 1000, high * 1000, value * 1000};
  }
};

}  // namespace

Table OverheadTable(const trace::Trace& trace, const Context& context) {
  const Accounting& a = context.Shared<Accounting>();
  const std::vector<ProbeSum> none(a.names.probes.size());
  ProbeSums sums = {none, none};
  int64_t timed = 0, unplaced = 0, starting = 0;
  Switches switches;
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const ProcessAccount& account = a.processes[p];
    AddProcess(trace.processes[p], a, account, &sums);
    switches.Add(trace.processes[p], account);
    starting += trace.processes[p].starting_ns;
    unplaced += account.correction.unplaced_ns;
    for (const Cell& cell : account.overlap.cells) {
      if (cell.layers == kOursAlone) timed += cell.ns;
    }
  }
  Rows rows;
  for (size_t i = 1; i < none.size(); ++i) {
    ProbeSum& sum = sums.switched[i];
    const std::string name(trace.text(a.names.probes[i]));
    sum.AddOwn(a.own[i]);
    if (sum.known) rows.Add(name, sum.count, sum);
    const ProbeSum& more = sums.unswitched[i];
    if (more.known) rows.Add(name + ", also in control steps", more.count, more);
  }
  if (switches.count > 0) rows.Add("step plan: switch", switches.count, switches.sum());
  rows.Add("timed", kMissing, Real(timed, timed));
  if (starting > 0) rows.Add("before the window", kMissing, Real(starting, 0));
  rows.Add("unplaced", kMissing, Real(unplaced, -unplaced));
  return MakeTable("overhead", MakeColumn("probe", rows.probe), MakeColumn("count", rows.count),
                   MakeColumn("inside_ns", rows.inside), MakeColumn("outside_ns", rows.outside),
                   MakeColumn("total_ns", rows.total), MakeColumn("low_ns", rows.low),
                   MakeColumn("high_ns", rows.high), MakeColumn("subtracted_ns", rows.subtracted));
}

Table OverheadLevelsTable(const trace::Trace& trace, const Context& context) {
  Texts process, level;
  Integers steps, blocks, step;
  std::array<Reals, 3> ratio;
  const auto add = [&](uint32_t p, std::string_view name, const LevelInflation& l) {
    process.push_back(context.process_label({p}));
    level.emplace_back(name);
    steps.push_back(l.steps);
    blocks.push_back(l.blocks);
    step.push_back(std::llround(l.step_ns));
    ratio[0].push_back(l.ratio);
    ratio[1].push_back(l.low);
    ratio[2].push_back(l.high);
  };
  const auto name_of = [](uint8_t level) -> std::string_view {
    if (level == kToControlArm) return "control, first after a switch";
    return level == kSwitchedArm ? "first after a switch" : trace::StepLevelName(level);
  };
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const Inflation& i = context.Shared<Accounting>().processes[p].inflation;
    if (!i.checked) continue;
    LevelInflation control = {0, i.control_steps, i.control_blocks};
    control.step_ns = i.control_step_ns;
    add(p, trace::StepLevelName(0), control);
    for (const LevelInflation& l : i.levels) {
      add(p, name_of(l.level), l);
    }
    add(p, "all", MeanInflation(i));
  }
  return MakeTable("overhead_levels", MakeColumn("process", process), MakeColumn("level", level),
                   MakeColumn("steps", steps), MakeColumn("blocks", blocks),
                   MakeColumn("step_ns", step), MakeColumn("inflation", ratio[0]),
                   MakeColumn("inflation_low", ratio[1]), MakeColumn("inflation_high", ratio[2]));
}

// That the recording kept to, as a share of the program's own time; NaN: none.
double BudgetOf(const trace::Trace& trace, const trace::Process& process) {
  for (const auto& [key, value] : process.meta) {
    if (trace.text(key) != "budget_percent") continue;
    // A log may say anything.
    const double percent = std::strtod(std::string(trace.text(value)).c_str(), nullptr);
    if (percent > 0 && percent <= 1000) return percent / 100;
  }
  return std::nan("");
}

Table OverheadCheckTable(const trace::Trace& trace, const Context& context) {
  Texts process, message;
  Integers checked, control, control_blocks, profiled, profiled_blocks, step, control_step;
  Reals ratio, low, high, scale, scale_low, scale_high, cost, cost_low, cost_high, wander, budget;
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    if (trace.processes[p].steps.empty()) continue;
    const Inflation& i = context.Shared<Accounting>().processes[p].inflation;
    const Scale& s = context.Shared<Accounting>().processes[p].scale;
    process.push_back(context.process_label({p}));
    checked.push_back(i.checked);
    message.push_back(i.checked ? "" : "not checked: " + i.why_not);
    control.push_back(i.control_steps);
    control_blocks.push_back(i.control_blocks);
    profiled.push_back(i.profiled_steps);
    profiled_blocks.push_back(i.profiled_blocks);
    for (auto [column, value] : {std::pair{&ratio, i.ratio}, {&low, i.low}, {&high, i.high}}) {
      column->push_back(i.checked ? value : std::nan(""));
    }
    scale.push_back(s.value);
    scale_low.push_back(s.low);
    scale_high.push_back(s.high);
    for (auto [column, value] :
         {std::pair{&cost, s.value}, {&cost_low, s.low}, {&cost_high, s.high}}) {
      const double ours = i.timed_ns + value * i.estimated_ns;
      column->push_back(i.checked ? ours / i.step_ns : std::nan(""));
    }
    if (i.checked) cost_high.back() += ControlFloor(i) * i.control_step_ns / i.step_ns;
    wander.push_back(context.Shared<Accounting>().processes[p].wander);
    budget.push_back(BudgetOf(trace, trace.processes[p]));
    step.push_back(i.checked ? std::llround(i.step_ns) : kMissing);
    control_step.push_back(i.checked ? std::llround(i.control_step_ns) : kMissing);
  }
  return MakeTable("overhead_check", MakeColumn("process", process), MakeColumn("checked", checked),
                   MakeColumn("message", message), MakeColumn("control_steps", control),
                   MakeColumn("control_blocks", control_blocks),
                   MakeColumn("profiled_steps", profiled),
                   MakeColumn("profiled_blocks", profiled_blocks), MakeColumn("inflation", ratio),
                   MakeColumn("inflation_low", low), MakeColumn("inflation_high", high),
                   MakeColumn("scale", scale), MakeColumn("scale_low", scale_low),
                   MakeColumn("scale_high", scale_high), MakeColumn("step_ns", step),
                   MakeColumn("control_step_ns", control_step), MakeColumn("cost", cost),
                   MakeColumn("cost_low", cost_low), MakeColumn("cost_high", cost_high),
                   MakeColumn("wander", wander), MakeColumn("budget", budget));
}

}  // namespace crosscut::analyze
