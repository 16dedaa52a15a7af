#include "src/format/cut.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "src/base/file.h"
#include "src/format/log_writer.h"
#include "src/format/run_reader.h"

namespace crosscut::format {
namespace {

using Words = std::span<const uint64_t>;

constexpr uint64_t kMostNames = 1u << 26;  // a damaged id must not make us allocate gigabytes

uint64_t Word(uint64_t tick, uint64_t code) { return tick << kCodeBits | code; }

// When the process recorded: from its starts to its pauses and stops.
class RecordedTime {
 public:
  void Take(const WordBatch& batch) {
    TickReader ticks(batch.base_tick);
    for (const Words event : EventsOf(batch.words)) TakeEdge(event, ticks.Next(event[0]));
  }

  // What of the part was recorded, in order. Where no edge was seen at all, all of it.
  void AddOf(const CutPart& part, std::vector<CutPart>* out) const {
    const std::vector<Interval> always = {{0, kOpen}};
    const std::vector<Interval>& all = recorded_.empty() ? always : recorded_;
    auto one = std::partition_point(all.begin(), all.end(),
                                    [&](const Interval& time) { return time.end <= part.begin; });
    for (; one != all.end() && one->begin < part.end; ++one) {
      CutPart both = part;
      both.begin = std::max(part.begin, one->begin);
      both.end = std::min(part.end, one->end);
      if (both.begin >= both.end) continue;
      both.begin_ns = part.begin_ns + NsUpTo(part, both.begin);
      both.end_ns = part.begin_ns + NsUpTo(part, both.end);
      out->push_back(both);
    }
  }
  // Why it ended at `tick`.
  uint64_t WhyStopped(uint64_t tick) const {
    return !recorded_.empty() && recorded_.back().end == tick ? reason_ : uint64_t{kStopAsked};
  }

 private:
  static constexpr uint64_t kOpen = UINT64_MAX;
  struct Interval {
    uint64_t begin, end;
  };

  void TakeEdge(Words event, uint64_t tick) {
    const uint64_t code = event[0] & kCodeMask;
    const bool open = !recorded_.empty() && recorded_.back().end == kOpen;
    if ((code == kStart || code == kResume) && !open) recorded_.push_back({tick, kOpen});
    if (code != kPause && code != kStop) return;
    if (open) recorded_.back().end = tick;
    reason_ = code == kStop ? event[1] : uint64_t{kStopAsked};
  }

  // The two clocks run alike between the part's ends.
  static int64_t NsUpTo(const CutPart& part, uint64_t tick) {
    const auto whole = static_cast<double>(part.end - part.begin);
    const double share = static_cast<double>(tick - part.begin) / whole;
    return static_cast<int64_t>(share * static_cast<double>(part.end_ns - part.begin_ns));
  }

  std::vector<Interval> recorded_;
  uint64_t reason_ = kStopAsked;
};

// Which parts what happened lies in.
class Parts {
 public:
  explicit Parts(const std::vector<CutPart>& parts) : parts_(parts) {}
  uint64_t begin() const { return parts_.front().begin; }
  uint64_t end() const { return parts_.back().end; }
  bool Has(uint64_t tick) const { return Lies(tick, &CutPart::begin, &CutPart::end); }
  bool HasNs(int64_t ns) const { return Lies(ns, &CutPart::begin_ns, &CutPart::end_ns); }
  // In one of them, or between two.
  bool Span(uint64_t tick) const { return tick >= begin() && tick < end(); }
  // Of the last one that ended by then; the first one's begin where none has.
  uint64_t EndBefore(uint64_t tick) const {
    const auto after = std::partition_point(parts_.begin(), parts_.end(),
                                            [&](const CutPart& part) { return part.end <= tick; });
    return after == parts_.begin() ? begin() : after[-1].end;
  }
  const std::vector<CutPart>& all() const { return parts_; }

 private:
  template <class Time>
  bool Lies(Time at, Time CutPart::*begin, Time CutPart::*end) const {
    const auto after = std::partition_point(parts_.begin(), parts_.end(),
                                            [&](const CutPart& part) { return part.*begin <= at; });
    return after != parts_.begin() && at < after[-1].*end;
  }

