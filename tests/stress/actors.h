// Who acts in a seed. Each function is the body of a thread, which ends once Stopped().
#pragma once

#include <cstdint>

#include "tests/stress/world.h"

namespace crosscut::stress {

enum class Steps : uint8_t { kNone, kFull, kControl, kBudget, kVaried };
enum class Disk : uint8_t { kFast, kSlow, kStalls, kFull };
enum class Ending : uint8_t {
  kReturn,
  kExitAmid,        // exit() while all threads go on
  kUnderscoreExit,  // _exit() likewise
  kKill,
  kThreadExit,  // exit() of another thread
  kMainLeaves,  // pthread_exit() of the main thread, before the others end
};

// What a seed has, drawn from it.
struct Cast {
  uint32_t markers = 2;
  bool pool = false, forks = false, sources = false, plugin = false, names = false;
  bool calm = false;        // one session from the beginning to the end
  bool storm = false;       // a session lasts milliseconds
  bool throws = false;      // its sources
  bool many_names = false;  // more than a table of names begins with
  bool days = false;        // go by
  bool comma = false;       // in its numbers, by its locale
  uint32_t new_dirs = 0;    // per cent of starts
  uint64_t memory = 16 << 20;
  bool flight = false;
  Steps steps = Steps::kNone;
  bool steps_amid_pauses = false;
  Disk disk = Disk::kFast;
  Ending ending = Ending::kReturn;
  uint64_t ms = 1500;
};
Cast CastOf(uint64_t seed);
extern Cast the_cast;

// marks.cc
void InternNames(Marker* marker);
void MarkAwhile(Marker* marker, Random* random, uint32_t marks);
void Marks(uint64_t seed);
void Pool(uint64_t seed);
void Days(uint64_t seed);

// control.cc
void Controls(uint64_t seed);
void MakesSteps(uint64_t seed);
void AddsSources(uint64_t seed);
int SessionOfItsOwn(const char* run_dir, uint64_t seed);  // the whole of another program

// forks.cc
void Forks(uint64_t seed);
void ArmChildrensMemory();  // before the library's own at-fork handlers

// disk.cc
void WorksTheDisk(uint64_t seed);
void FailMappings(int nth);  // the nth mmap() of this process from now on; 0: none

}  // namespace crosscut::stress
