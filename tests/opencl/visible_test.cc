// What the application sees of its queues, events and loader is what it would see without us.
#include <array>
#include <cstdio>

#include "layer_fixture.h"

namespace crosscut::opencl {
namespace {

using Properties = std::vector<cl_queue_properties>;

class VisibleTest : public LayerTest {
 protected:
  static cl_command_queue MakeQueueWith(const cl_queue_properties* properties) {
    cl_int error = -1;
    const cl_command_queue queue = table->clCreateCommandQueueWithProperties(
        nullptr, FakeDriver::Handle(plain_device), properties, &error);
    EXPECT_EQ(error, CL_SUCCESS);
    return queue;
  }
  static FakeQueue& Driver(cl_command_queue queue) { return *reinterpret_cast<FakeQueue*>(queue); }
  static cl_command_queue_properties Flags(cl_command_queue queue) {
    cl_command_queue_properties flags = 99;
    EXPECT_EQ(
        table->clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof flags, &flags, nullptr),
        CL_SUCCESS);
    return flags;
  }
  static Properties List(cl_command_queue queue) {
    size_t bytes = 99;
    EXPECT_EQ(table->clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, 0, nullptr, &bytes),
              CL_SUCCESS);
    Properties list(bytes / sizeof(cl_queue_properties));
    EXPECT_EQ(
        table->clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, bytes, list.data(), nullptr),
        CL_SUCCESS);
    return list;
  }
  // What the application learns from an event's stamps.
  static cl_int Ask(cl_command_queue queue) {
    cl_event event = nullptr;
    Run(queue, &event);
    FakeDriver::Complete(FakeDriver::last);
    cl_ulong time = 0;
    const cl_int answer = table->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START,
                                                         sizeof time, &time, nullptr);
    EXPECT_EQ(answer == CL_SUCCESS, time != 0);
    table->clReleaseEvent(event);
    return answer;
  }
};

constexpr cl_command_queue_properties kProfiling = CL_QUEUE_PROFILING_ENABLE;
constexpr cl_command_queue_properties kOutOfOrder = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;

TEST_F(VisibleTest, QueuesThatDidNotAskForProfilingSeemToHaveNone) {
  for (const cl_command_queue_properties flags : {cl_command_queue_properties{0}, kOutOfOrder}) {
    const cl_command_queue queue = MakeQueue(flags);
    EXPECT_EQ(Driver(queue).flags, flags | kProfiling);
    EXPECT_EQ(Flags(queue), flags);
    EXPECT_EQ(List(queue), Properties());
    EXPECT_EQ(Ask(queue), CL_PROFILING_INFO_NOT_AVAILABLE);
    table->clReleaseCommandQueue(queue);
  }
}

TEST_F(VisibleTest, QueuesThatAskedForProfilingHaveIt) {
  const cl_command_queue queue = MakeQueue(kProfiling | kOutOfOrder);
  EXPECT_EQ(Flags(queue), kProfiling | kOutOfOrder);
  EXPECT_EQ(Ask(queue), CL_SUCCESS);
  table->clReleaseCommandQueue(queue);
}

TEST_F(VisibleTest, ListsOfPropertiesReadAsTheyWereGiven) {
  const Properties lists[] = {
      {0},
      {CL_QUEUE_PROPERTIES, 0, 0},
      {CL_QUEUE_PROPERTIES, kOutOfOrder, 0},
      {CL_QUEUE_SIZE, 4096, CL_QUEUE_PROPERTIES, kOutOfOrder, 0},
      {CL_QUEUE_SIZE, 4096, 0},
  };
  for (const Properties& list : lists) {
    const cl_command_queue queue = MakeQueueWith(list.data());
    EXPECT_EQ(Driver(queue).flags & kProfiling, kProfiling);
    EXPECT_EQ(List(queue), list);
    EXPECT_EQ(Flags(queue) & kProfiling, 0u);
    EXPECT_EQ(Ask(queue), CL_PROFILING_INFO_NOT_AVAILABLE);
    table->clReleaseCommandQueue(queue);
  }
  const cl_command_queue none = MakeQueueWith(nullptr);
  EXPECT_EQ(List(none), Properties());
  table->clReleaseCommandQueue(none);
  const Properties asked = {CL_QUEUE_PROPERTIES, kProfiling, 0};
  const cl_command_queue queue = MakeQueueWith(asked.data());
  EXPECT_EQ(List(queue), asked);
  EXPECT_EQ(Ask(queue), CL_SUCCESS);
  table->clReleaseCommandQueue(queue);
}

