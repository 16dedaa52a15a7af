#include "src/runtime/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/descriptors.h"

namespace crosscut::record {
namespace {

constexpr size_t kSize = 320;

// A pointer only, since threads have little room for what dlopen brings.
struct Text {
  char* text = nullptr;
  Text() = default;
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;
  ~Text() {
    free(text);
    text = nullptr;
  }
};
thread_local Text last_error;

}  // namespace

int Fail(int code, const char* format, ...) {
  if (last_error.text == nullptr) last_error.text = static_cast<char*>(malloc(kSize));
  if (last_error.text == nullptr) return code;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(last_error.text, kSize, format, arguments);
  va_end(arguments);
  return code;
}

const char* LastError() { return last_error.text == nullptr ? "" : last_error.text; }

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
