#include "src/analyze/verdict/native_code.h"

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

}  // namespace

Code CodeOf(std::string_view library) {
  if (library.empty() || StartsWithAny(library, kShared)) return Code::kUnknown;
  return StartsWithAny(library, kInterpreters) ? Code::kInterpreter : Code::kNative;
}

}  // namespace crosscut::analyze
