// The first sessions of all, and C3 to C6: what sessions give, again and again, in any order.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <vector>

#include "src/check/harness/options.h"
#include "src/check/harness/xspace_rules.h"
#include "src/check/resources.h"
#include "src/check/tests.h"

namespace crosscut::check {
namespace {

constexpr int kRounds = 100;  // of C3 and C4
constexpr int64_t kStartNs = 250'000'000, kStopNs = 2'000'000'000;

void CheckSpeed(int64_t start_ns, int64_t stop_ns) {
  const auto ms = [](int64_t ns) { return std::to_string(ns / 1'000'000) + " ms"; };
  if (start_ns > kStartNs) {
    Fail("C11.slow", "start takes " + ms(start_ns) +
                         ", more than 250: prepare in the background, "
                         "or at TF_InitProfiler");
  }
  if (stop_ns > kStopNs) {
    Fail("C11.slow", "stop takes " + ms(stop_ns) +
                         ", more than 2000: convert in "
                         "collect_data_xspace, not in stop");
  }
}

void FirstSessions(bool with_push_table) {
  const auto plugin = Plugin::Make(with_push_table);
  if (plugin == nullptr) return;
  Phase("destroying copies, as TensorFlow does at every registration");
  for (int i = 0; i < 2; ++i) plugin->Destroy();
  int64_t start_ns = INT64_MAX, stop_ns = INT64_MAX;
  for (int round = 0; round < 3; ++round) {
    Phase("session " + std::to_string(round + 1));
    const Session session =
        RunSession(plugin.get(), {round == 0 ? 0 : kSomeWork, Collect::kFull, 1'000'000});
    start_ns = std::min(start_ns, session.start_ns);
    stop_ns = std::min(stop_ns, session.stop_ns);
    if (session.ok()) continue;
    const std::string what = session.WhatFailed(plugin->message());
    if (round == 0) {
      FailFatally("C5.status", what +
                                   " in a session as every host makes it: where there is "
                                   "nothing to record, do nothing and leave the status OK");
    } else {
      FailFatally("C5.restart", what + " in session " + std::to_string(round + 1) +
                                    " of a process: sessions must repeat any number of times");
    }
    return;
  }
  CheckSpeed(start_ns, stop_ns);
}

std::string Amount(const Session& session) {
  return session.bytes.empty() ? std::to_string(session.pushed.spans) + " pushed events"
                               : std::to_string(session.bytes.size()) + " bytes";
}

// `rule`: C3 or C4.
void ExpectSilence(Plugin* plugin, const std::string& id, const std::string& why) {
  const int64_t end = EndOfBudget();
  for (int round = 0; round < kRounds && MonotonicNs() < end; ++round) {
    Phase("session " + std::to_string(round + 1));
    const Session session =
        RunSession(plugin, {0, Collect::kFull, round % 10 == 0 ? 1'000'000 : 0});
    if (!session.ok()) {
      Fail(id + ".status", session.WhatFailed(plugin->message()) + " " + why +
                               ": that is no error; leave the status OK and write size 0");
      return;
    }
    if (session.output()) {
      Fail(id + ".output", "session " + std::to_string(round + 1) + " gives " + Amount(session) +
                               " " + why + ": write *size = 0");
      return;
    }
  }
}

// C5. Remembers the events of earlier sessions, to know them again.
class Restarts {
 public:
  explicit Restarts(Plugin* plugin) : plugin_(plugin) {}

  // False where there is no use in going on.
  bool Prepare() {
    idle_ = Sized(RunSession(plugin_, {0, Collect::kFull, 20'000'000}));
    first_ = Sized(RunSession(plugin_, {kSomeWork, Collect::kFull, 0}));
    return true;
  }

  bool Cycle(int number) {
    Phase("session " + std::to_string(number));
    const uint64_t choice = Random(static_cast<uint64_t>(number));
    SessionPlan plan;
    plan.work = choice % 3 == 0 ? 0 : kSomeWork;
    plan.collect = choice % 16 == 5   ? Collect::kNone
                   : choice % 16 == 6 ? Collect::kQueryOnly
                                      : Collect::kFull;
    plan.sleep_ns = choice % 512 == 7 ? 20'000'000 : 0;
    const Session session = RunSession(plugin_, plan);
    if (!session.ok()) {
      Fail("C5.status", session.WhatFailed(plugin_->message()) + " in session " +
                            std::to_string(number) + ": sessions must repeat any number of times");
      return false;
    }
    if (plan.collect == Collect::kFull) Compare(session, plan.work, number);
    previous_dropped_ = plan.collect != Collect::kFull && plan.work > 0;
    return board().count.load() == 0;
  }

 private:
  static int64_t Sized(const Session& session) {
    return static_cast<int64_t>(session.pushed.spans) +
           std::max<int64_t>(0, CountEvents(session.bytes));
  }

