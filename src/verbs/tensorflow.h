// Crosscut's plugin in the TensorFlow of a Python: finds, installs and removes it.
//
// It is installed as a copy, not a link, because TensorFlow fails to import where a link in its
// folder leads nowhere. A file beside the copy names this package; if the package is gone, the copy
// does nothing.
#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"

namespace crosscut::verbs {

struct TensorFlowPlugin {
  std::string python;               // as it was given
  std::string tensorflow;           // its version
  std::string folder;               // where the plugin belongs: <site-packages>/tensorflow-plugins
  std::vector<std::string> copies;  // of the library, by every path by which TensorFlow loads it
  std::vector<std::string> notes;   // sentences about what is unusual
  bool installed = false, current = false;  // a copy is in `folder`; it is this package's
};

// `library`: the plugin of this package, .../crosscut/lib/libcrosscut_tensorflow.so. Starts
// `python` to ask where its packages are, without importing TensorFlow. kNotFound where it has no
// TensorFlow.
Result<TensorFlowPlugin> FindTensorFlowPlugin(const std::string& python,
                                              const std::string& library);
// Installs the copy and tries, in a Python of its own, whether it can be loaded. If not, every copy
// is removed and the error says why.
Result<TensorFlowPlugin> InstallTensorFlowPlugin(const std::string& python,
                                                 const std::string& library);
// Removes every copy, and their folders if they are then empty.
Result<TensorFlowPlugin> RemoveTensorFlowPlugin(const std::string& python,
                                                const std::string& library);
// Lines for the command line.
std::string Describe(const TensorFlowPlugin& plugin);

}  // namespace crosscut::verbs
