// What the CUPTI plugin's callback adds to a call of the CUDA API, enter and exit, while the
// recorder records; without what CUPTI itself takes to call back, which needs a device (tests/gpu).
#include <crosscut/crosscut.h>
#include <crosscut/plugin.h>
#include <cupti_runtime_cbid.h>
#include <unistd.h>

#include <cstdlib>

#include "bench/harness.h"
#include "plugins/cupti/calls.h"
#include "plugins/cupti/metrics.h"

namespace {

using crosscut::bench::NowNs;
using crosscut::cupti::Calls;

constexpr int kBurst = 20'000;

// What the plugin host does for the functions that calls need.
crosscut_host Host() {
  crosscut_host host = {};
  host.probe = [](void*, const char* text) {
    return crosscut_intern(text, SIZE_MAX, CROSSCUT_TEXT, CROSSCUT_LAYER_NONE, 0, 0);
  };
  host.name = [](void*, const char* text, size_t bytes, uint32_t layer, uint32_t probe) {
    return crosscut_intern(text, bytes, CROSSCUT_SPAN, static_cast<crosscut_layer>(layer), 0,
                           probe);
  };
  host.begin = [](void*, uint32_t name) { crosscut_begin(name); };
  host.end = [](void*) { crosscut_end(); };
  host.flow_out = [](void*) {
    const uint64_t flow = crosscut_flow_id();
    crosscut_flow_out(flow);
    return flow;
  };
  return host;
}

double Burst(Calls* calls, CUpti_CallbackId call, const char* function) {
  static uint32_t id = 0;
  const int64_t begin = NowNs();
  for (int i = 0; i < kBurst; ++i) {
    CUpti_CallbackData data = {};
    data.functionName = function;
    data.correlationId = ++id;
    data.callbackSite = CUPTI_API_ENTER;
    calls->On(CUPTI_CB_DOMAIN_RUNTIME_API, call, &data);
    data.callbackSite = CUPTI_API_EXIT;
    calls->On(CUPTI_CB_DOMAIN_RUNTIME_API, call, &data);
  }
  const double ns = static_cast<double>(NowNs() - begin) / kBurst;
  usleep(3000);
  return ns;
}

}  // namespace

int main() {
  char dir[] = "/tmp/crosscut-bench-XXXXXX";
  if (mkdtemp(dir) == nullptr) return 1;
  crosscut_options options = {};
  options.struct_size = sizeof options;
  options.run_dir = dir;
  static const crosscut_host host = Host();
  static crosscut::cupti::CorrelationTable launches;
  static crosscut::cupti::Metrics metrics;  // none is asked for
  static Calls calls;
  const crosscut::cupti::Options defaults;
  launches.Prepare(defaults.flows);
  calls.Prepare(&host, defaults, &launches, &metrics);
  calls.Set(Calls::kRecord);
  if (crosscut_start(&options) != CROSSCUT_OK) {
    std::fprintf(stderr, "cannot record: %s\n", crosscut_error());
    return 1;
  }
  const auto launch = [] {
    return Burst(&calls, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, "cudaLaunchKernel");
  };
  const auto recorded = [&launch](bool on, auto body) {
    calls.LeaveOut(!on);
    return body();
  };
  crosscut::bench::Interleave(
      "CUDA call",
      {{"control step", [&] { return recorded(false, launch); }},
       {"control step again (A/A)", [&] { return recorded(false, launch); }},
       {"launch", [&] { return recorded(true, launch); }},
       {"other call",
        [&] {
          return recorded(true, [] {
            return Burst(&calls, CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020, "cudaMalloc");
          });
        }}},
      41);
  crosscut_stop();
  const std::string remove = std::string("rm -rf ") + dir;
  return std::system(remove.c_str()) == 0 ? 0 : 1;
}
