#include "src/runtime/plugins.h"

#include <stdlib.h>
#include <string.h>

#include "src/host/registry.h"
#include "src/runtime/error.h"

namespace crosscut::record {
namespace {

using host::Registry;

// The loader opens files under the lowest free numbers. A shell that redirects closes one and
// counts on getting that: it begins when they are loaded, unless that takes long.
constexpr int kLoadWaitMs = 1000;    // what a plugin is given to load
constexpr int kExitWaitMs = 10'000;  // above the deadlines of one plugin's last calls
constexpr int kDestroyWaitMs = 2000;

void AwaitPlugins(int ms) {
  if (!Registry::Get().Await(ms)) Say("gave up waiting for a plugin (see crosscut info)");
}

void RunBeforePluginsGo() { (void)atexit(&EndPlugins); }

// TensorFlow's two options.
host::Gate GateFromEnvironment() {
  host::Gate gate;
  const char* level = secure_getenv("CROSSCUT_DEVICE_TRACER_LEVEL");
  if (level != nullptr) gate.device_tracer_level = atoi(level);
  const char* type = secure_getenv("CROSSCUT_DEVICE_TYPE");
  if (type != nullptr) strncpy(gate.device_type, type, sizeof gate.device_type - 1);
  return gate;
}

}  // namespace

void StartPlugins(const host::Hooks& hooks) {
  host::Surroundings around;
  around.hooks = hooks;
  around.hooks.loaded = &RunBeforePluginsGo;
  around.gate = GateFromEnvironment();
  const char* list = secure_getenv("CROSSCUT_PLUGINS");
  const int before = Registry::Get().count();
  if (list != nullptr) Registry::Get().Load(list, around);
  Registry::Get().Start();
  if (Registry::Get().count() != before) (void)Registry::Get().Await(kLoadWaitMs);
}

bool StopPlugins() {
  Registry::Get().Stop();
  return Registry::Get().Busy();
}

void FinishPlugins() {
  if (Registry::Get().count() == 0) return;
  Registry::Get().Stop();
  AwaitPlugins(kExitWaitMs);
}

void EndPlugins() {
  FinishPlugins();
  Registry::Get().End();
  AwaitPlugins(kDestroyWaitMs);
}

}  // namespace crosscut::record
