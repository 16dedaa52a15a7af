// What is known of every command queue: its device, its tracks, what its application may see of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "api.h"
#include "devices.h"

namespace crosscut::opencl {

// One track's spans, as far as they must be known to tell whether another one overlaps them.
class Lane {
 public:
  // Whether the span overlaps none; then it is entered. Callbacks come about in the order of the
  // spans' ends, but not quite: a span older than the last kKept is refused.
  bool Take(int64_t begin_ns, int64_t end_ns);

  uint32_t track = 0;

 private:
  static constexpr int kKept = 64;
  struct Span {
    int64_t begin = INT64_MIN, end = INT64_MIN;
  };
  bool Fits(int64_t begin_ns, int64_t end_ns) const;

  Span kept_[kKept];
  uint32_t next_ = 0;
  int64_t forgotten_end_ = INT64_MIN;  // of all that is not kept any more
  int64_t last_end_ = INT64_MIN;
};

// Lives from the queue's creation until its last release and the end of its commands that are
// followed. Then its number is used again.
struct Queue {
  static constexpr size_t kMaxLanes = 512;

  const cl_icd_dispatch* driver = nullptr;
  cl_command_queue handle = nullptr;
  Device* device = nullptr;
  uint32_t number = 0;                          // from 1
  bool profiled = false;                        // its events have stamps
  std::atomic<bool> hidden{false};              // of which its application must not know
  std::vector<cl_queue_properties> properties;  // the list that it was made with, to its 0

  std::atomic<int> references{0};  // the application's
  std::atomic<int> uses{0};        // commands that are followed, and 1 while it lives
  std::atomic<uint32_t> enqueued{0};

  // The track for a span: one on which nothing overlaps it, since commands of one queue may run
  // side by side, and the driver may report one long after its end. Makes tracks as they are
  // needed, up to kMaxLanes; 0 where all of those are taken. Any thread.
  uint32_t TrackFor(int64_t begin_ns, int64_t end_ns);
  // The record now stands for a queue of `owner`.
  void MoveTo(Device* owner);

 private:
  std::mutex lanes_mutex_;
  std::vector<Lane> lanes_;
};

struct QueueFacts {
  cl_context context = nullptr;
  cl_device_id device = nullptr;
  const cl_queue_properties* properties = nullptr;  // as the application gave them, if it did
  bool profiled = false;
  bool hidden = false;
};
// A queue that the application made.
void AddQueue(cl_command_queue handle, const QueueFacts& facts);
// The record, or null.
Queue* KnownQueue(cl_command_queue handle);
// The record; a queue that was made past us is entered as it is found. Null where there is no room,
// or no such queue.
Queue* FindQueue(cl_command_queue handle);  // Whether its application must not know that the queue
                                            // has profiling on, also where it has released
// the queue; then `properties` (null: not asked) is the list that it was made with.
bool IsHidden(cl_command_queue handle, std::vector<cl_queue_properties>* properties = nullptr);

// The application's references; the last release ends the record's life.
void RetainQueue(Queue* queue);
void ReleaseQueue(Queue* queue);

// For a command that is followed.
void UseQueue(Queue* queue);
void UnuseQueue(Queue* queue);

}  // namespace crosscut::opencl
