// A TF_Status as a plugin sees it: made by the same functions that the plugin's own calls reach,
// TensorFlow's where it is loaded, those of our stand-in library or of this file where not.
#pragma once

#include "crosscut/plugin.h"

namespace crosscut::host {

class Status {
 public:
  // `library`: the plugin's handle; null: a status of this file, which SetOwn() sets. One per call:
  // TensorFlow may be loaded between two.
  explicit Status(void* library);
  static void SetOwn(TF_Status* status, TF_Code code, const char* message);
  ~Status() { functions_.destroy(status_); }
  Status(const Status&) = delete;
  Status& operator=(const Status&) = delete;

  TF_Status* get() const { return status_; }
  TF_Code code() const { return functions_.code(status_); }
  const char* message() const { return functions_.message(status_); }

 private:
  struct Functions {
    TF_Status* (*create)();
    void (*destroy)(TF_Status*);
    TF_Code (*code)(const TF_Status*);
    const char* (*message)(const TF_Status*);
  };
  static bool Find(void* library, Functions* out);

  Functions functions_;
  TF_Status* status_;
};

// "FAILED_PRECONDITION"; "code 77" is "UNKNOWN".
const char* CodeName(int code);

}  // namespace crosscut::host
