// The C API's session half: each function is one call of the session, or of a part of it.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "crosscut/crosscut.h"
#include "src/collect/clock.h"
#include "src/host/program_options.h"
#include "src/host/registry.h"
#include "src/runtime/error.h"
#include "src/runtime/plugins.h"
#include "src/runtime/session.h"
#include "src/runtime/starts.h"

using crosscut::record::InControl;
using crosscut::record::Recorder;
using crosscut::record::Session;
namespace format = crosscut::format;

namespace {

void ChildAfterFork() { Session::Get().InForkedChild(); }

char main_thread_mark;
void MainThreadEnds(void*) { Session::Get().OnMainThreadEnd(); }

void ProcessLeaves() { Session::Get().OnUnderscoreExit(); }

__attribute__((constructor)) void LoadLibrary() {
  Session::Get().Init();
  // libcrosscut_preload calls it in _exit().
  if (void* slot = dlsym(RTLD_DEFAULT, "crosscut_preload_at_exit")) {
    *static_cast<void (**)()>(slot) = &ProcessLeaves;
  }
  // And this one before the program forbids calls to all its threads.
  if (void* slot = dlsym(RTLD_DEFAULT, "crosscut_preload_alone")) {
    *static_cast<void (**)()>(slot) = [] { Session::Get().LeaveTheProgramAlone(); };
  }
  if (void* slot = dlsym(RTLD_DEFAULT, "crosscut_preload_filter")) {
    *static_cast<void (**)()>(slot) = [] { Session::Get().LeaveClocks(); };
  }
  crosscut::record::FollowStarts([] { return Session::Get().IsOwner(); });
  crosscut::ForkSafeMutex::FollowForks();  // whose handler frees the locks that the next one takes
  (void)pthread_atfork(nullptr, nullptr, &ChildAfterFork);
  pthread_key_t main_thread;
  if (syscall(SYS_gettid) == getpid() && pthread_key_create(&main_thread, &MainThreadEnds) == 0) {
    (void)pthread_setspecific(main_thread, &main_thread_mark);
  }
}

}  // namespace

