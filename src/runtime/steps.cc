// Steps, phases, and the step plan at work.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/collect/clock.h"
#include "src/runtime/session.h"

namespace crosscut::record {
namespace {

uint32_t InternKind(const char* text, format::Kind kind) {
  const format::NameAttributes probe{format::kKindText, format::kLayerNone, 0, 0};
  format::NameAttributes attributes{kind, format::kLayerNone, format::kFlagNoLayer, 0};
  if (kind == format::kKindStep) attributes.probe = Recorder::Get().Intern("step", probe.Pack());
  return Recorder::Get().Intern(text, attributes.Pack());
}

void MarkBegin(uint64_t tick, uint32_t name) {
  const uint64_t payload = name;
  if (name <= format::kLastNameCode) {
    (void)Recorder::Get().MarkAlways(tick, name, nullptr, 0);
  } else {
    (void)Recorder::Get().MarkAlways(tick, format::kBeginWide, &payload, 1);
  }
}

// The span of putting hooks in place or withdrawing them: work of ours, on this thread.
uint32_t SwitchName() {
  static const uint32_t name = [] {
    const format::NameAttributes attributes{format::kKindSpan, format::kLayerOverhead, 0, 0};
    return Recorder::Get().Intern("step plan: switch", attributes.Pack());
  }();
  return name;
}

}  // namespace

void Session::SetPlan(const Settings& settings) {
  plan_.Set(settings.seed, settings.shares);
  budget_.Set(settings.seed, settings.budget, ClockNsPerTick());
  step_tick_ = 0;
}

// Also tells the budget of the step that ends.
format::StepLevel Session::LevelOf(uint64_t step, uint64_t tick, int level_before) {
  const format::StepLevel planned = plan_.LevelOf(step);
  if (!budget_.limits()) return planned;
  const uint64_t words = Recorder::WordsOfThisThread();
  if (step_tick_ != 0 && state() == kRecording) {
    const uint64_t written = words > step_words_ ? words - step_words_ : 0;
    budget_.Ended({static_cast<format::StepLevel>(level_before), step_switched_,
                   static_cast<double>(tick - step_tick_), static_cast<double>(written)});
  }
  step_tick_ = state() == kRecording ? tick : 0;
  step_words_ = words;
  return budget_.LevelFor(step, planned);
}

uint64_t Session::Step(uint32_t kind) {
  const bool armed = on_demand_.armed();
  if (state() == kOff && !armed) {
    if (!crosscut_recording()) return 0;
    (void)Recorder::Get().TrackOfThisThread();  // a forked child: opens its log
    if (state() == kOff) return 0;
  }
  if (in_step_.exchange(true)) return next_step_.load();  // another thread is just doing it
  const uint64_t step = next_step_.load();
  if (armed) on_demand_.AtStep(step);
  next_step_.fetch_add(1);
  if (state() == kOff) {
    step_tick_ = 0;  // the time between windows is no step's
    in_step_.store(false);
    return step;
  }
  const bool was_control = in_control_.load();
  const int level_before = was_control ? int{CROSSCUT_LEVEL_CONTROL} : level_when_on_.load();
  if (Recorder::Get().KindOf(kind).kind != format::kKindStep) {
    if (step_name_ == 0) step_name_ = InternKind("step", format::kKindStep);
    kind = step_name_;
  }
  // The edge comes first: what switching costs belongs to the step that counts in no comparison.
  const uint64_t tick = ClockNow();
  const int level = LevelOf(step, tick, level_before);
  running_step_ = kind;
  MarkBegin(tick, kind);
  bool switched = false;
  if (level != level_before && state() == kRecording) switched = SwitchTo(level, tick);
  step_switched_ = switched;
  const int now_level = in_control_.load() ? int{CROSSCUT_LEVEL_CONTROL} : level_when_on_.load();
  const uint64_t payload[2] = {
      step, static_cast<uint64_t>(now_level) | (switched ? format::kStepAfterSwitch : 0)};
  (void)Recorder::Get().MarkAlways(tick, format::kStepLevel, payload, 2);
  in_step_.store(false);
  return step;
}

// Off: hooks withdrawn first, so that what they do on leaving is still recorded; on: the other way
// round. Skipped where a start or stop is under way: the next step tries again.
bool Session::SwitchTo(int level, uint64_t step_tick) {
  const Transition transition(this, /*wait=*/false);
  if (!transition || state() != kRecording) return false;
  if (level == CROSSCUT_LEVEL_CONTROL) {
    in_control_.store(true);
    SetSources(level);
    Recorder::Get().SetPhase(Phase::kHidden, ClockNow());
    return true;
  }
  if (in_control_.load()) {
    Recorder::Get().SetPhase(Phase::kOn, step_tick);
    in_control_.store(false);
  }
  level_when_on_ = level;
  MarkBegin(step_tick, SwitchName());
  SetSources(level);
  crosscut_end_named(SwitchName());
  return true;
}

void Session::StepEnd() {
  const uint64_t payload = state() == kOff ? 0 : running_step_.exchange(0);
  if (payload == 0) return;
  (void)Recorder::Get().MarkAlways(0, format::kEndNamed, &payload, 1);
}

void Session::Lead() {
  const uint32_t track = Recorder::Get().TrackOfThisThread();
  if (track == 0) return;
  char number[16];
  char* at = number + sizeof number;
  uint32_t left = track;
  *--at = '\0';
  do {
    *--at = static_cast<char>('0' + left % 10);
    left /= 10;
  } while (left != 0);
  (void)Recorder::Get().WriteMeta("lead_track", at);
}

void Session::NameProcess(const char* name) {
  snprintf(process_name_, sizeof process_name_, "%s", name);
  if (state() != kOff) (void)Recorder::Get().WriteMeta("process_name", name);
}

void Session::BeginPhase(const char* name) {
  if (state() == kOff) return;
  if (name != nullptr) {
    phase_name_ = InternKind(name, format::kKindPhase);
    if (phase_name_ != 0) MarkBegin(ClockNow(), phase_name_);
    return;
  }
  const uint64_t payload = phase_name_;
  phase_name_ = 0;
  if (payload != 0) (void)Recorder::Get().MarkAlways(0, format::kEndNamed, &payload, 1);
}

// A counter, in parts of 10^9, by which the table `progress` finds it.
void Session::Progress(double fraction) {
  if (state() == kOff) return;
  if (!(fraction >= 0 && fraction <= 1)) return crosscut_value_lost();
  static const uint32_t name = [] {
    const format::NameAttributes attributes{format::kKindSpan, format::kLayerNone, 0, 0};
    return Recorder::Get().Intern("crosscut.progress", attributes.Pack());
  }();
  const uint64_t payload[2] = {name, static_cast<uint64_t>(llround(fraction * 1e9))};
  if (name != 0) (void)Recorder::Get().MarkAlways(0, format::kCounter, payload, 2);
}

}  // namespace crosscut::record
