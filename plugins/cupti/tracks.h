// The host's tracks for the streams of CUDA contexts.
//
// Spans of a track nest or do not touch, while work of one stream can overlap: the branches of a
// graph, kernels launched early by their predecessor. So a stream has lanes, of which all but the
// first are mostly unused.
// Threads: one at a time.
#pragma once

#include <crosscut/plugin.h>

#include <cstdint>

namespace crosscut::cupti {

struct Stream {
  uint32_t device, context, stream;
};

class Tracks {
 public:
  static constexpr uint32_t kLanes = 16;      // of one stream
  static constexpr uint32_t kStreams = 4096;  // with work in this process
  // What CUPTI calls "no stream", in records of whole contexts.
  static constexpr uint32_t kNoStream = ~0u;

  Tracks() = default;
  ~Tracks();
  Tracks(const Tracks&) = delete;
  Tracks& operator=(const Tracks&) = delete;

  void Prepare(const crosscut_host* host);
  // A new session: lanes are empty. Times of tracks made from now on are of `clock`.
  void Renew(uint32_t clock);

  // Names for tracks that are made after this; copied.
  void NameDevice(uint32_t device, const char* name);
  void NameStream(const Stream& stream, const char* name);
  void SetContext(uint32_t context, uint32_t device, uint32_t default_stream);

  // The stream of a record that does not name its device: by its context's record, else device 0.
  Stream KnownStream(uint32_t context, uint32_t stream) const;

  // The track of work that lies in time where no earlier call's lies; work that begins later comes
  // later, as far as possible. 0: no room, the work is lost.
  uint32_t ForSpan(const Stream& stream, int64_t begin_ns, int64_t end_ns);
  // The stream's first track, for instants. 0: no room.
  uint32_t ForInstant(const Stream& stream);
  // Where CUPTI tells of its own work. 0: no room.
  uint32_t ForOverhead();

 private:
  struct Lane {
    uint32_t track;
    int64_t end_ns;  // of the latest span
  };
  struct Entry {
    bool used;
    Stream key;
    uint32_t lanes;
    Lane lane[kLanes];
  };
  struct Label {
    Stream key;
    char text[64];
  };
  static constexpr uint32_t kDevices = 64, kLabels = 256, kContexts = 256;

  Entry* Find(const Stream& stream);
  bool AddLane(Entry* entry);
  uint64_t QueueOf(const Stream& stream, uint32_t lane);
  uint32_t MakeTrack(const Stream& stream, uint32_t lane);
  void LabelOf(const Stream& stream, uint32_t lane, char* text, size_t bytes) const;

  const crosscut_host* host_ = nullptr;
  uint32_t clock_ = 0;
  uint32_t overhead_ = 0;     // its track; 0: not made yet
  Entry* entries_ = nullptr;  // kStreams, open addressing
  uint32_t used_ = 0;
  char devices_[kDevices][64] = {};
  uint32_t first_contexts_[kDevices] = {};  // by device; CUPTI numbers contexts from 1 up
  Label labels_[kLabels] = {};
  uint32_t label_count_ = 0;
  Stream contexts_[kContexts] = {};  // with their default stream
  uint32_t context_count_ = 0;
};

}  // namespace crosscut::cupti
