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

// What probes cost that control steps have, too, by the part of it that is recorded.
double WithControl(const ProcessAccount& account) {
  double recorded = 0, all = 0;
  for (const Cell& cell : account.overlap.cells) {
    if (cell.layers == kOursAlone) continue;
    recorded += static_cast<double>(cell.unswitched_ps) / 1000;
    all += UnswitchedNs(account.estimates.value, cell);
  }
  return recorded > 0 ? all / recorded : 1;
}

void AddProcess(const trace::Process& p, const Accounting& a, const ProcessAccount& account,
                ProbeSums* all_sums) {
  std::vector<ProbeSum>& sums = all_sums->switched;
  const Scale& scale = account.scale;
  const ProbeCosts costs = CostsOf(p, a.names);
  const double with_control = WithControl(account);
  for (size_t i = 1; i < a.names.probes.size(); ++i) {
    const ProbeCounts& n = account.overlap.probes[i];
    const trace::ProbeCost& cost = costs[i];
    const auto all = static_cast<double>(n.lead + n.waited + n.other);
    const auto inside = static_cast<double>(cost.inside_ps);
    const auto outside = static_cast<double>(cost.outside_ps);
    sums[i].count += n.lead + n.waited + n.other;
    sums[i].known |= sums[i].count > 0 || cost.probe.valid();
    sums[i].inside += all * inside * scale.value;
    sums[i].outside += all * outside * scale.value;
    sums[i].low += all * (inside + outside) * scale.low;
    sums[i].high += all * (inside + outside) * scale.high;
    sums[i].subtracted += static_cast<double>(n.in_cells_ps) * scale.value;
    if (cost.unswitched_ps <= 0) continue;
    ProbeSum& more = all_sums->unswitched[i];
    more.known = true;
    more.count += n.lead + n.waited + n.other;
    more.inside += with_control * all * static_cast<double>(cost.unswitched_ps);
    more.low += with_control * all * static_cast<double>(cost.unswitched_low_ps);
    more.high += with_control * all * static_cast<double>(cost.unswitched_high_ps);
    more.subtracted += with_control * static_cast<double>(n.unswitched_in_cells_ps);
  }
}

int64_t Nanoseconds(double ps) { return std::llround(ps / 1000); }

ProbeSum Timed(int64_t ns, int64_t subtracted_ns) {
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
  TableRows table("overhead", Text("probe"), Integer("count"), Integer("inside_ns"),
                  Integer("outside_ns"), Integer("total_ns"), Integer("low_ns"), Integer("high_ns"),
                  Integer("subtracted_ns"));
  const auto add = [&](std::string_view name, int64_t n, const ProbeSum& s) {
    const int64_t inside = Nanoseconds(s.inside), outside = Nanoseconds(s.outside);
    table.Add(name, n, inside, outside, inside + outside, Nanoseconds(s.low), Nanoseconds(s.high),
              Nanoseconds(s.subtracted));
  };
  for (size_t i = 1; i < none.size(); ++i) {
    ProbeSum& sum = sums.switched[i];
    const std::string name(trace.text(a.names.probes[i]));
    sum.AddOwn(a.own[i]);
    const ProbeSum& more = sums.unswitched[i];
    const bool costs = sum.high > 0;  // else a probe with nothing but `more` keeps its name
    if (sum.known && (costs || !more.known)) add(name, sum.count, sum);
    if (more.known) add(costs ? name + ", also in control steps" : name, more.count, more);
  }
  if (switches.count > 0) add("step plan: switch", switches.count, switches.sum());
  add("timed", kMissing, Timed(timed, timed));
  if (starting > 0) add("before the window", kMissing, Timed(starting, 0));
  add("unplaced", kMissing, Timed(unplaced, -unplaced));
  return table.Make();
}

Table OverheadLevelsTable(const trace::Trace& trace, const Context& context) {
  TableRows table("overhead_levels", Text("process"), Text("level"), Integer("steps"),
                  Integer("blocks"), Integer("step_ns"), Real("inflation"), Real("inflation_low"),
                  Real("inflation_high"));
  const auto add = [&](uint32_t p, std::string_view name, const LevelInflation& l) {
    table.Add(context.process_label({p}), name, l.steps, l.blocks, std::llround(l.step_ns), l.ratio,
              l.low, l.high);
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
  return table.Make();
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
  TableRows table("overhead_check", Text("process"), Integer("checked"), Text("message"),
                  Integer("control_steps"), Integer("control_blocks"), Integer("profiled_steps"),
                  Integer("profiled_blocks"), Real("inflation"), Real("inflation_low"),
                  Real("inflation_high"), Real("scale"), Real("scale_low"), Real("scale_high"),
                  Integer("step_ns"), Integer("control_step_ns"), Real("cost"), Real("cost_low"),
                  Real("cost_high"), Real("wander"), Real("budget"));
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    if (trace.processes[p].steps.empty()) continue;
    const ProcessAccount& account = context.Shared<Accounting>().processes[p];
    const Inflation& i = account.inflation;
    const Scale& s = account.scale;
    const auto known = [&](double value) { return i.checked ? value : std::nan(""); };
    const auto length = [&](double ns) { return i.checked ? std::llround(ns) : kMissing; };
    const auto cost = [&](double scale, double also_in_control_ns, double floor) {
      const double ours = i.timed_ns + scale * i.estimated_ns + also_in_control_ns;
      return known(ours / i.step_ns + floor * i.control_step_ns / i.step_ns);
    };
    table.Add(context.process_label({p}), i.checked, i.checked ? "" : "not checked: " + i.why_not,
              i.control_steps, i.control_blocks, i.profiled_steps, i.profiled_blocks,
              known(i.ratio), known(i.low), known(i.high), s.value, s.low, s.high,
              length(i.step_ns), length(i.control_step_ns), cost(s.value, i.unswitched_ns, 0),
              cost(s.low, i.unswitched_low_ns, 0),
              cost(s.high, i.unswitched_high_ns, ControlFloor(i)), account.wander,
              BudgetOf(trace, trace.processes[p]));
  }
  return table.Make();
}

}  // namespace crosscut::analyze
