#include "src/host/program_options.h"

#include <stdlib.h>
#include <string.h>

#include <atomic>

namespace crosscut::host {
namespace {

// Latest first. Plugins may keep what they were given, so nothing is ever freed: programs make few.
struct Setting {
  const char *key, *value;
  Setting* older;
};
std::atomic<Setting*> latest{nullptr};

}  // namespace

const char* ProgramOption(const char* key) {
  for (const Setting* at = latest.load(std::memory_order_acquire); at != nullptr; at = at->older) {
    if (strcmp(at->key, key) == 0) return at->value;
  }
  return nullptr;
}

bool SetProgramOption(const char* key, const char* value) {
  auto* made = static_cast<Setting*>(malloc(sizeof(Setting)));
  char* const own_key = strdup(key);
  char* const own_value = value == nullptr ? nullptr : strdup(value);
  if (made == nullptr || own_key == nullptr || (value != nullptr && own_value == nullptr)) {
    free(made);
    free(own_key);
    free(own_value);
    return false;
  }
  *made = {own_key, own_value, latest.load(std::memory_order_relaxed)};
  while (!latest.compare_exchange_weak(made->older, made, std::memory_order_release)) {
  }
  return true;
}

}  // namespace crosscut::host
