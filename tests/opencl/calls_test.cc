// Every wrapped call: its span on the thread, its span on the device, its bytes.
#include "layer_fixture.h"

namespace crosscut::opencl {
namespace {

const size_t kOrigin[3] = {0, 0, 0}, kRegion[3] = {8, 4, 2};

struct Case {
  const char* call;
  const char* name;  // of the device's span
  int64_t bytes;     // 0: no such argument
  cl_int (*run)(const cl_icd_dispatch& t, cl_command_queue q, cl_event* e);
};

const Case kBuffers[] = {
    {"clEnqueueReadBuffer", "Memcpy DtoH", 100,
     [](auto& t, auto q, auto e) {
       return t.clEnqueueReadBuffer(q, nullptr, CL_FALSE, 7, 100, nullptr, 0, nullptr, e);
     }},
    {"clEnqueueWriteBuffer", "Memcpy HtoD", 101,
     [](auto& t, auto q, auto e) {
       return t.clEnqueueWriteBuffer(q, nullptr, CL_FALSE, 7, 101, nullptr, 0, nullptr, e);
     }},
    {"clEnqueueCopyBuffer", "Memcpy DtoD", 102,
     [](auto& t, auto q, auto e) {
       return t.clEnqueueCopyBuffer(q, nullptr, nullptr, 1, 2, 102, 0, nullptr, e);
     }},
    {"clEnqueueFillBuffer", "Memset", 103,
     [](auto& t, auto q, auto e) {
       return t.clEnqueueFillBuffer(q, nullptr, "abcd", 4, 8, 103, 0, nullptr, e);
     }},
    {"clEnqueueMapBuffer", "Map", 104,
     [](auto& t, auto q, auto e) {
       cl_int error = -1;
       t.clEnqueueMapBuffer(q, nullptr, CL_FALSE, CL_MAP_READ, 3, 104, 0, nullptr, e, &error);
       return error;
     }},
    {"clEnqueueReadBufferRect", "Memcpy DtoH", 64,
     [](auto& t, auto q, auto e) {
       return t.clEnqueueReadBufferRect(q, nullptr, CL_FALSE, kOrigin, kOrigin, kRegion, 0, 0, 0, 0,
                                        nullptr, 0, nullptr, e);
     }},
    {"clEnqueueWriteBufferRect", "Memcpy HtoD", 64,
     [](auto& t, auto q, auto e) {
       return t.clEnqueueWriteBufferRect(q, nullptr, CL_FALSE, kOrigin, kOrigin, kRegion, 0, 0, 0,
                                         0, nullptr, 0, nullptr, e);
     }},
    {"clEnqueueCopyBufferRect", "Memcpy DtoD", 64,
     [](auto& t, auto q, auto e) {
       return t.clEnqueueCopyBufferRect(q, nullptr, nullptr, kOrigin, kOrigin, kRegion, 0, 0, 0, 0,
                                        0, nullptr, e);
     }},
    {"clEnqueueUnmapMemObject", "Unmap", 0,
     [](auto& t, auto q, auto e) {
       return t.clEnqueueUnmapMemObject(q, nullptr, nullptr, 0, nullptr, e);
     }},
    {"clEnqueueMigrateMemObjects", "Migrate", 0,
     [](auto& t, auto q, auto e) {
       return t.clEnqueueMigrateMemObjects(q, 0, nullptr, 0, 0, nullptr, e);
     }},
};

// The fake driver's images have 4 bytes an element.
const Case kImages[] = {
    {"clEnqueueReadImage", "Memcpy DtoH", 256,
     [](auto& t, auto q, auto e) {
       return t.clEnqueueReadImage(q, nullptr, CL_FALSE, kOrigin, kRegion, 0, 0, nullptr, 0,
                                   nullptr, e);
     }},
    {"clEnqueueWriteImage", "Memcpy HtoD", 256,
     [](auto& t, auto q, auto e) {
       return t.clEnqueueWriteImage(q, nullptr, CL_FALSE, kOrigin, kRegion, 0, 0, nullptr, 0,
                                    nullptr, e);
     }},
    {"clEnqueueFillImage", "Memset", 256,
     [](auto& t, auto q, auto e) {
       return t.clEnqueueFillImage(q, nullptr, "", kOrigin, kRegion, 0, nullptr, e);
     }},
    {"clEnqueueMapImage", "Map", 256,
     [](auto& t, auto q, auto e) {
       cl_int error = -1;
       size_t pitch = 0;
       t.clEnqueueMapImage(q, nullptr, CL_FALSE, CL_MAP_READ, kOrigin, kRegion, &pitch, &pitch, 0,
                           nullptr, e, &error);
       return error;
     }},
    {"clEnqueueCopyImage", "Memcpy DtoD", 256,
     [](auto& t, auto q, auto e) {
       return t.clEnqueueCopyImage(q, nullptr, nullptr, kOrigin, kOrigin, kRegion, 0, nullptr, e);
     }},
    {"clEnqueueCopyImageToBuffer", "Memcpy DtoD", 256,
     [](auto& t, auto q, auto e) {
       return t.clEnqueueCopyImageToBuffer(q, nullptr, nullptr, kOrigin, kRegion, 5, 0, nullptr, e);
     }},
    {"clEnqueueCopyBufferToImage", "Memcpy DtoD", 256,
     [](auto& t, auto q, auto e) {
       return t.clEnqueueCopyBufferToImage(q, nullptr, nullptr, 5, kOrigin, kRegion, 0, nullptr, e);
     }},
};

const Case kOthers[] = {
    {"clEnqueueSVMMemcpy", "Memcpy SVM", 105,
     [](auto& t, auto q, auto e) {
       return t.clEnqueueSVMMemcpy(q, CL_FALSE, nullptr, nullptr, 105, 0, nullptr, e);
     }},
    {"clEnqueueSVMMemFill", "Memset", 106,
     [](auto& t, auto q, auto e) {
       return t.clEnqueueSVMMemFill(q, nullptr, "ab", 2, 106, 0, nullptr, e);
     }},
    {"clEnqueueSVMMap", "Map", 107,
     [](auto& t, auto q, auto e) {
       return t.clEnqueueSVMMap(q, CL_FALSE, CL_MAP_READ, nullptr, 107, 0, nullptr, e);
     }},
    {"clEnqueueSVMUnmap", "Unmap", 0,
     [](auto& t, auto q, auto e) { return t.clEnqueueSVMUnmap(q, nullptr, 0, nullptr, e); }},
    {"clEnqueueSVMMigrateMem", "Migrate", 0,
     [](auto& t, auto q, auto e) {
       return t.clEnqueueSVMMigrateMem(q, 0, nullptr, nullptr, 0, 0, nullptr, e);
     }},
    {"clEnqueueTask", "saxpy", 0,
     [](auto& t, auto q, auto e) {
       return t.clEnqueueTask(q, reinterpret_cast<cl_kernel>(0x7000), 0, nullptr, e);
     }},
    {"clEnqueueNativeKernel", "native kernel", 0,
     [](auto& t, auto q, auto e) {
       return t.clEnqueueNativeKernel(q, nullptr, nullptr, 0, 0, nullptr, nullptr, 0, nullptr, e);
     }},
};

class CallsTest : public LayerTest {
 protected:
  void Check(const Case& it, cl_command_queue queue) {
    SCOPED_TRACE(it.call);
    for (const bool with_event : {false, true}) {
      host->Clear();
      cl_event event = nullptr;
      ASSERT_EQ(it.run(*table, queue, with_event ? &event : nullptr), CL_SUCCESS);
      ASSERT_EQ(FakeDriver::last->call, it.call);
      FakeDriver::Complete(FakeDriver::last);
      ASSERT_EQ(event != nullptr, with_event);
      if (with_event) table->clReleaseEvent(event);
      EXPECT_TRUE(FakeDriver::events.empty());
      ASSERT_EQ(host->calls().size(), 1u);
      EXPECT_EQ(host->calls()[0].name, it.call);
      const std::vector<StubHost::Span> spans = host->spans();
      const StubHost::Span span = Only(spans, it.name);
      EXPECT_EQ(span.flow, host->calls()[0].flow);
      EXPECT_EQ(span.args.count("bytes"), it.bytes != 0 ? 1u : 0u);
      if (it.bytes != 0) {
        EXPECT_EQ(span.args.at("bytes"), it.bytes);
      }
      CheckFailure(it, queue);
    }
  }
  void CheckFailure(const Case& it, cl_command_queue queue) {
    host->Clear();
    FakeDriver::fail = -4321;
    EXPECT_EQ(it.run(*table, queue, nullptr), -4321);
    EXPECT_EQ(host->calls().size(), 1u);
    EXPECT_TRUE(host->spans().empty());
  }
};

TEST_F(CallsTest, EveryEnqueuedCommandIsASpanOfItsThreadAndOneOfItsDevice) {
  const cl_command_queue queue = MakeQueue();
  for (const Case& it : kBuffers) Check(it, queue);
  for (const Case& it : kImages) Check(it, queue);
  for (const Case& it : kOthers) Check(it, queue);
  table->clReleaseCommandQueue(queue);
}

TEST_F(CallsTest, OtherCallsAreSpansAndComeThroughOnce) {
  const cl_icd_dispatch& t = *table;
  const cl_command_queue q = MakeQueue();
  host->Clear();
  FakeDriver::calls.clear();
  t.clFinish(q);
  t.clFlush(q);
  t.clEnqueueBarrier(q);
  t.clEnqueueBarrierWithWaitList(q, 0, nullptr, nullptr);
  t.clEnqueueWaitForEvents(q, 0, nullptr);
  t.clBuildProgram(nullptr, 0, nullptr, "", nullptr, nullptr);
  t.clCompileProgram(nullptr, 0, nullptr, "", 0, nullptr, nullptr, nullptr, nullptr);
  t.clLinkProgram(nullptr, 0, nullptr, "", 0, nullptr, nullptr, nullptr, nullptr);
  t.clCreateBuffer(nullptr, 0, 1, nullptr, nullptr);
  t.clCreateBufferWithProperties(nullptr, nullptr, 0, 1, nullptr, nullptr);
  t.clCreateImage(nullptr, 0, nullptr, nullptr, nullptr, nullptr);
  t.clReleaseMemObject(nullptr);
  t.clSVMAlloc(nullptr, 0, 1, 1);
  t.clSVMFree(nullptr, nullptr);
  t.clEnqueueSVMFree(q, 0, nullptr, nullptr, nullptr, 0, nullptr, nullptr);
  std::vector<std::string> names;
  for (const StubHost::Call& call : host->calls()) names.push_back(call.name);
  EXPECT_EQ(names.size(), 15u);
  EXPECT_EQ(names, FakeDriver::calls);
  EXPECT_TRUE(host->spans().empty());
  t.clReleaseCommandQueue(q);
}

TEST_F(CallsTest, MarkersAreSpansOfTheThreadOnly) {
  const cl_command_queue queue = MakeQueue();
  host->Clear();
  cl_event event = nullptr;
  ASSERT_EQ(table->clEnqueueMarkerWithWaitList(queue, 0, nullptr, &event), CL_SUCCESS);
  EXPECT_EQ(FakeDriver::last->references, 2);
  ASSERT_EQ(table->clWaitForEvents(1, &event), CL_SUCCESS);
  table->clReleaseEvent(event);
  ASSERT_EQ(host->calls().size(), 2u);
  EXPECT_EQ(host->calls()[0].name, "clEnqueueMarkerWithWaitList");
  EXPECT_EQ(host->calls()[1].name, "clWaitForEvents");
  EXPECT_TRUE(host->spans().empty());
  table->clReleaseCommandQueue(queue);
}

TEST_F(CallsTest, AListOfEventsToWaitForIsPassedOn) {
  const cl_command_queue queue = MakeQueue();
  const size_t size = 1;
  const cl_event list[2] = {};
  table->clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &size, nullptr, 2, list, nullptr);
  EXPECT_EQ(FakeDriver::last_wait_count, 2u);
  FakeDriver::Complete(FakeDriver::last);
  table->clReleaseCommandQueue(queue);
}

}  // namespace
}  // namespace crosscut::opencl
