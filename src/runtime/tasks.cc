#include <atomic>

#include "crosscut/crosscut.h"

namespace {

using Local = int32_t* (*)();

// crosscut_follow_tasks() -> crosscut_open_(), crosscut_close_(), crosscut_task_forget(): release
// and acquire, so that what it points at is whole.
std::atomic<const crosscut_tasks*> tasks{nullptr};
// crosscut_task_local() -> crosscut_task_locals(). Filled from the front, each place once.
std::atomic<Local> locals[CROSSCUT_TASK_LOCALS];

}  // namespace

extern "C" {

// crosscut_follow_tasks() -> crosscut_open(), inline and relaxed: who sees it and no `tasks` yet
// goes on without.
uint32_t crosscut_tasks_followed_ = 0;

void crosscut_follow_tasks(const crosscut_tasks* those) {
  if (those == nullptr || those->struct_size < sizeof *those) return;
  tasks.store(those, std::memory_order_release);
  __atomic_store_n(&crosscut_tasks_followed_, 1, __ATOMIC_RELEASE);
}

int crosscut_task_local(int32_t* (*of_this_thread)(void)) {
  for (std::atomic<Local>& local : locals) {
    Local known = nullptr;
    if (local.compare_exchange_strong(known, of_this_thread) || known == of_this_thread) {
      return CROSSCUT_OK;
    }
  }
  return CROSSCUT_ENOMEM;
}

int crosscut_task_locals(int32_t* addresses[CROSSCUT_TASK_LOCALS]) {
  int count = 0;
  for (const std::atomic<Local>& local : locals) {
    const Local of_this_thread = local.load(std::memory_order_acquire);
    if (of_this_thread == nullptr) break;
    addresses[count++] = of_this_thread();
  }
  return count;
}

int crosscut_open_(uint32_t name) {
  const crosscut_tasks* those = tasks.load(std::memory_order_acquire);
  if (those != nullptr && those->open(name) != 0) return 1;
  crosscut_begin_inline(name);
  return 0;
}

void crosscut_close_(uint32_t name) {
  const crosscut_tasks* those = tasks.load(std::memory_order_acquire);
  if (those == nullptr || those->close(name) == 0) crosscut_end_named(name);
}

void crosscut_task_forget(uint32_t name) {
  const crosscut_tasks* those = tasks.load(std::memory_order_acquire);
  if (those != nullptr) those->forget(name);
}

}  // extern "C"
