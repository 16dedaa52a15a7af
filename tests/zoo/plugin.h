// The zoo's plugin: what it records, and how it hands it over.
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "crosscut/plugin.h"
#include "tests/zoo/device.h"

// IS(name): whether this build has that defect, -DZOO_IS_<name>=1.
#define ZOO_PLACE_1 0,
#define ZOO_SECOND(ignored, value, ...) value
#define ZOO_DEFINED_3(junk) ZOO_SECOND(junk 1, 0, 0)
#define ZOO_DEFINED_2(value) ZOO_DEFINED_3(ZOO_PLACE_##value)
#define ZOO_DEFINED(macro) ZOO_DEFINED_2(macro)
#define IS(name) ZOO_DEFINED(ZOO_IS_##name)

namespace zoo {

constexpr uint32_t kMostEvents = 32768;

struct Event {
  int64_t begin_real_ns, begin_ns, length_ns;
};

// One per process, never destroyed.
struct State {
  const crosscut_host* host;
  uint64_t sessions, destroys;
  bool recording;  // the device is listened to
  bool running;    // between start and stop
  bool stuck, stopped, queried;
  int64_t began_real_ns, began_ns;
  uint32_t count;
  uint64_t dropped;
  Event* events;  // kMostEvents of them, or as many as there came
  uint64_t room;
  uint8_t* bytes;  // what is to be fetched
  size_t bytes_size;
};
State& state();
extern pthread_mutex_t lock;  // of the state

void Spin(int64_t ns);
void BeginRecording();
// Pushes, where there is a host to push to.
void EndRecording();
void Query(size_t* size, TF_Status* status);
void Fetch(uint8_t* buffer, size_t* size, TF_Status* status);

}  // namespace zoo
