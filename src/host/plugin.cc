#include "src/host/plugin.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <initializer_list>
#include <span>

#include "src/base/time.h"
#include "src/collect/recorder.h"
#include "src/collect/scratch.h"
#include "src/host/collect_buffer.h"
#include "src/host/guarded_call.h"
#include "src/host/hygiene.h"
#include "src/host/pjrt.h"
#include "src/host/status.h"

namespace crosscut::host {
namespace {

constexpr int kMostQueries = 3;  // of the size, where the data grows meanwhile

// libcrosscut_opencl.so.1 is "opencl", libdemo.so is "demo".
void NameOf(const char* path, char* out, size_t bytes) {
  const char* base = strrchr(path, '/');
  base = base == nullptr ? path : base + 1;
  for (const char* prefix : {"lib", "crosscut_"}) {
    if (strncmp(base, prefix, strlen(prefix)) == 0) base += strlen(prefix);
  }
  snprintf(out, bytes, "%.60s", base);
  if (char* end = strstr(out, ".so")) *end = '\0';
}

const char* OptionsOf(const char* file) {
  const char* comma = strchr(file, ',');
  return comma == nullptr ? "" : comma + 1;
}

// TensorFlow's DeviceType, and the types that plugins give themselves: a bit for each that has
// them.
enum : uint8_t { kGpu = 1, kTpu = 2, kPluggable = 4 };
struct Types {
  const char* name;
  uint8_t are;
};
// GetPjrtApi does not say what its devices are. CUDA, ROCm and TPUs are built into TensorFlow.
constexpr Types kTypes[] = {{"CUDA", kGpu},
                            {"ROCM", kGpu},
                            {"TPU", kTpu},
                            {"GPU", kGpu | kPluggable},
                            {"OPENCL", kGpu | kPluggable},
                            {"PJRT", kGpu | kTpu | kPluggable}};
constexpr Types kAsked[] = {
    {"CPU", 0}, {"GPU", kGpu}, {"TPU", kTpu}, {"PLUGGABLE_DEVICE", kPluggable}};

const Types* Find(std::span<const Types> types, const char* name) {
  for (const Types& one : types) {
    if (strcasecmp(one.name, name) == 0) return &one;
  }
  return nullptr;
}

}  // namespace

bool Gate::Wants(const char* plugin_type) const {
  if (device_tracer_level == 0) return false;
  if (device_type[0] == '\0' || strcasecmp(device_type, "unspecified") == 0) return true;
  const Types* asked = Find(kAsked, device_type);
  if (asked == nullptr) return strcasecmp(device_type, plugin_type) == 0;
  const Types* known = Find(kTypes, plugin_type);
  int are = kPluggable;
  if (known != nullptr) are = known->are;
  return (asked->are & are) != 0;
}

Plugin::Plugin(const char* file, const Surroundings* around)
    : around_(around), pushes_(name_, OptionsOf(file), &around->hooks) {
  snprintf(file_, sizeof file_, "%.*s", static_cast<int>(strcspn(file, ",")), file);
  NameOf(file_, name_, sizeof name_);
}

// ---- Any thread ---------------------------------------------------------------------------------

bool Plugin::Begin() {
  outstanding_.store(1);  // the load
  // The program's signals are the program's. What a fault of the plugin's own raises stays with it.
  sigset_t all, before;
  sigfillset(&all);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) {
    sigdelset(&all, fault);
  }
  pthread_sigmask(SIG_SETMASK, &all, &before);
  has_thread_.store(true);
  const int error = pthread_create(&thread_, nullptr, &Plugin::Main, this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error == 0) {
    const record::Lock lock(&mutex_);  // until anybody may count the program's threads
    while (!is_named_) posted_.Wait(&mutex_, -1);
    return pthread_detach(thread_) == 0;
  }
  outstanding_.store(0);
  has_thread_.store(false);
  Quarantine("failed", "no thread could be had for it");
  return false;
}

void Plugin::Post(Command command) {
  if (quarantined_.load() || (ending_.load() && command != kEnd)) return;
  const record::Lock lock(&mutex_);
  if (command_count_ < kCommands) {
    commands_[command_count_++] = command;
    outstanding_.fetch_add(1);
  }
  posted_.NotifyAll();
}

