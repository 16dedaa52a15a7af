#include "tests/stress/world.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "src/collect/clock.h"

namespace crosscut::stress {
namespace {

constexpr uint64_t kMayControl = 4;

uint64_t session_word = 0;  // serial << 32 | run << 8 | kMayControl | Where
uint64_t level_word = 0;    // session word, of which it is known, | control << 63; 0: unknown
uint64_t level_serial = 0;  // how often it was told
uint64_t serials = 0;

Progress* progress = nullptr;

uint64_t gone_by_ns = 0;  // atomic

template <class T>
T* MapFile(const std::string& path, size_t bytes, bool fresh) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | (fresh ? O_EXCL : 0), 0600);
  if (fd < 0 || ftruncate(fd, static_cast<off_t>(bytes)) != 0) {
    fprintf(stderr, "stress: %s: %s\n", path.c_str(), strerror(errno));
    abort();
  }
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (at == MAP_FAILED) abort();
  return static_cast<T*>(at);
}

void Append(const char* file, const char* format, va_list arguments) {
  char line[1024];
  int n = vsnprintf(line, sizeof line - 1, format, arguments);
  if (n > static_cast<int>(sizeof line) - 2) n = sizeof line - 2;
  line[n++] = '\n';
  const std::string path = TheWorld().dir + "/" + file;
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0 || write(fd, line, static_cast<size_t>(n)) != n) abort();
  close(fd);
}

}  // namespace

// ---- Where the session stands ------------------------------------------------------------------

void SessionIs(Where where, uint32_t run, bool may_control) {
  const uint64_t serial = (session_word >> 32) + 1;
  __atomic_store_n(&session_word,
                   serial << 32 | uint64_t{run} << 8 | (may_control ? kMayControl : 0) |
                       static_cast<uint64_t>(where),
                   __ATOMIC_SEQ_CST);
}

void LevelIs(bool known, bool control) {
  static uint64_t before = 0;  // the stepper's alone
  const uint64_t session = __atomic_load_n(&session_word, __ATOMIC_SEQ_CST);
  const bool same = known && session == before;
  before = session;
  (void)__atomic_add_fetch(&level_serial, 1, __ATOMIC_SEQ_CST);
  __atomic_store_n(&level_word, same ? session | uint64_t{control} << 63 : 0, __ATOMIC_SEQ_CST);
}

Place Here() {
  return {__atomic_load_n(&session_word, __ATOMIC_SEQ_CST),
          __atomic_load_n(&level_serial, __ATOMIC_SEQ_CST),
          __atomic_load_n(&level_word, __ATOMIC_SEQ_CST)};
}

Sure Judge(const Place& before, const Place& after, bool at_every_level) {
  if (before.session != after.session) return Sure::kUnknown;
  switch (WhereIn(before)) {
    case Where::kChanging: return Sure::kUnknown;
    case Where::kOff: return Sure::kOff;
    case Where::kPaused: return Sure::kPaused;
    case Where::kOn: break;
  }
  if ((before.session & kMayControl) == 0 || at_every_level) return Sure::kInside;
  constexpr uint64_t kControl = uint64_t{1} << 63;
  if (before.step != after.step || before.level != after.level ||
      (before.level & ~kControl) != before.session) {
    return Sure::kUnknown;
  }
  return (before.level & kControl) != 0 ? Sure::kControl : Sure::kInside;
}

// ---- What each thread did ----------------------------------------------------------------------

uint64_t HashOf(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

// Neither the mark before it nor the mark after it passes by.
uint64_t Marker::Stamp() {
#if defined(__x86_64__)
  __builtin_ia32_lfence();
  const uint64_t tick = crosscut_now();
  __builtin_ia32_lfence();
  return tick;
#else
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  return crosscut_now();
#endif
}

Marker::Marker(const char* role, uint32_t room) : room_(room) {
  const uint64_t serial = __atomic_add_fetch(&serials, 1, __ATOMIC_SEQ_CST);
  const std::string path = TheWorld().dir + "/ops/" + std::to_string(getpid()) + "." +
                           std::to_string(serial) + "." + role;
  header_ = MapFile<OpsHeader>(path, kOpsHeaderBytes + size_t{room} * sizeof(Op), /*fresh=*/true);
  header_->magic = kOpsMagic;
  header_->pid = getpid();
  header_->parent = getppid();
  header_->serial = serial;
  snprintf(header_->role, sizeof header_->role, "%s", role);
  ops_ = reinterpret_cast<Op*>(reinterpret_cast<char*>(header_) + kOpsHeaderBytes);
  base_ = static_cast<int64_t>(static_cast<uint64_t>(getpid()) << 40 | serial << 24);
  // Slot 0 counts the slots that were taken.
  slot_ = (__atomic_fetch_add(&progress[0].count, 1, __ATOMIC_SEQ_CST) % (kProgressSlots - 1)) + 1;
  Progress& own = progress[slot_];
  own.pid = getpid();
  snprintf(own.role, sizeof own.role, "%s", role);
  ThreadIs();
  __atomic_store_n(&own.running, 1, __ATOMIC_SEQ_CST);
}

Marker::~Marker() {
  __atomic_store_n(&progress[slot_].running, 0, __ATOMIC_SEQ_CST);
  munmap(header_, kOpsHeaderBytes + size_t{room_} * sizeof(Op));
}

void Marker::ThreadIs() {
  const auto tid = static_cast<int32_t>(syscall(SYS_gettid));
  __atomic_store_n(&progress[slot_].tid, tid, __ATOMIC_RELAXED);
  (void)Do(What::kThread, 0, tid, [](Op*) {});
}

void Marker::Tick(const char* what) {
  Progress& own = progress[slot_];
  if (what != nullptr) snprintf(own.what, sizeof own.what, "%s", what);
  __atomic_store_n(&own.count, own.count + 1, __ATOMIC_RELAXED);
}

// ---- The seed ----------------------------------------------------------------------------------

World& TheWorld() {
  static World& world = *new World;  // threads outlive exit handlers
  return world;
}

bool Stopped() { return __atomic_load_n(&TheWorld().stop, __ATOMIC_ACQUIRE); }

void OpenWorld(const std::string& dir, uint64_t seed) {
  World& world = TheWorld();
  world.dir = dir;
  world.seed = seed;
  mkdir((dir + "/ops").c_str(), 0700);
  mkdir((dir + "/runs").c_str(), 0700);
  progress = MapFile<Progress>(dir + "/progress", sizeof(Progress) * kProgressSlots, false);
}

std::string RunDir(uint32_t run) { return TheWorld().dir + "/runs/" + std::to_string(run); }

void Found(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  Append("findings", format, arguments);
  va_end(arguments);
}

void Note(const char* file, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  Append(file, format, arguments);
  va_end(arguments);
}

void Nap(uint64_t us) {
  const timespec wait = {static_cast<time_t>(us / 1'000'000),
                         static_cast<long>(us % 1'000'000 * 1000)};
  nanosleep(&wait, nullptr);
}

// ---- Time that goes by -------------------------------------------------------------------------

void OwnClock() {
  record::ClockInjectForTest([] {
    const uint64_t gone_by = __atomic_load_n(&gone_by_ns, __ATOMIC_SEQ_CST);
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return gone_by + static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 +
           static_cast<uint64_t>(now.tv_nsec);
  });
}

void HoursGoBy(uint64_t ns) { (void)__atomic_add_fetch(&gone_by_ns, ns, __ATOMIC_SEQ_CST); }

}  // namespace crosscut::stress
