#include "src/host/guarded_call.h"

#include <cxxabi.h>
#include <stdio.h>

#include <exception>

namespace crosscut::host {

// The end of a thread is thrown without an object: the reference to it binds to none.
__attribute__((no_sanitize("undefined"))) bool GuardedCall(void (*body)(void*), void* argument,
                                                           char* what, size_t bytes) {
  try {
    body(argument);
    return true;
  } catch (const abi::__forced_unwind&) {
    throw;  // the thread's own end: to swallow it would abort the process
  } catch (const std::exception& error) {
    snprintf(what, bytes, "%s", error.what());
  } catch (...) {
    snprintf(what, bytes, "not a std::exception");
  }
  return false;
}

}  // namespace crosscut::host
