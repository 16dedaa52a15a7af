// A plugin as TensorFlow's own headers lead to it: XSpace is a class of TensorFlow's library, with
// its protobuf below it, and a status is set from absl::Status by TensorFlow's function. Its device
// is pretended: CROSSCUT_PLUGIN_MOCK_WORK says how many kernels it runs.
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <algorithm>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "tensorflow/c/experimental/pluggable_profiler/pluggable_profiler.h"
#include "tensorflow/c/tf_status_helper.h"
#include "tsl/profiler/protobuf/xplane.pb.h"

namespace {

struct State {
  std::mutex lock;
  bool running = false;
  int64_t begin_ns = 0, end_ns = 0;
  long kernels = 0;
  std::string space;
};

State& state() {
  static State* the_state = new State;  // calls may come until the process has ended
  return *the_state;
}

int64_t Now() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

long KernelsRun() {
  const char* devices = getenv("CROSSCUT_PLUGIN_MOCK_DEVICES");
  const char* work = getenv("CROSSCUT_PLUGIN_MOCK_WORK");
  if (work == nullptr || (devices != nullptr && strcmp(devices, "0") == 0)) return 0;
  return atol(work);
}

std::string Serialise(const State& s) {
  constexpr long kMost = 4096;
  const long kept = std::min(s.kernels, kMost);
  if (kept == 0) return "";
  tensorflow::profiler::XSpace space;
  if (s.kernels > kMost) space.add_warnings("the buffer was full: kernels are lost");
  tensorflow::profiler::XPlane* plane = space.add_planes();
  plane->set_id(1);
  plane->set_name("/device:CHIP:0");
  (*plane->mutable_event_metadata())[1].set_id(1);
  (*plane->mutable_event_metadata())[1].set_name("chip_kernel");
  tensorflow::profiler::XLine* line = plane->add_lines();
  line->set_name("Queue 0");
  line->set_timestamp_ns(s.begin_ns);
  const int64_t each_ps = (s.end_ns - s.begin_ns) * 1000 / kept;
  for (long i = 0; i < kept; ++i) {
    tensorflow::profiler::XEvent* event = line->add_events();
    event->set_metadata_id(1);
    event->set_offset_ps(i * each_ps);
    event->set_duration_ps(each_ps);
  }
  return space.SerializeAsString();
}

// With a payload, which is where TensorFlow's code looks into its status.
void Set(TF_Status* status, absl::Status what) {
  if (!what.ok()) what.SetPayload("chip", absl::Cord("busy"));
  tsl::Set_TF_Status_from_Status(status, what);
  if (tsl::StatusFromTF_Status(status) != what) abort();
}

void Start(const TP_Profiler*, TF_Status* status) {
  const std::lock_guard lock(state().lock);
  state().running = true;
  state().kernels = 0;
  state().space.clear();
  state().begin_ns = Now();
  Set(status, absl::OkStatus());
}

void Stop(const TP_Profiler*, TF_Status* status) {
  const std::lock_guard lock(state().lock);
  Set(status, absl::OkStatus());
  if (!state().running) return;
  state().running = false;
  state().end_ns = Now();
  state().kernels = KernelsRun();
}

void Collect(const TP_Profiler*, uint8_t* buffer, size_t* size, TF_Status* status) {
  const std::lock_guard lock(state().lock);
  if (buffer == nullptr) {
    if (state().kernels > 0 && state().space.empty()) state().space = Serialise(state());
    *size = state().space.size();
  } else if (*size < state().space.size()) {
    Set(status, absl::ResourceExhaustedError("the buffer is too small"));
    return;
  } else {
    memcpy(buffer, state().space.data(), state().space.size());
    *size = state().space.size();
    state().kernels = 0;
    state().space.clear();
  }
  Set(status, absl::OkStatus());
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void TF_InitProfiler(
    TF_ProfilerRegistrationParams* params, TF_Status* status) {
  if (params->struct_size < TF_PROFILER_REGISTRATION_PARAMS_STRUCT_SIZE) {
    Set(status, absl::FailedPreconditionError("params is too small"));
    return;
  }
  params->profiler->device_type = "CHIP";
  params->profiler_fns->start = &Start;
  params->profiler_fns->stop = &Stop;
  params->profiler_fns->collect_data_xspace = &Collect;
  params->destroy_profiler = [](TP_Profiler*) {};
  params->destroy_profiler_fns = [](TP_ProfilerFns*) {};
  Set(status, absl::OkStatus());
}
