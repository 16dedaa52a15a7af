#include "src/host/status.h"

#include <dlfcn.h>
#include <stdio.h>

#include <type_traits>

namespace crosscut::host {
namespace {

// For what reaches no TF_SetStatus.
struct Own {
  TF_Code code;
  char message[256];
};
Own* OwnOf(TF_Status* status) { return reinterpret_cast<Own*>(status); }
const Own* OwnOf(const TF_Status* status) { return reinterpret_cast<const Own*>(status); }

TF_Status* NewOwn() { return reinterpret_cast<TF_Status*>(new Own()); }
void DeleteOwn(TF_Status* status) { delete OwnOf(status); }
TF_Code OwnCode(const TF_Status* status) { return OwnOf(status)->code; }
const char* OwnMessage(const TF_Status* status) { return OwnOf(status)->message; }

}  // namespace

bool Status::Find(void* library, Functions* out) {
  Functions found;
  const auto get = [library](const char* name, auto* function) {
    *function =
        reinterpret_cast<std::remove_reference_t<decltype(*function)>>(dlsym(library, name));
    return *function != nullptr;
  };
  if (!get("TF_NewStatus", &found.create) || !get("TF_DeleteStatus", &found.destroy) ||
      !get("TF_GetCode", &found.code) || !get("TF_Message", &found.message)) {
    return false;
  }
  *out = found;
  return true;
}

// The plugin's own dependencies first, then what is global, then a TensorFlow that a plugin may
// look up by itself.
Status::Status(void* library) : functions_{&NewOwn, &DeleteOwn, &OwnCode, &OwnMessage} {
  if (library != nullptr && !Find(library, &functions_) && !Find(RTLD_DEFAULT, &functions_)) {
    if (void* tensorflow = dlopen("libtensorflow_framework.so.2", RTLD_NOLOAD | RTLD_LAZY)) {
      (void)Find(tensorflow, &functions_);
      dlclose(tensorflow);
    }
  }
  status_ = functions_.create();
}

void Status::SetOwn(TF_Status* status, TF_Code code, const char* message) {
  OwnOf(status)->code = code;
  snprintf(OwnOf(status)->message, sizeof Own::message, "%s", message);
}

const char* CodeName(int code) {
  static constexpr const char* kNames[] = {"OK",
                                           "CANCELLED",
                                           "UNKNOWN",
                                           "INVALID_ARGUMENT",
                                           "DEADLINE_EXCEEDED",
                                           "NOT_FOUND",
                                           "ALREADY_EXISTS",
                                           "PERMISSION_DENIED",
                                           "RESOURCE_EXHAUSTED",
                                           "FAILED_PRECONDITION",
                                           "ABORTED",
                                           "OUT_OF_RANGE",
                                           "UNIMPLEMENTED",
                                           "INTERNAL",
                                           "UNAVAILABLE",
                                           "DATA_LOSS",
                                           "UNAUTHENTICATED"};
  return code >= 0 && code < 17 ? kNames[code] : "UNKNOWN";
}

}  // namespace crosscut::host
