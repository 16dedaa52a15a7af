#include "src/import/native/native_events.h"

#include <algorithm>
#include <unordered_map>

namespace crosscut::import {
namespace {

trace::Layer LayerOf(uint64_t number) {
  return number < trace::kLayerCount ? static_cast<trace::Layer>(number) : trace::Layer::kNone;
}

}  // namespace

std::string_view DropReasonName(uint64_t reason) {
  switch (reason) {
    case format::kDropFull: return "full";
    case format::kDropOverwritten: return "overwritten";
    case format::kDropMemory: return "memory";
    case format::kDropDisk: return "disk";
    case format::kDropDamaged: return "damaged";
    case format::kDropNames: return "names";
    case format::kDropFork: return "fork";
    case format::kDropPlugin: return "plugin";
    case format::kDropValue: return "value";
    default: return "unknown";
  }
}

NativeEvents::NativeEvents(trace::Builder* builder, trace::ProcessId process,
                           const NativeSession* session, const NativeClock* clock,
                           std::vector<uint64_t> session_ends)
    : builder_(builder),
      process_(process),
      session_(session),
      clock_(clock),
      devices_(builder, process, session, clock, &arguments_),
      arguments_(builder, session),
      memory_(builder, clock, session->memory_ends),
      samples_(builder, session),
      async_(builder, process, session, &arguments_),
      session_ends_(std::move(session_ends)),
      sequence_(builder->Text("Sequence number")),
      forward_thread_(builder->Text("Fwd thread id")),
      span_names_(size_t{format::kLastNameCode} + 1) {
  const size_t coded = std::min(span_names_.size(), session->names.size());
  for (size_t id = format::kFirstNameCode; id < coded; ++id) {
    const NativeName& name = session->names[id];
    if (name.kind != trace::Kind::kStep && name.kind != trace::Kind::kPhase && !name.goes_on &&
        !name.unnamed) {
      span_names_[id] = name.name;
    }
  }
}

Status NativeEvents::Take(const format::WordBatch& batch) {
  if (batch.words.empty()) return {};
  uint32_t id = batch.track;
  if ((batch.words[0] & format::kCodeMask) == format::kThread && batch.words.size() > 1) {
    id = static_cast<uint32_t>(batch.words[1]);
  }
  size_t segment = 0;
  Thread* thread = ThreadOf(id, clock_->ToNs(batch.base_tick, &segment));
  if (batch.after_damage) GoOn(thread, batch);
  TakeWords(thread, batch);
  return {};
}

NativeEvents::Thread* NativeEvents::ThreadOf(uint32_t track, int64_t at) {
  const auto [found, added] = threads_.try_emplace(track);
  Thread& thread = found->second;
  if (added) {
    thread.track = &builder_->AddTrack(process_, trace::TrackKind::kThread);
    thread.begin_ns = thread.end_ns = at;
  }
  return &thread;
}

// The hook on calls went in or out, on all threads.
void NativeEvents::PassFrames(Thread* thread, uint64_t tick) {
  for (; NextFrames(*thread) <= tick; ++thread->next_frames) {
    const NativeSession::Frames& edge = session_->frames[thread->next_frames];
    const int64_t at = clock_->ToNs(edge.tick);
    if (!edge.in) thread->track->EndFrames(at, session_->frame_names);
    if (edge.in == thread->frames_in) continue;
    thread->frames_in = edge.in;
    // A thread that was not seen before may be younger.
    thread->frames_in_ns = edge.in && !thread->track->empty() ? at : INT64_MIN;
  }
}

void NativeEvents::Running(Thread* thread, int64_t at, uint64_t payload) {
  const bool begun = (payload & format::kRunningBegun) != 0;
  thread->running.push_back({NameOf(payload & 0xffffffff), begun});
  if (format::RunningToCome(payload) != 0) return;
  if (thread->frames_in_ns != INT64_MIN) at = std::min(at, thread->frames_in_ns);
  thread->track->Runs(at, thread->running, session_->frame_names);
  thread->running.clear();
  thread->frames_in_ns = INT64_MIN;
}

void NativeEvents::TakeWords(Thread* thread, const format::WordBatch& batch) {
  const uint64_t* words = batch.words.data();
  const size_t size = batch.words.size();
  format::TickReader ticks(batch.base_tick);
  trace::TrackBuilder& track = *thread->track;
  size_t segment = thread->clock_segment;
  uint64_t first = UINT64_MAX;
  uint64_t frames = NextFrames(*thread);
  const auto next_tick = [&](uint64_t word) {
    const uint64_t tick = ticks.Next(word);
    if (tick >= frames) [[unlikely]] {
      PassFrames(thread, tick);
      frames = NextFrames(*thread);
    }
    return tick;
  };
  for (size_t at = 0; at < size;) {
    const uint64_t word = words[at];
    const auto code = static_cast<uint16_t>(word & format::kCodeMask);
    if (code >= format::kFirstNameCode && span_names_[code].valid()) [[likely]] {
      const uint64_t tick = next_tick(word);
      first = std::min(first, tick);
      track.Begin(clock_->ToNs(tick, &segment), span_names_[code]);
      ++at;
      continue;
    }
    if (code == format::kEnd && word != 0) [[likely]] {
      track.EndSpan(clock_->ToNs(next_tick(word), &segment));
      ++at;
      continue;
    }
    const size_t n = format::EventLength(batch.words, at);
    if (n == 0) {
      unreadable_ += size - at;
      break;
    }
    const uint64_t tick = next_tick(word);
    first = std::min(first, tick);
    thread->clock_segment = segment;
    TakeEvent(thread, tick, code, batch.words.subspan(at + 1, n - 1));
    at += n;
  }
  thread->clock_segment = segment;
  thread->last_tick = std::max(thread->last_tick, ticks.tick());
  first_tick_ = std::min(first_tick_, first);
  last_tick_ = std::max(last_tick_, ticks.tick());
}

void NativeEvents::TakeEvent(Thread* thread, uint64_t tick, uint16_t code, Words payload) {
  const int64_t at = clock_->ToNs(tick, &thread->clock_segment);
  trace::TrackBuilder& track = *thread->track;
  if (code >= format::kFirstNameCode) return BeginNamed(thread, at, code);
  switch (code) {
    case format::kBeginWide: return BeginNamed(thread, at, payload[0]);
    case format::kEndNamed: return EndNamed(thread, at, payload[0]);
    case format::kInstant: return TakeInstant(thread, at, payload[0]);
    case format::kCounter:
      return builder_->Count(process_, NameOf(payload[0]), at, static_cast<int64_t>(payload[1]));
    case format::kArg:
    case format::kArgName: return TakeArgument(thread, code, payload);
    case format::kFlowOut:
    case format::kFlowIn: return TakeFlow(thread, at, code, payload[0]);
    case format::kSpanAt:
      thread->mark = Thread::kNoMark;
      return track.SpanAt(clock_->ToNs(payload[1], &thread->clock_segment),
                          clock_->ToNs(payload[2], &thread->clock_segment), NameOf(payload[0]));
    case format::kStepLevel:
      return builder_->StepLevel(track.id(), static_cast<int64_t>(payload[0]),
                                 static_cast<uint8_t>(payload[1] & 0xff),
                                 (payload[1] & format::kStepAfterSwitch) != 0);
    default: return TakeRare(thread, at, code, payload);
  }
}

void NativeEvents::TakeRare(Thread* thread, int64_t at, uint16_t code, Words payload) {
  trace::TrackBuilder& track = *thread->track;
  switch (code) {
    case format::kThread: return BeginThread(thread, at, payload);
    case format::kThreadEnd:
      thread->ended = true;
      thread->end_ns = at;
      return;
    case format::kBase: return track.Base(at, LayerOf(payload[0]));
    case format::kOff: return track.Off(at);
    case format::kOn: return track.On(at);
    case format::kDrop: return Lose(thread, payload);
    case format::kRunning: return Running(thread, at, payload[0]);
    case format::kGoesOnWith:
      return track.GoesOnWith(clock_->ToNs(payload[0]),
                              static_cast<uint32_t>(std::min<uint64_t>(payload[1], UINT32_MAX)));
    default: break;
  }
  if (code >= format::kSpanOn && code <= format::kDropOn) {
    if (code == format::kDropOn && payload[0] == 0) return LoseAnywhere(thread, payload);
    devices_.Take(code, payload);
  }
  if (NativeMemory::Knows(code)) memory_.Take(&track, at, code, payload);
}

void NativeEvents::TakeInstant(Thread* thread, int64_t at, uint64_t name) {
  thread->mark = async_.Knows(name) ? async_.Mark(at, name) : Thread::kNoMark;
  if (thread->mark != Thread::kNoMark) {
    thread->spans_at_mark = thread->track->track().spans.size();
    return;
  }
  thread->in_sample = samples_.Knows(name);
  if (thread->in_sample) return samples_.Begin(thread->track, at);
  thread->track->Instant(at, NameOf(name));
}

void NativeEvents::TakeArgument(Thread* thread, uint16_t code, Words payload) {
  const bool is_name = code == format::kArgName;
  if (thread->track->track().spans.size() != thread->spans_at_mark) thread->mark = Thread::kNoMark;
  if (thread->mark != Thread::kNoMark && async_.KnowsKey(payload[0])) {
    const int64_t value = async_.IsTick(payload[0])
                              ? clock_->ToNs(payload[1], &thread->clock_segment)
                              : static_cast<int64_t>(payload[1]);
    return async_.Take(thread->mark, payload[0], value);
  }
  if (thread->mark != Thread::kNoMark) {
    return async_.TakeForSpan(thread->mark, payload[0], payload[1], is_name);
  }
  if (thread->in_sample) return samples_.Take(payload[0], payload[1], is_name);
  if (is_name) return arguments_.Add(payload[0], payload[1], thread->track);
  thread->track->Arg(session_->name(payload[0]).text, static_cast<int64_t>(payload[1]));
}

// An arrow of autograd's is also what its number says: Kineto's words for it.
void NativeEvents::TakeFlow(Thread* thread, int64_t at, uint16_t code, uint64_t flow) {
  trace::TrackBuilder& track = *thread->track;
  const bool out = code == format::kFlowOut;
  if (flow >> format::kAutogradFlowShift == format::kAutogradFlow) {
    const uint64_t mask = (uint64_t{1} << format::kAutogradSequenceBits) - 1;
    track.Arg(sequence_, static_cast<int64_t>(flow & mask));
    const uint64_t forward = flow >> format::kAutogradSequenceBits & 0x3fffff;
    if (!out) track.Arg(forward_thread_, static_cast<int64_t>(forward));
  }
  if (out) {
    track.FlowOut(at, flow);
  } else {
    track.FlowIn(at, flow);
  }
}

void NativeEvents::BeginNamed(Thread* thread, int64_t at, uint64_t id) {
  const NativeName& name = session_->name(id);
  const trace::TrackId track = thread->track->id();
  if (name.kind == trace::Kind::kStep) return builder_->StepBegin(track, at, name.name);
  if (name.kind == trace::Kind::kPhase) return builder_->PhaseBegin(track, at, name.name);
  if (name.goes_on) return thread->track->GoOn(at, NameOf(id));
  thread->track->Begin(at, NameOf(id));
}

void NativeEvents::EndNamed(Thread* thread, int64_t at, uint64_t id) {
  const NativeName& name = session_->name(id);
  const trace::TrackId track = thread->track->id();
  if (name.kind == trace::Kind::kStep) return builder_->StepEnd(track, at);
  if (name.kind == trace::Kind::kPhase) return builder_->PhaseEnd(track, at);
  thread->track->EndNamed(at, name.name.valid() ? name.name : NameOf(id));
}

void NativeEvents::BeginThread(Thread* thread, int64_t at, Words payload) {
  trace::Track& track = thread->track->track();
  track.os_id = static_cast<int64_t>(payload[1]);
  track.main = track.main || (payload[2] & format::kThreadIsMain) != 0;
  track.ours = track.ours || (payload[2] & format::kThreadIsOurs) != 0;
  thread->ended = false;
  const bool continues = (payload[2] & format::kThreadContinues) != 0;
  if (!continues) thread->running.clear();
  if (!continues && !thread->track->empty()) {
    int64_t ended = at;
    // Of the session that it was in: its last event may stand a little behind that one's end.
    const auto stop =
        std::lower_bound(session_ends_.begin(), session_ends_.end(), thread->entered_tick);
    if (stop != session_ends_.end()) ended = std::min(at, clock_->ToNs(*stop));
    thread->track->Restart(ended, at, {});
  }
  if (!continues) thread->entered_tick = payload[3];
  thread->track->Base(at, LayerOf(payload[2] & 0xff));
}

void NativeEvents::Lose(Thread* thread, Words payload) {
  trace::Loss loss;
  loss.reason = builder_->Text(DropReasonName(payload[0]));
  loss.count = static_cast<int64_t>(payload[1]);
  loss.begin_ns = clock_->ToNs(payload[2], &thread->clock_segment);
  loss.end_ns = std::max(loss.begin_ns, clock_->ToNs(payload[3], &thread->clock_segment));
  thread->track->Lose(loss);
}

// A plugin lost events and cannot say of which queue: told where it said so.
void NativeEvents::LoseAnywhere(Thread* thread, Words payload) {
  constexpr uint64_t kMost = uint64_t{1} << 62;  // a damaged word is no negative count or time
  const auto bounded = [](uint64_t word) {
    return static_cast<int64_t>(word < kMost ? word : kMost);
  };
  trace::Loss loss;
  loss.reason = builder_->Text(DropReasonName(format::kDropPlugin));
  loss.count = bounded(payload[1]);
  loss.begin_ns = bounded(payload[2]);
  loss.end_ns = std::max(loss.begin_ns, bounded(payload[3]));
  thread->track->Lose(loss);
}

// Behind a damaged place the log says which spans are open; where it does not, none is known to be.
void NativeEvents::GoOn(Thread* thread, const format::WordBatch& batch) {
  std::vector<trace::NameId> open;
  for (uint32_t id : batch.open_names) open.push_back(NameOf(id));
  const int64_t at = clock_->ToNs(batch.base_tick, &thread->clock_segment);
  thread->track->Restart(clock_->ToNs(thread->last_tick), at, open);
}

trace::NameId NativeEvents::NameOf(uint64_t id) {
  const NativeName& known = session_->name(id);
  if (known.unnamed) ++unnamed_;
  if (known.name.valid()) return known.name;
  ++unknown_names_;
  trace::Name name;
  name.text = builder_->Text("(unknown name " + std::to_string(id) + ")");
  return builder_->AddName(name);
}

// What is open ends with the session that the thread was in, where it has marked nothing in those
// that came later.
void NativeEvents::EndWithSession(Thread* thread) {
  const auto stop =
      std::lower_bound(session_ends_.begin(), session_ends_.end(), thread->entered_tick);
  const auto later = [&](const NativeSession::Edge& edge) {
    return edge.code == format::kStart && edge.tick >= *stop;
  };
  if (stop == session_ends_.end() ||
      std::none_of(session_->edges.begin(), session_->edges.end(), later)) {
    return;
  }
  PassFrames(thread, *stop);
  const int64_t at = clock_->ToNs(*stop);
  thread->track->Restart(at, at, {});
}

void NativeEvents::Finish(int64_t process_end_ns) {
  devices_.Finish();
  memory_.Finish();
  FinishAsync(process_end_ns);
  samples_.Finish([this](int64_t os_id, int64_t at) { return TrackAt(os_id, at); });
  for (auto& [id, thread] : threads_) {
    EndWithSession(&thread);
    if (!thread.ended) PassFrames(&thread, UINT64_MAX - 1);
    const int64_t end = thread.ended ? thread.end_ns : process_end_ns;
    thread.track->Finish(thread.begin_ns, std::max(thread.begin_ns, end));
    trace::Track& track = thread.track->track();
    if (track.main && track.name.value == trace::StringId::None().value) {
      track.name = builder_->Text("main");
    }
  }
  NameThreads();
}

// What ends by name and was ended on another thread is asynchronous, too: of each name what began
// first ends first.
void NativeEvents::FinishElsewhere() {
  struct Place {
    int64_t at;
    trace::TrackBuilder* track;
    trace::SpanIndex span;
    bool operator<(const Place& other) const { return at < other.at; }
  };
  std::unordered_map<uint32_t, std::vector<Place>> ends, begins;  // by name
  for (const auto& [id, thread] : threads_) {
    for (const auto& end : thread.track->ends_elsewhere()) {
      ends[end.name.value].push_back({end.at, thread.track, trace::kNoSpan});
    }
  }
  if (ends.empty()) return;
  for (const auto& [id, thread] : threads_) {
    for (const trace::SpanIndex span : thread.track->Unended()) {
      const uint32_t name = thread.track->track().spans.name[span].value;
      if (!ends.contains(name)) continue;
      begins[name].push_back({thread.track->BeginOf(span), thread.track, span});
    }
  }
  std::unordered_map<trace::TrackBuilder*, std::vector<trace::SpanIndex>> taken;
  for (auto& [name, of_name] : ends) {
    std::vector<Place>& begun = begins[name];
    std::sort(of_name.begin(), of_name.end());
    std::sort(begun.begin(), begun.end());
    size_t next = 0;
    for (const Place& end : of_name) {
      if (next == begun.size() || begun[next].at > end.at) continue;
      async_.Add(begun[next].at, end.at, trace::NameId{name});
      taken[begun[next].track].push_back(begun[next].span);
      end.track->FoundElsewhere();
      ++next;
    }
  }
  for (auto& [track, spans] : taken) track->TakeOut(std::move(spans));
}

void NativeEvents::FinishAsync(int64_t process_end_ns) {
  FinishElsewhere();
  std::vector<int64_t> session_ends;
  for (const uint64_t tick : session_ends_) session_ends.push_back(clock_->ToNs(tick));
  async_.Finish(session_ends, process_end_ns);
  if (!threads_.empty()) threads_.begin()->second.track->track().unbalanced += async_.unbegun();
}

// The thread of that id that was the last to begin by then.
trace::TrackBuilder* NativeEvents::TrackAt(int64_t os_id, int64_t at) {
  const Thread* best = nullptr;
  for (const auto& [id, thread] : threads_) {
    if (thread.track->track().os_id != os_id || thread.begin_ns > at) continue;
    if (thread.ended && thread.end_ns < at) continue;
    if (best == nullptr || thread.begin_ns > best->begin_ns) best = &thread;
  }
  return best == nullptr ? nullptr : best->track;
}

// Systems use thread ids again: a name belongs to the first thread of its id that had not ended,
// and the last one told is the one that stays.
void NativeEvents::NameThreads() {
  std::unordered_map<int64_t, std::vector<trace::Track*>> of_id;
  for (auto& [id, thread] : threads_) {
    trace::Track& track = thread.track->track();
    of_id[track.os_id].push_back(&track);
  }
  for (auto& [os_id, tracks] : of_id) {
    std::sort(tracks.begin(), tracks.end(),
              [](const trace::Track* a, const trace::Track* b) { return a->end_ns < b->end_ns; });
  }
  for (const NativeSession::ThreadName& told : session_->thread_names) {
    const auto found = of_id.find(told.os_id);
    if (found == of_id.end()) continue;
    const int64_t at = clock_->ToNs(told.tick);
    for (trace::Track* track : found->second) {
      if (track->end_ns < at) continue;
      track->name = builder_->Text(told.name);
      break;
    }
  }
}

}  // namespace crosscut::import
