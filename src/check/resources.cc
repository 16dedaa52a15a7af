// C9 and C10: what a plugin holds.
#include "src/check/resources.h"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "src/base/file.h"
#include "src/check/harness/options.h"
#include "src/check/harness/xspace_rules.h"
#include "src/check/tests.h"

namespace crosscut::check {
namespace {

constexpr int64_t kMostGrowth = 64 << 10;

// [0] pages in all, [1] resident.
void ReadStatm(int64_t (&pages)[2]) {
  FILE* file = fopen("/proc/self/statm", "re");
  if (file == nullptr) return;
  long all = 0, resident = 0;
  if (fscanf(file, "%ld %ld", &all, &resident) == 2) {
    pages[0] = all;
    pages[1] = resident;
  }
  fclose(file);
}

int CountMaps() {
  FILE* file = fopen("/proc/self/maps", "re");
  if (file == nullptr) return 0;
  int count = 0;
  for (int c = fgetc(file); c != EOF; c = fgetc(file)) count += c == '\n';
  fclose(file);
  return count;
}

double EventsOf(const Session& session) {
  return static_cast<double>(session.pushed.spans) +
         static_cast<double>(std::max<int64_t>(0, CountEvents(session.bytes)));
}

// The number of cycles that were run.
int Cycles(Plugin* plugin, int most) {
  const int64_t end = EndOfBudget();
  int done = 0;
  for (; done < most && MonotonicNs() < end; ++done) {
    const uint64_t work = done % 2 == 0 ? kSomeWork : 0;
    RunSession(plugin, {work, done % 8 == 3 ? Collect::kNone : Collect::kFull, 0});
  }
  return done;
}

Held WhatIsHeld() {
  Held held;
  malloc_trim(0);  // what malloc has free and keeps comes and goes by hundreds of KiB
  int64_t pages[2] = {0, 0};
  ReadStatm(pages);
  held.resident = pages[1] * sysconf(_SC_PAGESIZE);
  const struct mallinfo2 heap = mallinfo2();
  held.heap = static_cast<int64_t>(heap.uordblks + heap.hblkhd);
  held.fds = CountEntries("/proc/self/fd");
  held.threads = CountThreads();
  held.maps = CountMaps();
  return held;
}

}  // namespace

void CompareHeld(const std::string& id, const Held (&at)[3], int64_t cycles) {
  const std::string in = " in " + std::to_string(cycles) + " sessions: ";
  // A leak goes on as it began; warming up, which few sessions do not end, becomes less.
  const auto grew = [&](auto Held::*what, int64_t most) {
    const int64_t first = at[1].*what - at[0].*what, second = at[2].*what - at[1].*what;
    return first > most && second > most && 2 * second >= first;
  };
  // Pages come and go: only many sessions tell.
  const bool many = cycles >= 100;
  const int64_t half = kMostGrowth / 2;
  const bool heap = grew(&Held::heap, half);
  if ((heap || (many && grew(&Held::resident, half))) && !grew(&Held::threads, 0)) {
    const int64_t bytes = heap ? at[2].heap - at[0].heap : at[2].resident - at[0].resident;
    Fail(id + ".memory", std::string(heap ? "malloc's" : "resident") + " memory grows by " +
                             std::to_string(bytes >> 10) + " KiB" + in +
                             "free or use again in start what the last session left");
  }
  if (grew(&Held::fds, 0)) {
    Fail(id + ".fds", std::to_string(at[2].fds - at[0].fds) + " file descriptors more" + in +
                          "close in stop what start opens");
  }
  if (grew(&Held::threads, 0)) {
    Fail(id + ".threads", std::to_string(at[2].threads - at[0].threads) + " threads more" + in +
                              "end in stop what start begins, and join it");
  } else if (grew(&Held::maps, 0) && at[2].maps - at[0].maps > 8) {
    Fail(id + ".maps", std::to_string(at[2].maps - at[0].maps) + " mappings more" + in +
                           "unmap in stop what start maps");
  }
}

int CountEntries(const char* folder) {
  const auto names = base::NamesIn(folder);
  return names.ok() ? static_cast<int>(names->size()) : 0;
}

int CountThreads() { return CountEntries("/proc/self/task"); }

void* SharedMemory(size_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) abort();
  return at;
}

