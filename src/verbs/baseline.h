// The verb `baseline`: runs kept under a name, which `diff` takes.
//
// A baseline is a folder .crosscut/baselines/NAME of the current folder with copies of its runs and
// files, so a cache of CI that holds .crosscut holds all of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/verbs/input.h"

namespace crosscut::verbs {

struct SavedBaseline {
  std::string path;  // of the folder
  uint64_t bytes = 0;
  bool replaced = false;  // there was one of that name
};

// Copies the runs or files, which must be readable and not recording any more. One of the same name
// is replaced as a whole, when all is copied. kUnsupported where the name cannot be one.
Result<SavedBaseline> SaveBaseline(const std::string& name, const std::vector<std::string>& inputs);

// A line for each: name, when it was saved, how many inputs, bytes.
Result<Output> ListBaselines();

// kUnsupported, with the names that are near, where there is none.
Status RemoveBaseline(const std::string& name);

// What `input` of `diff` stands for: the inputs of the baseline where it is "baseline:NAME", or
// NAME and no file is called so; else itself. An error where "baseline:NAME" is none.
Result<std::vector<std::string>> ExpandBaseline(const std::string& input);

}  // namespace crosscut::verbs
