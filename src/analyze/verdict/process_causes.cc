#include "src/analyze/verdict/process_causes.h"

namespace crosscut::analyze {

void CauseSum::TakeLines(const LeadTime& lead) {
  for (const auto& [line, time] : lead.lines) {
    lines[line].Take(time.all);
    leads[line].Take(time);
  }
}

void CauseSum::PutDown(const LeadTime& lead, const BlamedLines& to_lines) {
  const StepParts steps = lead.steps();
  for (const auto& [line, blamed] : to_lines) {
    lines[line].Add(blamed);
    const auto own = lead.lines.find(line);
    int64_t leads_ns = 0;
    if (own != lead.lines.end()) {
      leads_ns = std::min(blamed.ns, own->second.all.ns);
      leads[line].Add(own->second, Share(leads_ns, own->second.all.ns));
    }
    if (leads_ns < blamed.ns) {
      AddSteps(steps, Share(blamed.ns - leads_ns, lead.all.ns), &others[line]);
    }
  }
}

void ProcessCauses::Move(const LeadTime& part, Cause from, Cause to, const BlamedLines& to_lines) {
  CauseSum &source = of(from), &target = of(to);
  source.ns -= part.all.ns;
  source.alone_ns = source.ns;
  target.ns += part.all.ns;
  target.alone_ns += part.all.ns;
  source.samples -= part.all.samples;
  target.samples += part.all.samples;
  source.TakeLines(part);
  target.PutDown(part, to_lines);
  for (const auto& [line, time] : part.lines) {
    for (const auto& [name, ns] : time.names) source.names[name] -= ns;
    for (const auto& [operation, ns] : time.operations) {
      source.operations[operation] -= ns;
      target.operations[operation] += ns;
    }
    for (const auto& [step, ns] : time.steps) {
      steps[step][static_cast<size_t>(from)] -= ns;
      steps[step][static_cast<size_t>(to)] += ns;
    }
  }
  // The lead was in none of what took most of it.
  if (2 * part.all.ns > target.ns) target.names.clear();
}

}  // namespace crosscut::analyze
