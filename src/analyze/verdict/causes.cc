#include "src/analyze/verdict/causes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <utility>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/accounting/key_intervals.h"
#include "src/analyze/collectives/matches.h"
#include "src/analyze/collectives/rank_waits.h"
#include "src/analyze/devices/device_work.h"
#include "src/analyze/recent.h"
#include "src/analyze/verdict/awaited_threads.h"
#include "src/analyze/verdict/blame_others.h"
#include "src/analyze/verdict/called_back.h"
#include "src/analyze/verdict/gil_waits.h"
#include "src/analyze/verdict/host_causes.h"
#include "src/analyze/verdict/idle_threads.h"
#include "src/analyze/verdict/lead_states.h"
#include "src/analyze/verdict/lead_time.h"
#include "src/analyze/verdict/lock_holders.h"
#include "src/analyze/verdict/native_code.h"
#include "src/analyze/verdict/process_lines.h"
#include "src/analyze/verdict/walks_share.h"

namespace crosscut::analyze {
namespace {

// Under so many samples of a cause, or below this part of them, samples split nothing.
constexpr int64_t kFewestSamples = 20;
constexpr double kLeastPart = 0.1;
// Of samples that say that one waits for the GIL.
constexpr int64_t kFewestOfGil = 3;
// What may in fact have been compilation, or a wait for the GIL.
constexpr std::array kSplit = {Cause::kPython, Cause::kFramework, Cause::kNative};

class Walk {
 public:
  Walk(const Context& context, uint32_t process, const WalksShare& shared, ProcessCauses* out);
  void Run();
  // While the lead waited for what other processes do for it.
  const std::vector<trace::Interval>& Waited(Cause cause) { return waited_[cause]; }
  // For another rank, by rank: what ProcessCauses::ranks sums up.
  const std::map<uint32_t, std::vector<trace::Interval>>& waited_for() const { return waited_for_; }

 private:
  void Visit(const KeyInterval& key);
  void Add(const Moment& now, uint32_t step);
  void AddWaited(const Moment& now);
  void AddLines(const Moment& now);
  void NameDeviceWork();
  void PutDownToNoLine();
  LeadPiece PieceOf(const Moment& now, const LineStretch& at, const trace::Interval& time) const;
  void AddLeads(const Moment& now, const LineStretch& at, const LeadPiece& piece);
  void AddLocks(const Moment& now, const LineStretch& at, const LeadPiece& piece);
  void AddOthers(const Moment& now);
  void TakeSamples(const Context& context);
  void SplitBySamples();
  void SplitOff(const std::array<LeadTime, kCauses>& parts, Cause to);
  void SplitFiles();
  void SplitCalledBack();
  void SplitPython();
  void SplitWaiting();
  void SplitRunning();
  void SplitIdle();
  void SplitLocks();
  void SplitGil();
  CauseSum& SumOf(Cause cause) { return out_->of(cause); }
  // False where samples are too few, or it is too little.
  bool IsEnough(const LeadTime& part, Cause of);
  void Move(const LeadTime& part, Cause from, Cause to, const BlamedLines& to_lines);
  void Move(const LeadTime& part, Cause from, Cause to) { Move(part, from, to, part.told().lines); }
  void MoveToGil(const LeadTime& part, Cause from, const BlamedLines& to_lines);
  void AskOthers(const LeadTime& part);