TEST_F(VisibleTest, AListIsNotWrittenBeyondTheRoomThereIs) {
  const Properties list = {CL_QUEUE_PROPERTIES, kOutOfOrder, 0};
  const cl_command_queue queue = MakeQueueWith(list.data());
  std::array<cl_queue_properties, 3> room = {7, 7, 7};
  EXPECT_EQ(table->clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY,
                                         2 * sizeof(cl_queue_properties), room.data(), nullptr),
            CL_INVALID_VALUE);
  EXPECT_EQ(room[0], 7u);
  cl_uchar small = 0;
  EXPECT_EQ(table->clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, 1, &small, nullptr),
            CL_INVALID_VALUE);
  table->clReleaseCommandQueue(queue);
}

TEST_F(VisibleTest, AQueueThatIsReleasedWhileItsEventsHoldItStaysAsItWas) {
  for (const cl_command_queue_properties asked : {cl_command_queue_properties{0}, kProfiling}) {
    const cl_command_queue queue = MakeQueue(asked);
    cl_event event = nullptr;
    Run(queue, &event);
    FakeDriver::Complete(FakeDriver::last);
    ++Driver(queue).references;  // the event's
    table->clReleaseCommandQueue(queue);
    EXPECT_EQ(Flags(queue), asked);
    cl_ulong time = 0;
    EXPECT_EQ(table->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof time, &time,
                                             nullptr),
              asked != 0 ? CL_SUCCESS : CL_PROFILING_INFO_NOT_AVAILABLE);
    table->clReleaseEvent(event);
    table->clReleaseCommandQueue(queue);
  }
}

TEST_F(VisibleTest, QueuesOnTheDeviceAreLeftAlone) {
  const Properties list = {CL_QUEUE_PROPERTIES, kOutOfOrder | CL_QUEUE_ON_DEVICE, 0};
  const cl_command_queue queue = MakeQueueWith(list.data());
  EXPECT_EQ(Driver(queue).flags & kProfiling, 0u);
  EXPECT_EQ(List(queue), list);
  table->clReleaseCommandQueue(queue);
}

TEST_F(VisibleTest, ADriverThatCannotProfileStillMakesQueues) {
  FakeDriver::refuse_profiling = true;
  const cl_command_queue queue = MakeQueue();
  FakeDriver::refuse_profiling = false;
  ASSERT_NE(queue, nullptr);
  EXPECT_EQ(Driver(queue).flags, 0u);
  EXPECT_EQ(Ask(queue), CL_PROFILING_INFO_NOT_AVAILABLE);
  host->Flush();
  EXPECT_EQ(host->lost(), 1u);
  table->clReleaseCommandQueue(queue);
}

TEST_F(VisibleTest, CreationFailsAsTheDriverSays) {
  cl_int error = 0;
  FakeDriver::refuse_profiling = true;
  EXPECT_EQ(
      table->clCreateCommandQueue(nullptr, FakeDriver::Handle(plain_device), kProfiling, &error),
      nullptr);
  EXPECT_EQ(error, CL_INVALID_QUEUE_PROPERTIES);
  EXPECT_EQ(
      table->clCreateCommandQueue(nullptr, FakeDriver::Handle(plain_device), kProfiling, nullptr),
      nullptr);
  FakeDriver::refuse_profiling = false;
}

TEST_F(VisibleTest, ProfilingCanBeSwitchedByTheOldCall) {
  const cl_command_queue queue = MakeQueue();
  cl_command_queue_properties old = 99;
  EXPECT_EQ(table->clSetCommandQueueProperty(queue, kProfiling, CL_TRUE, &old), CL_SUCCESS);
  EXPECT_EQ(old, 0u);
  EXPECT_EQ(Flags(queue), kProfiling);
  EXPECT_EQ(Ask(queue), CL_SUCCESS);
  EXPECT_EQ(table->clSetCommandQueueProperty(queue, kProfiling | kOutOfOrder, CL_FALSE, &old),
            CL_SUCCESS);
  EXPECT_EQ(old, kProfiling);
  EXPECT_EQ(Flags(queue), 0u);
  EXPECT_EQ(Driver(queue).flags, kProfiling);
  EXPECT_EQ(Ask(queue), CL_PROFILING_INFO_NOT_AVAILABLE);
  table->clReleaseCommandQueue(queue);
}

