#include "src/verbs/control.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "src/base/time.h"
#include "src/verbs/armed_process.h"
#include "src/verbs/common_step.h"
#include "src/verbs/recording/program_name.h"

namespace crosscut::verbs {
namespace {

using format::kAtOnce;

constexpr int kPollMs = 20;
constexpr int kSampleMs = 20;              // in which the pace of steps is measured
constexpr double kAheadSeconds = 0.1;      // how far ahead the common step lies
constexpr int kAttempts = 6;               // each twice as far ahead
constexpr double kFinishSeconds = 30;      // for what a process has begun to do
constexpr double kStopEdgeSeconds = 5;     // then a window ends without waiting for a step
constexpr double kLimitGraceSeconds = 10;  // a window outlives its command by no more

double Now() { return static_cast<double>(base::MonotonicNs()) * 1e-9; }

void SleepMs(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

std::string Seconds(double seconds) {
  char text[32];
  snprintf(text, sizeof text, "%g s", seconds);
  return text;
}

using Request = ArmedProcess::Request;

struct Target {
  std::unique_ptr<ArmedProcess> process;  // null: cannot be asked
  ControlledProcess told;
  bool by_step = false;  // the request names a step
  bool asked = false;
  bool stop = false;  // what it was asked for last
};

class Controller {
 public:
  explicit Controller(const ControlOptions& options) : options_(options) {}
  Result<ControlOutcome> Run();

 private:
  using Action = ControlOptions::Action;

  Status Find();
  Status Add(const format::RunRing& ring);
  Status Judge();
  Status AskAll(format::RingRequest kind, bool at_once);
  Result<uint64_t> ChooseStep(double ahead_seconds);
  void Publish(Request request, uint64_t step);
  bool SomeLate(uint64_t step);
  void TakeBack();
  bool SomeBegan() const;
  void AwaitAnswers(double timeout);
  bool Settle(Target& target);
  void GiveUp(Target& target, double timeout);
  Status Stop();
  size_t StillOpen(uint64_t* steps);
  void AwaitEnd();
  void StopStragglers();
  uint64_t Steps() const;
  void Fill();

  const ControlOptions& options_;
  std::string run_dir_;
  std::vector<Target> targets_;
  uint64_t window_ = 0;
};

bool IsNumber(const std::string& text, int64_t* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

// ---- Who is asked -------------------------------------------------------------------------------

Status Controller::Add(const format::RunRing& ring) {
  auto process = ArmedProcess::Open(ring);
  if (process.ok()) {
    Target target;
    target.told.key = (*process)->key();
    target.told.pid = (*process)->pid();
    target.told.title = ProcessTitle(target.told.pid);
    target.process = std::move(*process);
    targets_.push_back(std::move(target));
    return {};
  }
  if (process.status().code() != Status::Code::kInvalid) return process.status();
  Target target;
  target.told.pid = ring.header.pid;
  target.told.title = ProcessTitle(ring.header.pid);
  target.told.key = ring.header.log_name;
  target.told.words = process.status().message();
  targets_.push_back(std::move(target));
  return {};
}

Status Controller::Find() {
  int64_t pid = 0;
  if (IsNumber(options_.target, &pid)) {
    const Result<format::RunRing> ring = RingOfProcess(pid);
    if (!ring.ok()) return ring.status();
    if (const Status added = Add(*ring); !added.ok()) return added;
  } else {
    const auto rings = RingsOfRun(options_.target);
    if (!rings.ok()) return rings.status();
    for (const format::RunRing& ring : *rings) {
      const Status added = Add(ring);
      if (added.code() == Status::Code::kLimit) return added;
    }
    if (targets_.empty()) {
      return Status::NotFound("no process of " + options_.target +
                              " is alive: only what still runs can be asked");
    }
  }
  for (const Target& target : targets_) {
    if (target.process == nullptr) continue;
    run_dir_ = target.process->run_dir();
    return {};
  }
  return Status::Invalid(targets_.front().told.words);
}

// Says of each process that cannot follow why, and finds the number of the window. One whose log
// failed records nothing any more and is asked to stop all the same: its sources are in place.
Status Controller::Judge() {
  const bool start = options_.action == Action::kStart;
  std::string why;
  bool any = false;
  for (Target& target : targets_) {
    if (target.process == nullptr) continue;
    ArmedProcess& process = *target.process;
    window_ = std::max(window_, process.window_begun());
    if (process.HasWaiting() && options_.action == Action::kStop && process.Withdraw()) {
      target.told.followed = true;
      target.told.words = "a start that was still waiting was taken back";
    } else if (process.HasWaiting()) {
      target.told.words = "an earlier request is still waiting; `crosscut stop` takes it back";
    } else if (process.recording() == start && (start || process.failure().empty())) {
      target.told.words =
          start ? "it is already recording, window " + std::to_string(process.window_begun())
                : "it is not recording now";
    }
    any = any || target.told.words.empty() || target.told.followed;
    why = target.told.words;
    if (!target.told.words.empty()) target.process.reset();
  }
  if (!any) {
    return Status::Invalid(why).At(targets_.front().told.title);
  }
  if (!start || run_dir_.empty()) {
    window_ += start ? 1 : 0;
    return {};
  }
  const auto rings = RingsOfRun(run_dir_);  // of a process, its siblings' windows count, too
  for (const format::RunRing& ring : rings.ok() ? *rings : std::vector<format::RunRing>()) {
    window_ = std::max(window_, ring.header.control.window_begun);
  }
  ++window_;
  return {};
}

// ---- Asking -------------------------------------------------------------------------------------

// Steps begun by all who count them.
uint64_t Controller::Steps() const {
  uint64_t sum = 0;
  for (const Target& target : targets_) {
    if (target.process != nullptr) sum += target.process->steps();
  }
  return sum;
}

Result<uint64_t> Controller::ChooseStep(double ahead_seconds) {
  std::vector<CountedSteps> counted;
  std::vector<const ArmedProcess*> processes;
  for (const Target& target : targets_) {
    if (!target.by_step) continue;
    processes.push_back(target.process.get());
    counted.push_back({target.told.title, target.process->steps()});
  }
  const double begin = Now();
  SleepMs(kSampleMs);
  const double elapsed = Now() - begin;
  for (size_t i = 0; i < counted.size(); ++i) counted[i].now = processes[i]->steps();
  return CommonStep(counted, {elapsed, ahead_seconds, options_.timeout});
}

// To those that wait for step `step`, or to those that wait for none (kAtOnce).
void Controller::Publish(Request request, uint64_t step) {
  request.at_step = step;
  for (Target& target : targets_) {
    if (target.process == nullptr || target.by_step != (step != kAtOnce)) continue;
    target.process->Ask(request);
    target.asked = true;
    target.stop = request.kind == format::kRequestStop;
  }
}

// What a process has taken up, it answers.
void AwaitCarriedOut(const ArmedProcess& process) {
  const double end = Now() + kFinishSeconds;
  while (!process.Answered() && process.alive() && Now() < end) process.AwaitAnswer(kPollMs);
}

// Whether a process began the step before it could see the request. Such a request is taken back,
// unless the process took it up at a later step and answers so by itself.
bool Controller::SomeLate(uint64_t step) {
  bool late = false;
  for (Target& target : targets_) {
    if (!target.by_step || target.process == nullptr || target.process->steps() <= step) continue;
    if (target.process->Withdraw()) {
      late = true;
      continue;
    }
    AwaitCarriedOut(*target.process);
    late = late || (target.process->Answered() && target.process->answer() == format::kAnswerLate);
  }
  return late;
}

// Whether any process began the window that is asked for.
bool Controller::SomeBegan() const {
  return std::any_of(targets_.begin(), targets_.end(), [this](const Target& target) {
    return target.process != nullptr && target.process->window_begun() >= window_;
  });
}

// The requests that named a step; where a window has begun all the same, it ends.
void Controller::TakeBack() {
  for (Target& target : targets_) {
    if (!target.by_step || target.process == nullptr || target.process->Withdraw()) continue;
    AwaitCarriedOut(*target.process);
    if (options_.action != Action::kStart || !target.process->recording()) continue;
    Request stop;
    stop.kind = format::kRequestStop;
    target.process->Ask(stop);
    AwaitCarriedOut(*target.process);
  }
}

Status Controller::AskAll(format::RingRequest kind, bool at_once) {
  Request request;
  request.kind = kind;
  request.step_count = options_.steps;
  if (options_.seconds > 0) {
    request.limit_ns = static_cast<uint64_t>((options_.seconds + kLimitGraceSeconds) * 1e9);
  }
  bool any_by_step = false;
  for (Target& target : targets_) {
    target.by_step = target.process != nullptr && !at_once && target.process->counts_steps();
    target.asked = false;
    any_by_step = any_by_step || target.by_step;
    if (target.process != nullptr && options_.at_step != 0 && !target.by_step) {
      target.told.words = "it counts no steps: the program does not call crosscut.step()";
      target.process.reset();
    }
  }
  double ahead = kAheadSeconds;
  for (int attempt = 0; any_by_step; ++attempt, ahead *= 2) {
    request.window = window_;
    uint64_t step = options_.at_step;
    if (step == 0) {
      const Result<uint64_t> chosen = ChooseStep(ahead);
      if (!chosen.ok()) return chosen.status();
      step = *chosen;
    }
    Publish(request, step);
    if (!SomeLate(step)) break;
    TakeBack();
    if (options_.at_step != 0) {
      return Status::Invalid("step " + std::to_string(step) + " has begun already");
    }
    if (attempt == kAttempts) {
      return Status::Limit("the steps are too short to agree on one; --now waits for none");
    }
    // What some have begun has that number for good.
    if (kind == format::kRequestStart && SomeBegan()) ++window_;
  }
  request.window = window_;
  Publish(request, kAtOnce);
  return {};
}

// ---- Answers ------------------------------------------------------------------------------------

// True once it is known what became of the request.
bool Controller::Settle(Target& target) {
  if (target.process == nullptr || !target.asked) return true;
  if (target.process->Answered()) {
    const bool over = target.stop && !target.process->recording();  // it ended by itself just now
    target.told.followed = target.process->answer() == 0 || over;
    target.told.words = target.told.followed ? "" : target.process->words();
    target.asked = false;
    return true;
  }
  if (target.process->alive()) return false;
  target.told.words = "it has ended in the meantime";
  target.process.reset();
  return true;
}

void Controller::GiveUp(Target& target, double timeout) {
  if (target.process->Withdraw()) {
    target.told.words = target.by_step ? "it began no step for " + Seconds(timeout) + " (" +
                                             std::to_string(target.process->steps()) + " so far)"
                                       : "it ran no Python for " + Seconds(timeout) +
                                             ": a call holds the interpreter's lock";
    target.process.reset();
    return;
  }
  const double end = Now() + kFinishSeconds;
  while (!Settle(target) && Now() < end) target.process->AwaitAnswer(kPollMs);
  if (!target.asked || target.process == nullptr) return;
  target.told.words = "it began to carry out the request and has not finished";
  target.process.reset();
}

// `timeout`: without an answer and without a step.
void Controller::AwaitAnswers(double timeout) {
  uint64_t steps = Steps();
  double end = Now() + timeout;
  for (;;) {
    Target* waiting = nullptr;
    for (Target& target : targets_) {
      if (!Settle(target)) waiting = &target;
    }
    if (waiting == nullptr) return;
    waiting->process->AwaitAnswer(kPollMs);
    const uint64_t now = Steps();
    if (now != steps) end = Now() + timeout;
    steps = now;
    if (Now() < end) continue;
    for (Target& target : targets_) {
      if (!Settle(target)) GiveUp(target, timeout);
    }
    return;
  }
}

// ---- Windows that end ---------------------------------------------------------------------------

Status Controller::Stop() {
  if (const Status asked = AskAll(format::kRequestStop, options_.at_once); !asked.ok()) {
    return asked;
  }
  if (options_.at_step != 0) {
    AwaitAnswers(options_.timeout);
    return {};
  }
  // A program that makes no step any more is stopped where it is.
  uint64_t steps = Steps();
  double end = Now() + std::min(options_.timeout, kStopEdgeSeconds);
  for (bool waiting = true; waiting && Now() < end;) {
    waiting = false;
    for (Target& target : targets_) waiting = !Settle(target) || waiting;
    if (waiting) SleepMs(1);
    if (Steps() != steps) end = Now() + std::min(options_.timeout, kStopEdgeSeconds);
    steps = Steps();
  }
  for (Target& target : targets_) {
    if (Settle(target) || !target.by_step || !target.process->Withdraw()) continue;
    Request request;
    request.kind = format::kRequestStop;
    target.by_step = false;
    target.process->Ask(request);
  }
  AwaitAnswers(options_.timeout);
  return {};
}

// How many are in the window that will end by themselves: those that make steps, and all while
// nobody has come to its end.
size_t Controller::StillOpen(uint64_t* steps) {
  size_t makers = 0, others = 0, ended = 0;
  *steps = 0;
  for (Target& target : targets_) {
    if (target.process == nullptr || !target.told.followed) continue;
    ArmedProcess& process = *target.process;
    const uint64_t now = process.steps();
    if (process.window_ended() == window_) {
      ++ended;
    } else if (!process.alive()) {
      target.told.words = "it ended inside the window";
      target.process.reset();
    } else if (options_.steps == 0 || process.counts_steps() || now > process.first_step()) {
      ++makers;
      *steps += now;
    } else {
      ++others;
    }
  }
  return ended == 0 ? makers + others : makers;
}

// A start with an end: the window's steps, or its time.
void Controller::AwaitEnd() {
  const double end = Now() + options_.seconds;
  double patience = Now() + options_.timeout;
  uint64_t before = 0, steps = 0;
  while (StillOpen(&steps) != 0) {
    if (options_.seconds > 0 && Now() >= end) return;
    if (steps != before || options_.seconds > 0) patience = Now() + options_.timeout;
    before = steps;
    if (Now() >= patience) return;
    SleepMs(options_.steps > 0 ? kPollMs / 4 : kPollMs);
  }
}

// Ends the window in whoever is still in it: children that were forked meanwhile, too.
void Controller::StopStragglers() {
  std::vector<Target> all = std::exchange(targets_, {});
  for (Target& target : all) {
    if (target.process != nullptr && target.told.followed &&
        target.process->window_ended() != window_) {
      targets_.push_back(std::move(target));
    }
  }
  std::erase_if(all, [](const Target& target) { return target.told.key.empty(); });
  std::vector<format::RunRing> rings;
  if (!run_dir_.empty()) {
    if (auto found = RingsOfRun(run_dir_); found.ok()) rings = std::move(*found);
  }
  for (const format::RunRing& ring : rings) {
    const format::RingControl& control = ring.header.control;
    if (control.window_begun != window_ || control.window_ended == window_) continue;
    const auto same = [&](const Target& target) { return target.told.pid == ring.header.pid; };
    if (std::none_of(targets_.begin(), targets_.end(), same)) (void)Add(ring);
  }
  if (!targets_.empty()) (void)Stop();
  for (Target& target : all) targets_.push_back(std::move(target));
}

void Controller::Fill() {
  for (Target& target : targets_) {
    if (target.process == nullptr) continue;
    ControlledProcess& told = target.told;
    const std::string failure = target.process->failure();
    if (told.followed && !failure.empty()) {
      told.followed = false;
      told.words = failure;
    }
    told.window = target.process->window_begun();
    told.counts_steps = target.process->counts_steps();
    told.first_step = target.process->first_step();
    told.ended = target.process->window_ended() == told.window;
    told.end_step = told.ended ? target.process->end_step() : 0;
  }
}

Result<ControlOutcome> Controller::Run() {
  if (const Status found = Find(); !found.ok()) return found;
  if (const Status judged = Judge(); !judged.ok()) return judged;
  Status status;
  switch (options_.action) {
    case Action::kSnapshot: status = AskAll(format::kRequestSnapshot, true); break;
    case Action::kStart: status = AskAll(format::kRequestStart, options_.at_once); break;
    case Action::kStop: status = Stop(); break;
  }
  if (!status.ok()) return status;
  AwaitAnswers(options_.timeout);
  if (options_.action == Action::kStart && (options_.steps > 0 || options_.seconds > 0)) {
    AwaitEnd();
    StopStragglers();
  }
  Fill();
  ControlOutcome outcome;
  outcome.run_dir = run_dir_;
  for (Target& target : targets_) outcome.processes.push_back(std::move(target.told));
  std::sort(outcome.processes.begin(), outcome.processes.end(),
            [](const auto& a, const auto& b) { return a.pid < b.pid; });
  return outcome;
}

}  // namespace

Result<ControlOutcome> Control(const ControlOptions& options) {
  Controller controller(options);
  return controller.Run();
}

}  // namespace crosscut::verbs
