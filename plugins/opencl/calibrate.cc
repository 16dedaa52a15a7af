// What a wrapped call costs the thread that makes it, against a driver that does nothing. What a
// real driver does more because its events are kept and called back is not in it (docs/opencl.md).
#include <crosscut/calibrate.h>

#include <algorithm>
#include <array>

#include "plugin.h"
#include "wrappers.h"

namespace crosscut::opencl {
namespace {

constexpr int kRounds = 21;
constexpr int kCalls = 100;          // per arm of a round
constexpr int kLow = 5, kHigh = 15;  // ranks that bound the median of kRounds at 95 %

// The host drops what is pushed while we calibrate. This one does what it does at other times.
class RecordingHost {
 public:
  RecordingHost() : real_(Host()), table_(*real_) {
    table_.begin = [](void*, uint32_t name) { crosscut_begin(name); };
    table_.end = [](void*) { crosscut_end(); };
    table_.flow_out = [](void*) {
      const uint64_t flow = crosscut_flow_id();
      crosscut_flow_out(flow);
      return flow;
    };
    SetHost(&table_);
  }
  ~RecordingHost() { SetHost(real_); }
  RecordingHost(const RecordingHost&) = delete;
  RecordingHost& operator=(const RecordingHost&) = delete;

 private:
  const crosscut_host* const real_;
  crosscut_host table_;
};

// A driver whose commands are complete when StubDriver::Complete() says so.
struct StubDriver {
  static inline struct {
    void(CL_CALLBACK* function)(cl_event, cl_int, void*);
    void* data;
  } callbacks[kCalls];
  static inline int pending = 0;

  static cl_event Event() { return reinterpret_cast<cl_event>(&callbacks); }
  __attribute__((noinline)) static cl_int Enqueue(cl_command_queue, size_t, cl_event* event) {
    if (event != nullptr) *event = Event();
    return CL_SUCCESS;
  }
  static cl_int SetCallback(cl_event, cl_int, void(CL_CALLBACK* function)(cl_event, cl_int, void*),
                            void* data) {
    callbacks[pending++] = {function, data};
    return CL_SUCCESS;
  }
  static cl_int Release(cl_event) { return CL_SUCCESS; }
  static void Complete() {
    for (int i = 0; i < pending; ++i)
      callbacks[i].function(Event(), CL_COMPLETE, callbacks[i].data);
    pending = 0;
  }
};

// A queue of the stub, that nobody else sees. Never destroyed.
struct StubQueue {
  StubQueue() {
    table.clSetEventCallback = &StubDriver::SetCallback;
    table.clReleaseEvent = &StubDriver::Release;
    device.has_callbacks = true;
    queue.driver = &table;
    queue.device = &device;
    queue.profiled = true;
    queue.uses = 1;
  }
  cl_icd_dispatch table = {};
  Device device;
  Queue queue;
};

Name stub_call("crosscut.calibrate", CROSSCUT_ON_HOST_RUNTIME, true);

constexpr auto kDescribe = [](Command& command, const auto& arguments) {
  command.name = stub_call.id();
  command.Arg(Key::kGlobalX, static_cast<int64_t>(std::get<1>(arguments)));
  command.Arg(Key::kLocalX, static_cast<int64_t>(std::get<1>(arguments)));
};

// Ticks per call of `function`, each in a chunk with room.
template <typename Function>
double Ticks(PrivateChunk& chunk, Function function) {
  chunk.Record(true);
  const uint64_t begin = crosscut_ticks_();
  for (int i = 0; i < kCalls; ++i) function();
  const auto ticks = static_cast<double>(crosscut_ticks_() - begin) / kCalls;
  StubDriver::Complete();
  return ticks;
}

StubQueue& Stub() {
  static auto* stub = new StubQueue;
  return *stub;
}

void EnqueueOnStub() {
  Enqueue({0, &Stub().queue, stub_call}, kDescribe, &StubDriver::Enqueue,
          static_cast<cl_command_queue>(nullptr), size_t{1}, static_cast<cl_event*>(nullptr));
}

using Rounds = std::array<double, kRounds>;

// The cost that begin and end leave inside their span is half of theirs: the stamps are taken in
// the middle of either.
void Report(uint32_t probe, Rounds& added, double inside) {
  std::sort(added.begin(), added.end());
  const double ps = 1000 * crosscut_ns_per_tick();
  auto picoseconds = [ps](double ticks) { return static_cast<int64_t>(std::max(0.0, ticks * ps)); };
  const int64_t total = picoseconds(added[kRounds / 2]);
  const int64_t within = std::min(picoseconds(inside), total);
  const crosscut_host* host = Host();
  host->probe_cost(host->host, probe, within, total - within, picoseconds(added[kLow]),
                   picoseconds(added[kHigh]), int64_t{kRounds} * kCalls);
}

}  // namespace

void Calibrate() {
  if (crosscut_this_thread->enabled == 1) return;
  Rounds calls, enqueues;
  double span = 0, flow = 0;
  {
    const RecordingHost host;
    PrivateChunk chunk;
    if (!chunk.ok()) return;
    for (int round = 0; round < kRounds; ++round) {
      span = Ticks(chunk, [] { const CallSpan open(stub_call); });
      flow = Ticks(chunk, [] { CallSpan(stub_call).FlowOut(); }) - span;
      calls[round] = span;
      const double bare = Ticks(chunk, [] { StubDriver::Enqueue(nullptr, 1, nullptr); });
      enqueues[round] = Ticks(chunk, &EnqueueOnStub) - bare;
    }
  }
  Report(CallProbe(), calls, span / 2);
  Report(EnqueueProbe(), enqueues, span / 2 + std::max(0.0, flow));
}

}  // namespace crosscut::opencl