  const std::vector<CutPart>& parts_;
};

// The session stream: names and clocks all of them, as later words may need them; facts and hooks
// by their time; of the session's edges those of the cut.
class SessionCut {
 public:
  // `why`: it ends, a StopReason.
  SessionCut(const Cut& cut, const Parts* parts, uint64_t why)
      : cut_(cut), parts_(parts), why_(why) {}

  Status Take(const WordBatch& batch, LogWriter* writer) {
    out_.clear();
    TickReader ticks(batch.base_tick);
    for (const Words event : EventsOf(batch.words)) {
      if (Wants(event, ticks.Next(event[0]))) out_.insert(out_.end(), event.begin(), event.end());
    }
    return out_.empty() ? Status() : writer->AppendSession({0, 0, batch.base_tick, out_});
  }

  // The edges, behind all that was there before.
  Status AddEdges(LogWriter* writer) {
    out_.clear();
    out_ = {Word(parts_->begin(), kStart), parts_->begin()};
    for (size_t i = 0; i + 1 < parts_->all().size(); ++i) {
      out_.push_back(Word(parts_->all()[i].end, kPause));
      out_.push_back(Word(parts_->all()[i + 1].begin, kResume));
    }
    for (const auto& [key, value] : cut_.facts) AddFact(key, value);
    out_.push_back(Word(parts_->end(), kStop));
    out_.push_back(why_);
    return writer->AppendSession({0, 0, parts_->begin(), out_});
  }

  const std::vector<uint64_t>& stops() const { return stops_; }
  // Ticks from which on spans with kFlagFrame are open on no thread, ascending.
  const std::vector<uint64_t>& frames_end() const { return frames_end_; }
  NameAttributes name(uint64_t id) const {
    return id < names_.size() ? names_[id] : NameAttributes();
  }
  // A time of that device's track on CLOCK_MONOTONIC, as far as the last reading of its clock says.
  int64_t ToMonotonic(uint64_t track, uint64_t at) const {
    const auto clock = clock_of_.find(track);
    if (clock == clock_of_.end()) return static_cast<int64_t>(at);
    const auto behind = behind_.find(clock->second);
    return static_cast<int64_t>(at) + (behind == behind_.end() ? 0 : behind->second);
  }

 private:
  bool Wants(Words event, uint64_t tick) {
    switch (event[0] & kCodeMask) {
      case kName: TakeName(event); return true;
      case kAnchor: TakeAnchor(event); return true;
      case kTrack: clock_of_[event[1]] = event[4]; return true;
      case kFrames:
        if (event[1] == 0) frames_end_.push_back(tick);
        return event[1] == 0 ? parts_->Span(tick) : parts_->Has(tick);
      case kMeta: return tick < parts_->end() && IsOfTheCut(event);
      case kProbeCost: return true;
      case kStop: stops_.push_back(tick); return false;
      default: return false;
    }
  }

  void TakeName(Words event) {
    if (event[1] >= kMostNames) return;
    if (event[1] >= names_.size()) names_.resize(event[1] + 1);
    names_[event[1]] = NameAttributes::Unpack(event[2]);
  }

  // The process's own two clocks are read together, again and again.
  void TakeAnchor(Words event) {
    const auto its = static_cast<int64_t>(event[2]), ns = static_cast<int64_t>(event[3]);
    if (event[1] >= kFirstPluginClock) behind_[event[1]] = ns - its;
    if (event[1] == kClockMonotonic) monotonic_ns_ = ns;
    if (event[1] == kClockRealtime && monotonic_ns_ != 0) {
      behind_[kClockRealtime] = monotonic_ns_ - ns;
    }
  }

  // What tells of the whole recording is not true of a part of it: its ring, its budget, its
  // windows, what plugins handed over at its end or have yet to.
  static bool IsOfTheCut(Words event) {
    const std::string_view key(reinterpret_cast<const char*>(event.data() + 4), event[1]);
    return key != "ring" && key != "budget_percent" && key != "window" && key != "armed" &&
           !key.starts_with("collected:") && !key.ends_with(":holds");
  }

  void AddFact(std::string_view key, std::string_view value) {
    out_.insert(out_.end(), {Word(parts_->end(), kMeta), key.size(), value.size(), 0});
    for (const std::string_view text : {key, value}) {
      const size_t at = out_.size();
      out_.resize(at + (text.size() + 7) / 8);
      std::memcpy(out_.data() + at, text.data(), text.size());
    }
  }

