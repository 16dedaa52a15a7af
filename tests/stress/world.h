// What the actors of one seed share: the clock and the chance, where the session stands, what each
// thread did, how far everybody is, and what went wrong.
//
// All that a checker needs lies in files of the seed's folder that are mapped shared, so that who
// is killed has told everything: ops/ (a file for each Marker), progress, findings, flushes.
#pragma once

#include <cstdint>
#include <string>

#include "crosscut/crosscut.h"

namespace crosscut::stress {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15 + 0x1234567) {}
  uint64_t Next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  uint64_t Below(uint64_t n) { return Next() % n; }
  bool Chance(uint32_t percent) { return Below(100) < percent; }

 private:
  uint64_t state_;
};

// ---- Where the session stands --------------------------------------------------------------

enum class Where : uint8_t { kOff, kOn, kPaused, kChanging };
// What the program knows of a call: in which state the whole of it was.
enum class Sure : uint8_t { kUnknown, kInside, kOff, kPaused, kControl };

// Told by the one thread that changes it: kChanging before each call, the state after it.
void SessionIs(Where where, uint32_t run, bool may_control);
// Told by the one thread that makes steps: before a step (`known` false) and after it.
void LevelIs(bool known, bool control);

struct Place {
  uint64_t session = 0, step = 0, level = 0;
};
Place Here();
// `at_every_level`: a step, which is written in control steps, too.
Sure Judge(const Place& before, const Place& after, bool at_every_level);
inline Where WhereIn(const Place& place) { return static_cast<Where>(place.session & 0x3); }
// Of Op::run: its number, and whether the session's plan has control steps.
inline constexpr uint16_t kRunMask = 0x7fff, kMayControlBit = 0x8000;
inline uint16_t RunOf(const Place& place) {
  return static_cast<uint16_t>((place.session >> 8 & kRunMask) |
                               ((place.session & 4) != 0 ? kMayControlBit : 0));
}

// ---- What each thread did ------------------------------------------------------------------

enum class What : uint8_t {
  kThread = 1,  // number: the OS thread id that does what follows
  kCounter,     // name; number: its value
  kInstant,
  kBegin,
  kEnd,       // number: index of its begin
  kEndNamed,  // likewise
  kSpanAt,    // begin and end tick are the op's
  kIntern,    // name: the id; number: HashOf() its text
  kStep,      // number: the step's
  kNothing,
};

struct Op {
  uint64_t begin = 0, end = 0;  // ticks of crosscut_now(); end 0: the call did not return
  int64_t number = 0;
  uint32_t name = 0;
  What what = What::kNothing;
  Sure sure = Sure::kUnknown;
  uint16_t run = 0;
};
static_assert(sizeof(Op) == 32);

struct OpsHeader {
  uint64_t magic;
  int64_t pid, parent;
  uint64_t serial;  // in its process, from 1
  uint64_t count;   // atomic
  char role[24];
};
inline constexpr uint64_t kOpsMagic = 0x5353455254533031;
inline constexpr size_t kOpsHeaderBytes = 4096;

uint64_t HashOf(const std::string& text);

// The op log of one thread, or of several that follow each other.
class Marker {
 public:
  explicit Marker(const char* role, uint32_t room = 200'000);
  ~Marker();
  Marker(const Marker&) = delete;
  Marker& operator=(const Marker&) = delete;

  // The calling thread does what follows.
  void ThreadIs();
  bool full() const { return header_->count + 64 >= room_; }
  // Still alive.
  void Tick(const char* what);
  // The value of this thread's next counter.
  int64_t Number() { return base_ | static_cast<int64_t>(++numbers_); }

  template <class Call>
  uint32_t Do(What what, uint32_t name, int64_t number, Call call) {
    const auto index = static_cast<uint32_t>(header_->count);
    Op& op = ops_[index];
    const Place before = Here();
    op.what = what;
    op.name = name;
    op.number = number;
    op.run = RunOf(before);
    op.begin = Stamp();
    __atomic_store_n(&header_->count, index + 1, __ATOMIC_RELEASE);
    call(&op);
    const uint64_t end = Stamp();
    op.sure = Judge(before, Here(), what == What::kStep);
    __atomic_store_n(&op.end, end, __ATOMIC_RELEASE);
    Tick(nullptr);
    return index;
  }

 private:
  static uint64_t Stamp();
  OpsHeader* header_;
  Op* ops_;
  uint32_t room_;
  int64_t base_;
  uint64_t numbers_ = 0;
  uint32_t slot_;
};

// ---- How far everybody is ------------------------------------------------------------------

struct Progress {
  int32_t pid, tid;
  uint32_t running;
  uint32_t reserved;
  uint64_t count;
  char role[24];
  char what[16];
};
static_assert(sizeof(Progress) == 64);
inline constexpr uint32_t kProgressSlots = 4096;

// ---- The seed ------------------------------------------------------------------------------

struct World {
  std::string dir;
  uint64_t seed = 0;
  bool stop = false;  // atomic
  bool ends = false;  // atomic: exit() may run, behind which no call changes anything
  bool disk_faults = false;
};
World& TheWorld();
bool Stopped();
void OpenWorld(const std::string& dir, uint64_t seed);
std::string RunDir(uint32_t run);
// A line of `findings`; any thread, any process.
void Found(const char* format, ...) __attribute__((format(printf, 1, 2)));
// A line of another file of the folder.
void Note(const char* file, const char* format, ...) __attribute__((format(printf, 2, 3)));
void Nap(uint64_t us);

// ---- Time that goes by ---------------------------------------------------------------------

// Before there is a session: the recording half goes by a clock of the world's, in ns.
void OwnClock();
void HoursGoBy(uint64_t ns);

}  // namespace crosscut::stress
