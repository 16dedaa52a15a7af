// What a path is that no importer reads, in words, and what its user can do about it.
#pragma once

#include <string>
#include <string_view>

#include "src/base/status.h"

namespace crosscut::import {

// kNotFound; names the files in the same folder that are called almost so.
Status Missing(const std::string& path);

// kIo, for what the system refuses to open with `error` (errno), and whose it is.
Status Unreadable(const std::string& path, int error);

// kInvalid, for a folder that is no run: a folder of runs or traces, or an empty one.
Status ForeignFolder(const std::string& path);

// Whether `path` is called as a file of a run that is nothing without the others.
bool IsPartOfRun(const std::string& path);

// kInvalid, for a file that begins with `head` and is in no format of `known`, a list in words: a
// part of a run, a script, something empty or of another program.
Status ForeignFile(const std::string& path, std::string_view head, const std::string& known);

}  // namespace crosscut::import