bool Plugin::Busy() {
  if (Overdue()) {
    char why[128];
    snprintf(why, sizeof why, "%s did not return in time: it is left alone from now on",
             kCallNames[call_.load()]);
    Quarantine("failed", why);
  }
  return (!quarantined_.load() && outstanding_.load() != 0) || quarantining_.load() != 0;
}

bool Plugin::Overdue() const {
  return !quarantined_.load() && call_.load() != kNone &&
         base::MonotonicNs() > call_ends_ns_.load();
}

void Plugin::End() {
  ending_.store(true);
  Post(kEnd);
}

template <class Body>
void Plugin::CallHere(const char* function, Body body) {
  called_here_.fetch_add(1);
  if (!quarantined_.load() && !ending_.load()) {
    char what[128];
    if (!GuardedCall([](void* self) { (*static_cast<Body*>(self))(); }, &body, what, sizeof what)) {
      char why[64];
      snprintf(why, sizeof why, "%s threw an exception", function);
      Quarantine("failed", why);
    }
  }
  called_here_.fetch_sub(1);
}

void Plugin::SetLevel(uint32_t level) {
  const crosscut_plugin_callbacks* callbacks = pushes_.callbacks();
  if (callbacks->set_level == nullptr) return;
  CallHere("set_level", [&] { callbacks->set_level(callbacks->self, level); });
}

void Plugin::OtherProfiler(const char* who, const TheirProfilers::State& theirs) {
  const crosscut_plugin_callbacks* callbacks = pushes_.callbacks();
  if (callbacks->other_profiler == nullptr) return;
  CallHere("other_profiler",
           [&] { callbacks->other_profiler(callbacks->self, who, theirs.state, theirs.order); });
}

void Plugin::CallInFlight(char* out, size_t bytes) const {
  const uint8_t call = call_.load();
  if (call != kNone) {
    snprintf(out, bytes, "%s: %s", name_, kCallNames[call]);
  } else if (bytes > 0) {
    *out = '\0';
  }
}

void Plugin::AfterFork() {
  quarantined_.store(true);
  has_thread_.store(false);
  outstanding_.store(0);
  quarantining_.store(0);
  call_.store(kNone);
  around_->hooks.tell(name_, nullptr, "off",
                      "a forked child does not use its parent's device library");
}

void Plugin::Quarantine(const char* state, const char* why) {
  quarantining_.fetch_add(1);
  if (!quarantined_.exchange(true)) {
    pushes_.Accept(false);
    around_->hooks.tell(name_, nullptr, state, why);
    around_->hooks.holds(name_, false);  // that it failed says more
  }
  quarantining_.fetch_sub(1);
}

void Plugin::Tell(const char* state, const char* format, ...) {
  char message[384];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  around_->hooks.tell(name_, nullptr, state, message);
}

// ---- Its own thread -----------------------------------------------------------------------------

void* Plugin::Main(void* self) {
  auto* plugin = static_cast<Plugin*>(self);
  plugin->NameThread();
  record::Recorder::Get().MarkOurs();
  plugin->Run();
  plugin->has_thread_.store(false);
  return nullptr;
}

void Plugin::NameThread() {
  char name[16];
  snprintf(name, sizeof name, "cc/%.12s", name_);
  prctl(PR_SET_NAME, name);
  const record::Lock lock(&mutex_);
  is_named_ = true;
  posted_.NotifyAll();
}

void Plugin::Run() {
  Load();
  outstanding_.fetch_sub(1);
  Command command;
  while (Next(&command)) {
    Do(command);
    if (quarantined_.load()) break;
    if (outstanding_.fetch_sub(1) == 1) around_->hooks.idle();
  }
  outstanding_.store(0);
  around_->hooks.idle();
}

