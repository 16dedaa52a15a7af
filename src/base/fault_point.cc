#include "src/base/fault_point.h"

#ifdef CROSSCUT_FAULT_POINTS

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <mutex>

namespace crosscut::base {
namespace {

constexpr int kMaxPoints = 8;
constexpr size_t kMaxName = 64;

struct Armed {
  char name[kMaxName];
  uint64_t nth;
  char action[16];
  std::atomic<uint64_t> passes;
};

Armed points[kMaxPoints];
std::atomic<int> armed_count{-1};  // -1: the environment was not read yet
std::mutex load_mutex;

void CopyPart(const char* from, const char* to, char* out, size_t room) {
  const size_t n = static_cast<size_t>(to - from) < room - 1 ? to - from : room - 1;
  memcpy(out, from, n);
  out[n] = '\0';
}

// name:nth:action of one part [from, to).
bool ParseOne(const char* from, const char* to, Armed* armed) {
  const char* colon = static_cast<const char*>(memchr(from, ':', to - from));
  if (colon == nullptr) return false;
  const char* second = static_cast<const char*>(memchr(colon + 1, ':', to - colon - 1));
  if (second == nullptr) return false;
  CopyPart(from, colon, armed->name, kMaxName);
  armed->nth = strtoull(colon + 1, nullptr, 10);
  CopyPart(second + 1, to, armed->action, sizeof armed->action);
  armed->passes.store(0);
  return true;
}

void Load() {
  std::lock_guard<std::mutex> lock(load_mutex);
  if (armed_count.load() >= 0) return;
  int count = 0;
  const char* at = getenv("CROSSCUT_FAULT");
  while (at != nullptr && *at != '\0' && count < kMaxPoints) {
    const char* end = strchrnul(at, ',');
    if (ParseOne(at, end, &points[count])) ++count;
    at = *end == ',' ? end + 1 : end;
  }
  armed_count.store(count);
}

bool Act(const char* action) {
  if (strcmp(action, "kill") == 0) kill(getpid(), SIGKILL);
  if (strcmp(action, "abort") == 0) abort();
  if (strncmp(action, "pause", 5) == 0) {
    const long ms = strtol(action + 5, nullptr, 10);
    timespec wait = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&wait, &wait) != 0) {
    }
  }
  return strcmp(action, "fail") == 0;
}

}  // namespace

bool FaultPoint(const char* name) {
  if (armed_count.load(std::memory_order_acquire) < 0) Load();
  const int count = armed_count.load(std::memory_order_acquire);
  bool fail = false;
  for (int i = 0; i < count; ++i) {
    if (strcmp(points[i].name, name) != 0) continue;
    const uint64_t pass = points[i].passes.fetch_add(1) + 1;
    if (points[i].nth == 0 || pass == points[i].nth) fail = Act(points[i].action) || fail;
  }
  return fail;
}

void FaultPointsReload() {
  armed_count.store(-1);
  Load();
}

}  // namespace crosscut::base

#endif
