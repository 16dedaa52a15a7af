#include "src/runtime/sources.h"

#include <stdio.h>
#include <string.h>

#include "src/collect/clock.h"
#include "src/collect/recorder.h"
#include "src/collect/scratch.h"
#include "src/host/registry.h"
#include "src/runtime/error.h"

namespace crosscut::record {
namespace {

// The table `sources` travels as facts: "source:<name>:<field>".
void WriteField(const char* name, const char* field, const char* value) {
  char key[128];
  snprintf(key, sizeof key, "source:%s:%s", name, field);
  (void)Recorder::Get().stream().WriteMeta(key, value);
}

}  // namespace

void Sources::Write(const ProbeCost& cost) {
  uint64_t payload[6] = {cost.probe};
  memcpy(payload + 1, cost.figures, sizeof cost.figures);
  (void)Recorder::Get().stream().Write(ClockNow(), format::kProbeCost, payload, 6);
}

void Sources::Write(const Known& known) {
  WriteField(known.name, "version", known.version);
  WriteField(known.name, "state", known.state);
  WriteField(known.name, "message", known.message);
}

int Sources::Add(const crosscut_source& source, int level) {
  int index = 0;
  while (index < kMostSources && sources_[index].handle != 0) ++index;
  if (index == kMostSources) {
    (void)Fail(CROSSCUT_ENOMEM, "there is no room for more than %d sources", kMostSources);
    return 0;
  }
  Source& slot = sources_[index];
  slot = {};
  snprintf(slot.name, sizeof slot.name, "%s", source.name);
  slot.self = source.self;
  slot.set_level = source.set_level;
  slot.calibrate = source.calibrate;
  slot.level = CROSSCUT_LEVEL_CONTROL;
  slot.handle = next_handle_++;
  SetOne(&slot, level);
  return slot.handle;
}

void Sources::Remove(int handle) {
  for (Source& source : sources_) {
    if (handle == 0 || source.handle != handle) continue;
    SetOne(&source, CROSSCUT_LEVEL_CONTROL);
    source.handle = 0;
  }
}

void Sources::Begin() {
  in_control_.store(false);
  level_when_on_.store(CROSSCUT_LEVEL_EVERYTHING);
}

void Sources::Set(int level) {
  for (Source& source : sources_) {
    if (source.handle != 0) SetOne(&source, level);
  }
  host::Registry::Get().SetLevel(static_cast<uint32_t>(level));
}

void Sources::EnterControl() {
  in_control_.store(true);
  Set(CROSSCUT_LEVEL_CONTROL);
}

void Sources::SetWhenOn(int level) {
  level_when_on_ = level;
  Set(level);
}

void Sources::Withdraw() {
  if (in_control_.exchange(false)) {
    for (Source& source : sources_) source.level = CROSSCUT_LEVEL_BOUNDARY;
  }
  Set(CROSSCUT_LEVEL_CONTROL);
}

void Sources::AfterFork() {
  const pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  memcpy(&known_mutex_, &mutex, sizeof mutex);
  in_control_.store(false);
}

void Sources::ProbeCosts(const ProbeCost& cost) {
  const uint32_t at = cost_count_.fetch_add(1);
  if (at < kMostCosts) costs_[at] = cost;
  Write(cost);
}

void Sources::Tell(const char* name, const char* version, const char* state, const char* message,
                   bool log_is_open) {
  pthread_mutex_lock(&known_mutex_);
  int index = 0;
  while (index < kMostSources && known_[index].name[0] != '\0' &&
         strcmp(known_[index].name, name) != 0) {
    ++index;
  }
  Known overflow = {};
  Known& known = index < kMostSources ? known_[index] : overflow;
  snprintf(known.name, sizeof known.name, "%s", name);
  if (version != nullptr) snprintf(known.version, sizeof known.version, "%s", version);
  if (state != nullptr) snprintf(known.state, sizeof known.state, "%s", state);
  if (message != nullptr) snprintf(known.message, sizeof known.message, "%s", message);
  const Known now = known;
  pthread_mutex_unlock(&known_mutex_);
  if (log_is_open) Write(now);
}

void Sources::Holds(const char* name, bool holds) { WriteField(name, "holds", holds ? "1" : ""); }

void Sources::WriteWhatIsKnown() {
  for (const ProbeCost& cost : costs_) {
    if (cost.probe != 0) Write(cost);
  }
  pthread_mutex_lock(&known_mutex_);
  for (const Known& known : known_) {
    if (known.name[0] != '\0') Write(known);
  }
  pthread_mutex_unlock(&known_mutex_);
  host::Registry::Get().Republish();
}

void Sources::SetOne(Source* source, int level) {
  if (source->level == level) return;
  if (level != CROSSCUT_LEVEL_CONTROL && !source->calibrated && source->calibrate != nullptr) {
    // Once per process, and nothing that it marks is recorded.
    source->calibrated = true;
    crosscut_thread* real = SuspendThisThread();
    source->calibrate(source->self);
    crosscut_this_thread = real;
  }
  source->level = level;
  const int error = source->set_level(source->self, static_cast<crosscut_level>(level));
  if (error == 0) return;
  char text[64];
  snprintf(text, sizeof text, "set_level(%d) returned %d", level, error);
  crosscut_source_state(source->name, "", "failed", text);
}

}  // namespace crosscut::record
