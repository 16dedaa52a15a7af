#include "src/import/native/native_async.h"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace crosscut::import {
NativeAsync::NativeAsync(trace::Builder* builder, trace::ProcessId process,
                         const NativeSession* session, NativeArguments* arguments)
    : builder_(builder),
      process_(process),
      session_(session),
      arguments_(arguments),
      begin_key_(builder->Text("async")),
      end_key_(builder->Text("async end")),
      late_key_(builder->Text("async end at")),
      open_key_(builder->Text("open")) {}

size_t NativeAsync::Mark(int64_t at, uint64_t name) {
  marks_.push_back({at, session_->name(name).name, static_cast<uint32_t>(marks_.size())});
  return marks_.size() - 1;
}

void NativeAsync::Take(size_t mark, uint64_t key, int64_t value) {
  const trace::StringId text = session_->name(key).text;
  Mark_& it = marks_[mark];
  if (text == late_key_) it.at = std::min(it.at, value);
  if (text == begin_key_ || text == end_key_) it.scope = value;
  if (text == end_key_) it.ends = true;
}

void NativeAsync::TakeForSpan(size_t mark, uint64_t key, uint64_t value, bool is_name) {
  of_spans_.push_back({static_cast<uint32_t>(mark), is_name, key, value});
}

void NativeAsync::AddArguments(uint32_t mark, trace::TrackBuilder* track) {
  if (mark == kNoMark) return;
  const auto before = [](const Argument& argument, uint32_t of) { return argument.mark < of; };
  auto at = std::lower_bound(of_spans_.begin(), of_spans_.end(), mark, before);
  for (; at != of_spans_.end() && at->mark == mark; ++at) {
    if (at->is_name) {
      arguments_->Add(at->key, at->value, track);
    } else {
      track->Arg(session_->name(at->key).text, static_cast<int64_t>(at->value));
    }
  }
}

void NativeAsync::Add(int64_t begin, int64_t end, trace::NameId name) {
  spans_.push_back({begin, std::max(begin, end), name, true});
}

// An end without a begin belongs to what began while nothing was recorded.
void NativeAsync::Pair(const std::vector<int64_t>& session_ends, int64_t process_end) {
  std::stable_sort(marks_.begin(), marks_.end(),
                   [](const Mark_& a, const Mark_& b) { return a.at < b.at; });
  std::unordered_map<int64_t, const Mark_*> open;
  for (const Mark_& mark : marks_) {
    if (!mark.ends) {
      open[mark.scope] = &mark;
      continue;
    }
    const auto begun = open.find(mark.scope);
    if (begun == open.end()) {
      ++unbegun_;
      continue;
    }
    const Mark_& begin = *begun->second;
    const Mark_& tells = IsRequest(mark.name) ? mark : begin;
    spans_.push_back({begin.at, std::max(begin.at, mark.at), tells.name, true, tells.number});
    open.erase(begun);
  }
  for (const auto& [scope, mark] : open) {
    const auto stop = std::lower_bound(session_ends.begin(), session_ends.end(), mark->at);
    const int64_t end = stop == session_ends.end() ? process_end : *stop;
    spans_.push_back({mark->at, std::max(mark->at, end), mark->name, false, mark->number});
  }
}

// An operation is what its thread is in; beside all threads it is a span without a layer.
trace::NameId NativeAsync::AsSpan(trace::NameId id) {
  trace::Name name = builder_->trace().names[id.value];
  if (name.kind != trace::Kind::kStep) name.kind = trace::Kind::kSpan;
  name.crosses = false;
  return builder_->AddName(name);
}

// The first that is free then, or a new one.
trace::TrackBuilder* NativeAsync::LaneOf(const Span& span, Lanes* lanes) {
  while (!lanes->busy.empty() && lanes->busy.begin()->first <= span.begin) {
    lanes->free.insert(lanes->busy.begin()->second);
    lanes->busy.erase(lanes->busy.begin());
  }
  if (lanes->free.empty()) {
    trace::TrackBuilder& track = builder_->AddTrack(process_, trace::TrackKind::kAsync);
    track.track().name = builder_->Text(IsRequest(span.name) ? "requests" : "asynchronous");
    track.track().os_id = next_id_++;
    lanes->free.insert(lanes->tracks.size());
    lanes->tracks.push_back(&track);
  }
  const size_t lane = *lanes->free.begin();
  lanes->free.erase(lanes->free.begin());
  lanes->busy.emplace(span.end, lane);
  return lanes->tracks[lane];
}

void NativeAsync::Finish(const std::vector<int64_t>& session_ends, int64_t process_end) {
  Pair(session_ends, process_end);
  std::stable_sort(of_spans_.begin(), of_spans_.end(),
                   [](const Argument& a, const Argument& b) { return a.mark < b.mark; });
  std::sort(spans_.begin(), spans_.end(), [](const Span& a, const Span& b) {
    return a.begin != b.begin ? a.begin < b.begin
                              : std::pair(a.end, a.name.value) < std::pair(b.end, b.name.value);
  });
  Lanes lanes, of_requests;
  for (const Span& span : spans_) {
    const bool request = IsRequest(span.name);
    trace::TrackBuilder* lane = LaneOf(span, request ? &of_requests : &lanes);
    lane->SpanAt(span.begin, span.end, AsSpan(span.name));
    AddArguments(span.mark, lane);
    if (span.ended) continue;
    if (request) {
      lane->Arg(open_key_, 1);
    } else {
      ++lane->track().unfinished;
    }
  }
  for (const Lanes* of : {&lanes, &of_requests}) {
    for (trace::TrackBuilder* track : of->tracks) track->Finish(process_end, process_end);
  }
}

}  // namespace crosscut::import
