#include "python/ext/record_shortfall.h"

#include <mutex>
#include <string>

#include "crosscut/crosscut.h"

namespace crosscut::python {

void Shortfall::Add() {
  constexpr uint64_t kFew = 100;
  const std::lock_guard lock(shared_mutex);
  if (session_ != crosscut_sessions()) count_ = 0;
  session_ = crosscut_sessions();
  if (++count_ > kFew && count_ % kFew != 0) return;
  const std::string message = (count_ > kFew ? "at least " : "") + std::to_string(count_) + " " +
                              (count_ == 1 ? one_ : several_);
  crosscut_source_state(source_, "", "missing", message.c_str());
}

}  // namespace crosscut::python
