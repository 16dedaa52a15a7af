#include "src/runtime/sources.h"

#include <stdio.h>
#include <string.h>

#include "src/collect/clock.h"
#include "src/collect/recorder.h"
#include "src/collect/scratch.h"
#include "src/host/guarded_call.h"
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
  Source* slot = nullptr;
  {
    const Lock lock(&mutex_);
    for (Source& free : sources_) {
      if (free.handle == 0 && !free.called) slot = &free;
    }
    if (slot == nullptr) {
      (void)Fail(CROSSCUT_ENOMEM, "there is no room for more than %d sources", kMostSources);
      return 0;
    }
    *slot = {};
    snprintf(slot->name, sizeof slot->name, "%s", source.name);
    slot->self = source.self;
    slot->set_level = source.set_level;
    slot->calibrate = source.calibrate;
    constexpr size_t kWithMarks = offsetof(crosscut_source, marks) + sizeof source.marks;
    slot->marks = source.struct_size >= kWithMarks && source.marks != 0;
    slot->level = CROSSCUT_LEVEL_CONTROL;
    slot->handle = next_handle_++;
  }
  const int handle = slot->handle;
  SetOne(slot, level);
  return handle;
}

void Sources::Remove(int handle) {
  Source removed = {};
  {
    const Lock lock(&mutex_);
    for (Source& source : sources_) {
      const auto called_elsewhere = [&source] {
        return source.called && pthread_equal(source.caller, pthread_self()) == 0;
      };
      while (handle != 0 && source.handle == handle && called_elsewhere()) {
        returned_.Wait(&mutex_, -1);
      }
      if (handle == 0 || source.handle != handle) continue;
      source.handle = 0;
      if (!source.called) removed = source;
    }
  }
  if (removed.level != CROSSCUT_LEVEL_CONTROL) Call(removed, CROSSCUT_LEVEL_CONTROL, false);
}

void Sources::Set(int level) {
  for (Source& source : sources_) SetOne(&source, level);
  const int of_plugins = level == CROSSCUT_LEVEL_MARKS ? int{CROSSCUT_LEVEL_BOUNDARY} : level;
  host::Registry::Get().SetLevel(static_cast<uint32_t>(of_plugins));
}

void Sources::SetWhenOn(int level) {
  level_when_on_ = level;
  Set(level);
}

void Sources::Withdraw(bool from_control) {
  {
    const Lock lock(&mutex_);
    for (Source& source : sources_) {
      // One that knows no marks has what it had left in a control step before.
      if (from_control || !source.marks) source.level = CROSSCUT_LEVEL_BOUNDARY;
    }
  }
  Set(CROSSCUT_LEVEL_CONTROL);
}

void Sources::AfterFork() {
  for (Source& source : sources_) source.called = false;
}

void Sources::SetOne(Source* source, int level) {
  Source copy;
  bool calibrate = false;
  {
    const Lock lock(&mutex_);
    if (level == CROSSCUT_LEVEL_MARKS && !source->marks) level = CROSSCUT_LEVEL_CONTROL;
    if (source->handle == 0 || source->level == level) return;
    calibrate =
        level != CROSSCUT_LEVEL_CONTROL && !source->calibrated && source->calibrate != nullptr;
    source->calibrated |= calibrate;
    source->level = level;
    source->called = true;
    source->caller = pthread_self();
    copy = *source;
  }
  Call(copy, level, calibrate);
  {
    const Lock lock(&mutex_);
    source->called = false;
  }
  returned_.NotifyAll();
}

// Calibrates once per process, and nothing that it marks is recorded.
void Sources::Call(const Source& source, int level, bool calibrate) {
  struct Argument {
    const Source* source;
    int level;
    int error;
  } argument = {&source, level, 0};
  char what[128];
  bool returned = true;
  if (calibrate) {
    crosscut_thread* real = SuspendThisThread();
    returned = host::GuardedCall(
        [](void* self) {
          const Source* of = static_cast<Argument*>(self)->source;
          of->calibrate(of->self);
        },
        &argument, what, sizeof what);
    crosscut_this_thread = real;
  }
  returned = returned && host::GuardedCall(
                             [](void* self) {
                               auto* a = static_cast<Argument*>(self);
                               a->error = a->source->set_level(
                                   a->source->self, static_cast<crosscut_level>(a->level));
                             },
                             &argument, what, sizeof what);
  if (returned && argument.error == 0) return;
  char text[192];
  if (returned) {
    snprintf(text, sizeof text, "set_level(%d) returned %d", level, argument.error);
  } else {
    snprintf(text, sizeof text, "it threw an exception: %s", what);
  }
  crosscut_source_state(source.name, "", "failed", text);
}

void Sources::ProbeCosts(const ProbeCost& cost) {
  bool kept = false;
  {
    const Lock lock(&mutex_);
    ProbeCost* place = costs_;
    while (place < costs_ + cost_count_ && place->probe != cost.probe) ++place;
    kept = place < costs_ + kMostCosts;
    if (kept) *place = cost;
    if (place == costs_ + cost_count_ && kept) ++cost_count_;
  }
  Write(cost);
  if (!kept) crosscut_source_state("probes", "", "failed", "more than 128 kinds have a cost");
}

void Sources::Tell(const char* name, const char* version, const char* state, const char* message,
                   bool log_is_open) {
  Known now;
  {
    const Lock lock(&mutex_);
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
    now = known;
  }
  if (log_is_open) Write(now);
}

void Sources::Holds(const char* name, bool holds) { WriteField(name, "holds", holds ? "1" : ""); }

// Written without the lock: the log may have to make room.
void Sources::WriteWhatIsKnown() {
  for (uint32_t i = 0; i < kMostCosts; ++i) {
    ProbeCost cost = {};
    {
      const Lock lock(&mutex_);
      cost = costs_[i];
    }
    if (cost.probe != 0) Write(cost);
  }
  for (int i = 0; i < kMostSources; ++i) {
    Known known;
    {
      const Lock lock(&mutex_);
      known = known_[i];
    }
    if (known.name[0] != '\0') Write(known);
  }
  host::Registry::Get().Republish();
}

}  // namespace crosscut::record
