// What a test's child tells its parent, in memory that both share and that outlives the child: the
// findings, and which call of the plugin each thread is in. A crash, a hang or an exit inside a
// call can so be named after the fact.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "src/base/time.h"

namespace crosscut::check {

enum class Call : uint32_t {
  kNone,
  kLoad,
  kInit,
  kDestroy,
  kStart,
  kStop,
  kQuery,
  kFetch,
  kFlush,
  kWork,
  kUnload,
  kExit
};
// "TF_InitProfiler", "start", "collect_data_xspace with a null buffer", ...
const char* NameOf(Call call);

enum class Severity : uint32_t { kWarn, kFail };

struct Finding {
  Severity severity;
  char rule[24];   // "C7.overrun"
  char text[488];  // what happened and what to do, for the plugin's author
};

// One thread's call. `began_ns` is CLOCK_MONOTONIC.
struct Slot {
  std::atomic<uint32_t> call;
  std::atomic<int64_t> began_ns;
};

struct Board {
  static constexpr uint32_t kSlots = 64, kFindings = 24;
  Slot slots[kSlots];
  std::atomic<uint32_t> slots_used;
  std::atomic<uint32_t> crashed_call;  // of the thread that got the signal; kNone: none of ours
  std::atomic<uint64_t> crash_address;
  std::atomic<uint32_t> count;  // findings; may exceed kFindings, the rest are not kept
  std::atomic<uint32_t> ready;  // the test begins; what went wrong before is no fault of the plugin
  std::atomic<uint32_t> done;   // the test came to its own end
  std::atomic<uint32_t> fatal;  // no use in running the tests that need sessions
  char phase[96];               // what the test is doing: "round 3: double start"
  char skip[256];               // why the test did not apply
  char note[256];               // a figure worth reading, also when all is well
  Finding findings[kFindings];
};

// The board of this process: memory of its own until a parent's is mapped.
Board& board();
// Maps the parent's board from `fd`; false where it cannot.
bool MapBoard(int fd);

// Threads: all. Each rule is told once.
void Report(Severity severity, const std::string& rule, const std::string& text);
inline void Fail(const std::string& rule, const std::string& text) {
  Report(Severity::kFail, rule, text);
}
inline void Warn(const std::string& rule, const std::string& text) {
  Report(Severity::kWarn, rule, text);
}
// No call is in flight any more: the process is about to end, and that is known.
void ClearCalls();
// A failure after which sessions cannot be trusted.
void FailFatally(const std::string& rule, const std::string& text);
void Skip(const std::string& why);
void Note(const std::string& text);
void Phase(const std::string& text);

using base::MonotonicNs;
using base::RealtimeNs;

}  // namespace crosscut::check
