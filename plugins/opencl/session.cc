#include "session.h"

#include <crosscut/fork_safe_mutex.h>

#include <mutex>

namespace crosscut::opencl {

constinit std::atomic<uint32_t> recording{0};

namespace {

constinit std::atomic<const crosscut_host*> the_host{nullptr};
constinit std::atomic<uint32_t> session{0};
ForkSafeMutex mutex;  // of what follows
constinit uint32_t last_session = 0;
constinit uint32_t level = 3;

void Publish() {
  const bool on = level != 0 && Host() != nullptr;
  recording.store(on ? session.load() : 0, std::memory_order_release);
}

uint32_t Cached(std::atomic<uint32_t>& id, uint32_t (*make)(const crosscut_host&, const char*),
                const char* text) {
  const uint32_t known = id.load(std::memory_order_relaxed);
  if (known != 0) return known;
  const crosscut_host* host = Host();
  if (host == nullptr) return 0;
  const uint32_t made = make(*host, text);
  id.store(made, std::memory_order_relaxed);
  return made;
}

uint32_t MakeProbe(const crosscut_host& host, const char* text) {
  return host.probe(host.host, text);
}

uint32_t MakeWord(const crosscut_host& host, const char* text) {
  return host.word(host.host, text, SIZE_MAX);
}

}  // namespace

uint32_t CurrentSession() { return session.load(std::memory_order_acquire); }

const crosscut_host* Host() { return the_host.load(std::memory_order_acquire); }

void SetHost(const crosscut_host* host) { the_host.store(host, std::memory_order_release); }

void BeginSession() {
  const std::lock_guard<ForkSafeMutex> lock(mutex);
  session.store(++last_session, std::memory_order_release);
  Publish();
}

void EndSession() {
  const std::lock_guard<ForkSafeMutex> lock(mutex);
  session.store(0, std::memory_order_release);
  Publish();
}

// Another thread of the parent may have held the lock.
void ForgetSession() {
  session.store(0);
  recording.store(0);
}

void SetLevel(uint32_t wanted) {
  const std::lock_guard<ForkSafeMutex> lock(mutex);
  level = wanted;
  Publish();
}

uint32_t Name::Intern() {
  const crosscut_host* host = Host();
  if (host == nullptr) return 0;
  uint32_t probe = 0;
  if (layer_ == CROSSCUT_ON_HOST_RUNTIME) probe = enqueues_ ? EnqueueProbe() : CallProbe();
  const uint32_t id = host->name(host->host, text_, SIZE_MAX, layer_, probe);
  id_.store(id, std::memory_order_relaxed);
  return id;
}

uint32_t CallProbe() {
  static constinit std::atomic<uint32_t> id{0};
  return Cached(id, &MakeProbe, "opencl call");
}

uint32_t EnqueueProbe() {
  static constinit std::atomic<uint32_t> id{0};
  return Cached(id, &MakeProbe, "opencl enqueue");
}

uint32_t KeyWord(Key key) {
  static constexpr const char* kTexts[] = {
      "bytes",   "global_x", "global_y",           "global_z",          "local_x",
      "local_y", "local_z",  "queued_to_start_ns", "submit_to_start_ns"};
  static constinit std::atomic<uint32_t> ids[static_cast<int>(Key::kCount)] = {};
  const auto index = static_cast<size_t>(key);
  return Cached(ids[index], &MakeWord, kTexts[index]);
}

}  // namespace crosscut::opencl
