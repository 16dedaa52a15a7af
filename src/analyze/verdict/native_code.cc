#include "src/analyze/verdict/native_code.h"

#include <algorithm>
#include <string_view>

namespace crosscut::analyze {
namespace {

template <size_t n>
bool StartsWithAny(std::string_view library, const std::string_view (&names)[n]) {
  for (const std::string_view name : names) {
    if (library.starts_with(name)) return true;
  }
  return false;
}

constexpr std::string_view kInterpreters[] = {
    "libpython",          "python",        "libtorch", "libc10", "libtensorflow",
    "_pywrap_tensorflow", "libjax_common", "_jax",     "libxla", "xla_extension",
};
// What both of them call; and code that was generated: the interpreter does so, too.
constexpr std::string_view kShared[] = {"libc.", "libc-",      "libm.",  "libm-",
                                        "ld-",   "libpthread", "[vdso]", "[generated]"};

// Whether a frame of the stack is of that file ("fetch.py:"), not of one whose name ends so.
bool Enters(std::string_view stack, std::string_view file) {
  for (size_t at = stack.find(file); at != stack.npos; at = stack.find(file, at + 1)) {
    if (at == 0 || stack[at - 1] == ';') return true;
  }
  return false;
}

// What of a compiler's file does its work; "": all of it. Calls of a traced function have frames of
// the other files, too.
struct Compiler {
  std::string_view file, function;
};
constexpr Compiler kCompilers[] = {
    {"convert_frame.py:", ""},                                  // torch.compile
    {"tracing_compilation.py:", " _create_concrete_function"},  // tf.function
    {"partial_eval.py:", " trace_to_jaxpr_dynamic"},            // jax.jit traces,
    {"pxla.py:", " lower_sharding_computation"},                // and lowers
};

}  // namespace

Code CodeOf(std::string_view library) {
  if (library.empty() || StartsWithAny(library, kShared)) return Code::kUnknown;
  return StartsWithAny(library, kInterpreters) ? Code::kInterpreter : Code::kNative;
}

bool Compiles(std::string_view stack) {
  return std::ranges::any_of(kCompilers, [&](const Compiler& one) {
    return Enters(stack, one.file) && stack.find(one.function) != stack.npos;
  });
}

bool Runs(std::string_view waits) {
  return waits.empty() || waits == "a processor, or in the kernel";
}

bool Feeds(std::string_view stack) {
  for (const std::string_view file :
       {"from_generator_op.py:", "py_dataset_adapter.py:", "dataloader.py:", "fetch.py:"}) {
    if (Enters(stack, file)) return true;
  }
  return false;
}

}  // namespace crosscut::analyze