  void Compare(const Session& session, uint64_t work, int number) {
    const int64_t events = Sized(session);
    const std::string now = " in session " + std::to_string(number);
    if (idle_ > 0) {
      // The device works by itself: how much is not ours to say.
    } else if (work == 0 && events > 0) {
      Fail("C5.stale", std::to_string(events) + " events of an earlier session" + now +
                           (previous_dropped_ ? ", the one before it was never collected" : "") +
                           ": drop in start what the last session left");
    } else if (work > 0 && first_ > 0 && events == 0) {
      Fail("C5.lost", "no output" + now +
                          ", though the device worked as in the first one: begin "
                          "to record anew at every start");
    }
    for (const EventTime& event : AbsoluteEvents(session.bytes, 1000)) {
      if (seen_.contains(event)) {
        Fail("C5.stale", "an event of an earlier session comes again" + now +
                             ": drop in start what the last session left");
      }
      latest_.insert(event);
    }
    seen_ = std::move(latest_);
    latest_.clear();
  }

  Plugin* plugin_;
  int64_t idle_ = 0, first_ = 0;  // events of a session without work and of one with some
  std::set<EventTime> seen_, latest_;
  bool previous_dropped_ = false;
};

// C6: each is done, and then a session as every host makes it.
struct Misuse {
  const char* name;
  bool first;  // before any session
  void (*run)(Plugin*);
};
constexpr Misuse kMisuses[] = {
    {"stop first", true, [](Plugin* p) { p->Stop(); }},
    {"collect without a session", true,
     [](Plugin* p) {
       size_t size = 0;
       p->Query(&size);
     }},
    {"start twice", false,
     [](Plugin* p) {
       p->Start();
       p->Start();
       p->Stop();
     }},
    {"stop twice", false,
     [](Plugin* p) {
       p->Start();
       p->Stop();
       p->Stop();
     }},
    {"collect while running", false,
     [](Plugin* p) {
       p->Start();
       WorkNow(kSomeWork);
       size_t size = 0;
       if (p->Query(&size) == TF_OK && size > 0 && size < kMaxSpaceBytes) {
         std::vector<uint8_t> buffer(size + 4096);
         p->Fetch(buffer.data(), &size);
       }
       p->Stop();
     }},
    {"collect twice", false,
     [](Plugin* p) {
       Session session = RunSession(p, {kSomeWork, Collect::kFull, 0});
       for (int i = 0; i < 2; ++i) {
         size_t size = 0;
         if (p->Query(&size) != TF_OK || size == 0 || size > kMaxSpaceBytes) continue;
         std::vector<uint8_t> buffer(size + 4096);
         p->Fetch(buffer.data(), &size);
       }
     }},
    {"destroy while running", false,
     [](Plugin* p) {
       p->Start();
       p->Destroy();
       WorkNow(kSomeWork);
       p->Stop();
     }},
};

void CheckMisuse(const Misuse& misuse, bool with_push_table, bool output) {
  const auto plugin = Plugin::Make(with_push_table);
  if (plugin == nullptr) return;
  Phase(std::string("before: ") + misuse.name);
  if (!misuse.first) RunSession(plugin.get(), {kSomeWork, Collect::kFull, 0});
  Phase(misuse.name);
  misuse.run(plugin.get());
  Phase(std::string("a session after: ") + misuse.name);
  const Session after = RunSession(plugin.get(), {kSomeWork, Collect::kFull, 0});
  if (after.ok() && (after.output() || !output)) return;
  Fail("C6.recovery",
       std::string("after a host's mistake (") + misuse.name + ") a session " +
           (after.ok() ? "gives no output" : "fails: " + after.WhatFailed(plugin->message())) +
           ": answer a call out of order by a status or not at all, and let start "
           "begin afresh");
}

}  // namespace

void RunTrial() {
  FirstSessions(false);
  if (board().fatal.load() != 0) return;
  const Ending ending = InFork([] { FirstSessions(true); });
  if (ending.crashed()) {
    FailFatally("C13.crash", "the plugin " + ending.Words() + ", with the push table");
  } else if (!ending.normal()) {
    FailFatally("C16.exit", "the plugin " + ending.Words() + ", with the push table");
  }
}

void RunRegistration() { (void)Plugin::Make(/*with_push_table=*/true); }

void RunNoDevice() {
  for (const auto& [name, value] : options().no_device) setenv(name.c_str(), value.c_str(), 1);
  WithAndWithoutPushTable(
      "C3", [](Plugin* plugin, bool) { ExpectSilence(plugin, "C3", "though there is no device"); });
}

void RunNoWork() {
  WithAndWithoutPushTable("C4", [](Plugin* plugin, bool) {
    ExpectSilence(plugin, "C4", "though the device was not used");
  });
}

void RunRestart() {
  WithAndWithoutPushTable("C5", [](Plugin* plugin, bool with) {
    Restarts restarts(plugin);
    restarts.Prepare();
    const int64_t end = EndOfBudget();
    const int most = options().cycles / (with ? 4 : 1);
    int done = 0;
    while (done < most && MonotonicNs() < end && restarts.Cycle(done + 1)) ++done;
    if (!with) Note(std::to_string(done) + " sessions");
  });
}

void RunMisuse() {
  auto* output = static_cast<bool*>(SharedMemory(2));
  WithAndWithoutPushTable(
      "C6", [output](Plugin* plugin, bool with) { output[with] = WorkShows(plugin); });
  for (const bool with : {false, true}) {
    for (const Misuse& misuse : kMisuses) {
      ReportEnding(InFork([&] { CheckMisuse(misuse, with, output[with]); }), "C6");
    }
  }
}

}  // namespace crosscut::check
