#include "tracks.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace crosscut::cupti {
namespace {

constexpr uint64_t kOverheadQueue = ~uint64_t{0};
constexpr int kLaneBits = 5;

bool Equal(const Stream& a, const Stream& b) {
  return a.device == b.device && a.context == b.context && a.stream == b.stream;
}

void Copy(char* to, size_t bytes, const char* from) { std::snprintf(to, bytes, "%s", from); }

}  // namespace

Tracks::~Tracks() { std::free(entries_); }

void Tracks::Prepare(const crosscut_host* host) {
  host_ = host;
  entries_ = static_cast<Entry*>(std::calloc(kStreams, sizeof(Entry)));
}

void Tracks::Renew(uint32_t clock) {
  clock_ = clock;
  used_ = 0;
  overhead_ = 0;
  if (entries_ == nullptr) return;
  for (uint32_t i = 0; i < kStreams; ++i) {
    // Untouched pages stay untouched.
    if (entries_[i].used) entries_[i] = {};
  }
}

void Tracks::NameDevice(uint32_t device, const char* name) {
  if (device < kDevices && name != nullptr) Copy(devices_[device], sizeof devices_[0], name);
}

void Tracks::NameStream(const Stream& stream, const char* name) {
  if (name == nullptr) return;
  uint32_t at = 0;
  while (at < label_count_ && !Equal(labels_[at].key, stream)) ++at;
  if (at == kLabels) return;
  if (at == label_count_) ++label_count_;
  labels_[at].key = stream;
  Copy(labels_[at].text, sizeof labels_[at].text, name);
}

void Tracks::SetContext(uint32_t context, uint32_t device, uint32_t default_stream) {
  for (uint32_t i = 0; i < context_count_; ++i) {
    if (contexts_[i].context == context) return;
  }
  if (context_count_ < kContexts) contexts_[context_count_++] = {device, context, default_stream};
}

Stream Tracks::KnownStream(uint32_t context, uint32_t stream) const {
  for (uint32_t i = 0; i < context_count_; ++i) {
    if (contexts_[i].context == context) return {contexts_[i].device, context, stream};
  }
  return {0, context, stream};
}

Tracks::Entry* Tracks::Find(const Stream& stream) {
  if (entries_ == nullptr) return nullptr;
  uint64_t hash = uint64_t{stream.context} << 32 | stream.stream;
  hash = (hash ^ uint64_t{stream.device} << 52) * 0x9e3779b97f4a7c15u;
  for (uint32_t at = hash >> 52 & (kStreams - 1);; at = (at + 1) & (kStreams - 1)) {
    Entry& entry = entries_[at];
    if (entry.used && Equal(entry.key, stream)) return &entry;
    if (entry.used) continue;
    if (used_ >= kStreams * 3 / 4) return nullptr;
    ++used_;
    entry.used = true;
    entry.key = stream;
    return &entry;
  }
}

void Tracks::LabelOf(const Stream& stream, uint32_t lane, char* text, size_t bytes) const {
  char base[80];
  if (stream.stream == kNoStream) {
    std::snprintf(base, sizeof base, "Context %u", stream.context);
  } else {
    std::snprintf(base, sizeof base, "Stream %u", stream.stream);
  }
  for (uint32_t i = 0; i < context_count_; ++i) {
    if (!Equal(contexts_[i], stream)) continue;
    std::snprintf(base, sizeof base, "Stream %u (default)", stream.stream);
  }
  for (uint32_t i = 0; i < label_count_; ++i) {
    if (Equal(labels_[i].key, stream)) Copy(base, sizeof base, labels_[i].text);
  }
  if (lane == 0) {
    Copy(text, bytes, base);
  } else {
    std::snprintf(text, bytes, "%s, lane %u", base, lane + 1);
  }
}

// The number by which streams are known is CUDA's own, as in other tools; of further contexts of a
// device, and for further lanes, with what tells them apart above it.
uint64_t Tracks::QueueOf(const Stream& stream, uint32_t lane) {
  uint64_t context = stream.context;
  if (stream.device < kDevices) {
    uint32_t& first = first_contexts_[stream.device];
    if (first == 0) first = stream.context;
    if (first == stream.context) context = 0;
  }
  return context << (32 + kLaneBits) | uint64_t{lane} << 32 | stream.stream;
}

uint32_t Tracks::MakeTrack(const Stream& stream, uint32_t lane) {
  char name[112], device[64];
  LabelOf(stream, lane, name, sizeof name);
  if (stream.device < kDevices && devices_[stream.device][0] != '\0') {
    Copy(device, sizeof device, devices_[stream.device]);
  } else {
    std::snprintf(device, sizeof device, "CUDA device %u", stream.device);
  }
  crosscut_track track = {};
  track.struct_size = sizeof track;
  track.device = stream.device;
  track.queue = QueueOf(stream, lane);
  track.clock = clock_;
  track.name = name;
  track.device_name = device;
  return host_->track(host_->host, &track);
}

bool Tracks::AddLane(Entry* entry) {
  if (entry->lanes == kLanes) return false;
  const uint32_t track = MakeTrack(entry->key, entry->lanes);
  if (track == 0) return false;
  entry->lane[entry->lanes++] = {track, INT64_MIN};
  return true;
}

uint32_t Tracks::ForSpan(const Stream& stream, int64_t begin_ns, int64_t end_ns) {
  Entry* entry = Find(stream);
  if (entry == nullptr) return 0;
  for (uint32_t i = 0;; ++i) {
    if (i == entry->lanes && !AddLane(entry)) return 0;
    Lane& lane = entry->lane[i];
    if (begin_ns < lane.end_ns) continue;
    lane.end_ns = end_ns;
    return lane.track;
  }
}

uint32_t Tracks::ForInstant(const Stream& stream) {
  Entry* entry = Find(stream);
  if (entry == nullptr || (entry->lanes == 0 && !AddLane(entry))) return 0;
  return entry->lane[0].track;
}

uint32_t Tracks::ForOverhead() {
  if (overhead_ != 0) return overhead_;
  crosscut_track track = {};
  track.struct_size = sizeof track;
  track.queue = kOverheadQueue;
  track.clock = clock_;
  track.name = "CUPTI and driver overhead";
  return overhead_ = host_->track(host_->host, &track);
}

}  // namespace crosscut::cupti