// Waits for a command; while started, a flush is due now and then and is nobody's command.
bool Plugin::Next(Command* command) {
  int64_t flush_at = base::MonotonicNs() + kFlushEveryNs;
  for (;;) {
    const bool flushes = state_ == kStarted && pushes_.callbacks()->flush != nullptr;
    {
      const record::Lock lock(&mutex_);
      const int64_t left = flushes ? flush_at - base::MonotonicNs() : -1;
      if (quarantined_.load()) return false;
      if (command_count_ != 0) {
        *command = commands_[0];
        memmove(commands_, commands_ + 1, --command_count_ * sizeof commands_[0]);
        return true;
      }
      if (!flushes || left > 0) {
        posted_.Wait(&mutex_, left);
        continue;
      }
    }
    DoFlush();
    flush_at = base::MonotonicNs() + kFlushEveryNs;
  }
}

void Plugin::Do(Command command) {
  switch (command) {
    case kStart: return DoStart();
    case kStop: return DoStop();
    case kFlush: return DoFlush();
    case kEnd: Destroy(); quarantined_.store(true);  // without a word: nothing is wrong
  }
}

template <class Body>
bool Plugin::Invoke(Call call, int64_t deadline, Body body) {
  call_ends_ns_.store(base::MonotonicNs() + deadline);
  call_.store(call);
  around_->call_changed();
  char what[192];
  const bool returned =
      GuardedCall([](void* self) { (*static_cast<Body*>(self))(); }, &body, what, sizeof what);
  call_.store(kNone);
  around_->call_changed();
  if (!returned) {
    char why[256];
    snprintf(why, sizeof why, "it threw an exception: %s", what);
    Quarantine("failed", why);
  }
  return !quarantined_.load();
}

template <class Body>
bool Plugin::Ask(Call call, int64_t deadline, Body body, Answer* answer) {
  const Status status(registration_.status_library);
  if (!Invoke(call, deadline, [&] { body(status.get()); })) return false;
  answer->code = status.code();
  snprintf(answer->message, sizeof answer->message, "%s", status.message());
  return true;
}

void Plugin::CheckHygiene(const Hygiene& before) {
  char found[256];
  if (!before.Differs(found, sizeof found) || told_hygiene_) return;
  told_hygiene_ = true;
  char row[sizeof name_ + 16], message[320];  // its own line is the plugin's to write
  snprintf(row, sizeof row, "%s (process)", name_);
  snprintf(message, sizeof message, "while it was called, this changed: %s", found);
  around_->hooks.tell(row, "", "conflict", message);
}

// Nothing of the plugin's is called before; a second start while calibrating would be its fault.
void Plugin::Load() {
  char error[384] = {};
  Refusal refusal;
  bool loaded = false, registered = false;
  const auto load = [&] { loaded = LoadLibrary(file_, &library_, error, sizeof error); };
  if (!Invoke(kLoadCall, around_->limits.load, load)) return;
  if (!loaded) return Quarantine("failed", error);
  around_->hooks.loaded();
  const Status status(library_.handle);  // outlives what may be thrown
  const auto enter = [&] {
    registered = library_.init != nullptr
                     ? Register(library_, pushes_.extension(), status, &registration_, &refusal)
                     : RegisterPjrt(library_.pjrt, around_->gate, &registration_, &refusal);
  };
  if (!Invoke(kLoadCall, around_->limits.load, enter)) return;
  if (!registered) {
    snprintf(error, sizeof error, "%s: %s", CodeName(refusal.code), refusal.message);
    return Quarantine("failed", error);
  }
  state_ = kReady;
  if (!around_->gate.Wants(registration_.device_type)) {
    snprintf(error, sizeof error, "devices of type %s are not asked for",
             registration_.device_type);
    Destroy();
    return Quarantine("off", error);
  }
  const crosscut_plugin_callbacks* callbacks = pushes_.callbacks();
  if (callbacks->calibrate == nullptr) return;
  record::ThreadState* scratch = record::EnterScratch();
  if (scratch == nullptr) return;
  PushTable::Calibrate(true);
  (void)Invoke(kLoadCall, around_->limits.load, [&] { callbacks->calibrate(callbacks->self); });
  PushTable::Calibrate(false);
  record::LeaveScratch(scratch);
}

