#include "src/host/status.h"

#include <dlfcn.h>

#include <type_traits>

namespace crosscut::host {
namespace {

// Of a plugin that cannot set any: it reaches no TF_SetStatus.
char always_ok;
TF_Status* Ok() { return reinterpret_cast<TF_Status*>(&always_ok); }
void Keep(TF_Status*) {}
TF_Code OkCode(const TF_Status*) { return TF_OK; }
const char* OkMessage(const TF_Status*) { return ""; }

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
Status::Status(void* library) : functions_{&Ok, &Keep, &OkCode, &OkMessage} {
  if (!Find(library, &functions_) && !Find(RTLD_DEFAULT, &functions_)) {
    if (void* tensorflow = dlopen("libtensorflow_framework.so.2", RTLD_NOLOAD | RTLD_LAZY)) {
      (void)Find(tensorflow, &functions_);
      dlclose(tensorflow);
    }
  }
  status_ = functions_.create();
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
