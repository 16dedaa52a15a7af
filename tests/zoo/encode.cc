// The zoo's plugin as an XSpace, and the defects of that.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <new>

#include "tests/zoo/plugin.h"

namespace zoo {
namespace {

// A message that grows; what does not fit into memory sets `failed`.
class Message {
 public:
  Message() = default;
  ~Message() { delete[] bytes_; }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  void Number(uint32_t field, uint64_t value) {
    Varint(field << 3);
    Varint(value);
  }
  void Bytes(uint32_t field, const void* bytes, size_t size) {
    Varint(field << 3 | 2);
    Varint(size);
    Append(bytes, size);
  }
  void Text(uint32_t field, const char* text) { Bytes(field, text, strlen(text)); }
  void Add(uint32_t field, const Message& message) {
    Bytes(field, message.bytes_, message.size_);
    failed = failed || message.failed;
  }
  void Varint(uint64_t value) {
    uint8_t out[10];
    size_t n = 0;
    for (; value >= 0x80; value >>= 7) out[n++] = static_cast<uint8_t>(value | 0x80);
    out[n++] = static_cast<uint8_t>(value);
    Append(out, n);
  }
  uint8_t* Take(size_t* size) {
    uint8_t* bytes = bytes_;
    *size = size_;
    bytes_ = nullptr;
    return bytes;
  }
  void CutShort(size_t bytes) { size_ -= size_ > bytes ? bytes : 0; }

  bool failed = false;

 private:
  void Append(const void* bytes, size_t size) {
    if (failed || size == 0) return;
    if (size_ + size > room_ && !Grow(size_ + size)) return;
    memcpy(bytes_ + size_, bytes, size);
    size_ += size;
  }
  bool Grow(size_t least) {
    const size_t room = least * 2;
    auto* larger = IS(throws_without_memory) ? new uint8_t[room] : new (std::nothrow) uint8_t[room];
    if (larger == nullptr) {
      failed = true;
      return false;
    }
    if (size_ > 0) memcpy(larger, bytes_, size_);
    delete[] bytes_;
    bytes_ = larger;
    room_ = room;
    return true;
  }

