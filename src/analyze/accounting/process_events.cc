#include "src/analyze/accounting/process_events.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace crosscut::analyze {
namespace {

// Where the session ends in which a step did.
int64_t SessionEnd(const trace::Process& process, int64_t at_ns) {
  const auto window =
      std::partition_point(process.windows.begin(), process.windows.end(),
                           [at_ns](const trace::Window& one) { return one.end_ns < at_ns; });
  return window == process.windows.end() ? process.end_ns : window->end_ns;
}

}  // namespace

WindowPart PartOf(const trace::Step& step) {
  return step.control()    ? WindowPart::kControl
         : step.left_out() ? WindowPart::kLeftOut
                           : WindowPart::kSteps;
}

ProcessEvents::ProcessEvents(const trace::Process& process,
                             const std::vector<trace::Interval>& served)
    : pauses(Disjoint(process.paused, {process.start_ns, process.end_ns})), end_ns(process.end_ns) {
  Cut(process, served);
}

void ProcessEvents::Cut(const trace::Process& process, const std::vector<trace::Interval>& served) {
  const bool serves = process.steps.empty();
  std::vector<trace::Interval> cuts;
  if (serves) cuts = served;
  for (const trace::Step& step : process.steps) cuts.push_back({step.begin_ns, step.end_ns});
  std::vector<uint32_t> origins;
  cuts = Disjoint(cuts, {process.start_ns, process.end_ns}, &origins);
  if (!cuts.empty()) told = serves ? WindowPart::kRequests : WindowPart::kSteps;
  const WindowPart between = serves ? WindowPart::kBetweenRequests : WindowPart::kBetween;
  stretches.push_back(
      {process.start_ns, 0, cuts.empty() ? WindowPart::kWhole : WindowPart::kStartUp});
  for (size_t i = 0; i < cuts.size(); ++i) {
    const bool last = i + 1 == cuts.size();
    const int64_t next_ns = last ? process.end_ns : cuts[i + 1].begin_ns;
    Stretch now = {cuts[i].begin_ns, 0, told};
    if (!serves) {
      const trace::Step& step = process.steps[origins[i]];
      now.step = origins[i] + 1;
      now.part = PartOf(step);
      now.known = step.control() ? Known::kNothing : step.left_out() ? Known::kMarks : Known::kAll;
      now.after_switch = step.after_switch;
    }
    stretches.push_back(now);
    Stretch rest = {cuts[i].end_ns, 0, last ? WindowPart::kShutdown : between};
    const int64_t known_ns = now.known == Known::kAll
                                 ? rest.begin_ns
                                 : std::min(next_ns, SessionEnd(process, rest.begin_ns));
    if (rest.begin_ns < known_ns) {
      stretches.push_back({rest.begin_ns, 0, last ? rest.part : now.part, now.known});
      rest.begin_ns = known_ns;
    }
    if (rest.begin_ns < next_ns) stretches.push_back(rest);
  }
}

std::vector<ProcessEvents::Off> ProcessEvents::OffTime() const {
  std::vector<Off> out;
  Known before = Known::kAll;
  for (const Stretch& s : stretches) {
    if (s.known == before) continue;
    if (before != Known::kAll) out.back().end_ns = s.begin_ns;
    if (s.known != Known::kAll) out.push_back({s.begin_ns, end_ns, s.known == Known::kMarks});
    before = s.known;
  }
  return out;
}

EventCursor::EventCursor(const ProcessEvents& events, int64_t begin_ns) : events_(events) {
  const auto after =
      std::upper_bound(events.stretches.begin(), events.stretches.end(), begin_ns,
                       [](int64_t at, const Stretch& stretch) { return at < stretch.begin_ns; });
  stretch_ = static_cast<size_t>(std::max<ptrdiff_t>(0, after - events.stretches.begin() - 1));
  const auto pause =
      std::partition_point(events.pauses.begin(), events.pauses.end(),
                           [&](const trace::Interval& one) { return one.end_ns <= begin_ns; });
  pause_ = static_cast<size_t>(pause - events.pauses.begin());
}

int64_t EventCursor::Peek(size_t quota) const {
  const auto at = [quota](const auto& all, size_t next) {
    return next + quota < all.size() ? all[next + quota].begin_ns
                                     : std::numeric_limits<int64_t>::max();
  };
  return std::min(at(events_.stretches, stretch_), at(events_.pauses, pause_));
}

void EventCursor::Emit(int64_t from, int64_t until, Records& out) {
  const auto add = [&](int64_t at_ns, What what, size_t value) {
    out.Add(std::max<int64_t>(0, at_ns - from), SetChange(what, static_cast<uint32_t>(value)));
  };
  const std::vector<Stretch>& stretches = events_.stretches;
  for (; stretch_ < stretches.size() && stretches[stretch_].begin_ns < until; ++stretch_) {
    add(stretches[stretch_].begin_ns, What::kStretch, stretch_);
  }
  out.EndRun();
  for (; pause_ < events_.pauses.size(); ++pause_) {
    const trace::Interval& pause = events_.pauses[pause_];
    if (pause.begin_ns >= until) break;
    if (!std::exchange(paused_, true)) add(pause.begin_ns, What::kPause, 1);
    if (pause.end_ns >= until) break;
    add(pause.end_ns, What::kPause, 0);
    paused_ = false;
  }
  out.EndRun();
}

}  // namespace crosscut::analyze
