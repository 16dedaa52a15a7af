#include "src/runtime/steps.h"

#include <math.h>
#include <string.h>

#include <new>

#include "crosscut/crosscut.h"
#include "src/collect/clock.h"
#include "src/collect/recorder.h"

namespace crosscut::record {
namespace {

uint32_t InternKind(const char* text, format::Kind kind) {
  const format::NameAttributes probe{format::kKindText, format::kLayerNone, 0, 0};
  format::NameAttributes attributes{kind, format::kLayerNone, format::kFlagNoLayer, 0};
  if (kind == format::kKindStep)
    attributes.probe = Recorder::Get().stream().Intern("step", probe.Pack());
  return Recorder::Get().stream().Intern(text, attributes.Pack());
}

// False where nothing is recorded.
bool Begin(uint64_t tick, uint32_t name) {
  const uint64_t payload = name;
  return (name <= format::kLastNameCode
              ? Recorder::Get().MarkAlways(tick, name, nullptr, 0)
              : Recorder::Get().MarkAlways(tick, format::kBeginWide, &payload, 1)) != 0;
}

uint32_t InternOwn(const char* text) {
  const format::NameAttributes attributes{format::kKindSpan, format::kLayerOverhead, 0, 0};
  return Recorder::Get().stream().Intern(text, attributes.Pack());
}

uint32_t SwitchName() {
  static const uint32_t name = InternOwn("step plan: switch");
  return name;
}

// Shorter edges cost less than is worth a span.
constexpr double kLongEdgeNs = 50'000;

}  // namespace

bool Steps::SetPlan(const Settings& settings) {
  const Plan* plan = plans_;
  while (plan != nullptr && !(plan->seed == settings.seed && plan->budget == settings.budget &&
                              memcmp(&plan->shares, &settings.shares, sizeof plan->shares) == 0)) {
    plan = plan->older;
  }
  if (plan == nullptr) {
    auto* made =
        new (std::nothrow) Plan{{}, settings.shares, settings.seed, settings.budget, plans_};
    if (made == nullptr) return false;
    made->steps.Set(settings.seed, settings.shares);
    plans_ = plan = made;
  }
  plan_.store(plan, std::memory_order_release);
  plans_set_.fetch_add(1);
  return true;
}

bool Steps::Enter(uint64_t* step) {
  const bool entered = !beginning_.exchange(true);
  *step = next();
  return entered;
}

void Steps::Skip() {
  pieces_.Drop();
  beginning_.store(false);
}

format::StepLevel Steps::Level(uint64_t step, uint64_t tick, int level_before, bool recording) {
  const uint32_t set = plans_set_.load();
  const Plan* plan = plan_.load(std::memory_order_acquire);
  if (set != plans_seen_) {
    plans_seen_ = set;
    budget_.Set(plan->seed, plan->budget, ClockNsPerTick());
    pieces_.Set(ClockNsPerTick());
  }
  const format::StepLevel planned = plan->steps.LevelOf(step);
  if (!budget_.limits()) return planned;
  const bool whole = pieces_.under_way() && !paused_.exchange(false);
  if (!whole || !recording) pieces_.Drop();
  if (!recording) return planned;
  const uint64_t words = Recorder::WordsOfThisThread();
  if (whole) {
    pieces_.StepEnded(static_cast<format::StepLevel>(level_before), switched_);
    if (pieces_.due(tick, step)) budget_.Ended(pieces_.Take(tick, words));
  } else {
    pieces_.Begin(tick, words);
  }
  if (StepBudget::RunOf(step).begins) budget_.Waited(pieces_.TakeRunDelay());
  const format::StepLevel level = budget_.LevelFor(step, planned);
  const bool changes = level != static_cast<format::StepLevel>(level_before);
  if (changes && pieces_.steps() > 0) budget_.Ended(pieces_.Take(tick, words));
  return level;
}

void Steps::MarkBegin(uint64_t tick, uint32_t kind) {
  if (Recorder::Get().stream().KindOf(kind).kind != format::kKindStep) {
    kind = usual_name_.load();
    if (kind == 0) usual_name_.store(kind = InternKind("step", format::kKindStep));
  }
  running_ = kind;
  if (!Begin(tick, kind)) running_.compare_exchange_strong(kind, 0);
}

void Steps::MarkSwitch(uint64_t tick) { (void)Begin(tick, SwitchName()); }

void Steps::MarkSwitched() { crosscut_end_named(SwitchName()); }

void Steps::MarkLongEdge(uint64_t begin) {
  if (static_cast<double>(ClockNow() - begin) * ClockNsPerTick() < kLongEdgeNs) return;
  static const uint32_t name = InternOwn("step plan: edge");
  if (Begin(begin, name)) crosscut_end_named(name);
}

void Steps::MarkBeside(uint64_t tick, uint64_t step, int level) {
  const uint64_t payload[2] = {step, static_cast<uint64_t>(level)};
  (void)Recorder::Get().MarkAlways(tick, format::kStepLevel, payload, 2);
}

void Steps::MarkLevel(uint64_t tick, uint64_t step, int level, bool switched) {
  switched_ = switched;
  if (switched && budget_.limits()) pieces_.Switched(ClockNow());
  MarkBeside(tick, step, level | (switched ? static_cast<int>(format::kStepAfterSwitch) : 0));
  beginning_.store(false);
}

void Steps::MarkWhole(uint64_t tick) {
  uint64_t next;
  if (!Enter(&next)) return;
  if (running_ != 0 && next != 0) {
    MarkBeside(tick, next - 1, format::kLevelEverything | int{format::kStepAfterSwitch});
  }
  Skip();
}

void Steps::End() {
  const uint64_t payload = running_.exchange(0);
  if (payload != 0) (void)Recorder::Get().MarkAlways(0, format::kEndNamed, &payload, 1);
}

void Steps::BeginPhase(const char* name) {
  if (name != nullptr) {
    const uint32_t phase = InternKind(name, format::kKindPhase);
    phase_.store(phase);
    if (phase != 0) (void)Begin(ClockNow(), phase);
    return;
  }
  const uint64_t payload = phase_.exchange(0);
  if (payload != 0) (void)Recorder::Get().MarkAlways(0, format::kEndNamed, &payload, 1);
}

void Steps::Stop(bool counts_on) {
  if (!counts_on) next_.store((next_.load() | kNumber) + 1);
  running_ = 0;
  phase_ = 0;
}

void Steps::AfterFork() {
  beginning_.store(false);
  Stop(/*counts_on=*/false);
}

void MarkLead() {
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
  (void)Recorder::Get().stream().WriteMeta("lead_track", at);
}

void MarkProgress(double fraction) {
  if (!(fraction >= 0 && fraction <= 1)) return crosscut_value_lost();
  static const uint32_t name = [] {
    const format::NameAttributes attributes{format::kKindSpan, format::kLayerNone, 0, 0};
    return Recorder::Get().stream().Intern("crosscut.progress", attributes.Pack());
  }();
  const uint64_t payload[2] = {name, static_cast<uint64_t>(llround(fraction * 1e9))};
  if (name != 0) (void)Recorder::Get().MarkAlways(0, format::kCounter, payload, 2);
}

}  // namespace crosscut::record
