#include "src/analyze/verdict/thread_lines.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "src/trace/layers.h"

namespace crosscut::analyze {
namespace {

// By key: a sample speaks for so many times what it stands for, on either side, in time of its
// state. Of what is seen by chance, more than three times as much passes without a sample in 1 of
// 400 cases; where a processor is hard to get, what calls none and waits for none is seen less. But
// the same call, or Python code between the same calls, is likely the same line.
constexpr std::array<int64_t, kKeys> kReach = {10, 10, 10, 3, 10, 3, 3};

// Of so many samples to either side, by the clock of the state, the one whose place in its stretch
// is most like tells. Stretches of one state that come again are likely the same code, so where a
// line ends in them is known better from all of them than from the samples of each. Where only the
// layer is the same, the next one tells.
constexpr size_t kAside = 8;
constexpr std::array<bool, kKeys> kByPlace = {true, true, true, false, true, false, false};

// What a key is of, in its lowest bits.
constexpr uint64_t kOfCall = 1, kOfPython = 2, kOfLayer = 3, kOfWork = 4, kOfPlace = 5,
                   kInOperation = 6, kOfHistory = 7, kOfPart = 0;

uint64_t Key(uint64_t a, uint64_t b, uint64_t of) {
  constexpr uint64_t kSpread = 0x9e3779b97f4a7c15;
  uint64_t mixed = (a ^ (a >> 29)) * kSpread + b;
  mixed = (mixed ^ (mixed >> 32)) * kSpread;
  return (mixed ^ (mixed >> 29)) << 3 | of;
}

// Those that reach into the window: a process has many, and each of its threads few of them.
std::vector<trace::Interval> In(const std::vector<trace::Interval>& times,
                                const trace::Interval& window) {
  const auto first = std::partition_point(
      times.begin(), times.end(), [&](const auto& time) { return time.end_ns <= window.begin_ns; });
  const auto last = std::partition_point(
      first, times.end(), [&](const auto& time) { return time.begin_ns < window.end_ns; });
  return {first, last};
}

}  // namespace

StateWalk::StateWalk(const ThreadView& thread)
    : cursor_(thread.trace, thread.track, thread.doing, thread.window),
      off_(In(thread.off, thread.window)),
      marks_(In(thread.marks, thread.window)),
      at_ns_(thread.window.begin_ns),
      end_ns_(thread.window.end_ns),
      edges_(thread.steps.begin_ns < thread.steps.end_ns
                 ? std::array{thread.steps.begin_ns, thread.steps.end_ns}
                 : std::array{INT64_MIN, INT64_MAX}) {
  now_.end_ns = at_ns_;
}

// The longest stretch behind now_ without a call of another name: operations cut no state.
LeadStretch StateWalk::TakeState() {
  LeadStretch out = has_ahead_ ? ahead_ : cursor_.At(now_.end_ns);
  has_ahead_ = false;
  while (out.end_ns < end_ns_) {
    ahead_ = cursor_.At(out.end_ns);
    has_ahead_ = true;
    const bool alike = !out.name.valid() && !ahead_.name.valid() && out.layer == ahead_.layer &&
                       out.doing == ahead_.doing && out.operation == ahead_.operation;
    if (!alike) break;
    out.end_ns = ahead_.end_ns;
    has_ahead_ = false;
  }
  return out;
}

std::array<uint64_t, kKeys> StateWalk::Keys(const StateStretch& stretch) const {
  const LeadStretch& state = stretch.state;
  constexpr uint64_t kWhatever = uint64_t{1} << 32;  // no name's
  const uint64_t next =
      stretch.cut ? kWhatever : (has_ahead_ ? ahead_.name : trace::NameId()).value;
  if (stretch.off || state.layer == trace::Layer::kOverhead) return {};
  const bool works = trace::IsOfHost(state.layer) && state.layer != trace::Layer::kIdle;
  const bool calls = state.name.valid();
  const uint64_t of_state =
      calls ? Key(state.name.value, 0, kOfCall) : Key(before_[0].value, next, kOfPython);
  const uint64_t of_layer = Key(static_cast<uint64_t>(state.layer), 0, kOfLayer);
  const uint64_t in_operation = Key(of_state, state.operation.value, kInOperation);
  const auto if_works = [works](uint64_t key) { return works ? key : uint64_t{0}; };
  std::array<uint64_t, kKeys> keys = {Key(in_operation, history_, kOfHistory),
                                      Key(in_operation, before_[calls ? 0 : 1].value, kOfPlace),
                                      in_operation,
                                      if_works(Key(of_layer, state.operation.value, kInOperation)),
                                      of_state,
                                      if_works(of_layer),
                                      if_works(kOfWork)};
  const uint64_t part = PartOf(stretch.begin_ns) << 1 | (stretch.marks ? 1 : 0);
  for (uint64_t& key : keys) {
    if (key != 0) key = Key(key, part, kOfPart);
  }
  return keys;
}

bool StateWalk::Next(StateStretch* stretch) {
  if (at_ns_ >= end_ns_) return false;
  if (at_ns_ >= now_.end_ns) {
    const bool collected = now_.doing == Doing::kCollecting;
    if (now_.name.valid() && !collected) {
      std::move_backward(before_.begin(), before_.end() - 1, before_.end());
      before_[0] = now_.name;
      history_ = 0;
      for (const trace::NameId name : before_) history_ = Key(history_, name.value, kOfHistory);
    }
    now_ = TakeState();
    const bool collects = has_ahead_ && ahead_.doing == Doing::kCollecting;
    cut_ = !now_.name.valid() && (collected || collects);
  }
  *stretch = {at_ns_, now_.end_ns, off_.At(at_ns_) != nullptr, marks_.At(at_ns_) != nullptr,
              cut_,   now_};
  stretch->end_ns = std::min({stretch->end_ns, off_.Until(at_ns_), marks_.Until(at_ns_)});
  for (const int64_t edge : edges_) {
    if (at_ns_ < edge) stretch->end_ns = std::min(stretch->end_ns, edge);
  }
  at_ns_ = stretch->end_ns;
  return true;
}

LineCursor::LineCursor(const ThreadView& thread, const std::vector<ThreadSample>& samples)
    : samples_(samples), end_ns_(thread.window.end_ns), walk_(thread) {
  now_.begin_ns = now_.end_ns = piece_.end_ns = thread.window.begin_ns;
  if (samples_.empty()) return;
  PlaceSamples();
  FindExit();
}

LineCursor::State* LineCursor::Find(uint64_t key) {
  if (key == 0 || states_.empty()) return nullptr;
  Slot& slot = slots_[(key >> 3) % slots_.size()];
  if (slot.key == key) return slot.state;
  const auto found = states_.find(key);
  slot = {key, found == states_.end() ? nullptr : &found->second};
  return slot.state;
}

void LineCursor::PlaceSamples() {
  StateStretch piece;
  size_t next = 0;
  const auto skip = [&] {
    while (next < samples_.size() && samples_[next].at_ns < piece.begin_ns) ++next;
    return next < samples_.size() && samples_[next].at_ns < piece.end_ns;
  };
  for (StateWalk walk = walk_; walk.Next(&piece);) {
    if (!skip()) continue;
    for (const uint64_t key : walk.Keys(piece)) {
      if (key != 0) states_.try_emplace(key);
    }
  }
  next = 0;
  std::vector<InStates> in_states(samples_.size());
  for (StateWalk walk = walk_; walk.Next(&piece);) {
    skip();
    const std::array<uint64_t, kKeys> keys = walk.Keys(piece);
    for (size_t level = 0; level < kKeys; ++level) {
      State* state = Find(keys[level]);
      if (state == nullptr) continue;
      for (size_t i = next; i < samples_.size() && samples_[i].at_ns < piece.end_ns; ++i) {
        const Place place = {samples_[i].at_ns - piece.begin_ns, piece.end_ns - piece.begin_ns};
        in_states[i][level] = {state, state->samples.size()};
        state->samples.push_back(static_cast<uint32_t>(i));
        state->at_ns.push_back(state->elapsed_ns + place.in_ns);
        state->places.push_back(place);
      }
      state->elapsed_ns += piece.end_ns - piece.begin_ns;
    }
  }
  for (size_t i = 0; i < samples_.size(); ++i) {
    lines_.push_back(samples_[i].cut ? LineNextTo(in_states[i]) : samples_[i].line);
  }
  for (const InStates& sample : in_states) variances_.push_back(VarianceOf(sample));
  for (auto& [key, state] : states_) {
    state.elapsed_ns = 0;
    FindMixed(&state);
  }
}

// Of the next ones to either side that have a line, the nearest that reaches so far, in the
// narrowest state that has one.
Line LineCursor::LineNextTo(const InStates& sample) const {
  for (size_t level = 0; level < kKeys; ++level) {
    const auto [state, i] = sample[level];
    if (state == nullptr) continue;
    const size_t end = std::min(state->samples.size(), i + kAside + 1);
    const ThreadSample* nearest = nullptr;
    int64_t least = INT64_MAX;
    for (size_t next = i - std::min(i, kAside); next < end; ++next) {
      const ThreadSample& other = samples_[state->samples[next]];
      const int64_t apart = std::abs(state->at_ns[next] - state->at_ns[i]);
      const bool tells =
          other.line.kind != LineKind::kNone && apart <= kReach[level] * other.covers_ns;
      if (tells && apart < least) nearest = &other, least = apart;
    }
    if (nearest != nullptr) return nearest->line;
  }
  return {};
}

void LineCursor::FindMixed(State* state) const {
  const size_t n = state->samples.size();
  state->mixed.resize(n);
  for (size_t i = 1; i < n; ++i) {
    if (lines_[state->samples[i]] == lines_[state->samples[i - 1]]) continue;
    // Between these two lies a change: for all that have both at their sides.
    const size_t first = i - std::min(i, kAside), end = std::min(n, i + kAside);
    for (size_t near = end; near > first && !state->mixed[near - 1]; --near) {
      state->mixed[near - 1] = true;
    }
  }
}

// Between two samples that differ the lines change once or many times: what is next to a sample may
// be at the lines of its neighbours, as many of them as differ. Who is alone in a state may have
// one line there or many: a wider one tells.
double LineCursor::VarianceOf(const InStates& sample) const {
  for (size_t level = 0; level < kKeys; ++level) {
    const auto [state, i] = sample[level];
    if (state == nullptr || state->samples.size() < 2) continue;
    const std::vector<int64_t>& at_ns = state->at_ns;
    const Line& line = lines_[state->samples[i]];
    const int64_t reach = kReach[level] * samples_[state->samples[i]].covers_ns;
    const bool first = i == 0, last = i + 1 == at_ns.size();
    const int differ = (!first && lines_[state->samples[i - 1]] != line) +
                       (!last && lines_[state->samples[i + 1]] != line);
    const auto before =
        static_cast<double>(first ? 2 * std::min(at_ns[i], reach) : at_ns[i] - at_ns[i - 1]);
    const auto behind = static_cast<double>(last ? 2 * std::min(state->elapsed_ns - at_ns[i], reach)
                                                 : at_ns[i + 1] - at_ns[i]);
    const int neighbours = first || last ? 1 : 2;
    return (before * before + behind * behind) / 2 * differ / neighbours;
  }
  return 0;
}

// While objects are freed samples have no stack; then the interpreter is no more, and there are
// none.
void LineCursor::FindExit() {
  const ThreadSample& last = samples_.back();
  if (last.line.kind != LineKind::kExit) return;
  native_exit_ns_ = last.at_ns + last.covers_ns + last.covers_ns / 2;
  for (auto sample = samples_.rbegin();
       sample != samples_.rend() && sample->line.kind == LineKind::kExit; ++sample) {
    exit_ns_ = sample->at_ns;
  }
}

// How unlike two places are is twice the larger of how far apart they are from the begin and from
// the end of their stretches.
LineCursor::Found LineCursor::Nearest(State* state, size_t level, const Place& now) const {
  const int64_t elapsed = state->elapsed_ns;
  const size_t n = state->samples.size();
  const auto sample = [&](size_t i) -> const ThreadSample& { return samples_[state->samples[i]]; };
  // The first instant that is nearer to the sample behind it.
  const auto next_begins = [&](size_t i) {
    return i + 1 == n ? INT64_MAX : (state->at_ns[i] + state->at_ns[i + 1]) / 2 + 1;
  };
  while (next_begins(state->nearest) <= elapsed) ++state->nearest;
  const size_t nearest = state->nearest;
  const auto reach = [&](size_t i) { return kReach[level] * sample(i).covers_ns; };
  const auto reaches = [&](size_t i) { return std::abs(elapsed - state->at_ns[i]) <= reach(i); };
  const bool by_place = kByPlace[level] && !piece_.cut && state->mixed[nearest];
  const size_t aside = by_place ? kAside : 0;
  size_t first = nearest - std::min(nearest, aside), end = std::min(n, nearest + aside + 1);
  if (kByPlace[level] && !reaches(nearest)) {  // the one on the other side may stand for more
    const bool before = state->at_ns[nearest] < elapsed;
    first = std::min(first, nearest - (!before && nearest > 0));
    end = std::max(end, std::min(n, nearest + before + 1));
  }
  int64_t until = next_begins(nearest);
  // The middle of its distance by place moves with the length of the stretch.
  const auto middle = [&](size_t i) {
    return 2 * state->places[i].in_ns + now.length_ns - state->places[i].length_ns;
  };
  // Of some in the same place, the next one by the clock tells.
  const auto apart = [&](size_t i) {
    const auto aside_of = static_cast<int64_t>(i > nearest ? i - nearest : nearest - i);
    return std::abs(now.length_ns - state->places[i].length_ns) + aside_of;
  };
  size_t best = n;
  int64_t least = 0;
  for (size_t i = first; i < end; ++i) {
    if (elapsed < state->at_ns[i] - reach(i)) until = std::min(until, state->at_ns[i] - reach(i));
    if (!reaches(i)) continue;
    const int64_t distance = std::abs(2 * now.in_ns - middle(i)) + apart(i);
    if (best < n && distance >= least && !(distance == least && middle(i) < middle(best))) continue;
    best = i, least = distance;
  }
  if (best == n) return {nullptr, until == INT64_MAX ? until : until - elapsed};
  until = std::min(until, state->at_ns[best] + reach(best) + 1);
  int64_t for_ns = until - elapsed;
  for (size_t i = first; i < end; ++i) {
    const int64_t behind = middle(i) - middle(best), more = apart(i) - apart(best);
    if (!reaches(i) || behind <= 0 || more >= behind) continue;
    // From there on that one is less unlike.
    const int64_t sum = middle(i) + middle(best) + more;
    for_ns = std::min(for_ns, (sum >= 0 ? sum / 4 : -((3 - sum) / 4)) + 1 - now.in_ns);
  }
  return {&sample(best), for_ns};
}

const LineStretch& LineCursor::At(int64_t at_ns) {
  while (now_.end_ns <= at_ns && now_.end_ns < end_ns_) Advance();
  return now_;
}

void LineCursor::Advance() {
  const int64_t at = now_.end_ns;
  if (piece_.end_ns <= at) {
    if (!walk_.Next(&piece_)) return;
    const std::array<uint64_t, kKeys> keys = walk_.Keys(piece_);
    for (size_t level = 0; level < kKeys; ++level) of_piece_[level] = Find(keys[level]);
  }
  const bool ours = piece_.state.layer == trace::Layer::kOverhead;
  const bool control = piece_.off || (piece_.marks && !ours);
  now_ = {at, piece_.end_ns, piece_.state, control, {}, nullptr, 0};
  const bool ends = at >= exit_ns_ && !piece_.off;
  if (at < exit_ns_) now_.end_ns = std::min(now_.end_ns, exit_ns_);
  if (at < native_exit_ns_) now_.end_ns = std::min(now_.end_ns, native_exit_ns_);
  const bool preempted = piece_.state.doing == Doing::kPreempted;
  if (preempted) now_.line = {LineKind::kPreempted, {}};
  for (size_t level = 0; level < kKeys && !preempted; ++level) {
    State* const state = of_piece_[level];
    if (state == nullptr) continue;
    const Found found =
        Nearest(state, level, {at - piece_.begin_ns, piece_.end_ns - piece_.begin_ns});
    if (found.for_ns < now_.end_ns - at) now_.end_ns = at + found.for_ns;
    if (found.sample == nullptr) continue;
    now_.sample = found.sample;
    const auto told_by = static_cast<size_t>(found.sample - samples_.data());
    now_.line = lines_[told_by];
    now_.variance = variances_[told_by];
    break;
  }
  if (ends) now_.line = {at < native_exit_ns_ ? LineKind::kExit : LineKind::kNativeExit, {}};
  for (State* state : of_piece_) {
    if (state != nullptr) state->elapsed_ns += now_.end_ns - at;
  }
}

}  // namespace crosscut::analyze