  const Cut& cut_;
  const Parts* parts_;
  const uint64_t why_;
  std::vector<uint64_t> out_;
  std::vector<NameAttributes> names_;                // by id
  std::unordered_map<uint64_t, uint64_t> clock_of_;  // by track of a device
  std::unordered_map<uint64_t, int64_t> behind_;     // CLOCK_MONOTONIC, by clock
  int64_t monotonic_ns_ = 0;
  std::vector<uint64_t> frames_end_, stops_;
};

class EventsCut {
 public:
  EventsCut(const SessionCut* session, const Parts* parts) : session_(session), parts_(parts) {}

  Status Take(const WordBatch& batch, LogWriter* writer) {
    out_.clear();
    uint32_t id = batch.track;
    if ((batch.words[0] & kCodeMask) == kThread) id = static_cast<uint32_t>(batch.words[1]);
    Thread* thread = &threads_[id];
    if (batch.after_damage) {
      thread->open.clear();
      for (const uint32_t name : batch.open_names) thread->open.push_back({name, false});
    }
    TickReader ticks(batch.base_tick);
    for (const Words event : EventsOf(batch.words)) {
      const uint64_t tick = ticks.Next(event[0]);
      if ((event[0] & kCodeMask) != kThread) GoOn(thread, tick);
      EndFrames(thread, tick);
      TakeEvent(thread, tick, event);
    }
    return Write(id, writer);
  }

  // Behind the last batch.
  Status Finish(LogWriter* writer) {
    for (auto& [id, thread] : threads_) {
      out_.clear();
      GoOn(&thread, UINT64_MAX);
      if (Status status = Write(id, writer); !status.ok()) return status;
    }
    return PutPhases(writer);
  }

 private:
  // An open span, whether it was begun in the cut or before.
  struct Open {
    uint64_t name;
    bool is_kept;
  };
  struct Thread {
    uint64_t id = 0, os_id = 0, flags = 0;  // of its last kThread, with the base layer of today
    uint64_t begin = 0;                     // where it was first seen
    bool is_told = false;
    bool keeps_last = false;                        // the last span begun, or instant
    size_t next_frames = 0;                         // of frames_end()
    size_t next_part = 0;                           // that begins behind its last event
    uint64_t step = 0;                              // the name of the one that runs; 0: none
    uint64_t number = 0, level = kLevelEverything;  // of the step
    std::vector<Open> open;
    std::map<uint64_t, bool> keeps_on;  // the last that it told of a device's track
  };

  // A begin or end of a phase, which is the whole process's.
  struct PhaseEdge {
    uint64_t tick = 0, name = 0;
    bool begins = false;
    Thread thread = {};
  };

  void Keep(Thread* thread, uint64_t tick, Words event) {
    if (!thread->is_told) {
      thread->is_told = true;
      told_.insert(thread->id);
      const uint64_t begin = std::clamp(thread->begin, parts_->begin(), parts_->end());
      out_.insert(out_.end(), {Word(begin, kThread), thread->id, thread->os_id,
                               thread->flags & ~kThreadContinues, begin});
    }
    // What a plugin told behind the end is of the time before it.
    out_.push_back(Word(std::clamp(tick, parts_->begin(), parts_->end()), event[0] & kCodeMask));
    out_.insert(out_.end(), event.begin() + 1, event.end());
  }

  Status Write(uint32_t id, LogWriter* writer) const {
    if (out_.empty()) return {};
    const Piece piece = {0, 0, parts_->begin(), out_};
    return writer->AppendEvents(id, {&piece, 1});
  }

  // A step of which less than everything is recorded goes on in each part that begins in it, up to
  // `tick`: what is missing there was left out by the plan.
  void GoOn(Thread* thread, uint64_t tick) {
    const std::vector<CutPart>& parts = parts_->all();
    for (; thread->next_part < parts.size() && parts[thread->next_part].begin <= tick;
         ++thread->next_part) {
      if (thread->step == 0 || thread->level == kLevelEverything) continue;
      const uint64_t begin = parts[thread->next_part].begin;
      if (thread->step <= kLastNameCode) {
        Keep(thread, begin, std::array<uint64_t, 1>{thread->step});
      } else {
        Keep(thread, begin, std::array<uint64_t, 2>{kBeginWide, thread->step});
      }
      const uint64_t level = thread->level | kStepAfterSwitch;
      Keep(thread, begin, std::array<uint64_t, 3>{kStepLevel, thread->number, level});
    }
  }

