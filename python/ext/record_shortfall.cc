#include "python/ext/record_shortfall.h"

#include <mutex>
#include <string>

#include "crosscut/crosscut.h"

namespace crosscut::python {

void Shortfall::Add() {
  constexpr uint64_t kFew = 100;
  uint64_t count;
  {
    const std::lock_guard lock(shared_mutex);
    if (session_ != crosscut_sessions()) count_ = 0;
    session_ = crosscut_sessions();
    count = ++count_;
  }
  if (count > kFew && count % kFew != 0) return;
  const std::string message = (count > kFew ? "at least " : "") + std::to_string(count) + " " +
                              (count == 1 ? one_ : several_);
  crosscut_source_state(source_, "", "missing", message.c_str());
}

}  // namespace crosscut::python
