#include "queues.h"

#include <crosscut/fork_safe_mutex.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <new>
#include <utility>

#include "handles.h"
#include "session.h"

namespace crosscut::opencl {
namespace {

constexpr uint32_t kMaxQueues = 4096;
constexpr uint64_t kLaneStride = kMaxQueues;

ForkSafeMutex mutex;  // of `queues`, free records and the making of new ones
constinit Queue* queues[kMaxQueues] = {};
constinit uint32_t made = 0;
constinit HandleCache cache;

// Lists of properties of hidden queues that were released. Events may hold them for as long as they
// like, and the driver does not tell of their end.
using Released = std::map<cl_command_queue, std::vector<cl_queue_properties>>;
constexpr size_t kMostReleased = 4096;
Released& ReleasedQueues() {  // under `mutex`
  static auto* const released = new Released;
  return *released;
}

Queue* FreeRecord() {
  for (uint32_t i = 0; i < made; ++i) {
    if (queues[i]->uses.load(std::memory_order_acquire) == 0) return queues[i];
  }
  if (made == kMaxQueues) return nullptr;
  auto* queue = new (std::nothrow) Queue;
  if (queue == nullptr) return nullptr;
  queues[made] = queue;
  queue->number = ++made;
  return queue;
}

Queue* LiveRecord(cl_command_queue handle) {
  for (uint32_t i = 0; i < made; ++i) {
    if (queues[i]->handle == handle) return queues[i];
  }
  return nullptr;
}

uint32_t MakeTrack(const Queue& queue, size_t lane) {
  const crosscut_host* host = Host();
  if (host == nullptr) return 0;
  char name[48];
  const char* format = lane == 0 ? "Queue %u" : "Queue %u, beside %zu";
  snprintf(name, sizeof name, format, queue.number, lane);
  crosscut_track track = {};
  track.struct_size = sizeof track;
  track.device = queue.device->index;
  track.queue = queue.number + lane * kLaneStride;
  track.clock = queue.device->clock.Id(queue.device->index);
  track.name = name;
  track.device_name = queue.device->name;
  return host->track(host->host, &track);
}

void Forget(Queue* queue) {
  Released& released = ReleasedQueues();
  if (queue->hidden && released.size() < kMostReleased) {
    released[queue->handle] = std::move(queue->properties);
  }
  cache.Forget(queue->handle);
  queue->handle = nullptr;
  UnuseQueue(queue);
}

Queue* Enter(cl_command_queue handle, Device* device) {
  // The handle may have been that of a queue whose end was not seen.
  Queue* old = LiveRecord(handle);
  if (old != nullptr) Forget(old);
  Queue* queue = device != nullptr ? FreeRecord() : nullptr;
  if (queue == nullptr) return nullptr;
  queue->driver = &Driver();
  queue->handle = handle;
  queue->MoveTo(device);
  queue->properties.clear();
  queue->references.store(1);
  queue->uses.store(1, std::memory_order_release);
  return queue;
}

// A queue that was made past us: by an extension's function, say.
Queue* EnterFound(cl_command_queue handle) {
  const cl_icd_dispatch& driver = Driver();
  cl_context context = nullptr;
  cl_device_id device = nullptr;
  cl_command_queue_properties flags = 0;
  cl_uint references = 1;
  if (driver.clGetCommandQueueInfo(handle, CL_QUEUE_CONTEXT, sizeof(cl_context), &context,
                                   nullptr) != CL_SUCCESS ||
      driver.clGetCommandQueueInfo(handle, CL_QUEUE_DEVICE, sizeof(cl_device_id), &device,
                                   nullptr) != CL_SUCCESS ||
      driver.clGetCommandQueueInfo(handle, CL_QUEUE_PROPERTIES, sizeof flags, &flags, nullptr) !=
          CL_SUCCESS) {
    return nullptr;
  }
  driver.clGetCommandQueueInfo(handle, CL_QUEUE_REFERENCE_COUNT, sizeof references, &references,
                               nullptr);
  Device* known = DeviceOf(context, device);
  const std::lock_guard<ForkSafeMutex> lock(mutex);
  Queue* queue = LiveRecord(handle);
  if (queue == nullptr) {
    queue = Enter(handle, known);
    if (queue == nullptr) return nullptr;
    queue->profiled = (flags & CL_QUEUE_PROFILING_ENABLE) != 0;
    const auto released = ReleasedQueues().find(handle);
    queue->hidden = released != ReleasedQueues().end();
    if (queue->hidden) queue->properties = released->second;
    queue->references.store(static_cast<int>(references));
  }
  cache.Put(handle, queue->number);
  return queue;
}

}  // namespace

bool Lane::Fits(int64_t begin_ns, int64_t end_ns) const {
  if (begin_ns >= last_end_) return true;
  if (begin_ns < forgotten_end_) return false;
  for (const Span& span : kept_) {
    if (begin_ns < span.end && span.begin < end_ns) return false;
  }
  return true;
}

bool Lane::Take(int64_t begin_ns, int64_t end_ns) {
  if (!Fits(begin_ns, end_ns)) return false;
  Span& oldest = kept_[next_++ % kKept];
  forgotten_end_ = std::max(forgotten_end_, oldest.end);
  last_end_ = std::max(last_end_, end_ns);
  oldest = {begin_ns, end_ns};
  return true;
}

uint32_t Queue::TrackFor(int64_t begin_ns, int64_t end_ns) {
  const std::lock_guard<std::mutex> lock(lanes_mutex_);
  for (Lane& lane : lanes_) {
    if (lane.Take(begin_ns, end_ns)) return lane.track;
  }
  if (lanes_.size() == kMaxLanes) return 0;
  Lane lane;
  lane.track = MakeTrack(*this, lanes_.size());
  if (lane.track == 0) return 0;
  lane.Take(begin_ns, end_ns);
  lanes_.push_back(lane);
  return lane.track;
}

void Queue::MoveTo(Device* owner) {
  const std::lock_guard<std::mutex> lock(lanes_mutex_);
  if (device != owner) lanes_.clear();
  device = owner;
}

void AddQueue(cl_command_queue handle, const QueueFacts& facts) {
  Device* known = DeviceOf(facts.context, facts.device);
  const std::lock_guard<ForkSafeMutex> lock(mutex);
  Queue* queue = Enter(handle, known);
  ReleasedQueues().erase(handle);
  if (queue == nullptr) return;
  queue->profiled = facts.profiled;
  queue->hidden = facts.hidden;
  const cl_queue_properties* at = facts.properties;
  if (at != nullptr) {
    for (; *at != 0; at += 2) queue->properties.insert(queue->properties.end(), {at[0], at[1]});
    queue->properties.push_back(0);
  }
  cache.Put(handle, queue->number);
}

Queue* KnownQueue(cl_command_queue handle) {
  const uint32_t number = cache.Get(handle);
  if (number != 0) return queues[number - 1];
  if (handle == nullptr) return nullptr;
  const std::lock_guard<ForkSafeMutex> lock(mutex);
  Queue* queue = LiveRecord(handle);
  if (queue != nullptr) cache.Put(handle, queue->number);
  return queue;
}

Queue* FindQueue(cl_command_queue handle) {
  Queue* queue = KnownQueue(handle);
  return queue != nullptr || handle == nullptr ? queue : EnterFound(handle);
}

bool IsHidden(cl_command_queue handle, std::vector<cl_queue_properties>* properties) {
  const Queue* queue = KnownQueue(handle);
  if (queue != nullptr) {
    if (queue->hidden && properties != nullptr) *properties = queue->properties;
    return queue->hidden;
  }
  const std::lock_guard<ForkSafeMutex> lock(mutex);
  const auto released = ReleasedQueues().find(handle);
  if (released == ReleasedQueues().end()) return false;
  if (properties != nullptr) *properties = released->second;
  return true;
}

void RetainQueue(Queue* queue) { queue->references.fetch_add(1); }

void ReleaseQueue(Queue* queue) {
  if (queue->references.fetch_sub(1) != 1) return;
  const std::lock_guard<ForkSafeMutex> lock(mutex);
  if (queue->references.load() == 0 && queue->handle != nullptr) Forget(queue);
}

void UseQueue(Queue* queue) { queue->uses.fetch_add(1, std::memory_order_relaxed); }

void UnuseQueue(Queue* queue) { queue->uses.fetch_sub(1, std::memory_order_release); }

}  // namespace crosscut::opencl
