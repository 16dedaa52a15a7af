// One plugin, and what can be wrong with it: compiled once for each DEFECT of zoo.txt. Without one
// it keeps every rule. Plain C++ that includes little, because it is compiled a hundred times.
#include "tests/zoo/plugin.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <new>

namespace zoo {
namespace {

void Sleep(long ms) {
  const timespec nap = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&nap, nullptr);
}

[[noreturn]] void Hang() {
  for (;;) Sleep(1000);
}

void BeginThread() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 65536);
  pthread_t thread;
  if (pthread_create(&thread, &attributes, device_idle, nullptr) == 0) pthread_detach(thread);
}

void Crash() { raise(SIGSEGV); }

thread_local bool started_here = false;
jmp_buf jump;
pid_t loaded_in;
int concurrent = 0;

// Once per process, at load.
__attribute__((constructor)) void AtLoad() {
  loaded_in = getpid();
  if (IS(slow_to_load)) Sleep(150);
  if (IS(prints_at_load)) fputs("zoo plugin 1.0\n", stderr);
  if (IS(thread_at_load)) BeginThread();
  if (IS(crashes_at_load)) abort();
}

__attribute__((destructor)) void AtExit() {
  if (IS(crashes_at_exit)) abort();
  if (IS(changes_exit_status)) _exit(77);
  if (IS(hangs_at_exit)) Hang();
}

// What changes the process, at every start.
void ChangeProcess() {
  if (IS(changes_handler)) signal(SIGPROF, [](int) {});
  if (IS(changes_mask)) {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    sigprocmask(SIG_BLOCK, &one, nullptr);
  }
  if (IS(starts_timer)) {
    const itimerval far = {{0, 0}, {1000, 0}};
    setitimer(ITIMER_VIRTUAL, &far, nullptr);
  }
  if (IS(changes_locale)) setlocale(LC_ALL, "C.UTF-8");
  if (IS(changes_rounding)) fesetround(FE_UPWARD);
  if (IS(changes_environment) && getenv("ZOO") == nullptr) setenv("ZOO", "1", 1);
  if (IS(changes_folder) && chdir("/") != 0) return;
  if (IS(changes_umask)) umask(0);
  if (IS(prints)) puts("session");
  if (IS(forks)) {
    static bool done = false;
    if (!done && fork() == 0) _exit(0);
    done = true;
  }
}

void LeaveFiles() {
  char path[512];
  if (IS(leaves_file)) {
    const char* folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/zoo-trace", folder != nullptr ? folder : "/tmp");
    close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  }
  if (IS(leaves_shared_memory)) {
    snprintf(path, sizeof path, "/dev/shm/zoo-%d", static_cast<int>(getpid()));
    close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  }
}

void Touch(void* block, size_t size) {
  memset(block, 1, size);
  asm volatile("" ::"r"(block) : "memory");
}

