#include "clocks.h"

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "devices.h"
#include "session.h"

namespace crosscut::opencl {
namespace {

using Kind = DeviceClock::Kind;

constexpr int kRounds = 16;
constexpr int64_t kLookFor = 100'000;
constexpr clockid_t kClocks[] = {0, CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC, CLOCK_REALTIME};
constexpr const char* kNames[] = {"a clock of its own", "CLOCK_MONOTONIC_RAW", "CLOCK_MONOTONIC",
                                  "CLOCK_REALTIME", "the device's timer"};
// What a driver's own pair of clocks may be off before it is not believed.
constexpr int64_t kTimerTolerance = 50'000;

int64_t Now(Kind kind) {
  timespec now;
  clock_gettime(kClocks[static_cast<int>(kind)], &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

struct Moment {
  int64_t at[4];  // by Kind, of a clock of the host

  static Moment Read() {
    Moment moment = {};
    for (const Kind kind : {Kind::kRaw, Kind::kMonotonic, Kind::kRealtime}) {
      moment.at[static_cast<int>(kind)] = Now(kind);
    }
    return moment;
  }
};

}  // namespace

// A marker's stamps, and moments around its enqueueing and after its end.
struct DeviceClock::Bracket {
  Moment before, after, done;
  int64_t queued = 0, end = 0;

  bool Fill(cl_command_queue queue) {
    cl_event event = nullptr;
    before = Moment::Read();
    if (Driver().clEnqueueMarker(queue, &event) != CL_SUCCESS) return false;
    after = Moment::Read();
    const bool completed = Await(event);
    done = Moment::Read();
    const bool stamped = completed &&
                         EventTime(Driver(), event, CL_PROFILING_COMMAND_QUEUED, &queued) &&
                         EventTime(Driver(), event, CL_PROFILING_COMMAND_END, &end);
    Driver().clReleaseEvent(event);
    return stamped && queued > 0 && end >= queued;
  }

 private:
  // Looks for a while before it sleeps: the sooner the end is seen, the narrower the bracket.
  static bool Await(cl_event event) {
    const int64_t until = Now(Kind::kMonotonic) + kLookFor;
    do {
      cl_int status = CL_QUEUED;
      if (Driver().clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                                  nullptr) != CL_SUCCESS ||
          status < 0) {
        return false;
      }
      if (status == CL_COMPLETE) return true;
    } while (Now(Kind::kMonotonic) < until);
    return Driver().clWaitForEvents(1, &event) == CL_SUCCESS;
  }
};

// Whether all brackets are of clock `kind` of the host, once `offset` is added to their stamps.
// Stamps then are ahead of that clock by `low` at least and `high` at most, which bounds the error.
bool DeviceClock::Fits(Kind kind, const Bracket* brackets, int count, int64_t offset) {
  const int64_t tolerance = kind_ == Kind::kTimer ? kTimerTolerance : 0;
  const auto index = static_cast<int>(kind);
  int64_t low = INT64_MIN, high = INT64_MAX;
  for (const Bracket* bracket = brackets; bracket != brackets + count; ++bracket) {
    low = std::max({low, bracket->queued + offset - bracket->after.at[index],
                    bracket->end + offset - bracket->done.at[index]});
    high = std::min(high, bracket->queued + offset - bracket->before.at[index]);
  }
  if (low > tolerance || high < -tolerance) return false;
  error_ns_ = std::max(std::abs(low), std::abs(high));
  return true;
}

void DeviceClock::Identify(cl_context context, cl_device_id device) {
  cl_int error = CL_SUCCESS;
  const cl_command_queue queue =
      Driver().clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &error);
  if (queue == nullptr || error != CL_SUCCESS) return;
  Probe(queue, device);
  Driver().clReleaseCommandQueue(queue);
}

void DeviceClock::Probe(cl_command_queue queue, cl_device_id device) {
  Bracket brackets[kRounds];
  Bracket warm_up;
  warm_up.Fill(queue);
  int count = 0;
  for (; count < kRounds && brackets[count].Fill(queue); ++count) {
  }
  if (count == 0) return;
  if (VersionOf(device) >= 21) {
    device_ = RootOf(device);
    kind_ = Kind::kTimer;
    int64_t host_ns = 0, device_ns = 0, error_ns = 0;
    if (ReadPair(&host_ns, &device_ns, &error_ns) &&
        Fits(Kind::kMonotonic, brackets, count, host_ns - device_ns)) {
      return;
    }
    kind_ = Kind::kUnknown;
  }
  for (const Kind kind : {Kind::kRaw, Kind::kMonotonic, Kind::kRealtime}) {
    if (!Fits(kind, brackets, count, 0)) continue;
    kind_ = kind;
    return;
  }
}

const char* DeviceClock::KindName() const { return kNames[static_cast<int>(kind_)]; }

uint32_t DeviceClock::Id(int64_t device_index) {
  if (kind_ == Kind::kMonotonic) return CROSSCUT_CLOCK_MONOTONIC;
  if (kind_ == Kind::kRealtime) return CROSSCUT_CLOCK_REALTIME;
  const uint32_t known = id_.load(std::memory_order_acquire);
  const crosscut_host* host = Host();
  if (known != 0 || host == nullptr) return known;
  char name[64];
  snprintf(name, sizeof name, "OpenCL device %lld: %s", static_cast<long long>(device_index),
           KindName());
  const uint32_t id = host->clock(host->host, name);
  id_.store(id, std::memory_order_release);
  Read();
  return id;
}

// The tightest of a few readings of the device between two of the host.
bool DeviceClock::ReadPair(int64_t* host_ns, int64_t* device_ns, int64_t* error_ns) {
  int64_t best = INT64_MAX;
  for (int i = 0; i < 5; ++i) {
    const int64_t before = Now(Kind::kMonotonic);
    cl_ulong stamp = 0, ignored = 0;
    if (kind_ != Kind::kTimer) {
      stamp = Now(kind_);
    } else if (Driver().clGetDeviceAndHostTimer == nullptr ||
               Driver().clGetDeviceAndHostTimer(device_, &stamp, &ignored) != CL_SUCCESS) {
      return false;
    }
    const int64_t width = Now(Kind::kMonotonic) - before;
    if (width >= best) continue;
    best = width;
    *host_ns = before + width / 2;
    *device_ns = static_cast<int64_t>(stamp);
    *error_ns = (width + 1) / 2;
  }
  return true;
}

void DeviceClock::Read() {
  if (kind_ != Kind::kRaw && kind_ != Kind::kTimer) return;
  int64_t host_ns = 0, device_ns = 0, error_ns = 0;
  if (!ReadPair(&host_ns, &device_ns, &error_ns)) return;
  Tell(host_ns, device_ns, error_ns + std::max<int64_t>(0, this->error_ns()));
}

void DeviceClock::Tell(int64_t host_ns, int64_t device_ns, int64_t error_ns) {
  const uint32_t id = id_.load(std::memory_order_acquire);
  const crosscut_host* host = Host();
  if (id != 0 && host != nullptr) {
    host->reading(host->host, id, host_ns, device_ns, error_ns);
  }
}

void DeviceClock::Check(int64_t before_ns, int64_t after_ns, int64_t queued) {
  if (kind_ == Kind::kTimer) return;
  if (kind_ == Kind::kUnknown) {
    const int64_t half = (after_ns - before_ns + 1) / 2;
    if (error_ns() < 0 || half < error_ns()) error_ns_.store(half, std::memory_order_relaxed);
    return Tell(before_ns + half, queued, half);
  }
  int64_t host_ns = 0, device_ns = 0, error_ns = 0;
  ReadPair(&host_ns, &device_ns, &error_ns);
  const int64_t at = queued + host_ns - device_ns;
  const int64_t outside = std::max(before_ns - at, at - after_ns) + error_ns;
  if (outside > this->error_ns()) error_ns_.store(outside, std::memory_order_relaxed);
}

}  // namespace crosscut::opencl
