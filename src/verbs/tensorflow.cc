#include "src/verbs/tensorflow.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <sstream>

#include "src/base/capture.h"
#include "src/base/file.h"
#include "src/verbs/input.h"

namespace crosscut::verbs {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibrary = "libcrosscut_tensorflow.so";
constexpr const char* kPackageFile = "libcrosscut_tensorflow.package";

// The folders that TensorFlow looks in for plugins, in its order, each string once.
constexpr const char* kAsk = R"(
import sys
sys.path[:] = filter(None, sys.path)  # without the folder where it runs
import importlib.metadata, importlib.util, os, site, sysconfig
spec = importlib.util.find_spec("tensorflow")
if spec and spec.submodule_search_locations:
    print("home", list(spec.submodule_search_locations)[0])
for name in ("tensorflow", "tensorflow-cpu", "tensorflow-intel", "tf-nightly", "tf-nightly-cpu"):
    try:
        print("version", importlib.metadata.version(name))
        break
    except importlib.metadata.PackageNotFoundError:
        pass
folders = [site.getusersitepackages()]
folders += [path for path in sys.path if "site-packages" in path] + site.getsitepackages()
for scheme in sysconfig.get_scheme_names():
    for key in ("purelib", "platlib"):
        path = sysconfig.get_path(key, scheme)
        if path:
            folders.append(path)
for folder in dict.fromkeys(folders):
    print("site", folder)
)";
constexpr const char* kTry =
    "import sys; sys.path[:] = filter(None, sys.path); "
    "import ctypes; ctypes.CDLL(sys.argv[1]).TF_InitProfiler";

Status Failed(const std::string& what, int number) {
  return Status::Io(what + ": " + std::strerror(number));
}

bool SameBytes(const std::string& a, const std::string& b) {
  const auto left = base::ReadSmallFile(a, size_t{1} << 26);
  const auto right = base::ReadSmallFile(b, size_t{1} << 26);
  return left.ok() && right.ok() && *left == *right;
}

// The package that a copy belongs to: .../crosscut.
std::string PackageOf(const std::string& library) {
  return fs::path(library).parent_path().parent_path().string();
}

// What the copies in `sites` are, and what of it is unusual.
void LookFor(const std::vector<std::string>& sites, const std::string& library,
             TensorFlowPlugin* plugin) {
  std::set<std::string> real;
  std::error_code error;
  for (const std::string& site : sites) {
    const std::string folder = site + "/tensorflow-plugins", copy = folder + "/" + kLibrary;
    if (!fs::exists(fs::symlink_status(copy, error))) continue;
    plugin->copies.push_back(copy);
    if (!real.insert(fs::weakly_canonical(copy, error).string()).second) {
      plugin->notes.push_back("TensorFlow finds " + copy +
                              " by a second path and loads it twice; the second copy does nothing");
    }
    if (!fs::exists(copy, error)) {
      plugin->notes.push_back(copy + " leads nowhere: import tensorflow fails until it is removed");
    }
  }
  if (real.size() > 1) plugin->notes.push_back("there is more than one copy: remove, then install");
  const std::string ours = plugin->folder + "/" + kLibrary;
  const auto package = base::ReadSmallFile(plugin->folder + "/" + kPackageFile, 1 << 16);
  plugin->installed = fs::exists(ours, error);
  plugin->current = plugin->installed && SameBytes(ours, library) && package.ok() &&
                    base::LastLine(*package) == PackageOf(library);
  if (plugin->installed && !plugin->current) {
    plugin->notes.push_back("the copy is another version's: install again");
  }
}

Status CopyInto(const std::string& folder, const std::string& library) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return Failed(folder, error.value());
  const auto bytes = base::ReadSmallFile(library, size_t{1} << 26);
  if (!bytes.ok()) return bytes.status();
  const std::string copy = folder + "/" + kLibrary;
  Status status = WriteWholeFile(folder + "/" + kPackageFile, PackageOf(library) + "\n");
  return status.ok() ? WriteWholeFile(copy, *bytes) : status;
}

void TakeOut(const TensorFlowPlugin& plugin) {
  std::error_code error;
  for (const std::string& copy : plugin.copies) {
    const fs::path folder = fs::path(copy).parent_path();
    fs::remove(copy, error);
    fs::remove(folder / kPackageFile, error);
    fs::remove(folder, error);  // only where it is empty
  }
}

}  // namespace

Result<TensorFlowPlugin> FindTensorFlowPlugin(const std::string& python,
                                              const std::string& library) {
  const Result<base::Captured> asked = base::RunAndCapture({python, "-c", kAsk});
  if (!asked.ok()) return asked.status();
  if (asked->wait_status != 0) return Status::NotFound(python + ": " + base::LastLine(asked->text));
  TensorFlowPlugin plugin;
  plugin.python = python;
  std::vector<std::string> sites;
  std::string home, line;
  for (std::istringstream lines(asked->text); std::getline(lines, line);) {
    const std::string key = line.substr(0, line.find(' ')), rest = line.substr(key.size() + 1);
    if (key == "home") home = rest;
    if (key == "version") plugin.tensorflow = rest;
    if (key == "site") sites.push_back(rest);
  }
  if (home.empty()) return Status::NotFound(python + " has no TensorFlow");
  const fs::path site = fs::path(home).parent_path();
  plugin.folder = (site / "tensorflow-plugins").string();
  if (site.string().find("site-packages") == std::string::npos) {
    plugin.notes.push_back(
        "TensorFlow lies outside site-packages and looks for no plugins there: "
        "set TF_PLUGGABLE_DEVICE_LIBRARY_PATH=" +
        library);
  }
  if (std::find(sites.begin(), sites.end(), site.string()) == sites.end()) {
    sites.push_back(site.string());
  }
  LookFor(sites, library, &plugin);
  return plugin;
}

Result<TensorFlowPlugin> InstallTensorFlowPlugin(const std::string& python,
                                                 const std::string& library) {
  auto before = FindTensorFlowPlugin(python, library);
  if (!before.ok()) return before.status();
  if (Status status = CopyInto(before->folder, library); !status.ok()) return status;
  const auto tried = base::RunAndCapture({python, "-c", kTry, before->folder + "/" + kLibrary});
  auto after = FindTensorFlowPlugin(python, library);
  if (tried.ok() && tried->wait_status == 0) return after;
  if (after.ok()) TakeOut(*after);
  if (!tried.ok()) return tried.status();
  return Status::NotFound("the plugin cannot be loaded: " + base::LastLine(tried->text));
}

Result<TensorFlowPlugin> RemoveTensorFlowPlugin(const std::string& python,
                                                const std::string& library) {
  const auto found = FindTensorFlowPlugin(python, library);
  if (!found.ok()) return found.status();
  TakeOut(*found);
  return FindTensorFlowPlugin(python, library);
}

std::string Describe(const TensorFlowPlugin& plugin) {
  std::string text = "TensorFlow " + plugin.tensorflow + " of " + plugin.python + ": ";
  text += plugin.current     ? "the plugin is installed"
          : plugin.installed ? "another version's plugin is installed"
                             : "the plugin is not installed";
  text += "\n  in " + plugin.folder + "\n";
  for (const std::string& note : plugin.notes) text += "  " + note + "\n";
  return text;
}

}  // namespace crosscut::verbs
