#include "src/analyze/verdict/lead_time.h"

#include <cmath>
#include <utility>

#include "src/trace/intervals.h"

namespace crosscut::analyze {
namespace {

int64_t PartOf(int64_t ns, double part) { return std::llround(part * static_cast<double>(ns)); }

void AddSums(const std::map<uint32_t, int64_t>& more, double part,
             std::map<uint32_t, int64_t>* to) {
  for (const auto& [what, ns] : more) (*to)[what] += PartOf(ns, part);
}

}  // namespace

void AddSteps(const StepParts& more, double part, StepParts* to) {
  StepParts out;
  out.reserve(to->size() + more.size());
  auto at = to->begin();
  for (const auto& [step, ns] : more) {
    for (; at != to->end() && at->step < step; ++at) out.push_back(*at);
    const bool same = at != to->end() && at->step == step;
    out.push_back({step, PartOf(ns, part) + (same ? at->ns : 0)});
    if (same) ++at;
  }
  out.insert(out.end(), at, to->end());
  *to = std::move(out);
}

void LineTime::Add(const LeadPiece& piece) {
  all.Add(piece.blamed);
  operations[piece.operation] += piece.blamed.ns;
  if (piece.name.valid()) names[piece.name.value] += piece.blamed.ns;
  if (piece.step < 0) return;
  const auto step = static_cast<size_t>(piece.step);
  if (steps.empty() || steps.back().step != step) steps.push_back({step, 0});
  steps.back().ns += piece.blamed.ns;
}

void LineTime::Add(const LineTime& more, double part) {
  const Blamed blamed = analyze::PartOf(more.all, std::abs(part));
  part < 0 ? all.Take(blamed) : all.Add(blamed);
  AddSteps(more.steps, part, &steps);
  AddSums(more.operations, part, &operations);
  AddSums(more.names, part, &names);
}

void LineTime::TakeNames(const LineTime& less) { AddSums(less.names, -1, &names); }

void LeadTime::Add(const LeadPiece& piece) {
  all.Add(piece.blamed);
  lines[piece.line].Add(piece);
  const bool has = !times.empty() && times.back().end_ns >= piece.time.end_ns;
  if (piece.waits && !has) trace::Extend(piece.time, &times);
}

void LeadTime::Add(const Line& line, const LineTime& time, double part) {
  LineTime& at = lines[line];
  const Blamed before = at.all;
  at.Add(time, part);
  all.Add(at.all);
  all.Take(before);
}

Told LeadTime::told() const {
  Told out;
  for (const auto& [line, time] : lines) out.Add(line, time.all);
  return out;
}

StepParts LeadTime::steps() const {
  StepParts out;
  for (const auto& [line, time] : lines) AddSteps(time.steps, 1, &out);
  return out;
}

}  // namespace crosscut::analyze