Held WhatStays(Plugin* plugin) {
  constexpr int kReadings = 8;
  Held least = WhatIsHeld();
  const int64_t end = MonotonicNs() + 1'000'000'000;
  for (int i = 1; i < kReadings && MonotonicNs() < end; ++i) {
    RunSession(plugin, {kSomeWork, Collect::kFull, 0});
    const Held held = WhatIsHeld();
    least.resident = std::min(least.resident, held.resident);
    least.heap = std::min(least.heap, held.heap);
    least.fds = std::min(least.fds, held.fds);
    least.threads = std::min(least.threads, held.threads);
    least.maps = std::min(least.maps, held.maps);
  }
  return least;
}

void RunLeaks() {
  WithAndWithoutPushTable("C9", [](Plugin* plugin, bool with) {
    const int cycles = options().cycles / (with ? 4 : 1);
    Phase("warming up");
    Cycles(plugin, 100);
    Held at[3];
    at[0] = WhatStays(plugin);
    Phase("the first half");
    int done = Cycles(plugin, cycles / 2);
    at[1] = WhatStays(plugin);
    Phase("the second half");
    done += Cycles(plugin, cycles / 2);
    at[2] = WhatStays(plugin);
    CompareHeld("C9", at, done);
    if (!with) {
      Note(std::to_string(done) +
           " sessions: " + std::to_string((at[2].resident - at[0].resident) >> 10) + " KiB more");
    }
  });
}

void RunMemoryLimit() {
  auto* little = static_cast<double*>(SharedMemory(2 * sizeof(double)));
  WithAndWithoutPushTable("C10", [little](Plugin* plugin, bool with) {
    Phase("finding out what a piece of work gives");
    if (WorkShows(plugin)) {
      little[with] = EventsOf(RunSession(plugin, {kSomeWork, Collect::kFull, 0}));
    }
  });
  WithAndWithoutPushTable("C10", [little](Plugin* plugin, bool with) {
    int64_t pages[2] = {0, 0};
    ReadStatm(pages);
    const auto limit = static_cast<rlim_t>(pages[0] * sysconf(_SC_PAGESIZE)) + (rlim_t{64} << 20);
    rlimit address_space;
    getrlimit(RLIMIT_AS, &address_space);
    const rlimit before = address_space;
    address_space.rlim_cur = limit;
    setrlimit(RLIMIT_AS, &address_space);
    Phase("much work in 64 MiB");
    const SessionPlan plan = {options().events, Collect::kNone, 0};
    Session much = RunSession(plugin, plan);
    // The buffer that a host offers is its own affair, not the plugin's.
    setrlimit(RLIMIT_AS, &before);
    if (much.start == TF_OK && much.stop == TF_OK) {
      Phase("collecting it");
      much.query = plugin->Query(&much.size);
      if (much.query == TF_OK && much.size > 0 && much.size <= kMaxSpaceBytes) {
        much.bytes.assign(much.size + 4096, '\0');
        much.fetched = much.size;
        much.fetch = plugin->Fetch(reinterpret_cast<uint8_t*>(much.bytes.data()), &much.fetched);
        much.bytes.resize(much.size);
      }
    }
    const double expected = little[with] / kSomeWork * static_cast<double>(options().events);
    const bool told = much.pushed.lost > 0 || TellsOfLoss(much.bytes) || !much.ok();
    if (EventsOf(much) < expected * 0.99 && !told) {
      Warn("C10.silent",
           "events are dropped without a word when the buffer is full: tell it by "
           "crosscut_host.lost(), or in the XSpace's warnings or a stat 'dropped'");
    }
  });
}

}  // namespace crosscut::check
