#include "src/check/harness/tf_status.h"

#include <dlfcn.h>

#include <cstring>
#include <type_traits>

#include "src/check/harness/barrier.h"

struct TSL_Status {
  TF_Code code = TF_OK;
  std::string message;
};

namespace crosscut::check {
namespace {

struct Functions {
  TF_Status* (*create)() = [] { return new TSL_Status; };
  void (*destroy)(TF_Status*) = [](TF_Status* status) { delete status; };
  void (*set)(TF_Status*, TF_Code, const char*) = [](TF_Status* status, TF_Code code,
                                                     const char* message) {
    status->code = code;
    status->message = message == nullptr ? "" : message;
  };
  void (*set_from_io)(TF_Status*, int, const char*) = [](TF_Status* status, int error,
                                                         const char* context) {
    status->code = TF_UNKNOWN;
    status->message = std::string(context) + ": " + strerror(error);
  };
  void (*set_payload)(TF_Status*, const char*, const char*) = [](TF_Status*, const char*,
                                                                 const char*) {};
  TF_Code (*code)(const TF_Status*) = [](const TF_Status* status) { return status->code; };
  const char* (*message)(const TF_Status*) = [](const TF_Status* status) {
    return status->message.c_str();
  };
};
Functions functions;

}  // namespace

bool UseStatusOf(void* tensorflow) {
  bool all = true;
  const auto find = [&](const char* name, auto* function) {
    *function =
        reinterpret_cast<std::remove_reference_t<decltype(*function)>>(dlsym(tensorflow, name));
    all = all && *function != nullptr;
  };
  Functions found;
  find("TF_NewStatus", &found.create);
  find("TF_DeleteStatus", &found.destroy);
  find("TF_SetStatus", &found.set);
  find("TF_SetStatusFromIOError", &found.set_from_io);
  find("TF_SetPayload", &found.set_payload);
  find("TF_GetCode", &found.code);
  find("TF_Message", &found.message);
  if (all) functions = found;
  return all;
}

HostStatus::HostStatus() : status_(functions.create()) {}
HostStatus::~HostStatus() { functions.destroy(status_); }
TF_Code HostStatus::code() const { return functions.code(status_); }
std::string HostStatus::message() const { return functions.message(status_); }

}  // namespace crosscut::check

#define EXPORTED extern "C" __attribute__((visibility("default"), used))

using crosscut::check::functions;
using crosscut::check::HostSide;

EXPORTED TF_Status* TF_NewStatus() {
  const HostSide host;
  return functions.create();
}
EXPORTED void TF_DeleteStatus(TF_Status* status) {
  const HostSide host;
  functions.destroy(status);
}
EXPORTED void TF_SetStatus(TF_Status* status, TF_Code code, const char* message) {
  const HostSide host;
  functions.set(status, code, message);
}
EXPORTED void TF_SetStatusFromIOError(TF_Status* status, int error, const char* context) {
  const HostSide host;
  functions.set_from_io(status, error, context);
}
EXPORTED void TF_SetPayload(TF_Status* status, const char* key, const char* value) {
  const HostSide host;
  functions.set_payload(status, key, value);
}
EXPORTED TF_Code TF_GetCode(const TF_Status* status) { return functions.code(status); }
EXPORTED const char* TF_Message(const TF_Status* status) { return functions.message(status); }
