#include "src/analyze/verdict/causes.h"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/accounting/key_intervals.h"
#include "src/analyze/collectives/matches.h"
#include "src/analyze/columns.h"
#include "src/analyze/devices/device_work.h"
#include "src/analyze/recent.h"
#include "src/analyze/verdict/awaited_threads.h"
#include "src/analyze/verdict/cursors.h"
#include "src/analyze/verdict/host_causes.h"
#include "src/analyze/verdict/lead_states.h"
#include "src/analyze/verdict/native_code.h"
#include "src/analyze/verdict/rank_lines.h"
#include "src/trace/samples.h"

namespace crosscut::analyze {
namespace {

// When a process's devices were at one type of work.
std::vector<trace::Interval> TimesOf(std::span<const DeviceEvent> events, WorkType type) {
  std::vector<trace::Interval> times;
  for (const DeviceEvent& event : events) {
    if (event.type == type) times.push_back({event.begin_ns, event.end_ns});
  }
  return times;
}

// What the walks of all processes share.
struct Shared {
  explicit Shared(const Context& context)
      : doing(DoingByName(context.trace())),
        rank_waits(RankWaits(context)),
        children(context.trace().processes.size()) {
    for (const trace::StringId operation : context.Shared<Accounting>().names.operations) {
      purposes.push_back(PurposeOf(context.trace().text(operation)));
    }
    for (const trace::Process& child : context.trace().processes) {
      if (!child.parent.valid()) continue;
      children[child.parent.value].push_back({child.start_ns, child.end_ns});
    }
    for (std::vector<trace::Interval>& lives : children) {
      std::sort(lives.begin(), lives.end(),
                [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; });
    }
  }
  const std::vector<Doing> doing;
  const std::vector<std::vector<RankWait>> rank_waits;
  std::vector<Purpose> purposes;                       // by operation
  std::vector<std::vector<trace::Interval>> children;  // when recorded processes lived, by parent
};

struct LeadSample {
  int64_t at_ns, covers_ns, run_delay_ns;
  trace::StringId line;
  bool locked;   // it was seen waiting for a lock
  bool awaits;   // AwaitsThread
  bool library;  // IsInLibrary
  bool compiles;
  Code code;  // that ran
};

struct OtherSample {  // of a thread that is not the lead
  int64_t at_ns, covers_ns;
  trace::StringId line;
  bool runs, awaits_process;
  Code code;
};

// Whether a compiler of a framework's runs that is written in Python: torch.compile's,
// tf.function's.
bool Compiles(std::string_view stack) {
  return stack.find("convert_frame.py:") != std::string_view::npos ||
         stack.find("tracing_compilation.py:") != std::string_view::npos;
}

// Files of frameworks whose code, on a thread of its own, prepares data for the lead.
bool Feeds(std::string_view stack) {
  for (const std::string_view file :
       {"from_generator_op.py:", "py_dataset_adapter.py:", "dataloader.py:", "fetch.py:"}) {
    if (stack.find(file) != std::string_view::npos) return true;
  }
  return false;
}

// Under so many samples of a cause, or below this part of them, samples split nothing.
constexpr int64_t kFewestSamples = 20;
constexpr double kLeastPart = 0.1;

class Walk {
 public:
  Walk(const Context& context, uint32_t process, const Shared& shared, ProcessCauses* out);
  void Run();

 private:
  struct Moment {  // what holds from begin_ns to end_ns
    int64_t begin_ns, end_ns;
    Cause cause;
    bool told;  // in the part that is told apart
    WindowPart part;
    const KeyInterval* key;
    const LeadStretch* lead;
    const RankWait* rank_wait;  // null: none
    bool has_child;             // a process that this one started lives
  };
  void Visit(const KeyInterval& key);
  // Which step holds at that time: index + 1; 0: none. Moves on.
  uint32_t StepAt(int64_t at_ns);
  int64_t NextEvent() const {
    return next_event_ < events_.events.size() ? events_.events[next_event_].at_ns : INT64_MAX;
  }
  WindowPart PartNow(uint32_t step, int64_t at_ns) const;
  void Add(const Moment& now, uint32_t step);
  void AddSamples(const Moment& now);
  void AddFeeding(const Moment& now);
  void AddOthers(const Moment& now);
  void TakeSamples();
  void SplitBySamples();
  void SplitCompilation();
  void SplitPython();
  void SplitWaiting();
  void SplitLocks();
  static double PartOf(int64_t count, int64_t samples);
  void MovePart(double part, int64_t samples, const BlamedLines& lines, CauseSum* from,
                CauseSum* to);

