#include "src/analyze/accounting/process_events.h"

#include <limits>
#include <utility>

namespace crosscut::analyze {
namespace {

// Where the session ends in which a step did.
int64_t SessionEnd(const trace::Process& process, int64_t at_ns) {
  for (const trace::Window& window : process.windows) {
    if (at_ns <= window.end_ns) return window.end_ns;
  }
  return process.end_ns;
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
  std::vector<std::pair<int64_t, bool>> edges;  // of pauses
  for (const trace::Interval& pause : pauses) {
    edges.emplace_back(pause.begin_ns, true);
    edges.emplace_back(pause.end_ns, false);
  }
  auto edge = edges.begin();
  bool paused = false;
  for (uint32_t i = 0; i < stretches.size(); ++i) {
    const bool last = i + 1 == stretches.size();
    const int64_t until = last ? std::numeric_limits<int64_t>::max() : stretches[i + 1].begin_ns;
    events.push_back({stretches[i].begin_ns, i, paused});
    for (; edge != edges.end() && edge->first < until; ++edge) {
      paused = edge->second;
      events.push_back({edge->first, i, paused});
    }
  }
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
  stretches.push_back({process.start_ns, cuts.empty() ? WindowPart::kWhole : WindowPart::kStartUp});
  for (size_t i = 0; i < cuts.size(); ++i) {
    const bool last = i + 1 == cuts.size();
    const int64_t next_ns = last ? process.end_ns : cuts[i + 1].begin_ns;
    Stretch now = {cuts[i].begin_ns, told};
    if (!serves) {
      const trace::Step& step = process.steps[origins[i]];
      now = {cuts[i].begin_ns, PartOf(step), origins[i] + 1, Known::kAll, step.after_switch};
      if (step.left_out()) now.known = Known::kMarks;
      if (step.control()) now.known = Known::kNothing;
    }
    stretches.push_back(now);
    Stretch rest = {cuts[i].end_ns, last ? WindowPart::kShutdown : between};
    const int64_t known_ns = now.known == Known::kAll
                                 ? rest.begin_ns
                                 : std::min(next_ns, SessionEnd(process, rest.begin_ns));
    if (rest.begin_ns < known_ns) {
      stretches.push_back({rest.begin_ns, last ? rest.part : now.part, 0, now.known});
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

EventCursor::EventCursor(const ProcessEvents& events, int64_t begin_ns) : events_(events.events) {
  const auto after =
      std::upper_bound(events_.begin(), events_.end(), begin_ns,
                       [](int64_t at, const ProcessEvents::Event& e) { return at < e.at_ns; });
  next_ = static_cast<size_t>(after - events_.begin());
  if (next_ > 0) --next_;
}

int64_t EventCursor::Peek(size_t quota) const {
  return next_ + quota < events_.size() ? events_[next_ + quota].at_ns
                                        : std::numeric_limits<int64_t>::max();
}

void EventCursor::Emit(int64_t from, int64_t until, Records& out) {
  for (; next_ < events_.size() && events_[next_].at_ns < until; ++next_) {
    const ProcessEvents::Event& e = events_[next_];
    const int64_t since = std::max<int64_t>(0, e.at_ns - from);
    if (e.stretch != told_stretch_) {
      out.Add(since, SetChange(What::kStretch, told_stretch_ = e.stretch));
    }
    if (e.paused != told_paused_) {
      out.Add(since, SetChange(What::kPause, told_paused_ = e.paused));
    }
  }
  out.EndRun();
}

}  // namespace crosscut::analyze
