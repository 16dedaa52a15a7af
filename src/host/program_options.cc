#include "src/host/program_options.h"

#include <stdlib.h>
#include <string.h>

#include <atomic>
#include <new>

namespace crosscut::host {
namespace {

// Plugins may keep what they were given, so nothing is ever freed: each text is kept once.
struct Text {
  const char* text;
  Text* older;
};
std::atomic<Text*> texts{nullptr};

struct Setting {
  const char* key;
  std::atomic<const char*> value;
  Setting* older;
};
std::atomic<Setting*> settings{nullptr};

// Null without memory.
const char* Keep(const char* text) {
  for (const Text* at = texts.load(std::memory_order_acquire); at != nullptr; at = at->older) {
    if (strcmp(at->text, text) == 0) return at->text;
  }
  auto* made = static_cast<Text*>(malloc(sizeof(Text)));
  char* const own = strdup(text);
  if (made == nullptr || own == nullptr) {
    free(made);
    free(own);
    return nullptr;
  }
  *made = {own, texts.load(std::memory_order_relaxed)};
  while (!texts.compare_exchange_weak(made->older, made, std::memory_order_release)) {
  }
  return own;
}

// Of two that two threads add at once, all take the later one.
Setting* Find(const char* key) {
  Setting* at = settings.load(std::memory_order_acquire);
  while (at != nullptr && strcmp(at->key, key) != 0) at = at->older;
  return at;
}

}  // namespace

const char* ProgramOption(const char* key) {
  const Setting* const found = Find(key);
  return found == nullptr ? nullptr : found->value.load(std::memory_order_acquire);
}

bool SetProgramOption(const char* key, const char* value) {
  const char* const own_value = value == nullptr ? nullptr : Keep(value);
  if (value != nullptr && own_value == nullptr) return false;
  if (Setting* const found = Find(key)) {
    found->value.store(own_value, std::memory_order_release);
    return true;
  }
  const char* const own_key = Keep(key);
  void* const memory = own_key == nullptr ? nullptr : malloc(sizeof(Setting));
  if (memory == nullptr) return false;
  auto* const made =
      new (memory) Setting{own_key, own_value, settings.load(std::memory_order_relaxed)};
  while (!settings.compare_exchange_weak(made->older, made, std::memory_order_release)) {
  }
  return true;
}

}  // namespace crosscut::host
