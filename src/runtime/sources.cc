// Sources: who produces spans by hooks, and at which level each of them is.
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "src/collect/clock.h"
#include "src/host/registry.h"
#include "src/runtime/error.h"
#include "src/runtime/session.h"

namespace crosscut::record {
namespace {

void WriteCost(const ProbeCost& cost) {
  uint64_t payload[6] = {cost.probe};
  memcpy(payload + 1, cost.figures, sizeof cost.figures);
  (void)Recorder::Get().WriteSession(ClockNow(), format::kProbeCost, payload, 6);
}

// The table `sources` travels as facts: "source:<name>:<field>".
void WriteField(const char* name, const char* field, const char* value) {
  char key[128];
  snprintf(key, sizeof key, "source:%s:%s", name, field);
  (void)Recorder::Get().WriteMeta(key, value);
}

void Write(const SourceState& source) {
  WriteField(source.name, "version", source.version);
  WriteField(source.name, "state", source.state);
  WriteField(source.name, "message", source.message);
}

}  // namespace

int Session::AddSource(const crosscut_source* source) {
  if (source == nullptr || source->struct_size < sizeof(crosscut_source) ||
      source->set_level == nullptr || source->name == nullptr) {
    (void)Fail(CROSSCUT_EINVAL, "a source needs struct_size, name and set_level");
    return 0;
  }
  const Transition transition(this);
  if (!transition) {
    (void)Fail(CROSSCUT_ERUNNING, "a source cannot be added inside a switch");
    return 0;
  }
  int index = 0;
  while (index < kMaxSources && sources_[index].handle != 0) ++index;
  if (index == kMaxSources) {
    (void)Fail(CROSSCUT_ENOMEM, "more than %d sources", kMaxSources);
    return 0;
  }
  Source& slot = sources_[index];
  slot = {};
  snprintf(slot.name, sizeof slot.name, "%s", source->name);
  slot.self = source->self;
  slot.set_level = source->set_level;
  slot.calibrate = source->calibrate;
  slot.level = CROSSCUT_LEVEL_CONTROL;
  slot.handle = next_handle_++;
  if (state() == kRecording && !in_control_.load()) SetOneSource(index, level_when_on_);
  return slot.handle;
}

void Session::RemoveSource(int handle) {
  const Transition transition(this);
  if (!transition) return;
  for (int i = 0; i < kMaxSources; ++i) {
    if (handle == 0 || sources_[i].handle != handle) continue;
    SetOneSource(i, CROSSCUT_LEVEL_CONTROL);
    sources_[i].handle = 0;
  }
}

void Session::ProbeCosts(const ProbeCost& cost) {
  const uint32_t at = cost_count_.fetch_add(1);
  if (at < kMaxCosts) costs_[at] = cost;
  WriteCost(cost);
}

void Session::TellSource(const char* name, const char* version, const char* state,
                         const char* message) {
  pthread_mutex_lock(&told_mutex_);
  int index = 0;
  while (index < kMaxSources && told_[index].name[0] != '\0' &&
         strcmp(told_[index].name, name) != 0) {
    ++index;
  }
  SourceState overflow = {};
  SourceState& told = index < kMaxSources ? told_[index] : overflow;
  snprintf(told.name, sizeof told.name, "%s", name);
  if (version != nullptr) snprintf(told.version, sizeof told.version, "%s", version);
  if (state != nullptr) snprintf(told.state, sizeof told.state, "%s", state);
  if (message != nullptr) snprintf(told.message, sizeof told.message, "%s", message);
  const SourceState now = told;
  pthread_mutex_unlock(&told_mutex_);
  if (this->state() != kOff || on_demand_.armed()) Write(now);
}

void Session::WriteWhatIsKnown() {
  for (const ProbeCost& cost : costs_) {
    if (cost.probe != 0) WriteCost(cost);
  }
  pthread_mutex_lock(&told_mutex_);
  for (const SourceState& told : told_) {
    if (told.name[0] != '\0') Write(told);
  }
  pthread_mutex_unlock(&told_mutex_);
  host::Registry::Get().Republish();
}

void Session::SetSources(int level) {
  for (int i = 0; i < kMaxSources; ++i) {
    if (sources_[i].handle != 0) SetOneSource(i, level);
  }
  host::Registry::Get().SetLevel(static_cast<uint32_t>(level));
}

// Also what a control step left in place.
void Session::WithdrawSources() {
  if (in_control_.exchange(false)) {
    for (Source& source : sources_) source.level = CROSSCUT_LEVEL_BOUNDARY;
  }
  SetSources(CROSSCUT_LEVEL_CONTROL);
}

void Session::SetOneSource(int index, int level) {
  Source& source = sources_[index];
  if (source.level == level) return;
  if (level != CROSSCUT_LEVEL_CONTROL && !source.calibrated && source.calibrate != nullptr) {
    // Once per process, and nothing that it marks is recorded.
    source.calibrated = true;
    crosscut_thread* real = Recorder::SuspendThisThread();
    source.calibrate(source.self);
    crosscut_this_thread = real;
  }
  source.level = level;
  const int error = source.set_level(source.self, static_cast<crosscut_level>(level));
  if (error == 0) return;
  char text[64];
  snprintf(text, sizeof text, "set_level(%d) returned %d", level, error);
  crosscut_source_state(source.name, "", "failed", text);
}

}  // namespace crosscut::record
