// The built library, loaded as hosts load it.

#include <crosscut/plugin.h>
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/recording_host.h"

namespace crosscut::cupti {
namespace {

using Init = void (*)(TF_ProfilerRegistrationParams*, TF_Status*);

struct Loaded {
  TP_Profiler profiler = {};
  TP_ProfilerFns functions = {};
  TF_ProfilerRegistrationParams params = {};

  explicit Loaded(const crosscut_host* host) {
    void* library = dlopen(CROSSCUT_CUPTI_PLUGIN, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    EXPECT_NE(library, nullptr) << dlerror();
    const auto init = reinterpret_cast<Init>(dlsym(library, "TF_InitProfiler"));
    profiler.struct_size = TP_PROFILER_STRUCT_SIZE;
    functions.struct_size = TP_PROFILER_FNS_STRUCT_SIZE;
    params.struct_size = TF_PROFILER_REGISTRATION_PARAMS_STRUCT_SIZE;
    params.ext = const_cast<crosscut_host*>(host);
    params.profiler = &profiler;
    params.profiler_fns = &functions;
    init(&params, nullptr);
  }
  void Round() {
    functions.start(&profiler, nullptr);
    functions.stop(&profiler, nullptr);
    size_t size = 77;
    functions.collect_data_xspace(&profiler, nullptr, &size, nullptr);
    EXPECT_EQ(size, 0u);
  }
};

TEST(CuptiPlugin, IsInertInAHostThatIsNotCrosscut) {
  Loaded loaded(nullptr);
  EXPECT_STREQ(loaded.profiler.device_type, "CUDA");
  EXPECT_NE(loaded.params.destroy_profiler, nullptr);
  EXPECT_NE(loaded.params.destroy_profiler_fns, nullptr);
  loaded.params.destroy_profiler(&loaded.profiler);
  loaded.params.destroy_profiler_fns(&loaded.functions);
  for (int i = 0; i < 100; ++i) loaded.Round();
}

TEST(CuptiPlugin, TellsItsHostHowItStands) {
  static RecordingHost host;  // the plugin keeps it for ever
  Loaded loaded(host.abi());
  ASSERT_NE(host.callbacks.flush, nullptr);
  ASSERT_NE(host.callbacks.set_level, nullptr);
  ASSERT_NE(host.callbacks.calibrate, nullptr);
  host.callbacks.calibrate(host.callbacks.self);
  EXPECT_EQ(host.probe_cost.size(), 5u);
  loaded.Round();
  host.callbacks.flush(host.callbacks.self);
  host.callbacks.set_level(host.callbacks.self, 0);
  if (dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) == nullptr) {
    ASSERT_FALSE(host.told.empty());
    EXPECT_EQ(host.Last().state, "missing");
  }
}

}  // namespace
}  // namespace crosscut::cupti
