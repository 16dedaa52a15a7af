#include "src/analyze/verdict/blame_others.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "src/analyze/verdict/process_lines.h"

namespace crosscut::analyze {
namespace {

// The lead's lines at those of the times that are busy, wherever it is. While others are in a
// library that they did not call from a line of the program, the lead's own line stays.
BlamedLines LeadsLines(const Context& context, uint32_t p,
                       const std::vector<trace::Interval>& times, const BusyTimes& busy) {
  BlamedLines out;
  const trace::TrackId lead = context.trace().processes[p].lead;
  if (lead.value >= context.trace().tracks.size()) return out;
  const trace::Interval life = LifeOf(context.trace(), lead);
  const std::unique_ptr<LineCursor> lines = LinesOfThread(context, lead);
  for (const trace::Interval& time : times) {
    const int64_t end = std::min(time.end_ns, life.end_ns);
    for (int64_t at = std::max(time.begin_ns, life.begin_ns), until; at < end; at = until) {
      const LineStretch& stretch = lines->At(at);
      until = std::min(end, stretch.end_ns);
      Blamed blamed = stretch.BlamedFor(at, until);
      if (blamed.samples > 0 && !busy.Has(stretch.sample->at_ns)) blamed = {};
      blamed.ns = busy.Before(until) - busy.Before(at);
      if (blamed.ns > 0) out[stretch.line].Add(blamed);
    }
  }
  return out;
}

// Of a rank that comes late, at these times.
OthersWork WorkOfLate(const Context& context, trace::ProcessId rank,
                      const std::vector<trace::Interval>& times, RelativesWork* others) {
  OthersWork helpers = others->OfDescendants(rank, times);
  int64_t all_ns = 0;
  for (const trace::Interval& time : times) all_ns += time.end_ns - time.begin_ns;
  const bool help = 2 * helpers.known_ns >= all_ns && helpers.known_ns > 0;
  if (help && 2 * WorkIn(context, rank, times, Idle::kSleeps).known_ns < all_ns) return helpers;
  return WorkIn(context, rank, times, Idle::kCounts);
}

}  // namespace

void BlameLateRank(const Context& context,
                   const std::map<uint32_t, std::vector<trace::Interval>>& waited,
                   RelativesWork* others, ProcessCauses* causes) {
  const auto late = Largest(causes->ranks);
  OthersWork work = WorkOfLate(context, {late->first}, waited.at(late->first), others);
  CauseSum& sum = causes->causes[static_cast<size_t>(Cause::kOtherRank)];
  sum.names = std::move(work.names);
  sum.lines = std::move(work.lines);
  sum.hidden.clear();
  const double hidden = 1 - Share(sum.alone_ns, sum.ns);
  for (const auto& [line, blamed] : sum.lines) sum.hidden[line] = PartOf(blamed, hidden);
}

void BlameOthers(const Context& context, uint32_t p, const std::vector<trace::Interval>& times,
                 RelativesWork* others, CauseSum* sum) {
  OthersWork work = others->In({p}, times);
  if (work.known_ns == 0 || 2 * work.known_ns < sum->ns) return;
  Told told;
  for (const auto& [line, blamed] : work.lines) {
    if (MayBeBlamed(line)) told.Add(line, blamed);
  }
  int64_t moved_ns = 0;
  for (const auto& [line, blamed] : LeadsLines(context, p, times, *work.busy)) {
    const auto leads = sum->lines.find(line);
    if (leads == sum->lines.end()) continue;
    const double part = std::min(1.0, Share(leads->second.ns, blamed.ns));
    const Blamed moved = PartOf(blamed, part);
    moved_ns += moved.ns;
    leads->second.Take({moved.ns, std::min(moved.samples, leads->second.samples),
                        std::min(moved.variance, leads->second.variance)});
  }
  for (const auto& [line, blamed] : Scaled(told, moved_ns)) sum->lines[line].Add(blamed);
  sum->names = std::move(work.names);
  sum->others_ns = std::min(work.known_ns, sum->ns);
}

}  // namespace crosscut::analyze
