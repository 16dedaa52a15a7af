// A plugin that does what its setting "mode" says: one way of going wrong each. Its XSpace is no
// XSpace but the list of the calls that it got.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

#include "crosscut/plugin.h"

namespace {

// Never destroyed: a call that hangs outlives exit handlers.
std::string& mode = *new std::string;
std::string& calls = *new std::string;
int queries = 0;
const crosscut_host* crosscut = nullptr;  // null: TensorFlow

bool Is(const char* what) { return mode == what; }

void Act(const char* call) {
  calls += std::string(call) + " ";
  if (mode == std::string("hang in ") + call) sleep(1000);
  if (mode == std::string("slow in ") + call) usleep(300'000);
  if (mode == std::string("throw in ") + call) throw std::runtime_error("out of " + mode);
  if (mode == std::string("throw a number in ") + call) throw 7;
  if (mode == std::string("handler in ") + call) signal(SIGUSR2, SIG_IGN);
  if (mode == std::string("end the thread in ") + call) pthread_exit(nullptr);
  if (mode == std::string("crash in ") + call) *static_cast<volatile int*>(nullptr) = 1;
  if (mode == std::string("abort in ") + call) abort();
}

void Set(TF_Status* status, TF_Code code, const char* message);

void Start(const TP_Profiler*, TF_Status* status) {
  Act("start");
  if (Is("fail in start")) Set(status, TF_UNAVAILABLE, "no such device today");
}

void Stop(const TP_Profiler*, TF_Status* status) {
  Act("stop");
  if (Is("fail in stop")) Set(status, TF_INTERNAL, "will not stop");
}

void Collect(const TP_Profiler*, uint8_t* buffer, size_t* size, TF_Status*) {
  Act(buffer == nullptr ? "size" : "bytes");
  if (Is("never write the size")) return;
  if (buffer == nullptr) {
    *size = Is("nothing") ? 0 : calls.size() + 6;
    if (Is("huge")) *size = size_t{1} << 63;
    return;
  }
  if (Is("grow") || (Is("grow once") && queries++ == 0)) {
    *size += 10;
    return;
  }
  if (Is("write past the end")) buffer[*size] = 1;
  memset(buffer, ' ', *size);
  memcpy(buffer, calls.data(), calls.size());
  if (Is("shrink")) *size = 5;
  calls.clear();
}

// With the setting "say" the last call tells all of the last session's.
void Destroy(TP_Profiler* profiler) {
  Act(profiler->device_type == nullptr ? "destroy of none" : "destroy");
}
void DestroyFns(TP_ProfilerFns* fns) {
  Act(fns->start == &Start ? "destroy_fns" : "destroy_fns of none");
  if (crosscut != nullptr && crosscut->option(crosscut->host, "say") != nullptr) {
    crosscut->tell(crosscut->host, "", "on", calls.c_str());
  }
}

void Break(TF_ProfilerRegistrationParams* params) {
  if (Is("params size 0")) params->struct_size = 0;
  if (Is("no destroy_profiler")) params->destroy_profiler = nullptr;
  if (Is("no destroy_profiler_fns")) params->destroy_profiler_fns = nullptr;
  if (Is("profiler size 0")) params->profiler->struct_size = 0;
  if (Is("profiler size small")) params->profiler->struct_size = 16;
  if (Is("no device_type")) params->profiler->device_type = nullptr;
  if (Is("device_type with a digit")) params->profiler->device_type = "XPU2";
  if (Is("fns size 0")) params->profiler_fns->struct_size = 0;
  if (Is("fns size small")) params->profiler_fns->struct_size = 32;
  if (Is("no start")) params->profiler_fns->start = nullptr;
  if (Is("no stop")) params->profiler_fns->stop = nullptr;
  if (Is("no collect")) params->profiler_fns->collect_data_xspace = nullptr;
  if (Is("major version 9")) params->major_version = 9;
  if (Is("everything")) {
    params->destroy_profiler_fns = nullptr;
    params->profiler->device_type = nullptr;
    params->profiler_fns->start = nullptr;
  }
}

// With the setting "callbacks": they stand among the calls.
const crosscut_plugin_callbacks callbacks = {
    sizeof callbacks,
    &calls,
    [](void*) { Act("flush"); },
    [](void* self, uint32_t level) {
      *static_cast<std::string*>(self) += std::to_string(level) + "=";
      Act("level");
    },
    [](void*) { Act("calibrate"); },
    [](void*, const char* who, crosscut_profilers state, uint64_t order) {
      calls += std::string(who) + "," + std::to_string(state) + "," + std::to_string(order) + "=";
      Act("profiler");
    }};

}  // namespace

// The host's own status functions, which the test program exports.
extern "C" void TF_SetStatus(TF_Status* status, TF_Code code, const char* message)
    __attribute__((weak));

namespace {
void Set(TF_Status* status, TF_Code code, const char* message) {
  if (TF_SetStatus != nullptr) TF_SetStatus(status, code, message);
}
}  // namespace

extern "C" __attribute__((visibility("default"))) void TF_InitProfiler(
    TF_ProfilerRegistrationParams* params, TF_Status* status) {
  crosscut = crosscut_host_of(params);
  const char* set = crosscut == nullptr ? nullptr : crosscut->option(crosscut->host, "mode");
  mode = set == nullptr ? "" : set;
  params->profiler->device_type = "SCRIPTED";
  params->profiler_fns->start = &Start;
  params->profiler_fns->stop = &Stop;
  params->profiler_fns->collect_data_xspace = &Collect;
  params->destroy_profiler = &Destroy;
  params->destroy_profiler_fns = &DestroyFns;
  if (crosscut != nullptr && crosscut->option(crosscut->host, "callbacks") != nullptr) {
    crosscut->set_callbacks(crosscut->host, &callbacks);
  }
  Act("init");
  if (Is("fail in init")) Set(status, TF_NOT_FOUND, "no driver");
  Break(params);
}
