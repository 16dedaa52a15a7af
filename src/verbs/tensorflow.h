// Crosscut's plugin in a Python's TensorFlow: put in, taken out, looked for.
//
// What is put in is a copy, not a link: TensorFlow fails to import where a link in its folder leads
// nowhere. Beside it a file names our package; where that is gone the copy does nothing.
#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"

namespace crosscut::verbs {

struct TensorFlowPlugin {
  std::string python;               // as asked for
  std::string tensorflow;           // its version
  std::string folder;               // where the plugin belongs: <site-packages>/tensorflow-plugins
  std::vector<std::string> copies;  // of our library, by every path that TensorFlow loads it by
  std::vector<std::string> notes;   // sentences: what is unusual
  bool installed = false, current = false;  // the copy in `folder` is there, and this package's
};

// `library`: the plugin of this package, .../crosscut/lib/libcrosscut_tensorflow.so. `python` is
// started, to ask it where its packages are; TensorFlow is not imported. kNotFound where it has no
// TensorFlow.
Result<TensorFlowPlugin> FindTensorFlowPlugin(const std::string& python,
                                              const std::string& library);
// Puts the copy in and tries, in a Python of its own, whether it can be loaded; if not, it is taken
// out again and the error says why.
Result<TensorFlowPlugin> InstallTensorFlowPlugin(const std::string& python,
                                                 const std::string& library);
// Takes out every copy of ours; `folder` too where that leaves it empty.
Result<TensorFlowPlugin> RemoveTensorFlowPlugin(const std::string& python,
                                                const std::string& library);
// As the command line shows it.
std::string Describe(const TensorFlowPlugin& plugin);

}  // namespace crosscut::verbs
