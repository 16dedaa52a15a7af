#include "src/analyze/accounting/process_events.h"

#include <limits>
#include <numeric>
#include <utility>

#include "src/analyze/accounting/cursor.h"

namespace crosscut::analyze {
namespace {

struct Edge {
  int64_t at_ns;
  bool is_pause;
  uint32_t value;
};

void AddEdges(const std::vector<trace::Interval>& parts, bool is_pause,
              const std::vector<uint32_t>& values, std::vector<Edge>& edges) {
  for (size_t i = 0; i < parts.size(); ++i) {
    edges.push_back({parts[i].begin_ns, is_pause, values[i]});
    const bool next_follows = i + 1 < parts.size() && parts[i + 1].begin_ns == parts[i].end_ns;
    if (!next_follows) edges.push_back({parts[i].end_ns, is_pause, 0});
  }
}

// Where the session ends in which a step did.
int64_t SessionEnd(const trace::Process& process, int64_t at_ns) {
  for (const trace::Window& window : process.windows) {
    if (at_ns <= window.end_ns) return window.end_ns;
  }
  return process.end_ns;
}

// Adds what follows a step without all probes up to the next step as a part of its own.
void AddAfterOff(const trace::Process& process, const ProcessEvents& events,
                 std::vector<trace::Interval>& steps, std::vector<uint32_t>& values) {
  std::vector<trace::Interval> parts;
  std::vector<uint32_t> names;
  for (size_t i = 0; i < steps.size(); ++i) {
    parts.push_back(steps[i]);
    names.push_back(values[i]);
    if (process.steps[values[i] - 1].profiled()) continue;
    const int64_t begin = steps[i].end_ns;
    const int64_t session_end = std::min(SessionEnd(process, begin), process.end_ns);
    const int64_t end =
        i + 1 < steps.size() ? std::min(steps[i + 1].begin_ns, session_end) : session_end;
    if (begin >= end) continue;
    parts.push_back({begin, end});
    const bool left_out = process.steps[values[i] - 1].left_out();
    names.push_back(left_out ? events.after_left_out() : events.after_control());
  }
  steps = std::move(parts);
  values = std::move(names);
}

}  // namespace

std::vector<trace::Interval> Disjoint(const std::vector<trace::Interval>& intervals,
                                      trace::Interval window, std::vector<uint32_t>* origins) {
  std::vector<uint32_t> order(intervals.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return intervals[a].begin_ns < intervals[b].begin_ns;
  });
  std::vector<trace::Interval> out;
  int64_t from = window.begin_ns;
  for (const uint32_t i : order) {
    const int64_t begin = std::max(intervals[i].begin_ns, from);
    const int64_t end = std::min(intervals[i].end_ns, window.end_ns);
    if (begin >= end) continue;
    out.push_back({begin, end});
    if (origins != nullptr) origins->push_back(i);
    from = end;
  }
  return out;
}

ProcessEvents::ProcessEvents(const trace::Process& process,
                             const std::vector<trace::Interval>& served) {
  const trace::Interval window = {process.start_ns, process.end_ns};
  pauses = Disjoint(process.paused, window);
  std::vector<trace::Interval> steps;
  const auto add = [this](bool is_control, bool is_left_out, bool switched) {
    control.push_back(is_control);
    left_out.push_back(is_left_out);
    after_switch.push_back(switched);
  };
  add(false, false, false);
  for (const trace::Step& step : process.steps) {
    steps.push_back({step.begin_ns, step.end_ns});
    add(step.level == trace::kControlLevel, step.left_out(), step.after_switch);
  }
  std::vector<uint32_t> origins;
  steps = Disjoint(steps, window, &origins);
  for (uint32_t& origin : origins) ++origin;
  add(true, false, false);
  add(false, true, false);
  add(false, false, false);
  AddAfterOff(process, *this, steps, origins);
  serves = process.steps.empty() && !served.empty();
  if (serves) {
    steps = Disjoint(served, window);
    origins.assign(steps.size(), serving());
  }
  std::vector<Edge> edges;
  AddEdges(steps, false, origins, edges);
  AddEdges(pauses, true, std::vector<uint32_t>(pauses.size(), 1), edges);
  std::stable_sort(edges.begin(), edges.end(),
                   [](const Edge& a, const Edge& b) { return a.at_ns < b.at_ns; });
  Event now = {0, 0, false};
  for (const Edge& e : edges) {
    now.at_ns = e.at_ns;
    if (e.is_pause) {
      now.paused = e.value != 0;
    } else {
      now.step = e.value;
    }
    events.push_back(now);
  }
}

std::vector<ProcessEvents::Off> ProcessEvents::OffTime() const {
  std::vector<Off> out;
  bool off = false, marks = false;
  for (const Event& e : events) {
    const bool marks_now = left_out[e.step] != 0, off_now = marks_now || control[e.step] != 0;
    if (off_now == off && marks_now == marks) continue;
    if (off) out.back().end_ns = e.at_ns;
    if (off_now) out.push_back({e.at_ns, e.at_ns, marks_now});
    off = off_now;
    marks = marks_now;
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
    if (e.step != told_step_) {
      out.Add(since, SetChange(What::kStep, told_step_ = e.step));
    }
    if (e.paused != told_paused_) {
      out.Add(since, SetChange(What::kPause, told_paused_ = e.paused));
    }
  }
  out.EndRun();
}

}  // namespace crosscut::analyze
