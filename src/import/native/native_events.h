// Turns the words of one recorded process's threads into spans.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/format/run_reader.h"
#include "src/import/native/native_arguments.h"
#include "src/import/native/native_async.h"
#include "src/import/native/native_clock.h"
#include "src/import/native/native_devices.h"
#include "src/import/native/native_memory.h"
#include "src/import/native/native_samples.h"
#include "src/import/native/native_session.h"
#include "src/trace/builder.h"

namespace crosscut::import {

class NativeEvents {
 public:
  // The pointers must outlive this object. `session_ends`: ticks of the session's stops, ascending.
  NativeEvents(trace::Builder* builder, trace::ProcessId process, const NativeSession* session,
               const NativeClock* clock, std::vector<uint64_t> session_ends);

  // Takes the next words of one thread.
  Status Take(const format::WordBatch& batch);
  // Ends every track where its thread ended, else at `process_end_ns`.
  void Finish(int64_t process_end_ns);

  // The trace's track for one of the process's; none where it recorded nothing.
  trace::TrackId TrackOf(uint32_t native_track) const {
    const auto at = threads_.find(native_track);
    return at == threads_.end() ? trace::TrackId::None() : at->second.track->id();
  }

  uint64_t first_tick() const { return first_tick_; }  // of all words; UINT64_MAX: none
  uint64_t last_tick() const { return last_tick_; }
  uint64_t unreadable_words() const { return unreadable_; }
  // How many blocks of memory have no free, though their address was handed out again.
  uint64_t unseen_frees() const { return memory_.unseen_frees(); }
  // How many were held when changes of memory were recorded no more.
  uint64_t held_at_end() const { return memory_.held_at_end(); }
  // How many spans and other events have a name for which the recorder had no room.
  uint64_t unnamed() const { return unnamed_; }
  const NativeSamples& samples() const { return samples_; }
  uint64_t unknown_names() const { return unknown_names_ + devices_.unknown(); }

 private:
  // What a thread's stream needs between batches.
  struct Thread {
    trace::TrackBuilder* track;
    size_t clock_segment = 0;
    int64_t begin_ns = 0;
    int64_t end_ns = 0;
    bool ended = false;
    bool in_sample = false;  // arguments belong to the last sample
    static constexpr size_t kNoMark = SIZE_MAX;
    size_t mark = kNoMark;     // arguments belong to this mark of an asynchronous span, as long as
    size_t spans_at_mark = 0;  // the thread has no more spans than these
    uint64_t last_tick = 0, entered_tick = 0;  // the latter: when it entered its session
    // The next of the session's `frames` that the thread has to pass, and where the hook was
    // installed: calls that are reported later run since then.
    size_t next_frames = 0;
    bool frames_in = false;
    int64_t frames_in_ns = INT64_MIN;
    std::vector<trace::TrackBuilder::Running> running;
  };
  using Words = std::span<const uint64_t>;

  Thread* ThreadOf(uint32_t track, int64_t at);
  void TakeWords(Thread* thread, const format::WordBatch& batch);
  void TakeEvent(Thread* thread, uint64_t tick, uint16_t code, Words payload);
  void TakeRare(Thread* thread, int64_t at, uint16_t code, Words payload);
  void TakeInstant(Thread* thread, int64_t at, uint64_t name);
  void TakeArgument(Thread* thread, uint16_t code, Words payload);
  void TakeFlow(Thread* thread, int64_t at, uint16_t code, uint64_t flow);
  void BeginNamed(Thread* thread, int64_t at, uint64_t id);
  void EndNamed(Thread* thread, int64_t at, uint64_t id);
  uint64_t NextFrames(const Thread& thread) const {
    const auto& frames = session_->frames;
    return thread.next_frames < frames.size() ? frames[thread.next_frames].tick : UINT64_MAX;
  }
  void PassFrames(Thread* thread, uint64_t tick);
  void Running(Thread* thread, int64_t at, uint64_t payload);
  void BeginThread(Thread* thread, int64_t at, Words payload);
  void Lose(Thread* thread, Words payload);
  void LoseAnywhere(Thread* thread, Words payload);
  void GoOn(Thread* thread, const format::WordBatch& batch);
  void EndWithSession(Thread* thread);
  void NameThreads();
  void FinishElsewhere();
  void FinishAsync(int64_t process_end_ns);
  trace::TrackBuilder* TrackAt(int64_t os_id, int64_t at);
  trace::NameId NameOf(uint64_t id);

  trace::Builder* builder_;
  trace::ProcessId process_;
  const NativeSession* session_;
  const NativeClock* clock_;
  NativeDevices devices_;
  NativeArguments arguments_;
  NativeMemory memory_;
  NativeSamples samples_;
  NativeAsync async_;
  std::vector<uint64_t> session_ends_;
  std::unordered_map<uint32_t, Thread> threads_;
  trace::StringId sequence_, forward_thread_;
  std::vector<trace::NameId> span_names_;  // by code; none: not a span's or operation's name
  uint64_t first_tick_ = UINT64_MAX, last_tick_ = 0, unreadable_ = 0, unknown_names_ = 0,
           unnamed_ = 0;
};

// The reason of a loss in words: "full", "overwritten", ...; "unknown" for other numbers.
std::string_view DropReasonName(uint64_t reason);

}  // namespace crosscut::import