  // One that runs where a part begins is in it from there on; between two parts none begins.
  Status PutPhases(LogWriter* writer) {
    for (const uint64_t stop : session_->stops()) phases_.push_back({stop});
    std::stable_sort(phases_.begin(), phases_.end(),
                     [](const PhaseEdge& a, const PhaseEdge& b) { return a.tick < b.tick; });
    const PhaseEdge *runs = nullptr, *open = nullptr;  // in the recording; in the copy
    Status status;
    const auto put = [&](const PhaseEdge* next, uint64_t tick) {
      if (status.ok() && (open != nullptr || next != nullptr)) {
        status = PutPhase(next != nullptr ? *next : *open, tick, next != nullptr, writer);
      }
      open = next;
    };
    for (auto edge = phases_.begin(); const CutPart& part : parts_->all()) {
      for (; edge != phases_.end() && edge->tick < part.end; ++edge) {
        if (edge->tick >= part.begin && open != runs) put(runs, part.begin);
        runs = edge->begins ? &*edge : nullptr;
        put(edge->tick >= part.begin ? runs : nullptr, edge->tick);
      }
      if (open != runs) put(runs, part.begin);
    }
    return status;
  }

  Status PutPhase(const PhaseEdge& phase, uint64_t tick, bool begins, LogWriter* writer) {
    out_.clear();
    Thread thread = phase.thread;
    thread.is_told = told_.contains(thread.id);
    const uint64_t code = begins ? kBeginWide : kEndNamed;
    Keep(&thread, tick, std::array<uint64_t, 2>{code, phase.name});
    return Write(static_cast<uint32_t>(thread.id), writer);
  }

  // False: it is something else.
  bool TakePhase(const Thread& thread, uint64_t tick, Words event) {
    const uint64_t code = event[0] & kCodeMask;
    const bool named = code == kBeginWide || code == kEndNamed;
    if (!named && code < kFirstNameCode) return false;
    const uint64_t name = named ? event[1] : code;
    if (session_->name(name).kind != kKindPhase) return false;
    if (thread.id != 0) phases_.push_back({tick, name, code != kEndNamed, thread});
    return true;
  }

  void TakeEvent(Thread* thread, uint64_t tick, Words event) {
    const uint64_t code = event[0] & kCodeMask;
    if (TakePhase(*thread, tick, event)) return;
    const bool inside = parts_->Has(tick);
    if (code == kThread) return TakeThread(thread, tick, event);
    if (code >= kSpanOn && code <= kDropOn) return TakeOfDevice(thread, tick, event);
    if (code == kStepLevel) {
      thread->number = event[1];
      thread->level = event[2] & 0xff;
    }
    if (code == kBase) thread->flags = (thread->flags & ~uint64_t{0xff}) | (event[1] & 0xff);
    if (code >= kFirstNameCode || code == kBeginWide) {
      thread->keeps_last = inside;
      Begin(thread, code == kBeginWide ? event[1] : code, inside);
    } else if (code == kInstant) {
      thread->keeps_last = inside;
    } else if (code == kSpanAt) {
      thread->keeps_last = parts_->Has(event[2]) && event[3] <= parts_->end();
    }
    if (Wants(thread, tick, inside, event)) Keep(thread, tick, event);
    if (!inside && thread->is_told && parts_->Span(tick)) EndByBegin(thread, tick, event);
    if (code == kThreadEnd) *thread = Thread();
  }

  // Between two parts as in a pause: nothing begins there, what began before ends, and threads
  // change what they are outside of spans.
  bool Wants(Thread* thread, uint64_t tick, bool inside, Words event) {
    const bool spans = parts_->Span(tick), told = inside || (spans && thread->is_told);
    switch (event[0] & kCodeMask) {
      case kSpanAt:
      case kArg:
      case kArgName:
      case kGoesOnWith: return thread->keeps_last;
      case kEnd: return End(thread) && spans;
      case kEndNamed: return EndNamed(thread, spans ? tick : 0, event[1]) && told;
      case kDrop: return event[3] < parts_->end() && event[4] >= parts_->begin();
      case kBase:
      case kOff:
      case kOn: return told;
      case kThreadEnd: return told && thread->is_told;
      case kRunning: Runs(thread, event[1], inside); return inside;
      default: return inside;
    }
  }