void Plugin::DoStart() {
  if (state_ != kReady && state_ != kFailed) return;
  const Hygiene before;
  Answer answer;
  began_realtime_ns_ = base::RealtimeNs();
  pushes_.Accept(true);
  if (around_->theirs != nullptr && around_->theirs->Now().order != 0) {
    OtherProfiler("profiler", around_->theirs->Now());  // it may have loaded behind what was told
  }
  const auto start = [this](TF_Status* status) {
    registration_.fns.start(&registration_.profiler, status);
  };
  if (!Ask(kStartCall, around_->limits.start, start, &answer)) return;
  state_ = answer.code == TF_OK ? kStarted : kFailed;
  if (state_ == kStarted) around_->hooks.holds(name_, true);
  if (answer.code != TF_OK) {
    pushes_.Accept(false);
    return Tell("failed", "start: %s: %s", CodeName(answer.code), answer.message);
  }
  if (!told_on_) {
    if (!pushes_.told()) around_->hooks.tell(name_, nullptr, "on", nullptr);
    around_->hooks.loaded();
  }
  told_on_ = true;
  CheckHygiene(before);
}

void Plugin::DoFlush() {
  const crosscut_plugin_callbacks* callbacks = pushes_.callbacks();
  if (state_ != kStarted || callbacks->flush == nullptr) return;
  (void)Invoke(kFlushCall, around_->limits.flush, [&] { callbacks->flush(callbacks->self); });
}

void Plugin::DoStop() {
  if (state_ != kStarted) return;
  DoFlush();
  if (quarantined_.load()) return;
  const Hygiene before;
  Answer answer;
  const auto stop = [this](TF_Status* status) {
    registration_.fns.stop(&registration_.profiler, status);
  };
  if (!Ask(kStopCall, around_->limits.stop, stop, &answer)) return;
  state_ = kReady;
  CheckHygiene(before);
  if (answer.code != TF_OK) {
    Tell("failed", "stop: %s: %s", CodeName(answer.code), answer.message);
  } else {
    Collect();
  }
  pushes_.Accept(false);
  if (!quarantined_.load()) around_->hooks.holds(name_, false);
}

// A plugin that was loaded well; no other call of it comes any more.
void Plugin::Destroy() {
  if (state_ == kLoading || registration_.destroy_profiler == nullptr) return;
  pushes_.Accept(false);
  ending_.store(true);
  (void)Invoke(kDestroyCall, around_->limits.destroy, [this] {
    while (called_here_.load() != 0) usleep(200);
    registration_.destroy_profiler(&registration_.profiler);
    registration_.destroy_profiler_fns(&registration_.fns);
  });
}

// Asks for the size, then for the bytes; again where they became more. What TensorFlow forgives is
// forgiven: a second size that says less than was asked for, zeros behind the message.
void Plugin::Collect() {
  for (int query = 0; query < kMostQueries; ++query) {
    size_t size = 0, written = 0;
    if (!CallCollect(nullptr, &size) || size == 0) return;
    if (size > around_->limits.collect_bytes) {
      return Tell("failed", "collect: %zu bytes are more than %zu: left out", size,
                  around_->limits.collect_bytes);
    }
    const CollectBuffer buffer(size);
    if (buffer.data() == nullptr) return Tell("failed", "collect: no memory for %zu bytes", size);
    written = size;
    if (!CallCollect(buffer.data(), &written)) return;
    if (written > size) continue;
    const char* error = around_->hooks.collected(name_, buffer.data(), written, began_realtime_ns_);
    if (error != nullptr) Tell("failed", "collect: %s", error);
    return;
  }
  Tell("failed", "collect: its size grew between the two calls, %d times: left out", kMostQueries);
}

bool Plugin::CallCollect(uint8_t* buffer, size_t* size) {
  const Hygiene before;
  Answer answer;
  const auto bytes = static_cast<int64_t>(buffer == nullptr ? 0 : *size);
  const int64_t deadline = around_->limits.collect + bytes * around_->limits.collect_per_byte;
  const auto collect = [&](TF_Status* status) {
    registration_.fns.collect_data_xspace(&registration_.profiler, buffer, size, status);
  };
  if (!Ask(kCollectCall, deadline, collect, &answer)) return false;
  CheckHygiene(before);
  if (answer.code != TF_OK)
    Tell("failed", "collect: %s: %s", CodeName(answer.code), answer.message);
  return answer.code == TF_OK;
}

}  // namespace crosscut::host
