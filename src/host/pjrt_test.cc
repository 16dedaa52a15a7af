// The profiler of a PJRT plugin, as the controller drives it.
#include "src/host/pjrt.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "src/host/status.h"

struct crosscut_pjrt_profiler {
  size_t bytes = 8;
};

namespace crosscut::host {
namespace {

size_t grows_by = 0;  // at each call
int sessions = 0;     // that live
crosscut_pjrt_profiler* last = nullptr;
bool asked_the_dead = false;
std::string asked_for;  // a ProfileOptions

void DestroyError(crosscut_pjrt_error_args*) {}
void Message(crosscut_pjrt_message_args*) {}
crosscut_pjrt_error* Code(crosscut_pjrt_code_args*) { return nullptr; }
crosscut_pjrt_error* Create(crosscut_pjrt_create_args* args) {
  ++sessions;
  asked_for.assign(args->options, args->options_size);
  args->profiler = last = new crosscut_pjrt_profiler;
  return nullptr;
}
crosscut_pjrt_error* Destroy(crosscut_pjrt_profiler_args* args) {
  --sessions;
  delete args->profiler;
  last = nullptr;
  return nullptr;
}
crosscut_pjrt_error* Nothing(crosscut_pjrt_profiler_args*) { return nullptr; }
crosscut_pjrt_error* Collect(crosscut_pjrt_collect_args* args) {
  asked_the_dead |= args->profiler == nullptr || args->profiler != last;
  if (asked_the_dead) return nullptr;
  const size_t has = args->profiler->bytes;
  args->profiler->bytes += grows_by;
  if (args->buffer != nullptr && args->buffer_size >= has) memset(args->buffer, 'x', has);
  args->buffer_size = has;
  return nullptr;
}

crosscut_pjrt_profiler_api api = {sizeof api, nullptr, DestroyError, Message, Code,
                                  Create,     Destroy, Nothing,      Nothing, Collect};
crosscut_pjrt_profiler_extension extension = {
    {sizeof extension, CROSSCUT_PJRT_EXTENSION_PROFILER, nullptr}, &api, 0};
crosscut_pjrt_api all = {sizeof all, &extension.head, {}};

class PjrtTest : public testing::Test {
 protected:
  PjrtTest() {
    grows_by = 0;
    asked_the_dead = false;
    Refusal refusal;
    EXPECT_TRUE(RegisterPjrt([]() -> const crosscut_pjrt_api* { return &all; },
                             Gate{.device_tracer_level = 3}, &plugin_, &refusal));
    EXPECT_STREQ(plugin_.profiler.device_type, "PJRT");
    plugin_.fns.start(&plugin_.profiler, status_.get());
  }
  // The bytes that it has, of which as many were written as fit into `room`.
  size_t Ask(std::vector<uint8_t>* room) {
    size_t size = room->size();
    uint8_t* const buffer = room->empty() ? nullptr : room->data();
    plugin_.fns.collect_data_xspace(&plugin_.profiler, buffer, &size, status_.get());
    return size;
  }

  // As in the host, where a plugin's registration stays until the process ends.
  Registration& plugin_ = *Kept();
  const Status status_{nullptr};

 private:
  static Registration* Kept() {
    static auto& all = *new std::vector<std::unique_ptr<Registration>>;
    return all.emplace_back(std::make_unique<Registration>()).get();
  }
};

TEST_F(PjrtTest, ASessionWhoseDataGrewIsAskedAgainAndThenDestroyed) {
  grows_by = 8;
  std::vector<uint8_t> none, room(8);
  EXPECT_EQ(Ask(&none), 8U);
  EXPECT_EQ(Ask(&room), 16U) << "more than there was room for";
  EXPECT_EQ(sessions, 1);
  EXPECT_EQ(Ask(&none), 24U);
  room.resize(32);
  EXPECT_EQ(Ask(&room), 32U);
  EXPECT_EQ(room, std::vector<uint8_t>(32, 'x'));
  EXPECT_EQ(sessions, 0);
  EXPECT_FALSE(asked_the_dead);
  EXPECT_EQ(status_.code(), TF_OK);
}

TEST_F(PjrtTest, ASessionHasTheLevelThatWasAskedFor) {
  EXPECT_EQ(asked_for.substr(asked_for.size() - 2), "\x18\x03");  // device_tracer_level
}

TEST_F(PjrtTest, ASessionThatIsOverIsNotAskedAgain) {
  std::vector<uint8_t> none, room(8);
  EXPECT_EQ(Ask(&none), 8U);
  EXPECT_EQ(Ask(&room), 8U);
  EXPECT_EQ(Ask(&none), 0U);
  EXPECT_FALSE(asked_the_dead);
  EXPECT_EQ(status_.code(), TF_FAILED_PRECONDITION);
}

}  // namespace
}  // namespace crosscut::host