  // A step that begins between two parts is in none, and ends the one before it.
  void EndByBegin(Thread* thread, uint64_t tick, Words event) {
    const uint64_t code = event[0] & kCodeMask, name = code == kBeginWide ? event[1] : code;
    if (code != kBeginWide && code < kFirstNameCode) return;
    if (session_->name(name).kind != kKindStep) return;
    Keep(thread, tick, std::array<uint64_t, 2>{kEndNamed, name});
  }

  // What it was before goes on in the cut as a thread that enters a session: what was open in one
  // before that ended with it.
  void TakeThread(Thread* thread, uint64_t tick, Words event) {
    if ((event[3] & kThreadContinues) == 0) {
      if (thread->is_told && parts_->Span(tick)) EndSession(thread, parts_->EndBefore(tick));
      thread->open.clear();
      thread->step = 0;
      thread->begin = event[4];
    }
    thread->id = event[1];
    thread->os_id = event[2];
    const uint64_t base = thread->is_told ? thread->flags & 0xff : event[3] & 0xff;
    thread->flags = (event[3] & ~uint64_t{0xff}) | base;
  }

  void EndSession(Thread* thread, uint64_t stop) {
    for (size_t at = thread->open.size(); at > 0; --at) {
      const Open& open = thread->open[at - 1];
      if (!open.is_kept) continue;
      if (EndsByName(session_->name(open.name))) {
        Keep(thread, stop, std::array<uint64_t, 2>{kEndNamed, open.name});
      } else {
        Keep(thread, stop, std::array<uint64_t, 1>{kEnd});
      }
    }
    if (thread->step != 0) Keep(thread, stop, std::array<uint64_t, 2>{kEndNamed, thread->step});
  }

  void TakeOfDevice(Thread* thread, uint64_t tick, Words event) {
    const uint64_t code = event[0] & kCodeMask, track = event[1];
    bool& keeps = thread->keeps_on[track];
    if (code == kSpanOn || code == kInstantOn || code == kCounterOn) {
      keeps = parts_->HasNs(session_->ToMonotonic(track, event[3]));
    }
    const bool drops = code == kDropOn && Overlaps(event[3], event[4]);
    if (code == kDropOn ? drops : keeps) Keep(thread, tick, event);
  }

  bool Overlaps(uint64_t begin_ns, uint64_t end_ns) const {
    return static_cast<int64_t>(begin_ns) < parts_->all().back().end_ns &&
           static_cast<int64_t>(end_ns) >= parts_->all().front().begin_ns;
  }

  // ---- Which spans are open, by the rules of format.h

  void Begin(Thread* thread, uint64_t name, bool kept) const {
    const NameAttributes facts = session_->name(name);
    if (facts.kind == kKindStep) {
      thread->step = name;
      thread->level = kLevelEverything;  // until that is told
    } else {
      thread->open.push_back({name, kept});
    }
  }

  void EndFrames(Thread* thread, uint64_t tick) const {
    const std::vector<uint64_t>& ends = session_->frames_end();
    if (thread->next_frames == ends.size() || ends[thread->next_frames] > tick) return;
    while (thread->next_frames < ends.size() && ends[thread->next_frames] <= tick) {
      ++thread->next_frames;
    }
    std::erase_if(thread->open, [this](const Open& open) {
      const NameAttributes facts = session_->name(open.name);
      return facts.kind == kKindSpan && (facts.flags & kFlagFrame) != 0;
    });
  }

  // Below what is Crosscut's own, where readers put it.
  void Runs(Thread* thread, uint64_t payload, bool kept) const {
    const uint64_t name = static_cast<uint32_t>(payload);
    std::vector<Open>& open = thread->open;
    const bool is_there = std::any_of(open.begin(), open.end(), [&](const Open& other) {
      return other.name == name && other.is_kept;
    });
    if ((payload & kRunningBegun) != 0 && is_there) return;
    auto at = open.end();
    while (at != open.begin() && session_->name((at - 1)->name).layer == kLayerOverhead) --at;
    open.insert(at, {name, kept});
  }

