#include "src/compare/comparable.h"

#include <algorithm>
#include <map>
#include <set>

#include "src/base/lists.h"
#include "src/compare/undisturbed.h"

namespace crosscut::compare {
namespace {

std::string Joined(const std::set<std::string>& texts) {
  return texts.empty() ? "none" : base::Joined(texts, ", ");
}

// The first problem of one side; "" where there is none.
std::string ShortOf(const std::vector<RunSteps>& runs, const std::string& side) {
  for (size_t r = 0; r < runs.size(); ++r) {
    const size_t steps = runs[r].steps.size();
    const std::string which = runs.size() > 1 ? side + "'s run " + std::to_string(r + 1) : side;
    if (steps == 0) {
      return which +
             " has no steps to compare; crosscut.step() at the begin of each pass of the main "
             "loop marks them";
    }
    if (steps < kFewestSteps) {
      return which + " has " + std::to_string(steps) + (steps == 1 ? " step" : " steps") +
             " that can be compared and needs " + std::to_string(kFewestSteps) +
             "; record more steps";
    }
  }
  return "";
}

std::set<std::string> DevicesOf(std::span<const Run> runs) {
  std::set<std::string> out;
  for (const Run& run : runs) {
    for (const trace::Track& track : run.trace->tracks) {
      if (track.device_name.valid()) out.emplace(run.trace->text(track.device_name));
    }
  }
  return out;
}

std::set<std::string> MachinesOf(std::span<const Run> runs) {
  std::set<std::string> out;
  for (const Run& run : runs) {
    if (!run.trace->machine.empty()) out.insert(run.trace->machine);
  }
  return out;
}

// "A ran on another device (x) than B (y)", where both are known and differ.
std::string Elsewhere(const char* what, const std::set<std::string>& a,
                      const std::set<std::string>& b) {
  if (a.empty() || b.empty() || a == b) return "";
  return std::string("A ran on another ") + what + " (" + Joined(a) + ") than B (" + Joined(b) +
         "); compare runs of one machine";
}

size_t CountWithSteps(const Run& run) {
  const auto& processes = run.trace->processes;
  return static_cast<size_t>(std::count_if(processes.begin(), processes.end(),
                                           [](const auto& p) { return !p.steps.empty(); }));
}

std::set<std::string> CountsWithSteps(std::span<const Run> runs) {
  std::set<std::string> out;
  for (const Run& run : runs) out.insert(std::to_string(CountWithSteps(run)));
  return out;
}

// What the processes of one side state, by what it is.
std::map<std::string, std::set<std::string>> StatedBy(
    std::span<const Run> runs, const std::vector<trace::ProcessId>& processes) {
  std::map<std::string, std::set<std::string>> out;
  for (size_t r = 0; r < runs.size(); ++r) {
    if (!processes[r].valid()) continue;
    const trace::Trace& trace = *runs[r].trace;
    const trace::Process& process = trace.processes[processes[r].value];
    for (const trace::Source& source : process.sources) {
      if (trace.text(source.state) == "off") continue;
      out[std::string(trace.text(source.name))].insert(std::string(trace.text(source.version)) +
                                                       " " + std::string(trace.text(source.state)));
    }
    for (const auto& [key, value] : process.meta) {
      const std::string_view name = trace.text(key);
      if (name == "python" || name == "plan" || name == "memory_bytes" || name == "policy") {
        out[std::string(name)].insert(std::string(trace.text(value)));
      }
    }
  }
  return out;
}

}  // namespace

std::string WhyNotCompared(const Both<std::vector<RunSteps>>& runs) {
  if (std::string why = ShortOf(runs.a, "A"); !why.empty()) return why;
  if (std::string why = ShortOf(runs.b, "B"); !why.empty()) return why;
  const auto levels = [](const std::vector<RunSteps>& side) {
    std::set<std::string> out;
    for (const RunSteps& run : side) out.emplace(trace::StepLevelName(run.level));
    return out;
  };
  const std::set<std::string> a = levels(runs.a), b = levels(runs.b);
  if (a.size() == 1 && a == b) return "";
  return "most of A's steps were recorded at level " + Joined(a) + " and most of B's at " +
         Joined(b) + "; record all runs with the same --plan";
}

std::string WhyNotCompared(const Sides& sides) {
  for (const std::string& why : {Elsewhere("processor", MachinesOf(sides.a), MachinesOf(sides.b)),
                                 Elsewhere("device", DevicesOf(sides.a), DevicesOf(sides.b))}) {
    if (!why.empty()) return why;
  }
  const auto steps_a = CountsWithSteps(sides.a), steps_b = CountsWithSteps(sides.b);
  if (steps_a.size() == 1 && steps_a == steps_b) return "";
  return "A has " + Joined(steps_a) + " processes with steps and B " + Joined(steps_b) +
         "; compare runs with equally many";
}

std::string WhyNotCompared(const analyze::Table& inputs) {
  struct Calls {
    int64_t all = 0, alike = 0;
    std::string odd;  // what most of those that are not alike were called with
    int64_t odd_count = 0;
  };
  std::map<std::string, Both<Calls>> names;
  for (size_t row = 0; row < inputs.rows(); ++row) {
    const std::string& dims = inputs.texts("input_dims")[row];
    if (dims.empty()) continue;
    const bool alike = inputs.texts("found")[row] == "both";
    auto& of = names[inputs.texts("name")[row]];
    const auto add = [&](Calls& calls, int64_t count) {
      calls.all += count;
      if (alike) calls.alike += count;
      if (!alike && count > calls.odd_count) calls.odd = dims, calls.odd_count = count;
    };
    add(of.a, inputs.integers("a_count")[row]);
    add(of.b, inputs.integers("b_count")[row]);
  }
  Both<Calls> sums;
  std::string most;
  for (const auto& [name, calls] : names) {
    if (calls.a.all == 0 || calls.b.all == 0)
      continue;  // an operator of one side is no other shape
    sums.a.all += calls.a.all, sums.a.alike += calls.a.alike;
    sums.b.all += calls.b.all, sums.b.alike += calls.b.alike;
    const bool odd = calls.a.odd_count > 0 && calls.b.odd_count > 0;
    if (!odd || std::min(calls.a.odd_count, calls.b.odd_count) <= sums.a.odd_count) continue;
    sums.a.odd_count = std::min(calls.a.odd_count, calls.b.odd_count);
    most = name + ": " + calls.a.odd + " in A, " + calls.b.odd + " in B";
  }
  if (2 * sums.a.alike >= sums.a.all || 2 * sums.b.alike >= sums.b.all || most.empty()) return "";
  return "most operators have other input shapes (" + most + "); compare runs of the same work";
}

std::vector<std::string> Differences(const Sides& sides, const Role& role) {
  const auto a = StatedBy(sides.a, role.processes.a), b = StatedBy(sides.b, role.processes.b);
  std::map<std::string, Both<std::set<std::string>>> all;
  for (const auto& [what, values] : a) all[what].a = values;
  for (const auto& [what, values] : b) all[what].b = values;
  std::vector<std::string> out;
  for (const auto& [what, values] : all) {
    if (values.a == values.b) continue;
    out.push_back(what + ": A " + Joined(values.a) + ", B " + Joined(values.b));
  }
  return out;
}

}  // namespace crosscut::compare
