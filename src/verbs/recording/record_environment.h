// What a command needs so that Crosscut gets into it: files of this package, and variables.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/verbs/recording/record_options.h"

namespace crosscut::verbs {

// The file that this process runs, also where there is no /proc; "" where it cannot be found.
std::string ThisProgram();

// The files of the package to which this program belongs; "" where a file is missing.
struct PackageLayout {
  std::string root;                    // .../crosscut
  std::string inject;                  // folder for PYTHONPATH
  std::string preload;                 // library for LD_PRELOAD
  std::string opencl;                  // library that is an OpenCL layer and a plugin
  std::string cupti;                   // plugin for NVIDIA's devices; named even if missing
  bool nvidia = false;                 // about the machine: it has NVIDIA's driver
  std::vector<std::string> installed;  // the plugins in lib/plugins
};
// `executable`: the path of the running CLI, .../crosscut/bin/crosscut.
PackageLayout FindPackage(const std::string& executable);
// The package's plugin with this file name ("libcrosscut_cupti.so"); "" where it has none.
std::string OwnPlugin(const PackageLayout& package, std::string_view name);

// What keeps Crosscut out of the program `path` ("is setuid", "is statically linked", ...); ""
// where nothing does. `path` is a file, not a name to look up.
std::string ObstacleOf(const std::string& path);

struct PreparedEnvironment {
  std::vector<std::string> variables;  // "NAME=value": all variables of the command
  std::vector<std::string> problems;   // sentences: what cannot be recorded, and why
};
// `current`: this process's variables. Changes only CROSSCUT_*, PYTHONPATH, LD_PRELOAD and
// OPENCL_LAYERS; the order stays. `obstacle`: the result of ObstacleOf() for the command's file.
PreparedEnvironment PrepareEnvironment(const std::vector<std::string>& current,
                                       const RecordOptions& options, const PackageLayout& package,
                                       const std::string& obstacle);

// The file that a shell would run for `name` with PATH set to `path`; "" where there is none.
std::string FindInPath(const std::string& name, const std::string& path);

}  // namespace crosscut::verbs
