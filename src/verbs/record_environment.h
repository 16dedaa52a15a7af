// What a command needs around it so that Crosscut gets in: files of our package, variables.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/verbs/record_options.h"

namespace crosscut::verbs {

// The file that this process runs, also where there is no /proc; "" where nothing tells.
std::string ThisProgram();

// The files of the package this program belongs to; "" for what is not there.
struct PackageLayout {
  std::string root;                    // .../crosscut
  std::string inject;                  // folder for PYTHONPATH
  std::string preload;                 // library for LD_PRELOAD
  std::string opencl;                  // library that is an OpenCL layer and a plugin
  std::string cupti;                   // plugin for NVIDIA's devices; named even if not there
  bool nvidia = false;                 // not of the package: this machine has NVIDIA's driver
  std::vector<std::string> installed;  // what lies in lib/plugins: everybody's
};
// `executable`: the path of the running CLI, .../crosscut/bin/crosscut.
PackageLayout FindPackage(const std::string& executable);
// The package's plugin with this file name ("libcrosscut_cupti.so"), "" if it has none.
std::string OwnPlugin(const PackageLayout& package, std::string_view name);

// What keeps Crosscut out of the program `path` ("is setuid root", "is statically linked", ...), or
// "" where nothing does. `path` is a file, not a name to be looked up.
std::string ObstacleOf(const std::string& path);

struct PreparedEnvironment {
  std::vector<std::string> variables;  // "NAME=value", all of them
  std::vector<std::string> problems;   // sentences: what cannot be recorded, and why
};
// `current`: this process's variables. Changes CROSSCUT_*, PYTHONPATH, LD_PRELOAD and
// OPENCL_LAYERS, nothing else; their order stays. `obstacle`: ObstacleOf() the command's file.
PreparedEnvironment PrepareEnvironment(const std::vector<std::string>& current,
                                       const RecordOptions& options, const PackageLayout& package,
                                       const std::string& obstacle);

// The file a shell would run for `name`, "" if none.
std::string FindInPath(const std::string& name, const std::string& path);

}  // namespace crosscut::verbs