  const trace::Trace& trace_;
  const Accounting& accounting_;
  const uint32_t process_;
  const trace::Process& owner_;
  const ProcessEvents& events_;
  ProcessCauses* out_;
  const std::vector<Purpose>& purposes_;
  const std::span<const DeviceEvent> device_work_;
  LeadCursor lead_;
  BusyCursor computing_, communicating_, children_;
  OthersAtWork others_work_;
  RankWaitCursor rank_waits_;
  StretchCursor stretches_;
  uint32_t last_step_ = 0;
  // By cause: what was added to last of its operations and names.
  std::array<std::pair<Recent<std::map<uint32_t, int64_t>>, Recent<std::map<uint32_t, int64_t>>>,
             kCauses>
      recent_;
  ProcessLines lines_;
  std::map<Cause, std::vector<trace::Interval>> waited_;
  std::map<uint32_t, std::vector<trace::Interval>> waited_for_;
  std::map<Cause, std::vector<trace::Interval>> of_devices_;  // when their work is the cause
  // Of each cause, where the lead was seen waiting for a lock, compiling, and waiting for a file;
  // of its waits, running; and where it awaited a thread in a call that no span tells.
  std::array<LeadTime, kCauses> locked_, compiling_, for_file_, running_, awaiting_;
  std::array<Told, kCauses> holders_;  // of the GIL in samples of locked_ that know one
  LeadTime written_;  // what seemed to go into a file, and went into a pipe or a socket
  // Of Python: the interpreter, and native code.
  LeadTime in_interpreter_, in_native_;
  LeadTime polls_;  // sleeps in which a library polls other processes
  RunDelays run_delays_;
  // Of other threads; how many ran Python in the part that is told.
  std::vector<const ThreadSample*> others_;
  size_t next_other_ = 0;
  int64_t others_in_python_ = 0;
  AwaitedThreads awaited_;
  IdleThreads idle_;
  GilWaits gil_;
  LockHolders holders_of_locks_;
  bool is_known_ = false;  // what the lead's stretch that came last was
  // Of the moment that goes on: the lead awaits a thread; and the GIL, which another one has.
  std::vector<trace::Interval> awaits_now_, gil_now_;
  CalledBack called_back_;
};

Walk::Walk(const Context& context, uint32_t process, const WalksShare& shared, ProcessCauses* out)
    : trace_(context.trace()),
      accounting_(context.Shared<Accounting>()),
      process_(process),
      owner_(trace_.processes[process]),
      events_(accounting_.events[process]),
      out_(out),
      purposes_(shared.purposes),
      device_work_(context.Shared<DeviceWork>().events({process})),
      lead_(trace_, owner_.lead, context.Shared<ThreadFacts>().doing, WindowOf(owner_)),
      computing_(TimesOf(context, process, WorkType::kComputation)),
      communicating_(TimesOf(context, process, WorkType::kCommunication)),
      children_(UnionOf(shared.children[process], WindowOf(owner_))),
      others_work_(context, process),
      rank_waits_(shared.rank_waits[process]),
      stretches_(events_.stretches),
      lines_(context, {process}),
      idle_(context),
      holders_of_locks_(context, process) {
  out_->part = events_.told;
  TakeSamples(context);
}

// Of the threads beside the lead.
void Walk::TakeSamples(const Context& context) {
  const ThreadFacts& facts = context.Shared<ThreadFacts>();
  for (const uint32_t track : accounting_.tracks[process_].host) {
    for (const ThreadSample& sample : facts.samples[track]) {
      out_->knows_native |= sample.knows_native;
      if (track == owner_.lead.value) continue;
      gil_.Take(track, sample);
      idle_.Take({track}, sample);
      if (sample.python) others_.push_back(&sample);
    }
  }
  gil_.Sort();
  std::stable_sort(others_.begin(), others_.end(),
                   [](const auto* a, const auto* b) { return a->at_ns < b->at_ns; });
}

void Walk::AddOthers(const Moment& now) {
  const bool answered = IdleThreads::MayBeAnswered(now.cause, now.lead->doing, now.has_child);
  // Who is asked may begin before the lead has sent all of it, or has the GIL again.
  const auto asks_ns = [&](int64_t from, int64_t to) {
    return now.lead->doing == Doing::kSending ? to - from : LengthWithin(gil_now_, from, to);
  };
  if (now.told) {
    const int64_t asks = asks_ns(now.begin_ns, now.end_ns);
    idle_.AddTime(answered, now.end_ns - now.begin_ns - asks);
  }
  for (; next_other_ < others_.size() && others_[next_other_]->at_ns < now.end_ns; ++next_other_) {
    const ThreadSample& other = *others_[next_other_];
    if (!now.told || other.at_ns < now.begin_ns) continue;
    others_in_python_ += other.runs_python();
    called_back_.Add(now.cause, other);
    if (asks_ns(other.at_ns, other.at_ns + 1) == 0) idle_.AddOther(answered, other);
    if (LengthWithin(awaits_now_, other.at_ns, other.at_ns + 1) == 0) continue;
    awaited_.AddOther(BehindLead(now.layers), other, now.has_child);
  }
}

void Walk::Visit(const KeyInterval& key) {
  for (int64_t at = key.begin_ns; at < key.end_ns;) {
    const Stretch& stretch = stretches_.At(at);
    const LeadStretch& lead = lead_.At(at);
    const bool computes = computing_.At(at), communicates = communicating_.At(at);
    Moment now = {at,
                  std::min({key.end_ns, lead.end_ns, stretches_.Until()}),
                  Cause::kUnknown,
                  false,
                  stretch.part,
                  &key,
                  &lead,
                  rank_waits_.At(at),
                  children_.At(at) != nullptr,
                  false};
    now.end_ns = std::min(now.end_ns, children_.Until(at));
    now.layers = lines_.LayersBehind(lead, key.layers, at, &now.end_ns);
    if (lead.doing == Doing::kSelecting && !now.has_child) {
      now.others_work = others_work_.At(at);
      now.end_ns = std::min(now.end_ns, others_work_.Until(at));
    }
    if (DeviceBusy(key.layers)) {
      now.end_ns = std::min({now.end_ns, computing_.Until(at), communicating_.Until(at)});
      now.cause = computes ? Cause::kDevice : communicates ? Cause::kCommunication : Cause::kCopies;
    } else {
      now.cause =
          CauseOnHost(now.layers, lead, purposes_[key.operation], {now.has_child, now.others_work});
    }
    if (now.cause == Cause::kCommunication) {
      now.end_ns = std::min(now.end_ns, rank_waits_.Until(at));
      if (now.rank_wait != nullptr) now.cause = Cause::kOtherRank;
    }
    const bool observed = now.part == out_->part, preempted = now.cause == Cause::kPreemption;
    now.told = observed && !preempted;
    if (observed && preempted) out_->preempted.ns = out_->preempted.alone_ns += now.end_ns - at;
    now.hidden = now.cause == Cause::kOtherRank ? !now.rank_wait->saved
                                                : DeviceBusy(key.layers) && HostWorks(now);
    Add(now, stretch.step);
    at = now.end_ns;
  }
}

void Walk::Add(const Moment& now, uint32_t step) {
  const int64_t ns = now.end_ns - now.begin_ns;
  if (now.told) {
    CauseSum& sum = SumOf(now.cause);
    sum.ns += ns;
    if (!now.hidden) sum.alone_ns += ns;
    if (now.cause == Cause::kOtherRank) {
      out_->ranks[now.rank_wait->last.value] += ns;
      Extend({now.begin_ns, now.end_ns}, &waited_for_[now.rank_wait->last.value]);
    }
    auto& [operations, names] = recent_[static_cast<size_t>(now.cause)];
    operations.In(&sum.operations, now.key->operation) += ns;
    if (DeviceBusy(now.layers) && IsOfDevices(now.cause)) {
      Extend({now.begin_ns, now.end_ns}, &of_devices_[now.cause]);
    } else if (now.lead->name.valid()) {
      names.In(&sum.names, now.lead->name.value) += ns;
    }
    out_->total_ns += ns;
    AddWaited(now);
    if (step != 0) {
      if (step != last_step_) out_->steps.emplace_back();
      last_step_ = step;
      out_->steps.back()[static_cast<size_t>(now.cause)] += ns;
    }
  }
  AddLines(now);
  AddOthers(now);
}

// Work that ran when it was not the cause, before the steps or behind other work, bounds nothing.
void Walk::NameDeviceWork() {
  for (const DeviceEvent& event : device_work_) {
    const Cause cause = event.type == WorkType::kCopy ? Cause::kCopies : Cause::kDevice;
    if (event.type != WorkType::kCopy && event.type != WorkType::kComputation) continue;
    const int64_t ns = LengthWithin(of_devices_[cause], event.begin_ns, event.end_ns);
    const trace::NameId name = trace_.tracks[event.track.value].spans.name[event.span];
    if (ns > 0) SumOf(cause).names[name.value] += ns;
  }
}

void Walk::PutDownToNoLine() {
  for (size_t c = 0; c < kCauses; ++c) {
    CauseSum& sum = out_->causes[c];
    if (sum.ns <= 0) continue;
    LineTime time = {{sum.ns, 0, 0}, {}, sum.operations, sum.names};
    for (size_t i = 0; i < out_->steps.size(); ++i) time.steps.push_back({i, out_->steps[i][c]});
    sum.lines[Line()].Add(time.all);
    sum.leads[Line()] = std::move(time);
  }
}

// Where the lead was meanwhile, and who worked.
void Walk::AddLines(const Moment& now) {
  const bool unnamed = now.key->operation == 0;
  BlamedLines* of_part =
      unnamed ? &out_->unnamed[static_cast<size_t>(now.part)][now.key->layers] : nullptr;
  if (!lines_.knows_any()) {
    const Blamed blamed = {now.end_ns - now.begin_ns, 0, 0};
    if (unnamed) (*of_part)[Line()].Add(blamed);
    return;  // of the causes: PutDownToNoLine
  }
  IdleThreads::Part part = {
      {}, now.cause, now.layers, now.lead->doing, now.lead->end_ns, {now.has_child, false}};
  awaits_now_.clear();
  gil_now_.clear();
  const LineStretch* leads = nullptr;
  const auto add = [&](const LineStretch& at, const Blamed& blamed, ProcessLines::Who who) {
    if (unnamed) (*of_part)[at.line].Add(blamed);
    if (!now.told || is_known_) return;
    const bool other = who == ProcessLines::Who::kOther;
    if (other) idle_.AddWork(part, *leads, at, blamed);
    if (who == ProcessLines::Who::kUnlined) idle_.AddWork(part, at, *lines_.unlined(), blamed);
    if (who == ProcessLines::Who::kNobody) idle_.AddNobody(part, *leads);
    if (now.cause != Cause::kLock) return;
    awaited_.AddWork(BehindLead(now.layers), other, at.line, blamed);
  };
  lines_.ForEach({now.begin_ns, now.end_ns}, now.layers, add,
                 [&](const LineStretch& at, const trace::Interval& time) {
                   leads = &at;
                   is_known_ = false;
                   part.piece = PieceOf(now, at, time);
                   const bool selects = WaitsInNative(at) && at.sample->selects;
                   part.relatives.others = selects && others_work_.At(time.begin_ns);
                   if (now.told) AddLeads(now, at, part.piece);
                 });
}

LeadPiece Walk::PieceOf(const Moment& now, const LineStretch& at,
                        const trace::Interval& time) const {
  const bool waits = now.cause == Cause::kLock || now.cause == Cause::kWaiting ||
                     std::ranges::find(kDoneByOthers, now.cause) != kDoneByOthers.end();
  return {time,
          at.line,
          at.BlamedFor(time.begin_ns, time.end_ns),
          static_cast<int64_t>(out_->steps.size()) - 1,
          now.key->operation,
          now.lead->name,
          waits};
}

void Walk::AddLeads(const Moment& now, const LineStretch& at, const LeadPiece& piece) {
  CauseSum& sum = SumOf(now.cause);
  sum.samples += piece.blamed.samples;
  sum.lines[at.line].Add(piece.blamed);
  if (now.hidden) sum.hidden[at.line].Add(piece.blamed);
  if (!now.hidden && now.cause != Cause::kRecording) sum.leads[at.line].Add(piece);
  const auto cause = static_cast<size_t>(now.cause);
  const Doing doing = now.lead->doing;
  if (at.sample != nullptr && RunsInWait(now, *at.sample)) {
    is_known_ = true;
    running_[cause].Add(piece);
    return;
  }
  if (now.cause == Cause::kLock) AddLocks(now, at, piece);
  if (at.sample == nullptr) return;
  const ThreadSample& sample = *at.sample;
  if (piece.blamed.samples > 0) run_delays_.Add(sample);
  const bool may_split = std::ranges::find(kSplit, now.cause) != kSplit.end();
  const bool may_lack_gil = sample.locked && !sample.awaits_thread && !sample.compiles;
  if (may_split && may_lack_gil && piece.blamed.samples > 0) gil_.Look(sample);
  // The first of these that fits: what is moved to one cause is no other's.
  if (sample.compiles && now.cause != Cause::kWaiting) {
    compiling_[cause].Add(piece);
  } else if (now.cause == Cause::kPython && WaitsInNative(at)) {
    // idle_ has it
  } else if (gil_.Add(now.cause, doing, sample, piece)) {
    is_known_ = true;
    Extend(piece.time, &gil_now_);
  } else if (doing == Doing::kSleeping && now.cause == Cause::kWaiting && now.has_child &&
             sample.in_library) {
    polls_.Add(piece);
  } else if (sample.awaits_reader && now.cause == Cause::kDisk) {
    written_.Add(piece);
  } else if (sample.awaits_file && may_split) {
    for_file_[cause].Add(piece);
  } else if (sample.locked && sample.awaits_thread) {
    awaiting_[cause].Add(piece);
  } else if (sample.locked) {
    locked_[cause].Add(piece);
    const Line* const holder = gil_.HolderAt(sample);
    if (holder == nullptr) return;
    holders_[cause].Add(*holder, piece.blamed);
    Extend(piece.time, &gil_now_);
  } else if (now.cause == Cause::kPython && !gil_.OthersAt(sample)) {
    if (sample.code == Code::kInterpreter) in_interpreter_.Add(piece);
    if (sample.code == Code::kNative) in_native_.Add(piece);
  }
}

// While the lead itself does nothing for it.
void Walk::AddLocks(const Moment& now, const LineStretch& at, const LeadPiece& piece) {
  const Doing doing = now.lead->doing;
  const bool span = doing == Doing::kAwaitingThread || doing == Doing::kSelecting;
  const bool awaits =
      span || (doing != Doing::kAwaitingLock && at.sample != nullptr && at.sample->awaits_thread);
  const bool future = at.sample != nullptr && at.sample->awaits_future;
  const int64_t covers_ns = at.sample == nullptr ? 0 : at.sample->covers_ns;
  awaited_.AddLead(BehindLead(now.layers), {awaits, future, span, covers_ns}, piece);
  if (awaits) Extend(piece.time, &awaits_now_);
  if (!awaits && at.sample != nullptr) holders_of_locks_.Add(*at.sample, piece);
}

void Walk::AddWaited(const Moment& now) {
  if (std::ranges::find(kDoneByOthers, now.cause) == kDoneByOthers.end()) return;
  if (now.lead->layer != trace::Layer::kNone && (kHostBits & Bit(now.lead->layer)) != 0) return;
  Extend({now.begin_ns, now.end_ns}, &waited_[now.cause]);
}

// Spans say that the lead was in Python, or in a call that may hand the GIL over. Where samples saw
// it wait for a lock there while other threads ran Python half as often, that part of the time is
// put down to the GIL (while it waits for that, one of them runs; they are not sampled at one
// moment; samples may know it). Python itself waits for nothing else without a span: where no other
// thread runs it, native code that nothing wraps waits, for threads of its own. Waiting for a
// processor is told beside the causes: it makes all of them longer, and is none.
void Walk::SplitBySamples() {
  SplitOff(compiling_, Cause::kCompilation);
  SplitOff(awaiting_, Cause::kLock);
  SplitFiles();
  SplitCalledBack();
  int64_t locked = 0;
  for (const Cause cause : kSplit) locked += locked_[static_cast<size_t>(cause)].all.samples;
  const bool for_gil = gil_.OthersHadIt(/*otherwise=*/2 * others_in_python_ >= locked);
  CauseSum& queue = SumOf(Cause::kPreemption);
  queue.ns = out_->whole_ns(Cause::kPreemption), queue.samples = run_delays_.samples;
  LeadTime known;
  known.all.ns = run_delays_.of_ns;
  const double of = IsEnough(known, Cause::kPreemption) ? static_cast<double>(queue.ns) : 0;
  const auto seen_ns = std::llround(of * run_delays_.share());
  queue.ns = std::max<int64_t>(out_->preempted.ns, seen_ns);
  for (const Cause cause : kSplit) {
    const LeadTime& part = locked_[static_cast<size_t>(cause)];
    if (!IsEnough(part, cause)) continue;
    if (for_gil) {
      const Told& holders = holders_[static_cast<size_t>(cause)];
      const bool known = 2 * holders.all.samples >= part.all.samples;
      MoveToGil(part, cause, known ? Scaled(holders, part.all.ns) : part.told().lines);
    } else if (cause == Cause::kPython) {
      Move(part, cause, Cause::kNative);
    }
  }
}

// What the framework, or who loads data, waited for, and was Python on a thread of theirs.
void Walk::SplitCalledBack() {
  for (const Cause cause : {Cause::kFramework, Cause::kInput}) {
    LeadTime& part = locked_[static_cast<size_t>(cause)];
    const auto work = called_back_.For(cause, part.all);
    if (!work || !IsEnough(part, cause)) continue;
    Move(part, cause, work->cause, work->lines);
    part = {};
  }
}

// What seems to be Python, operators or native code, and was something else.
void Walk::SplitOff(const std::array<LeadTime, kCauses>& parts, Cause to) {
  for (const Cause cause : kSplit) {
    const LeadTime& part = parts[static_cast<size_t>(cause)];
    if (IsEnough(part, cause)) Move(part, cause, to);
  }
}

// What interrupts a call that waits runs in its span: a signal's handler.
void Walk::SplitRunning() {
  for (const Cause cause : kWaits) {
    const LeadTime& part = running_[static_cast<size_t>(cause)];
    if (!IsEnough(part, cause)) continue;
    Move(part, cause, Cause::kPython);
    for (const auto& [line, time] : part.lines) SumOf(Cause::kPython).leads[line].TakeNames(time);
  }
}

// Native code that nothing wraps (a database's, a framework's) may wait for a file in fact. And
// what is written to standard output, or to another file of Python's, may go into a pipe, which
// takes no more than is read.
void Walk::SplitFiles() {
  if (IsEnough(written_, Cause::kDisk)) Move(written_, Cause::kDisk, Cause::kOtherProcess);
  SplitOff(for_file_, Cause::kDisk);
}

// A library that sleeps, while a process lives that this one started, looks in between whether that
// has a result. Who sleeps in a line of the program's own means to.
void Walk::SplitWaiting() {
  if (!IsEnough(polls_, Cause::kWaiting)) return;
  Move(polls_, Cause::kWaiting, Cause::kOtherProcess);
  AskOthers(polls_);
}

// Of what seems to be the lead's Python, the part that was native code which nothing wraps. What no
// sample saw (in the kernel, in the C library) is divided as what they saw is.
void Walk::SplitPython() {
  const int64_t known_ns = in_interpreter_.all.ns + in_native_.all.ns;
  const double part = Share(in_native_.all.ns, known_ns);
  if (in_interpreter_.all.samples + in_native_.all.samples < kFewestSamples || part < kLeastPart) {
    return;
  }
  LeadTime native = in_native_;
  for (const auto& [line, time] : SumOf(Cause::kPython).leads) {
    LineTime unseen = time;
    for (const LeadTime* seen : {&in_interpreter_, &in_native_}) {
      if (const auto at = seen->lines.find(line); at != seen->lines.end()) unseen.Take(at->second);
    }
    native.Add(line, unseen, part);
  }
  Move(native, Cause::kPython, Cause::kNative);
}

// What the lead waited for as if for a lock, and was another thread's work; and who had the lock.
void Walk::SplitLocks() {
  const LeadTime& held = holders_of_locks_.lead();
  if (IsEnough(held, Cause::kLock))
    Move(held, Cause::kLock, Cause::kLock, holders_of_locks_.lines());
  for (size_t behind = 0; behind < kCauses; ++behind) {
    const auto moved = awaited_.Move(static_cast<Cause>(behind));
    if (moved.to == Cause::kLock) continue;
    Move(moved.lead, Cause::kLock, moved.to, moved.to_lines);
    if (moved.to == Cause::kOtherProcess) AskOthers(moved.lead);
  }
}

// What the lead waited for at lines of threads that idled as it did.
void Walk::SplitIdle() {
  for (IdleThreads::Moved& moved : idle_.WaitsForThreads()) {
    if (moved.from == Cause::kLock) moved.from = awaited_.Move(Cause::kWaiting).to;
    if (moved.from == Cause::kLock) continue;  // too little of it was such a wait
    Move(moved.lead, moved.from, moved.to, moved.to_lines);
  }
}

// What the lead waited for the GIL, and who had it.
void Walk::SplitGil() {
  for (size_t c = 0; c < kCauses; ++c) {
    const auto& [lead, holders] = gil_.of(static_cast<Cause>(c));
    if (lead.all.samples < kFewestOfGil || Share(lead.all.ns, out_->causes[c].ns) < kLeastPart)
      continue;
    MoveToGil(lead, static_cast<Cause>(c), holders);
  }
}

bool Walk::IsEnough(const LeadTime& part, Cause of) {
  const CauseSum& sum = SumOf(of);
  return sum.samples >= kFewestSamples && Share(part.all.ns, sum.ns) >= kLeastPart;
}

// No other process is asked for it.
void Walk::Move(const LeadTime& part, Cause from, Cause to, const BlamedLines& to_lines) {
  out_->Move(part, from, to, to_lines);
  if (from != to) waited_[from] = Without(waited_[from], part.times);
}

void Walk::MoveToGil(const LeadTime& part, Cause from, const BlamedLines& to_lines) {
  Move(part, from, Cause::kLock, to_lines);
  for (const auto& [line, blamed] : to_lines) out_->gil[line].Add(blamed);
}

// What seemed to be a lock or a pause was a wait for a process.
void Walk::AskOthers(const LeadTime& part) {
  std::vector<trace::Interval>& waited = waited_[Cause::kOtherProcess];
  waited.insert(waited.end(), part.times.begin(), part.times.end());
  waited = UnionOf(std::move(waited));
}

void Walk::Run() {
  VisitKeyIntervals(trace_, accounting_, {process_},
                    [this](const KeyInterval& key) { Visit(key); });
  NameDeviceWork();
  if (!lines_.knows_any()) PutDownToNoLine();
  SplitRunning();
  SplitGil();
  SplitBySamples();
  for (const auto& [from, to, lead, lines] : idle_.UntoldWaits()) Move(lead, from, to, lines);
  SplitPython();
  SplitWaiting();
  SplitLocks();
  SplitIdle();
}

}  // namespace

Causes::Causes(const Context& context) : processes(context.trace().processes.size()) {
  const WalksShare shared(context);
  struct Asked {
    uint32_t process;
    Cause cause;
    std::vector<trace::Interval> times;
  };
  std::vector<Asked> asked;
  std::vector<std::vector<trace::Interval>> waits(processes.size());  // of all causes
  for (uint32_t p = 0; p < processes.size(); ++p) {
    Walk walk(context, p, shared, &processes[p]);
    walk.Run();
    if (!SharesClock(context.trace())) continue;
    if (!processes[p].ranks.empty())
      BlameLateRank(context, p, walk.waited_for(), shared.rank_waits, &processes[p]);
    for (const Cause cause : kDoneByOthers) {
      std::vector<trace::Interval> times = walk.Waited(cause);
      waits[p].insert(waits[p].end(), times.begin(), times.end());
      if (!times.empty()) asked.push_back({p, cause, std::move(times)});
    }
    waits[p] = UnionOf(std::move(waits[p]));
  }
  std::ranges::stable_sort(asked, {}, [&](const Asked& one) {
    return context.trace().processes[one.process].parent.value;
  });
  for (const Asked& one : asked) {
    BlameOthers(context, one.process, one.times, waits[one.process],
                &processes[one.process].causes[static_cast<size_t>(one.cause)]);
  }
}

}  // namespace crosscut::analyze