  const trace::Trace& trace_;
  const Accounting& accounting_;
  const uint32_t process_;
  const trace::Process& owner_;
  const ProcessEvents& events_;
  ProcessCauses* out_;
  const std::vector<Purpose>& purposes_;
  LeadCursor lead_;
  BusyCursor computing_, communicating_, children_;
  RankWaitCursor rank_waits_;
  size_t next_event_ = 0;
  uint32_t step_now_ = 0, last_step_ = 0;
  int64_t first_step_ns_ = INT64_MAX, last_step_ns_ = INT64_MIN;
  // By cause: what was added to last of its operations and names.
  std::array<std::pair<Recent<std::map<uint32_t, int64_t>>, Recent<std::map<uint32_t, int64_t>>>,
             kCauses>
      recent_;
  std::vector<LeadSample> samples_;
  size_t next_sample_ = 0;
  // Samples of each cause in which the lead was seen waiting for a lock, and compiling.
  std::array<std::pair<int64_t, BlamedLines>, kCauses> locked_, compiling_;
  // Of samples of Python: how many saw the interpreter, and native code; the latter's lines.
  int64_t in_interpreter_ = 0, in_native_ = 0;
  BlamedLines native_lines_;
  // Samples of sleeps in which a library polls other processes, and their lines.
  int64_t polls_ = 0;
  BlamedLines polling_lines_;
  // Of samples that know it: for how long the lead was ready without a processor, of how long.
  int64_t run_delay_ns_ = 0, run_delay_of_ns_ = 0, run_delay_samples_ = 0;
  // Of other threads; how many ran Python in the part that is told.
  std::vector<OtherSample> others_;
  size_t next_other_ = 0;
  int64_t others_in_python_ = 0;
  AwaitedThreads awaited_;
  // Samples of other threads that prepared data; those during work of the framework, by line.
  std::vector<LeadSample> feeding_;
  size_t next_feeding_ = 0;
  int64_t fed_ = 0;
  BlamedLines feeders_;
};

trace::Interval WindowOf(const trace::Process& process) {
  return {process.start_ns, process.end_ns};
}

Walk::Walk(const Context& context, uint32_t process, const Shared& shared, ProcessCauses* out)
    : trace_(context.trace()),
      accounting_(context.Shared<Accounting>()),
      process_(process),
      owner_(trace_.processes[process]),
      events_(accounting_.events[process]),
      out_(out),
      purposes_(shared.purposes),
      lead_(trace_, owner_.lead, shared.doing, WindowOf(owner_)),
      computing_(TimesOf(context.Shared<DeviceWork>().events({process}), WorkType::kComputation),
                 WindowOf(owner_)),
      communicating_(
          TimesOf(context.Shared<DeviceWork>().events({process}), WorkType::kCommunication),
          WindowOf(owner_)),
      children_(shared.children[process], WindowOf(owner_)),
      rank_waits_(shared.rank_waits[process]) {
  bool steps = false;
  for (const ProcessEvents::Event& event : events_.events) {
    const bool step = events_.in_step(event.step);
    if (step && !steps) first_step_ns_ = event.at_ns;
    if (step) last_step_ns_ = event.at_ns;
    steps |= step;
  }
  out_->part = steps ? WindowPart::kSteps : WindowPart::kWhole;
  TakeSamples();
}

// Of all threads of the process.
void Walk::TakeSamples() {
  const trace::SampleReader reader(trace_.strings);
  if (!reader.any()) return;
  for (const uint32_t track : accounting_.tracks[process_].host) {
    const bool lead = track == owner_.lead.value;
    reader.ForEach(trace_, trace_.tracks[track], [&](int64_t at_ns, const trace::Sample& sample) {
      out_->knows_native |= sample.library.valid();
      if (sample.thread != 0) return;
      const std::string_view waits = trace_.text(sample.waits);
      if (!lead) {
        if (sample.stack.valid()) {
          others_.push_back({at_ns, sample.covers_ns, sample.own_line, waits.empty(),
                             AwaitsProcess(waits), CodeOf(trace_.text(sample.library))});
        }
        if (sample.own_line.valid() && Feeds(trace_.text(sample.stack))) {
          feeding_.push_back({at_ns, sample.covers_ns, -1, sample.own_line, false, false, false,
                              false, Code::kUnknown});
        }
        return;
      }
      samples_.push_back({at_ns, sample.covers_ns, sample.run_delay_ns, sample.own_line,
                          waits == "futex", AwaitsThread(trace_.text(sample.stack)),
                          sample.own_line.valid() &&
                              IsInLibrary(trace_.text(sample.stack), trace_.text(sample.own_line)),
                          Compiles(trace_.text(sample.stack)),
                          CodeOf(trace_.text(sample.library))});
    });
  }
  std::sort(others_.begin(), others_.end(),
            [](const OtherSample& a, const OtherSample& b) { return a.at_ns < b.at_ns; });
  std::sort(feeding_.begin(), feeding_.end(),
            [](const LeadSample& a, const LeadSample& b) { return a.at_ns < b.at_ns; });
}

void Walk::AddOthers(const Moment& now) {
  for (; next_other_ < others_.size() && others_[next_other_].at_ns < now.end_ns; ++next_other_) {
    const OtherSample& other = others_[next_other_];
    if (!now.told || other.at_ns < now.begin_ns) continue;
    others_in_python_ += other.runs;
    if (now.cause != Cause::kLock) continue;
    awaited_.AddOther(BehindLead(now.key->layers),
                      {other.runs, other.awaits_process && now.has_child, other.code}, other.line,
                      {other.covers_ns, 1});
  }
}

void Walk::AddFeeding(const Moment& now) {
  for (; next_feeding_ < feeding_.size() && feeding_[next_feeding_].at_ns < now.end_ns;
       ++next_feeding_) {
    const LeadSample& sample = feeding_[next_feeding_];
    if (sample.at_ns < now.begin_ns || !now.told || now.cause != Cause::kFramework) continue;
    ++fed_;
    AddLine(sample.line, {sample.covers_ns, 1}, feeders_);
  }
}

uint32_t Walk::StepAt(int64_t at_ns) {
  while (next_event_ < events_.events.size() && events_.events[next_event_].at_ns <= at_ns) {
    step_now_ = events_.events[next_event_++].step;
  }
  return step_now_;
}

WindowPart Walk::PartNow(uint32_t step, int64_t at_ns) const {
  if (out_->part == WindowPart::kWhole) return WindowPart::kWhole;
  if (at_ns < first_step_ns_) return WindowPart::kStartUp;
  if (step == 0) return at_ns > last_step_ns_ ? WindowPart::kShutdown : WindowPart::kBetween;
  if (!events_.in_step(step) && at_ns > last_step_ns_) return WindowPart::kShutdown;
  if (events_.left_out[step] != 0) return WindowPart::kLeftOut;
  return events_.control[step] != 0 ? WindowPart::kControl : WindowPart::kSteps;
}

void Walk::Visit(const KeyInterval& key) {
  for (int64_t at = key.begin_ns; at < key.end_ns;) {
    const uint32_t step = StepAt(at);
    const LeadStretch& lead = lead_.At(at);
    const bool computes = computing_.At(at), communicates = communicating_.At(at);
    Moment now = {at,
                  std::min({key.end_ns, lead.end_ns, NextEvent()}),
                  Cause::kUnknown,
                  false,
                  PartNow(step, at),
                  &key,
                  &lead,
                  rank_waits_.At(at),
                  children_.At(at)};
    now.end_ns = std::min(now.end_ns, children_.Until(at));
    if (DeviceBusy(key.layers)) {
      now.end_ns = std::min({now.end_ns, computing_.Until(at), communicating_.Until(at)});
      now.cause = computes ? Cause::kDevice : communicates ? Cause::kCommunication : Cause::kCopies;
    } else {
      now.cause = CauseOnHost(key.layers, lead, purposes_[key.operation],
                              {now.has_child, owner_.parent.valid()});
    }
    if (now.cause == Cause::kCommunication) {
      now.end_ns = std::min(now.end_ns, rank_waits_.Until(at));
      if (now.rank_wait != nullptr) now.cause = Cause::kOtherRank;
    }
    now.told = now.part == out_->part;
    Add(now, step);
    at = now.end_ns;
  }
}

void Walk::Add(const Moment& now, uint32_t step) {
  const int64_t ns = now.end_ns - now.begin_ns;
  if (now.told) {
    CauseSum& sum = out_->causes[static_cast<size_t>(now.cause)];
    const bool hidden = DeviceBusy(now.key->layers) && (now.key->layers & kHostBits) != 0 &&
                        now.lead->doing != Doing::kAwaitingDevice &&
                        now.lead->doing != Doing::kCopying;
    sum.ns += ns;
    if (now.cause == Cause::kOtherRank) {
      if (now.rank_wait->saved) sum.alone_ns += ns;
      out_->ranks[now.rank_wait->last.value] += ns;
    } else if (!hidden) {
      sum.alone_ns += ns;
    }
    auto& [operations, names] = recent_[static_cast<size_t>(now.cause)];
    operations.In(&sum.operations, now.key->operation) += ns;
    if (now.lead->name.valid()) names.In(&sum.names, now.lead->name.value) += ns;
    out_->total_ns += ns;
    if (now.cause == Cause::kLock) awaited_.AddTime(BehindLead(now.key->layers), ns);
    if (step != 0) {
      if (step != last_step_) out_->steps.emplace_back();
      last_step_ = step;
      out_->steps.back()[static_cast<size_t>(now.cause)] += ns;
    }
  }
  AddSamples(now);
  AddFeeding(now);
  AddOthers(now);
}

void Walk::AddSamples(const Moment& now) {
  while (next_sample_ < samples_.size() && samples_[next_sample_].at_ns < now.begin_ns) {
    ++next_sample_;
  }
  for (; next_sample_ < samples_.size() && samples_[next_sample_].at_ns < now.end_ns;
       ++next_sample_) {
    const LeadSample& sample = samples_[next_sample_];
    const Blamed blamed = {sample.covers_ns, 1};
    if (now.key->operation == 0) {
      AddLine(sample.line, blamed, out_->unnamed[static_cast<size_t>(now.part)][now.lead->layer]);
    }
    if (!now.told) continue;
    CauseSum& sum = out_->causes[static_cast<size_t>(now.cause)];
    ++sum.samples;
    AddLine(sample.line, blamed, sum.lines);
    if (now.cause == Cause::kLock) {
      const Doing doing = now.lead->doing;
      awaited_.AddLead(
          BehindLead(now.key->layers),
          sample.awaits || doing == Doing::kAwaitingThread || doing == Doing::kSelecting,
          sample.line, blamed);
    }
    if (sample.run_delay_ns >= 0) {
      run_delay_ns_ += std::min(sample.run_delay_ns, sample.covers_ns);
      run_delay_of_ns_ += sample.covers_ns;
      ++run_delay_samples_;
    }
    if (now.lead->doing == Doing::kSleeping && now.cause == Cause::kWaiting && now.has_child &&
        sample.library) {
      ++polls_;
      AddLine(sample.line, blamed, polling_lines_);
    }
    if (sample.compiles) {
      auto& [count, lines] = compiling_[static_cast<size_t>(now.cause)];
      ++count;
      AddLine(sample.line, blamed, lines);
      continue;
    }
    if (now.cause == Cause::kPython) {
      in_interpreter_ += sample.code == Code::kInterpreter;
      in_native_ += sample.code == Code::kNative;
      if (sample.code == Code::kNative) AddLine(sample.line, blamed, native_lines_);
    }
    if (!sample.locked) continue;
    auto& [count, lines] = locked_[static_cast<size_t>(now.cause)];
    ++count;
    AddLine(sample.line, blamed, lines);
  }
}

// Spans say that the lead was in Python, or in a call that may hand the GIL over. Where samples saw
// it wait for a lock there while other threads ran Python half as often, that part of the time is
// put down to the GIL (while it waits for that, one of them runs; they are not sampled at one
// moment); where it waited inside the framework while threads prepared data for that, to input.
// Python itself waits for nothing else without a span: where no other thread runs it, native code
// that nothing wraps waits, for threads of its own.
// Waiting for a processor is told beside the causes: it makes all of them longer and is none of its
// own.
void Walk::SplitBySamples() {
  SplitCompilation();
  auto& causes = out_->causes;
  int64_t locked = 0;
  for (const auto& [count, lines] : locked_) locked += count;
  CauseSum& queue = causes[static_cast<size_t>(Cause::kPreemption)];
  queue.samples = run_delay_samples_;
  queue.ns = static_cast<int64_t>(Share(run_delay_ns_, run_delay_of_ns_) *
                                  static_cast<double>(out_->total_ns));
  for (const Cause cause : {Cause::kPython, Cause::kFramework, Cause::kNative}) {
    CauseSum& source = causes[static_cast<size_t>(cause)];
    const auto& [count, lines] = locked_[static_cast<size_t>(cause)];
    if (cause == Cause::kFramework && 2 * fed_ >= count) {
      CauseSum& input = causes[static_cast<size_t>(Cause::kInput)];
      MovePart(PartOf(count, source.samples), count, {}, &source, &input);
      for (const auto& [line, blamed] : feeders_) AddLine(line, blamed, input.lines);
      continue;
    }
    if (2 * others_in_python_ >= locked) {
      MovePart(PartOf(count, source.samples), count, lines, &source,
               &causes[static_cast<size_t>(Cause::kLock)]);
    } else if (cause == Cause::kPython) {
      MovePart(PartOf(count, source.samples), count, lines, &source,
               &causes[static_cast<size_t>(Cause::kNative)]);
    }
  }
}

// What seems to be Python, operators or native code, and was a compiler's.
void Walk::SplitCompilation() {
  for (const Cause cause : {Cause::kPython, Cause::kFramework, Cause::kNative}) {
    CauseSum& source = out_->causes[static_cast<size_t>(cause)];
    const auto& [count, lines] = compiling_[static_cast<size_t>(cause)];
    MovePart(PartOf(count, source.samples), count, lines, &source,
             &out_->causes[static_cast<size_t>(Cause::kCompilation)]);
  }
}

// A library that sleeps, while a process lives that this one started, looks in between whether that
// has a result. Who sleeps in a line of the program's own means to.
void Walk::SplitWaiting() {
  CauseSum& waiting = out_->causes[static_cast<size_t>(Cause::kWaiting)];
  MovePart(PartOf(polls_, waiting.samples), polls_, polling_lines_, &waiting,
           &out_->causes[static_cast<size_t>(Cause::kOtherProcess)]);
}

// Of what seems to be Python, the part that was native code which nothing wraps. What no sample saw
// (in the kernel, in the C library) is divided as what they saw is.
void Walk::SplitPython() {
  MovePart(PartOf(in_native_, in_interpreter_ + in_native_), in_native_, native_lines_,
           &out_->causes[static_cast<size_t>(Cause::kPython)],
           &out_->causes[static_cast<size_t>(Cause::kNative)]);
}

// What the lead waited for as if for a lock, and was another thread's work.
void Walk::SplitLocks() {
  CauseSum& locks = out_->causes[static_cast<size_t>(Cause::kLock)];
  for (size_t behind = 0; behind < kCauses; ++behind) {
    const auto moved = awaited_.Move(static_cast<Cause>(behind));
    if (moved.to == Cause::kLock) continue;
    CauseSum& to = out_->causes[static_cast<size_t>(moved.to)];
    MovePart(Share(moved.ns, locks.ns), moved.samples, {}, &locks, &to);
    for (const auto& [line, blamed] : moved.from_lines) {
      AddLine(line, {-blamed.ns, -blamed.samples}, locks.lines);
    }
    for (const auto& [line, blamed] : moved.to_lines) AddLine(line, blamed, to.lines);
  }
}

// 0 where samples are too few, or too few of them saw it.
double Walk::PartOf(int64_t count, int64_t samples) {
  const double part = Share(count, samples);
  return samples < kFewestSamples || part < kLeastPart ? 0 : part;
}

void Walk::MovePart(double part, int64_t samples, const BlamedLines& lines, CauseSum* from,
                    CauseSum* to) {
  if (part == 0) return;
  const auto share = [part](int64_t ns) {
    return static_cast<int64_t>(part * static_cast<double>(ns));
  };
  const int64_t ns = share(from->ns);
  from->ns -= ns;
  from->alone_ns = from->ns;
  to->ns += ns;
  to->alone_ns += ns;
  if (2 * ns > to->ns) to->names.clear();  // the lead was in none of what took most of it
  from->samples -= samples;
  to->samples += samples;
  for (const auto& [line, blamed] : lines) {
    AddLine(line, blamed, to->lines);
    AddLine(line, {-blamed.ns, -blamed.samples}, from->lines);
  }
  for (auto& step : out_->steps) {
    int64_t& of_step = step[static_cast<size_t>(from - out_->causes.data())];
    const int64_t moved = share(of_step);
    of_step -= moved;
    step[static_cast<size_t>(to - out_->causes.data())] += moved;
  }
}

void Walk::Run() {
  VisitKeyIntervals(trace_, accounting_, {process_},
                    [this](const KeyInterval& key) { Visit(key); });
  SplitBySamples();
  SplitPython();
  SplitWaiting();
  SplitLocks();
}

// For waiting, what the rank does that is waited for longest.
void BlameLateRank(const Context& context, uint32_t p, const std::vector<RankWait>& waits,
                   const std::vector<Doing>& doing, ProcessCauses* causes) {
  const auto late = std::max_element(causes->ranks.begin(), causes->ranks.end(),
                                     [](auto& a, auto& b) { return a.second < b.second; });
  const trace::Process& process = context.trace().processes[p];
  trace::Interval of = WindowOf(process);
  if (causes->part == WindowPart::kSteps) {
    of = {process.steps.front().begin_ns, process.steps.back().end_ns};
  }
  std::vector<trace::Interval> times;
  for (const RankWait& wait : waits) {
    const trace::Interval time = {std::max(wait.begin_ns, of.begin_ns),
                                  std::min(wait.end_ns, of.end_ns)};
    if (wait.last.value == late->first && time.begin_ns < time.end_ns) times.push_back(time);
  }
  LeadWork work = LeadWorkIn(context, {late->first}, times, doing);
  CauseSum& sum = causes->causes[static_cast<size_t>(Cause::kOtherRank)];
  sum.names = std::move(work.names);
  sum.lines = std::move(work.lines);
}

struct CauseRow {
  uint32_t process;
  Cause cause;
  const CauseSum* sum;
};

}  // namespace

double Share(int64_t part, int64_t whole) {
  return whole <= 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

const char* CauseName(Cause cause) {
  constexpr std::array<const char*, kCauses> kNames = {
      "input",         "python",     "framework",     "native",          "launches",
      "device",        "copies",     "communication", "synchronisation", "simulator",
      "other-process", "other-rank", "compilation",   "allocation",      "gc",
      "lock",          "waiting",    "disk",          "preemption",      "recording",
      "unknown"};
  return kNames[static_cast<size_t>(cause)];
}

Causes::Causes(const Context& context) : processes(context.trace().processes.size()) {
  const struct Shared shared(context);
  for (uint32_t p = 0; p < processes.size(); ++p) {
    ProcessCauses& causes = processes[p];
    Walk(context, p, shared, &causes).Run();
    if (!causes.ranks.empty() && SharesClock(context.trace())) {
      BlameLateRank(context, p, shared.rank_waits[p], shared.doing, &causes);
    }
  }
}

Table StepCausesTable(const trace::Trace& trace, const Context& context) {
  std::vector<CauseRow> rows;
  const Causes& causes = context.Shared<Causes>();
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const auto first = static_cast<ptrdiff_t>(rows.size());
    for (size_t c = 0; c < kCauses; ++c) {
      const CauseSum& sum = causes.processes[p].causes[c];
      if (sum.ns > 0 && static_cast<Cause>(c) != Cause::kPreemption)
        rows.push_back({p, static_cast<Cause>(c), &sum});
    }
    std::stable_sort(rows.begin() + first, rows.end(),
                     [](const CauseRow& a, const CauseRow& b) { return a.sum->ns > b.sum->ns; });
  }
  return TableOf("step_causes", rows)
      .Text("process", [&](const CauseRow& r) { return context.process_label({r.process}); })
      .Text("cause", [](const CauseRow& r) { return CauseName(r.cause); })
      .Integer("ns", [](const CauseRow& r) { return r.sum->ns; })
      .Integer("alone_ns", [](const CauseRow& r) { return r.sum->alone_ns; })
      .Integer("samples", [](const CauseRow& r) { return r.sum->samples; })
      .Make();
}

}  // namespace crosscut::analyze
