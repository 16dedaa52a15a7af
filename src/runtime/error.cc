#include "src/runtime/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/base/descriptors.h"

namespace crosscut::record {
namespace {

__thread char last_error[320];

}  // namespace

int Fail(int code, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(last_error, sizeof last_error, format, arguments);
  va_end(arguments);
  return code;
}

const char* LastError() { return last_error; }

void Say(const char* format, ...) {
  char line[512] = "crosscut: ";
  va_list arguments;
  va_start(arguments, format);
  const int n = vsnprintf(line + 10, sizeof line - 12, format, arguments);
  va_end(arguments);
  if (n < 0) return;
  size_t length = strlen(line);
  line[length++] = '\n';
  base::WriteStandardError(line, length);
}

}  // namespace crosscut::record