// What is taken at every start and never given back.
void Leak() {
  if (IS(leaks_memory)) Touch(malloc(2048), 2048);
  if (IS(leaks_slowly) && state().sessions % 2 == 0) Touch(malloc(64), 64);
  if (IS(leaks_descriptor)) {
    [[maybe_unused]] const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  }
  if (IS(leaks_thread)) BeginThread();
  if (IS(leaks_mapping)) {
    void* at = mmap(nullptr, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(at, 4096, PROT_READ);
  }
}

void CorruptHeap() {
  if (IS(writes_past_heap_block)) {
    char* block = static_cast<char*>(malloc(25));
    asm volatile("" : "+r"(block)::"memory");
    block[25] = 1;
    asm volatile("" : "+r"(block)::"memory");
    free(block);
  }
  if (IS(writes_after_free)) {
    char* block = static_cast<char*>(malloc(256));
    char* dangling = block;
    asm volatile("" : "+r"(dangling)::"memory");
    free(block);
    dangling[200] = 1;
    asm volatile("" ::"r"(dangling) : "memory");
  }
}

void Race() {
  if (!IS(races)) return;
  if (__atomic_add_fetch(&concurrent, 1, __ATOMIC_SEQ_CST) > 1) abort();
  Sleep(1);
  __atomic_sub_fetch(&concurrent, 1, __ATOMIC_SEQ_CST);
}

void LockUsersOut() {
  if (!IS(blocks_users) || device_last_user() == gettid()) return;
  device_lock();
  Sleep(30);
  device_unlock();
}

// Waits until some other thread has used the device.
void WaitForUsers() {
  if (!IS(waits_for_users)) return;
  const uint64_t now = device_worked();
  const bool others = device_last_user() != gettid();
  while (others && device_worked() == now) Sleep(1);
}

// False where start is to end here.
bool StartDefects(TF_Status* status) {
  State& s = state();
  const bool first = s.sessions == 1;
  if (IS(hangs_in_start)) Hang();
  if (IS(exits_in_start)) exit(3);
  if (IS(throws)) throw 42;
  if (IS(slow_start)) Sleep(300);
  if (IS(ends_the_thread)) pthread_exit(nullptr);
  if ((IS(first_session_fails) && first) || (IS(works_once) && !first) ||
      (IS(fails_in_session_137) && s.sessions == 137)) {
    TF_SetStatus(status, TF_INTERNAL, "no more counters");
    return false;
  }
  if (IS(error_without_device) && device_count() == 0) {
    TF_SetStatus(status, TF_UNAVAILABLE, "no device");
    return false;
  }
  ChangeProcess();
  LeaveFiles();
  Leak();
  CorruptHeap();
  LockUsersOut();
  WaitForUsers();
  Race();
  return true;
}

bool Sticks() {
  State& s = state();
  if (IS(double_start_sticks) && s.recording) s.stuck = true;
  return s.stuck;
}

void Start(const TP_Profiler*, TF_Status* status) {
  State& s = state();
  ++s.sessions;
  s.stopped = false;
  if (IS(longjmps) && setjmp(jump) != 0) return;
  if (Sticks() || !StartDefects(status)) return;
  started_here = true;
  if (device_count() == 0) return;
  BeginRecording();
}

void Stop(const TP_Profiler*, TF_Status*) {
  State& s = state();
  if (IS(hangs_in_stop)) Hang();
  if (IS(crashes_in_stop)) Crash();
  if (IS(longjmps)) longjmp(jump, 1);
  if (IS(crashes_on_stop_first) && s.sessions == 0) Crash();
  if (IS(crashes_on_double_stop) && s.sessions > 0 && s.stopped) Crash();
  if (IS(crashes_rarely) && s.sessions % 5 == 4 && s.destroys % 3 == 2) Crash();
  s.stopped = true;
  if (IS(thread_local_state) && !started_here) {
    EndRecording();
    s.count = 0;
    s.bytes_size = 0;
    return;
  }
  EndRecording();
}

void Collect(const TP_Profiler*, uint8_t* buffer, size_t* size, TF_Status* status) {
  State& s = state();
  if (IS(hangs_in_collect)) Hang();
  if (IS(throws_in_collect)) throw 42;
  if (IS(collect_while_running_sticks) && s.running) s.stuck = true;
  if (buffer == nullptr) {
    Query(size, status);
  } else {
    Fetch(buffer, size, status);
  }
}

void DestroyProfiler(TP_Profiler*) {
  ++state().destroys;
  if (!IS(frees_in_destroy)) return;
  static void* once = malloc(64);
  free(once);
}
void DestroyFns(TP_ProfilerFns*) {}

void FillDefects(TF_ProfilerRegistrationParams* params, TF_Status* status) {
  TP_Profiler* profiler = params->profiler;
  if (IS(null_start)) params->profiler_fns->start = nullptr;
  if (IS(null_destroy)) params->destroy_profiler = nullptr;
  if (IS(zeroes_struct_size)) profiler->struct_size = 0;
  if (IS(digits_in_type)) profiler->device_type = "ZOO2";
  if (IS(writes_past_struct)) reinterpret_cast<void**>(profiler)[3] = nullptr;
  if (IS(writes_before_struct)) reinterpret_cast<void**>(profiler)[-1] = nullptr;
  if (IS(init_fails)) TF_SetStatus(status, TF_UNAVAILABLE, "no device");
  if (IS(assigns_params)) {
    const TF_ProfilerRegistrationParams before = *params;
    *params = {};
    params->struct_size = before.struct_size;
    params->profiler = before.profiler;
    params->profiler_fns = before.profiler_fns;
    params->destroy_profiler = before.destroy_profiler;
    params->destroy_profiler_fns = before.destroy_profiler_fns;
    params->major_version = 7;
  }
}

[[maybe_unused]] void Init(TF_ProfilerRegistrationParams* params, TF_Status* status) {
  if (IS(crashes_on_old_host) && params->struct_size == 0) abort();
  if (!IS(ignores_small_struct) &&
      params->struct_size < TF_PROFILER_REGISTRATION_PARAMS_STRUCT_SIZE) {
    TF_SetStatus(status, TF_FAILED_PRECONDITION, "the host's struct is too small");
    return;
  }
  char type[8] = "ZOO";
  if (IS(type_on_stack)) asm volatile("" ::"r"(type) : "memory");
  static const char kType[] = "ZOO";
  params->profiler->device_type = IS(type_on_stack) ? type : kType;
  params->profiler_fns->start = Start;
  params->profiler_fns->stop = Stop;
  params->profiler_fns->collect_data_xspace = Collect;
  params->destroy_profiler = DestroyProfiler;
  params->destroy_profiler_fns = DestroyFns;
  state().host = crosscut_host_of(params);
  if (IS(hooks_while_idle))
    device_listen([](void*, int64_t, int64_t, int64_t) { Spin(3000); }, nullptr);
  FillDefects(params, status);
}

}  // namespace
}  // namespace zoo

#define VISIBLE __attribute__((visibility("default")))

#if ZOO_IS_unresolved_symbol
extern "C" void zoo_nobody_has_this();
extern "C" VISIBLE void TF_InitProfiler(TF_ProfilerRegistrationParams*, TF_Status*) {
  zoo_nobody_has_this();
}
#elif !ZOO_IS_no_entry_point
extern "C" VISIBLE void TF_InitProfiler(TF_ProfilerRegistrationParams* params, TF_Status* status) {
  zoo::Init(params, status);
}
#endif
#if ZOO_IS_exports_more
extern "C" VISIBLE int zoo_version() { return 1; }
#endif
#if ZOO_IS_exports_protobuf
namespace google::protobuf {
VISIBLE int Parse() { return 1; }
}  // namespace google::protobuf
#endif
