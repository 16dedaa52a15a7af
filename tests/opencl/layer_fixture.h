// The plugin as a loader and a host see it: the built library, over a fake driver, with a stub
// host.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fake_driver.h"
#include "stub_host.h"

namespace crosscut::opencl {

class LayerTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (table != nullptr) return;
    library = dlopen(OPENCL_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    init_layer = Symbol<pfn_clInitLayer>("clInitLayer");
    static const cl_icd_dispatch driver = FakeDriver::Table();
    cl_uint entries = 0;
    ASSERT_EQ(init_layer(kEntries, &driver, &entries, &table), CL_SUCCESS);
    ASSERT_EQ(entries, kEntries);
    host = new StubHost;
    host->Register(Symbol<void (*)(TF_ProfilerRegistrationParams*, TF_Status*)>("TF_InitProfiler"));
  }
  template <typename F>
  static F Symbol(const char* name) {
    return reinterpret_cast<F>(dlsym(library, name));
  }

  void SetUp() override {
    FakeDriver::calls.clear();
    host->Level(3);
    host->Start();
    host->Clear();
  }
  void TearDown() override {
    host->Stop();
    EXPECT_EQ(host->open_spans(), 0u);
    EXPECT_TRUE(FakeDriver::events.empty()) << FakeDriver::events.size() << " events are left";
    EXPECT_TRUE(FakeDriver::queues.empty()) << FakeDriver::queues.size() << " queues are left";
  }

  static cl_command_queue MakeQueue(cl_command_queue_properties flags = 0,
                                    FakeDevice& device = plain_device) {
    cl_int error = -1;
    const cl_command_queue queue =
        table->clCreateCommandQueue(nullptr, FakeDriver::Handle(device), flags, &error);
    EXPECT_EQ(error, CL_SUCCESS);
    return queue;
  }
  static cl_int Run(cl_command_queue queue, cl_event* event = nullptr) {
    static const size_t kGlobal[] = {1024, 16}, kLocal[] = {64, 1};
    return table->clEnqueueNDRangeKernel(queue, kernel, 2, nullptr, kGlobal, kLocal, 0, nullptr,
                                         event);
  }
  // Enqueues, completes and returns the stamps.
  static FakeEvent RunToEnd(cl_command_queue queue) {
    EXPECT_EQ(Run(queue), CL_SUCCESS);
    FakeEvent* event = FakeDriver::last;
    ++event->references;
    FakeDriver::Complete(event);
    const FakeEvent copy = *event;
    FakeDriver::Table().clReleaseEvent(reinterpret_cast<cl_event>(event));
    return copy;
  }

  static constexpr cl_uint kEntries = sizeof(cl_icd_dispatch) / sizeof(void*);
  static inline void* library = nullptr;
  static inline pfn_clInitLayer init_layer = nullptr;
  static inline const cl_icd_dispatch* table = nullptr;
  static inline StubHost* host = nullptr;
  static inline FakeDevice plain_device{"Fake 9000", "OpenCL 1.2 fake", FakeDevice::kRaw};
  static inline cl_kernel kernel = reinterpret_cast<cl_kernel>(0x7000);
};

}  // namespace crosscut::opencl