  // Whether what ends is in the cut.
  bool End(Thread* thread) const {
    for (size_t at = thread->open.size(); at > 0; --at) {
      if (EndsByName(session_->name(thread->open[at - 1].name))) continue;
      const bool kept = thread->open[at - 1].is_kept;
      thread->open.erase(thread->open.begin() + static_cast<ptrdiff_t>(at - 1));
      return kept;
    }
    return false;
  }

  // The same. What is in the cut and ends with one that is not ends by words of its own, at `tick`
  // unless that is 0.
  bool EndNamed(Thread* thread, uint64_t tick, uint64_t name) {
    const NameAttributes ended = session_->name(name);
    if (ended.kind == kKindStep) {
      thread->step = 0;
      return true;
    }
    std::vector<Open>& open = thread->open;
    size_t at = open.size();
    while (at > 0 && open[at - 1].name != name) --at;
    if (at == 0) return false;
    const bool kept = open[at - 1].is_kept;
    std::vector<Open> goes_on;
    for (size_t above = open.size(); above > at; --above) {
      const Open& other = open[above - 1];
      const NameAttributes facts = session_->name(other.name);
      if (GoesOnAbove(ended, facts)) {
        goes_on.push_back(other);
      } else if (!kept && other.is_kept && tick != 0 && EndsByName(facts)) {
        Keep(thread, tick, std::array<uint64_t, 2>{kEndNamed, other.name});
      } else if (!kept && other.is_kept && tick != 0) {
        Keep(thread, tick, std::array<uint64_t, 1>{kEnd});
      }
    }
    open.resize(at - 1);
    open.insert(open.end(), goes_on.rbegin(), goes_on.rend());
    return kept;
  }

  const SessionCut* session_;
  const Parts* parts_;
  std::unordered_map<uint32_t, Thread> threads_;
  std::unordered_set<uint64_t> told_;  // tracks that are in the cut
  std::vector<PhaseEdge> phases_;
  std::vector<uint64_t> out_;
};

ProcessReader* Find(RunReader* run, const std::string& key) {
  for (ProcessReader* process : run->processes()) {
    if (process->info().key == key) return process;
  }
  return nullptr;
}

}  // namespace

Status CutProcess(const std::string& dir, const std::string& key, const Cut& cut,
                  const std::string& log) {
  if (cut.parts.empty()) return Status::Invalid("nothing is to be cut out of " + dir);
  auto run = RunReader::Open(dir);
  if (!run.ok()) return run.status();
  ProcessReader* process = Find(run->get(), key);
  if (process == nullptr) return Status::NotFound(dir + ": no process " + key);
  RecordedTime recorded;
  Status status = process->ForEachSession([&](const WordBatch& batch) {
    recorded.Take(batch);
    return Status();
  });
  if (!status.ok()) return status;
  std::vector<CutPart> within;
  for (const CutPart& part : cut.parts) recorded.AddOf(part, &within);
  if (within.empty()) {
    return Status::Invalid(dir + ": " + key +
                           " recorded nothing in that time: it was paused, or had ended");
  }
  auto file = base::OpenFile(log, base::OpenMode::kCreateNew);
  if (!file.ok()) return file.status();
  LogIdentity identity = process->info().identity;
  identity.start_tick = within.front().begin;
  auto writer = LogWriter::Create(std::move(*file), identity);
  if (!writer.ok()) return writer.status();
  const Parts parts(within);
  SessionCut session(cut, &parts, recorded.WhyStopped(parts.end()));
  EventsCut events(&session, &parts);
  status = process->ForEachSession(
      [&](const WordBatch& batch) { return session.Take(batch, writer->get()); });
  if (status.ok()) status = session.AddEdges(writer->get());
  if (status.ok()) {
    status = process->ForEachEvents([&](const WordBatch& batch) {
      return batch.words.empty() ? Status() : events.Take(batch, writer->get());
    });
  }
  if (status.ok()) status = events.Finish(writer->get());
  return status.ok() ? (*writer)->Finish() : status;
}

}  // namespace crosscut::format
