// TF_Status as TensorFlow's plugins expect it: the functions are exported by this program, so that
// a plugin with TF_SetStatus undefined in it finds them. Where TensorFlow is loaded they go on to
// its own, whose code may look into a status.
#pragma once

#include <string>

#include "crosscut/plugin.h"

namespace crosscut::check {

// From here on statuses are those of this library of TensorFlow. Before the first HostStatus. False
// where it lacks one of the functions.
bool UseStatusOf(void* tensorflow);

// The status of one call into the plugin. Threads: one at a time.
class HostStatus {
 public:
  HostStatus();
  ~HostStatus();
  HostStatus(const HostStatus&) = delete;
  HostStatus& operator=(const HostStatus&) = delete;

  TF_Status* get() const { return status_; }
  TF_Code code() const;
  std::string message() const;

 private:
  TF_Status* const status_;
};

}  // namespace crosscut::check