extern "C" {

const char* crosscut_error(void) { return crosscut::record::LastError(); }
const char* crosscut_version(void) { return "0.1.0"; }

uint32_t crosscut_intern(const char* text, size_t bytes, enum crosscut_kind kind,
                         enum crosscut_layer layer, unsigned flags, uint32_t probe) {
  if (text == nullptr) return 0;
  if (bytes == SIZE_MAX) bytes = strlen(text);
  if (kind == CROSSCUT_OPERATION) flags |= format::kFlagNoLayer;
  const format::NameAttributes attributes{static_cast<format::Kind>(kind),
                                          static_cast<format::Layer>(layer),
                                          static_cast<uint8_t>(flags), probe};
  return Recorder::Get().stream().Intern({text, bytes}, attributes.Pack());
}

uint32_t crosscut_goes_on(uint32_t name) { return Recorder::Get().stream().GoesOn(name); }

uint64_t crosscut_step(uint32_t kind) { return Session::Get().Step(kind); }
void crosscut_step_end(void) { Session::Get().StepEnd(); }
void crosscut_lead(void) { crosscut::record::MarkLead(); }
void crosscut_phase(const char* name) { Session::Get().BeginPhase(name); }
void crosscut_progress(double fraction) {
  if (Session::Get().open()) crosscut::record::MarkProgress(fraction);
}

void crosscut_process_name(const char* name) {
  if (name != nullptr) Session::Get().NameProcess(name);
}

void crosscut_meta(const char* key, const char* value) {
  if (key == nullptr || value == nullptr || !Session::Get().open()) return;
  if (!Recorder::Get().stream().WriteMeta(key, value)) crosscut_value_lost();
}

int crosscut_start(const crosscut_options* options) {
  return Session::Get().on_demand().Start(options);
}
int crosscut_arm(const crosscut_options* options) { return Session::Get().Arm(options); }
int crosscut_armed(void) { return Session::Get().on_demand().armed(); }
int crosscut_in_window(void) { return Session::Get().on_demand().InWindow() ? 1 : 0; }
void crosscut_serve(void) { Session::Get().on_demand().Serve(); }

int crosscut_on_demand(const crosscut_program* program) {
  if (program == nullptr || program->struct_size < sizeof(crosscut_program)) {
    return crosscut::record::Fail(CROSSCUT_EINVAL, "crosscut_program.struct_size is not set");
  }
  Session::Get().on_demand().SetProgram(program);
  return CROSSCUT_OK;
}

int crosscut_stop(void) {
  return Session::Get().on_demand().Stop([] { return Session::Get().Stop(format::kStopAsked); });
}
int crosscut_pause(void) { return Session::Get().Pause(); }
int crosscut_resume(void) { return Session::Get().Resume(); }
int crosscut_snapshot(void) { return Session::Get().Snapshot(); }
int crosscut_flush(void) { return Session::Get().Flush(); }
void crosscut_plugins_finish(void) { crosscut::record::FinishPlugins(); }
void crosscut_frames(int in) {
  const uint64_t payload = in != 0;
  if (!Session::Get().open()) return;
  (void)Recorder::Get().stream().Write(crosscut::record::ClockNow(), format::kFrames, &payload, 1);
}
uint32_t crosscut_sessions(void) { return Recorder::Get().session(); }
int crosscut_in_control(void) { return InControl(Session::Get().state()) ? 1 : 0; }
double crosscut_budget_before_steps(void) { return Session::Get().budget_before_steps(); }
int crosscut_whole(int on) { return Session::Get().RecordWhole(on != 0); }
int crosscut_active(void) { return Session::Get().open(); }
const char* crosscut_run_dir(void) { return Session::Get().run_dir(); }
const char* crosscut_process_key(void) { return Session::Get().process_key(); }
void crosscut_follow_fork(int on) { Session::Get().FollowFork(on != 0); }

int crosscut_source_add(const crosscut_source* source) { return Session::Get().AddSource(source); }
void crosscut_source_remove(int handle) { Session::Get().RemoveSource(handle); }

void crosscut_source_state(const char* name, const char* version, const char* state,
                           const char* message) {
  if (name == nullptr) return;
  Session& session = Session::Get();
  session.sources().Tell(name, version, state, message, session.log_is_open());
}

void crosscut_probe_cost(uint32_t probe, int64_t inside_ps, int64_t outside_ps, int64_t low_ps,
                         int64_t high_ps, int64_t samples) {
  const auto word = [](int64_t figure) { return static_cast<uint64_t>(figure); };
  Session::Get().sources().ProbeCosts(
      {probe, {word(inside_ps), word(outside_ps), word(low_ps), word(high_ps), word(samples)}});
}

int crosscut_collected(const char* source, const char* format, const void* bytes, size_t size,
                       int64_t begin_realtime_ns, int64_t error_ns) {
  if (source == nullptr || format == nullptr || (bytes == nullptr && size != 0)) {
    return crosscut::record::Fail(CROSSCUT_EINVAL, "a profile needs source, format and bytes");
  }
  return Session::Get().Collected({source, format, bytes, size, {begin_realtime_ns, error_ns}});
}

int crosscut_other_profiler(const char* who, crosscut_profiler_moment moment) {
  if (who == nullptr || moment < CROSSCUT_PROFILER_STARTS || moment > CROSSCUT_PROFILER_ENDED) {
    return crosscut::record::Fail(CROSSCUT_EINVAL, "a profiler needs a name and a moment");
  }
  crosscut::host::Registry::Get().OtherProfiler(who, moment);
  return CROSSCUT_OK;
}

int crosscut_plugin_option(const char* key, const char* value) {
  if (key == nullptr || key[0] == '\0') {
    return crosscut::record::Fail(CROSSCUT_EINVAL, "an option needs a key");
  }
  if (!crosscut::host::SetProgramOption(key, value)) {
    return crosscut::record::Fail(CROSSCUT_ENOMEM, "there is no memory for an option");
  }
  constexpr int kPatienceMs = 1000;  // as long as a flush may take
  auto& plugins = crosscut::host::Registry::Get();
  plugins.Flush();
  (void)plugins.Await(kPatienceMs);  // one that does not answer is told of elsewhere
  return CROSSCUT_OK;
}

}  // extern "C"
