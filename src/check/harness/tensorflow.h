// TensorFlow's own libraries in the process of a test, for plugins that need more of TensorFlow
// than its status functions. Nothing here runs Python in the test: its library is only loaded.
#pragma once

#include <string>
#include <string_view>

#include "src/base/status.h"

namespace crosscut::check {

// The TensorFlow of a Python.
struct TensorFlow {
  std::string folder;     // of the package: .../site-packages/tensorflow; "": none
  std::string libpython;  // that Python's shared library, or "" where it has none
};

// Whether a symbol belongs to TensorFlow or to what its libraries export: protobuf, Abseil, TSL,
// XLA. `name` as in a symbol table.
bool IsTensorFlowsName(std::string_view name);
// The same for namespaces alone: what a plugin may not export.
bool IsInTensorFlowsNamespace(std::string_view name);
// Whether a library could not be loaded for lack of TensorFlow's symbols or libraries; `error` is
// dlerror()'s.
bool LacksTensorFlow(std::string_view error);

// Asks `python`, a path or a name in PATH, where its TensorFlow is. It does not import TensorFlow.
// kNotFound where there is no TensorFlow, kIo where `python` cannot be run or fails.
Result<TensorFlow> FindTensorFlow(const std::string& python);

// Loads the libraries that `import tensorflow` loads, globally as it does, and never unloads them.
// `*library`: the one that has the C API's status functions.
Status LoadTensorFlow(const TensorFlow& tensorflow, void** library);

}  // namespace crosscut::check
