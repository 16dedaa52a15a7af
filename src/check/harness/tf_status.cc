#include "src/check/harness/tf_status.h"

#include <cstring>

#include "src/check/harness/barrier.h"

#define EXPORTED extern "C" __attribute__((visibility("default"), used))

EXPORTED TF_Status* TF_NewStatus();
EXPORTED void TF_DeleteStatus(TF_Status* status);
EXPORTED TF_Code TF_GetCode(const TF_Status* status);
EXPORTED const char* TF_Message(const TF_Status* status);
EXPORTED void TF_SetStatusFromIOError(TF_Status* status, int error, const char* context);
EXPORTED void TF_SetPayload(TF_Status* status, const char* key, const char* value);

TF_Status* TF_NewStatus() {
  const crosscut::check::HostSide host;
  return new TSL_Status;
}
void TF_DeleteStatus(TF_Status* status) { delete status; }

EXPORTED void TF_SetStatus(TF_Status* status, TF_Code code, const char* message) {
  const crosscut::check::HostSide host;
  status->code = code;
  status->message = message == nullptr ? "" : message;
}

TF_Code TF_GetCode(const TF_Status* status) { return status->code; }
const char* TF_Message(const TF_Status* status) { return status->message.c_str(); }

void TF_SetStatusFromIOError(TF_Status* status, int error, const char* context) {
  const crosscut::check::HostSide host;
  TF_SetStatus(status, TF_UNKNOWN, (std::string(context) + ": " + strerror(error)).c_str());
}

void TF_SetPayload(TF_Status*, const char*, const char*) {}
