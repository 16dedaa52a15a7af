#include "src/host/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <new>

#include "src/collect/recorder.h"
#include "src/collect/slow_path.h"
#include "src/host/plugin.h"

namespace crosscut::host {
namespace {

union Immortal {
  constexpr Immortal() : registry() {}
  ~Immortal() {}
  Registry registry;
};
constinit Immortal immortal;

}  // namespace

Registry& Registry::Get() { return immortal.registry; }

bool Registry::Has(const char* file) const {
  char real[4096];
  char path[1024];
  snprintf(path, sizeof path, "%.*s", static_cast<int>(strcspn(file, ",")), file);
  for (int i = 0; i < count_; ++i) {
    if (strcmp(plugins_[i]->file(), path) == 0) return true;
    char other[4096];
    if (realpath(path, real) != nullptr && realpath(plugins_[i]->file(), other) != nullptr &&
        strcmp(real, other) == 0) {
      return true;
    }
  }
  return false;
}

void Registry::Load(const char* list, const Surroundings& around) {
  if (count_ == 0) {
    record::SayThatSessionIsHere();
    loaded_ = true;
    around_ = around;
    around_.call_changed = &Registry::CallChanged;
    around_.theirs = &theirs_;
  }
  for (const char* at = list; *at != '\0';) {
    const size_t length = strcspn(at, ":");
    char file[1024];
    snprintf(file, sizeof file, "%.*s", static_cast<int>(length), at);
    at += length + (at[length] == ':' ? 1 : 0);
    if (length == 0 || Has(file)) continue;
    if (length >= sizeof file || count_ == kMostPlugins) {
      around_.hooks.tell(file, "", "failed", "not loaded: its path is too long, or 16 are here");
      continue;
    }
    auto* plugin = new (std::nothrow) Plugin(file, &around_);
    if (plugin == nullptr) continue;
    plugins_[count_] = plugin;
    ++count_;
    (void)plugin->Begin();
  }
}

bool Registry::Mine() const { return loaded_ && record::IsSessionHere(); }

void Registry::Start() {
  if (!Mine()) return;
  for (int i = 0; i < count_; ++i) plugins_[i]->Start();
}

void Registry::Stop() {
  if (!Mine()) return;
  for (int i = 0; i < count_; ++i) plugins_[i]->Stop();
}

void Registry::End() {
  if (!Mine()) return;
  for (int i = 0; i < count_; ++i) plugins_[i]->End();
}

void Registry::SetLevel(uint32_t level) {
  for (int i = 0; i < count_; ++i) plugins_[i]->SetLevel(level);
}

void Registry::OtherProfiler(const char* who, crosscut_profiler_moment moment) {
  const TheirProfilers::State theirs = theirs_.Change(moment);
  for (int i = 0; i < count_; ++i) plugins_[i]->OtherProfiler(who, theirs);
}

void Registry::Flush() {
  if (!Mine()) return;
  for (int i = 0; i < count_; ++i) plugins_[i]->Flush();
}

void Registry::Republish() {
  for (int i = 0; i < count_; ++i) plugins_[i]->pushes().Republish();
}

int Registry::threads() const {
  int threads = 0;
  for (int i = 0; i < count_; ++i) threads += plugins_[i]->has_thread() ? 1 : 0;
  return threads;
}

bool Registry::Busy() {
  if (!Mine()) return false;
  bool busy = false;
  for (int i = 0; i < count_; ++i) busy |= plugins_[i]->Busy();
  return busy;
}

bool Registry::Await(int ms) {
  constexpr int kNapUs = 200;
  for (int64_t left = int64_t{ms} * 1000; Busy(); left -= kNapUs) {
    if (left <= 0) return false;
    usleep(kNapUs);
  }
  return true;
}

void Registry::AfterFork() {
  loaded_ = false;
  theirs_.Clear();
  for (int i = 0; i < count_; ++i) plugins_[i]->AfterFork();
}

// Who finds this process dead can say in which plugin it was.
void Registry::CallChanged() {
  Registry& registry = Get();
  record::ChunkRing* ring = record::Recorder::Get().ring();
  if (ring == nullptr) return;
  format::RingHeader* header = ring->header();
  const record::Lock lock(&registry.calls_mutex_);
  char text[format::kRingPluginBytes] = {};
  for (int i = 0; i < registry.count_; ++i) {
    char call[96];
    registry.plugins_[i]->CallInFlight(call, sizeof call);
    const size_t used = strlen(text);
    if (*call != '\0') snprintf(text + used, sizeof text - used, "%s%s", used ? ", " : "", call);
  }
  memcpy(header->last_plugin, text, sizeof text);
}

}  // namespace crosscut::host