  uint8_t* bytes_ = nullptr;
  size_t size_ = 0, room_ = 0;
};

void AddEntry(Message* plane, uint32_t field, uint64_t id, const char* name) {
  Message entry, metadata;
  entry.Number(1, id);
  metadata.Number(1, IS(key_is_not_id) ? id + 1 : id);
  metadata.Text(2, name);
  entry.Add(2, metadata);
  plane->Add(field, entry);
}

void AddEvent(Message* line, int64_t offset_ps, int64_t duration_ps) {
  Message event, stat;
  event.Number(1, IS(unknown_event_id) ? 77 : 1);
  event.Number(2, static_cast<uint64_t>(offset_ps));
  event.Number(3, static_cast<uint64_t>(duration_ps));
  stat.Number(1, IS(unknown_stat_id) ? 77 : 1);
  stat.Number(3, 12345);
  event.Add(4, stat);
  line->Add(4, event);
}

void AddLine(const State& s, Message* plane) {
  Message line;
  line.Number(1, 1);
  line.Text(2, IS(bad_utf8) ? "Queue \xfe\xff" : "Queue 0");
  const int64_t base =
      IS(negative_offset) && s.count > 0 ? s.events[s.count - 1].begin_real_ns : s.began_real_ns;
  line.Number(3, static_cast<uint64_t>(base - (IS(before_the_session) ? 1000000000 : 0)));
  for (uint32_t i = 0; i < s.count; ++i) {
    const Event& event = s.events[IS(out_of_order) ? s.count - 1 - i : i];
    const int64_t offset = (event.begin_real_ns - base) * 1000;
    const int64_t length = IS(overlapping) && i > 0 && i % 2 == 0 ? -1 : event.length_ns * 1000;
    if (IS(negative_duration)) {
      AddEvent(&line, offset, -1);
    } else if (IS(overlapping) && length == -1) {
      // Begins within the one before and ends after it.
      const Event& last = s.events[i - 1];
      AddEvent(&line, (last.begin_real_ns - base) * 1000 + 1, (last.length_ns + 1) * 1000);
    } else {
      AddEvent(&line, offset, length);
    }
  }
  plane->Add(3, line);
}

void AddPlane(const State& s, Message* space) {
  Message plane;
  plane.Number(1, 0);
  plane.Text(2, "/device:GPU:0 (ZOO)");
  AddEntry(&plane, 4, 1, "kernel");
  AddEntry(&plane, 5, 1, "correlation_id");
  AddEntry(&plane, 5, 2, "dropped");
  AddLine(s, &plane);
  if (s.dropped > 0) {
    Message stat;
    stat.Number(1, 2);
    stat.Number(4, s.dropped);
    plane.Add(6, stat);
  }
  space->Add(1, plane);
}

void AddOddities(Message* space) {
  if (IS(huge_length)) {
    space->Varint(1 << 3 | 2);
    space->Varint(uint64_t{1} << 63);
  }
  if (IS(deep_groups)) {
    for (int i = 0; i < 20000; ++i) space->Varint(15 << 3 | 3);
  }
  if (IS(cut_short)) space->CutShort(3);
}

bool SomethingToTell(const State& s) {
  if (IS(output_without_device) && device_count() == 0) return true;
  if (IS(output_without_work) && device_count() > 0) return true;
  return s.count > 0;
}

// What is recorded, as bytes; keeps them until the fetch.
bool Serialise(State& s) {
  Message space;
  if (IS(garbage_bytes)) {
    for (int i = 0; i < 100; ++i) space.Varint(static_cast<uint64_t>(i) * 0x9E3779B97F4A7C15u);
  } else {
    AddPlane(s, &space);
  }
  AddOddities(&space);
  if (IS(big_and_slow)) {
    Message more;
    for (uint64_t i = 2; i < 2000; ++i) AddEntry(&more, 4, i, "another kernel with a long name");
    more.Text(2, "/host:ZOO runtime");
    space.Add(1, more);
  }
  if (space.failed) return false;
  if (!IS(keeps_collected) || s.bytes == nullptr) delete[] s.bytes;
  s.bytes = space.Take(&s.bytes_size);
  s.count = 0;
  return true;
}

void QueryLocked(State& s, size_t* size, TF_Status* status) {
  if (IS(size_not_written) && s.count == 0 && s.bytes_size == 0) return;
  *size = 0;
  if (s.stuck || s.running) return;
  if (IS(asks_for_2_to_63)) {
    *size = size_t{1} << 63;
    return;
  }
  if (s.bytes_size == 0 && SomethingToTell(s) && !Serialise(s)) {
    TF_SetStatus(status, TF_RESOURCE_EXHAUSTED, "no memory for the XSpace");
    return;
  }
  *size = s.bytes_size;
  if (IS(second_query_empty)) {
    if (s.queried) *size = 0;
    s.queried = s.bytes_size > 0;
  }
  if (IS(shrinks) && s.bytes_size > 0) ++*size;
}

void FetchLocked(State& s, uint8_t* buffer, size_t* size, TF_Status* status) {
  if (IS(fills_what_is_claimed)) memset(buffer, 0, *size < 65536 ? *size : 65536);
  if (!IS(ignores_size) && *size < s.bytes_size) {
    TF_SetStatus(status, TF_FAILED_PRECONDITION, "the buffer is too small");
    *size = 0;
    return;
  }
  memcpy(buffer, s.bytes, s.bytes_size);
  *size = s.bytes_size;
  if (IS(overruns_by_one)) buffer[*size] = 0;
  s.queried = false;
  if (IS(reports_more)) *size += 100;
  if (!IS(keeps_collected)) s.bytes_size = 0;
}

}  // namespace

void Query(size_t* size, TF_Status* status) {
  pthread_mutex_lock(&lock);
  QueryLocked(state(), size, status);
  pthread_mutex_unlock(&lock);
}

void Fetch(uint8_t* buffer, size_t* size, TF_Status* status) {
  pthread_mutex_lock(&lock);
  FetchLocked(state(), buffer, size, status);
  pthread_mutex_unlock(&lock);
}

}  // namespace zoo
