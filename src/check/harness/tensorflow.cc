#include "src/check/harness/tensorflow.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "src/base/capture.h"

namespace crosscut::check {
namespace {

constexpr const char* kFramework = "/libtensorflow_framework.so.2";

// Looks for libpython's file itself: what sysconfig says of it is about the program, and conda's
// program is static with the shared library beside it.
constexpr const char* kAsk = R"(
import importlib.util, os, sys, sysconfig
spec = importlib.util.find_spec("tensorflow")
if spec and spec.submodule_search_locations:
    print("tensorflow", list(spec.submodule_search_locations)[0])
name = f"libpython{sys.version_info[0]}.{sys.version_info[1]}{sys.abiflags}.so.1.0"
folder = sysconfig.get_config_var("LIBDIR") or ""
for path in (os.path.join(folder, name),
             os.path.join(folder, sysconfig.get_config_var("MULTIARCH") or "", name)):
    if os.path.exists(path):
        print("libpython", path)
        break
)";

bool Exists(const std::string& path) { return access(path.c_str(), R_OK) == 0; }

}  // namespace

bool IsInTensorFlowsNamespace(std::string_view name) {
  constexpr std::string_view kNamespaces[] = {"6google8protobuf", "4absl", "3tsl", "3xla",
                                              "10tensorflow"};
  return std::any_of(std::begin(kNamespaces), std::end(kNamespaces),
                     [name](auto one) { return name.find(one) != name.npos; });
}

bool IsTensorFlowsName(std::string_view name) {
  return name.starts_with("TF_") || name.starts_with("TFE_") ||
         (name.starts_with("_Z") && IsInTensorFlowsNamespace(name));
}

bool LacksTensorFlow(std::string_view error) {
  constexpr std::string_view kUndefined = "undefined symbol: ";
  const size_t at = error.find(kUndefined);
  if (at != error.npos) return IsTensorFlowsName(error.substr(at + kUndefined.size()));
  return error.find("cannot open shared object file") != error.npos &&
         (error.starts_with("libtensorflow_") || error.starts_with("_pywrap_tensorflow_"));
}

Result<TensorFlow> FindTensorFlow(const std::string& python) {
  const Result<base::Captured> asked = base::RunAndCapture({python, "-c", kAsk});
  if (!asked.ok()) return asked.status();
  if (asked->wait_status != 0) return Status::Io(python + ": " + base::LastLine(asked->text));
  TensorFlow found;
  std::istringstream lines(asked->text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("tensorflow ")) found.folder = line.substr(11);
    if (line.starts_with("libpython ")) found.libpython = line.substr(10);
  }
  if (!found.folder.empty() && Exists(found.folder + kFramework)) return found;
  return Status::NotFound(python + " has no TensorFlow");
}

Status LoadTensorFlow(const TensorFlow& tensorflow, void** library) {
  const std::string& folder = tensorflow.folder;
  const std::string framework = folder + kFramework;
  std::vector<std::string> files = {framework};
  if (const std::string cc = folder + "/libtensorflow_cc.so.2"; Exists(cc)) files.push_back(cc);
  const std::string extension = folder + "/python/_pywrap_tensorflow_internal.so";
  if (!tensorflow.libpython.empty() && Exists(extension)) {
    files.insert(files.begin(), tensorflow.libpython);
    files.push_back(extension);
  }
  for (const std::string& file : files) {
    void* handle = dlopen(file.c_str(), RTLD_LAZY | RTLD_GLOBAL);
    if (handle == nullptr) {
      return Status::Io(std::string("TensorFlow cannot be loaded: ") + dlerror() +
                        ": see whether its Python can import it");
    }
    if (file == framework) *library = handle;
  }
  return Status();
}

}  // namespace crosscut::check