TEST_F(VisibleTest, RetainedQueuesStayKnown) {
  const cl_command_queue queue = MakeQueue();
  table->clRetainCommandQueue(queue);
  table->clReleaseCommandQueue(queue);
  EXPECT_EQ(Flags(queue), 0u);
  table->clReleaseCommandQueue(queue);
  EXPECT_EQ(table->clGetCommandQueueInfo(nullptr, CL_QUEUE_PROPERTIES, 0, nullptr, nullptr),
            CL_INVALID_COMMAND_QUEUE);
}

TEST_F(VisibleTest, ALoaderWithFewerEntriesGetsNoMoreThanItHas) {
  const cl_icd_dispatch full = FakeDriver::Table();
  constexpr cl_uint kFew = offsetof(cl_icd_dispatch, clSetEventCallback) / sizeof(void*);
  std::vector<void*> few(kFew);
  memcpy(few.data(), &full, kFew * sizeof(void*));
  cl_uint entries = 0;
  const cl_icd_dispatch* small = nullptr;
  ASSERT_EQ(
      init_layer(kFew, reinterpret_cast<const cl_icd_dispatch*>(few.data()), &entries, &small),
      CL_SUCCESS);
  EXPECT_EQ(entries, kFew);
  EXPECT_EQ(small->clCreateCommandQueueWithProperties, nullptr);
  EXPECT_EQ(small->clGetExtensionFunctionAddress, nullptr);
  EXPECT_EQ(small->clSetKernelArg, full.clSetKernelArg);
  EXPECT_NE(small->clFinish, full.clFinish);
  // A loader that knows more entries than we do pulls those from below.
  ASSERT_EQ(init_layer(kEntries, &full, &entries, &small), CL_SUCCESS);
  EXPECT_EQ(entries, kEntries);
  ASSERT_EQ(init_layer(kEntries, &full, &entries, &small), CL_SUCCESS);
  EXPECT_EQ(init_layer(kEntries, &full, &entries, &small), CL_OUT_OF_RESOURCES);
  EXPECT_EQ(init_layer(kEntries, nullptr, &entries, &small), CL_INVALID_VALUE);
}

TEST_F(VisibleTest, AnswersTheLoadersQuestions) {
  const auto info = Symbol<pfn_clGetLayerInfo>("clGetLayerInfo");
  cl_layer_api_version version = 0;
  size_t size = 0;
  EXPECT_EQ(info(CL_LAYER_API_VERSION, sizeof version, &version, &size), CL_SUCCESS);
  EXPECT_EQ(version, cl_layer_api_version{CL_LAYER_API_VERSION_100});
  EXPECT_EQ(size, sizeof version);
  char name[32] = "";
  EXPECT_EQ(info(CL_LAYER_NAME, sizeof name, name, nullptr), CL_SUCCESS);
  EXPECT_STREQ(name, "Crosscut");
  EXPECT_EQ(info(CL_LAYER_NAME, 2, name, nullptr), CL_INVALID_VALUE);
  EXPECT_EQ(info(0x9999, sizeof name, name, nullptr), CL_INVALID_VALUE);
}

TEST_F(VisibleTest, TheLibraryExportsItsThreeEntriesAndNeedsNoOpenCl) {
  std::string text;
  FILE* pipe = popen("nm -D --defined-only " OPENCL_PLUGIN
                     " | awk '{print $3}' | sort; readelf -d " OPENCL_PLUGIN " | grep -c libOpenCL",
                     "r");
  for (int c = fgetc(pipe); c != EOF; c = fgetc(pipe)) text += static_cast<char>(c);
  pclose(pipe);
  EXPECT_EQ(text, "TF_InitProfiler\nclGetLayerInfo\nclInitLayer\n0\n");
}

}  // namespace
}  // namespace crosscut::opencl
