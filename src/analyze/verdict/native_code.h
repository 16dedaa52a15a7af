// What code runs, by what samples know. Native code that nothing wraps (called by ctypes, or a
// module of Rust's or C++'s) has no span, so the thread seems to run Python. Samples that know the
// library tell the two apart.
#pragma once

#include <cstdint>
#include <string_view>

namespace crosscut::analyze {

enum class Code : uint8_t {
  kUnknown,      // no sample of native code, or a library that Python and native code both call
  kInterpreter,  // Python's own, or a framework's on the way to its operators
  kNative,
};

// What runs where the innermost native function is in that library ("libxgboost.so",
// "libpython3.11.so.1.0", "[generated]"; "": not known).
Code CodeOf(std::string_view library);

// Whether, by its stack, a thread runs a compiler of a framework's that is written in Python:
// torch.compile's, tf.function's, jax.jit's.
bool Compiles(std::string_view stack);
// Whether it runs code of a framework that, on a thread of its own, prepares data for the lead.
bool Feeds(std::string_view stack);

// Whether a thread that a sample says waits for that is in no system call.
bool Runs(std::string_view waits);

}  // namespace crosscut::analyze
