// C18 and C19: random calls for minutes, sessions for hours.
#include <unistd.h>

#include <memory>
#include <thread>

#include "src/check/harness/guard.h"
#include "src/check/harness/options.h"
#include "src/check/harness/xspace_rules.h"
#include "src/check/resources.h"
#include "src/check/tests.h"

namespace crosscut::check {
namespace {

constexpr int kCalls = 200;  // of a sequence

int64_t EndAfter(double seconds) { return MonotonicNs() + static_cast<int64_t>(seconds * 1e9); }

void FetchRandomly(Plugin* plugin, uint64_t choice) {
  size_t size = 0;
  if (plugin->Query(&size) != TF_OK || size == kGarbageSize || size > kMaxSpaceBytes) return;
  const size_t room = 1 + choice % (2 * size + 64);
  const GuardedBytes buffer(room, 0);
  OnGuardTouched("C18.overrun", "collect_data_xspace writes behind a buffer of " +
                                    std::to_string(room) + " bytes where it wanted " +
                                    std::to_string(size));
  size_t told = room;
  plugin->Fetch(buffer.data(), &told);
  OnGuardTouched("", "");
}

void OneCall(Plugin* plugin, uint64_t choice) {
  switch (choice % 8) {
    case 0: plugin->Start(); break;
    case 1: plugin->Stop(); break;
    case 2: FetchRandomly(plugin, choice >> 8); break;
    case 3: WorkNow((choice >> 8) % 1000); break;
    case 4: plugin->Destroy(); break;
    case 5: plugin->Flush(); break;
    case 6: std::thread([=] { OneCall(plugin, choice >> 8); }).join(); break;
    default: SetMockWork((choice >> 8) % 1000);
  }
}

void Sequence(uint64_t number) {
  const auto plugin = Plugin::Make(number % 2 == 1);
  if (plugin == nullptr) return;
  for (uint64_t i = 0; i < kCalls; ++i) {
    Phase("sequence " + std::to_string(number) + ", call " + std::to_string(i));
    OneCall(plugin.get(), Random(number << 16 | i));
  }
  plugin->Stop();
  Phase("sequence " + std::to_string(number) + ", a session after it");
  const Session session = RunSession(plugin.get(), {kSomeWork, Collect::kFull, 0});
  if (session.ok()) return;
  Fail("C18.recovery", session.WhatFailed(plugin->message()) + " after sequence " +
                           std::to_string(number) + " of random calls (seed " +
                           std::to_string(options().seed) + "): let start begin afresh");
}

}  // namespace

void RunFuzz() {
  const int64_t end = EndAfter(options().fuzz_seconds);
  uint64_t number = 0;
  while (MonotonicNs() < end && board().count.load() == 0) {
    const Ending ending = InFork([number] { Sequence(number); });
    if (!ending.normal()) {
      Fail("C18.crash", "the plugin " + ending.Words() + " in " + board().phase +
                            " of random calls; --seed " + std::to_string(options().seed) +
                            " repeats it");
    }
    ++number;
  }
  Note(std::to_string(number) + " sequences of " + std::to_string(kCalls) + " calls");
}

void RunSoak() {
  const auto plugin = Plugin::Make(true);
  if (plugin == nullptr) return;
  for (int i = 0; i < 100; ++i) RunSession(plugin.get(), {kSomeWork, Collect::kFull, 0});
  Held at[3];
  at[0] = WhatStays(plugin.get());
  uint64_t number = 0;
  for (int half = 1; half <= 2; ++half) {
    const int64_t end = EndAfter(options().soak_seconds / 2);
    while (MonotonicNs() < end && board().count.load() == 0) {
      Phase("session " + std::to_string(++number));
      const uint64_t choice = Random(number);
      const SessionPlan plan = {choice % 100, choice % 8 == 0 ? Collect::kNone : Collect::kFull,
                                choice % 64 == 1 ? int64_t{5'000'000} : 0};
      const Session session = RunSession(plugin.get(), plan);
      if (!session.ok()) {
        Fail("C19.status",
             session.WhatFailed(plugin->message()) + " in session " + std::to_string(number));
      }
      if (number % 128 == 0 && !session.bytes.empty() && CountEvents(session.bytes) < 0) {
        Fail("C19.parse", "session " + std::to_string(number) + " gives what is no XSpace");
      }
    }
    at[half] = WhatStays(plugin.get());
  }
  CompareHeld("C19", at, static_cast<int64_t>(number));
  Note(std::to_string(number) + " sessions");
}

}  // namespace crosscut::check
