#include "compilers.h"

namespace crosscut::pycalls {
namespace {

struct Entrance {
  std::string_view file, function;
};
constexpr Entrance kEntrances[] = {
    {"/torch/_dynamo/convert_frame.py", "__call__"},
    {"/torch/_inductor/compile_fx.py", "compile_fx"},
    {"/torch/_inductor/compile_fx.py", "compile_fx_inner"},
    {"/torch/_inductor/compile_fx.py", "compile_fx_backward"},
    {"/torch/_inductor/compile_fx.py", "bw_compiler"},
};

}  // namespace

bool BeginsCompilation(std::string_view file, std::string_view function) {
  for (const Entrance& entrance : kEntrances) {
    if (function == entrance.function && file.size() > entrance.file.size() &&
        file.substr(file.size() - entrance.file.size()) == entrance.file) {
      return true;
    }
  }
  return false;
}

}  // namespace crosscut::pycalls
