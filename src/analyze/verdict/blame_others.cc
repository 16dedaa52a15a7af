#include "src/analyze/verdict/blame_others.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/verdict/process_lines.h"

namespace crosscut::analyze {
namespace {

// The lead's lines at those of the times that are busy, wherever it is. While others are in a
// library that they did not call from a line of the program, the lead's own line stays.
std::map<Line, int64_t> LeadsLines(const Context& context, uint32_t p,
                                   const std::vector<trace::Interval>& times,
                                   const BusyTimes& busy) {
  std::map<Line, int64_t> out;
  ForEachOfLead(context, {p}, times,
                [&](const LineStretch& stretch, const trace::Interval& part, size_t) {
                  out[stretch.line] += busy.Before(part.end_ns) - busy.Before(part.begin_ns);
                });
  return out;
}

std::vector<trace::Interval> TimesOfWaits(const std::vector<RankWait>& waits) {
  std::vector<trace::Interval> times;
  for (const RankWait& wait : waits) times.push_back({wait.begin_ns, wait.end_ns});
  return UnionOf(std::move(times));
}

// From when two ranks were level last to when the late one came.
struct LeadIn {
  std::vector<trace::Interval> late, own;  // of the one that waits, without the waits
};

// Ranks are level where one of them has waited.
LeadIn LeadInOf(const trace::Process& process, const std::vector<trace::Interval>& told,
                const std::vector<RankWait>& own_waits, const std::vector<RankWait>& late_waits) {
  LeadIn out;
  const std::vector<trace::Interval> of_late = TimesOfWaits(late_waits);
  int64_t level_ns = process.steps.empty() ? process.start_ns : process.steps.front().begin_ns;
  auto next = told.begin();
  for (const trace::Interval& wait : TimesOfWaits(own_waits)) {
    const auto first = next;
    while (next != told.end() && next->end_ns <= wait.end_ns) ++next;
    if (first != next) {
      const auto behind = std::partition_point(
          of_late.begin(), of_late.end(),
          [&](const trace::Interval& one) { return one.end_ns <= wait.begin_ns; });
      if (behind != of_late.begin()) level_ns = std::max(level_ns, (behind - 1)->end_ns);
      out.late.push_back({std::min(level_ns, first->begin_ns), (next - 1)->end_ns});
      for (const trace::Interval& part : trace::Without({out.late.back()}, {first, next})) {
        out.own.push_back(part);
      }
    }
    level_ns = std::max(level_ns, wait.end_ns);
  }
  return out;
}

// What of `late` is more than in `own`.
OthersWork MoreOf(const OthersWork& late, const OthersWork& own) {
  OthersWork out;
  for (const auto& [line, blamed] : late.lines) {
    const auto same = own.lines.find(line);
    Blamed more = blamed;
    if (same != own.lines.end()) {
      more.ns -= same->second.ns;
      more.variance += same->second.variance;
    }
    if (more.ns > 0) out.lines[line] = more;
  }
  for (const auto& [name, ns] : late.names) {
    const auto same = own.names.find(name);
    const int64_t more = ns - (same == own.names.end() ? 0 : same->second);
    if (more > 0) out.names[name] = more;
  }
  return out;
}

// Each of those times, and since when others may have worked for it: behind the one before of
// `waits`, in which the process was waiting, too, and behind a step of which nothing is known.
std::vector<RelativesWork::Wait> WaitsAt(const std::vector<trace::Interval>& times,
                                         const std::vector<trace::Interval>& waits,
                                         const ProcessEvents& events) {
  std::vector<RelativesWork::Wait> out;
  const auto& stretches = events.stretches;
  for (const trace::Interval& time : times) {
    const auto wait = std::partition_point(
        waits.begin(), waits.end(),
        [&](const trace::Interval& one) { return one.end_ns <= time.begin_ns; });
    const int64_t before_ns = wait == waits.begin() ? INT64_MIN : (wait - 1)->end_ns;
    auto next = std::partition_point(
        stretches.begin(), stretches.end(),
        [&](const Stretch& stretch) { return stretch.begin_ns < time.begin_ns; });
    int64_t since_ns = time.begin_ns;
    while (since_ns > before_ns && next != stretches.begin() &&
           ((next - 1)->part == events.told || (next - 1)->part == WindowPart::kBetween)) {
      since_ns = (--next)->begin_ns;
    }
    out.push_back({time, std::max(since_ns, before_ns)});
  }
  return out;
}

int64_t LengthOfLines(const BlamedLines& lines) {
  int64_t ns = 0;
  for (const auto& [line, blamed] : lines) ns += blamed.ns;
  return ns;
}

// Where the rank waits for what processes do that it started, their lines take the place of its
// own.
void FollowToHelpers(const Context& context, trace::ProcessId rank,
                     const std::vector<trace::Interval>& times, OthersWork* work) {
  const auto& others = context.Shared<RelativesWork>();
  OthersWork out;
  const int64_t all_ns = LengthOfLines(work->lines);
  int64_t moved_ns = 0;
  std::map<Line, std::vector<trace::Interval>> waits;
  ForEachOfLead(context, rank, times,
                [&](const LineStretch& stretch, const trace::Interval& part, size_t) {
                  if (WaitsForOthers(stretch)) Extend(part, &waits[stretch.line]);
                });
  for (const auto& [line, blamed] : work->lines) {
    const std::vector<trace::Interval>& at_line = waits[line];
    const bool may = !at_line.empty() && 100 * blamed.ns >= all_ns;  // else it is too little to ask
    const OthersWork helpers = may ? others.OfDescendants(rank, at_line) : OthersWork();
    if (!may || 2 * helpers.known_ns < std::max(LengthOf(at_line), blamed.ns)) {
      out.lines[line].Add(blamed);
      continue;
    }
    Told told;
    for (const auto& [of_helper, time] : helpers.lines) told.Add(of_helper, time);
    for (const auto& [of_helper, time] : Scaled(told, blamed.ns)) out.lines[of_helper].Add(time);
    for (const auto& [name, ns] : helpers.names) out.names[name] += ns;
    moved_ns += blamed.ns;
  }
  work->lines = std::move(out.lines);
  if (2 * moved_ns > all_ns) work->names = std::move(out.names);
}

}  // namespace

void BlameLateRank(const Context& context, uint32_t p,
                   const std::map<uint32_t, std::vector<trace::Interval>>& waited,
                   const std::vector<std::vector<RankWait>>& waits, ProcessCauses* causes) {
  const auto [late, waited_ns] = *Largest(causes->ranks);
  const LeadIn times =
      LeadInOf(context.trace().processes[p], waited.at(late), waits[p], waits[late]);
  OthersWork work = MoreOf(WorkIn(context, {late}, times.late, Idle::kCounts),
                           WorkIn(context, {p}, times.own, Idle::kCounts));
  FollowToHelpers(context, {late}, times.late, &work);
  Told told;
  for (const auto& [line, blamed] : work.lines) told.Add(line, blamed);
  const int64_t told_ns = std::min(waited_ns, told.all.ns);
  CauseSum& sum = causes->causes[static_cast<size_t>(Cause::kOtherRank)];
  sum.names.clear(), sum.hidden.clear();
  const double part = Share(told_ns, told.all.ns), hidden = 1 - Share(sum.alone_ns, sum.ns);
  for (const auto& [name, ns] : work.names) {
    sum.names[name] = std::llround(part * static_cast<double>(ns));
  }
  LeadTime leads;
  for (const auto& [line, time] : std::exchange(sum.leads, {})) leads.Add(line, time);
  const StepParts steps = leads.steps();
  sum.lines = Scaled(told, told_ns);
  for (const auto& [line, blamed] : sum.lines) {
    sum.hidden[line] = PartOf(blamed, hidden);
    AddSteps(steps, Share(blamed.ns, told_ns), &sum.others[line]);
  }
}

void BlameOthers(const Context& context, uint32_t p, const std::vector<trace::Interval>& times,
                 const std::vector<trace::Interval>& waits, CauseSum* sum) {
  const auto& others = context.Shared<RelativesWork>();
  OthersWork work = others.In({p}, times);
  if (work.known_ns == 0 || 2 * work.known_ns < sum->ns) return;
  Told told;
  for (const auto& [line, blamed] : work.lines) {
    if (MayBeBlamed(line)) told.Add(line, blamed);
  }
  LeadTime lead;
  for (const auto& [line, ns] : LeadsLines(context, p, times, *work.busy)) {
    const auto at = sum->leads.find(line);
    if (at == sum->leads.end()) continue;
    lead.Add(line, at->second, std::min(1.0, Share(ns, at->second.all.ns)));
  }
  sum->TakeLines(lead);
  sum->PutDown(lead, Scaled(told, lead.all.ns));
  const double part = std::min(1.0, Share(lead.all.ns, told.all.ns));
  const ProcessEvents& events = context.Shared<Accounting>().events[p];
  for (const auto& [line, ns] : others.Ahead({p}, WaitsAt(times, waits, events))) {
    if (told.lines.contains(line)) {
      sum->ahead[line] = std::llround(part * static_cast<double>(ns));
    }
  }
  sum->names = std::move(work.names);
  sum->others_ns = std::min(work.known_ns, sum->ns);
}

}  // namespace crosscut::analyze
