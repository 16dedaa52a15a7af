#include "src/verbs/output.h"

#include <limits.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

namespace crosscut::verbs {
namespace {

namespace fs = std::filesystem;

bool IsFile(const std::string& path, const struct stat& file) {
  struct stat facts;
  return stat(path.c_str(), &facts) == 0 && facts.st_dev == file.st_dev &&
         facts.st_ino == file.st_ino;
}

// Logs, profiles and copies begin with a number. A view that somebody put beside them does not.
bool IsNameOfPart(const std::string& name) {
  return name == "run.json" || name == "cluster.json" || name.starts_with("note-") ||
         name.ends_with(".crosscut") || name.ends_with(".ccp") ||
         (!name.empty() && name[0] >= '0' && name[0] <= '9');
}

bool IsIn(const std::string& folder, const struct stat& file) {
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    if (IsNameOfPart(at->path().filename().string()) && IsFile(at->path().string(), file)) {
      return true;
    }
  }
  return false;
}

Status Write(Result<std::unique_ptr<exporting::Sink>>& sink, std::string_view text) {
  if (!sink.ok()) return sink.status();
  Status status = (*sink)->Write(text);
  return status.ok() ? (*sink)->Close() : status;
}

}  // namespace

Result<std::unique_ptr<exporting::Sink>> OpenOutput(const std::string& file,
                                                    const std::vector<std::string>& inputs) {
  struct stat there;
  const bool present = stat(file.c_str(), &there) == 0 && S_ISREG(there.st_mode);
  for (const std::string& input : inputs) {
    if (!present || !(IsFile(input, there) || IsIn(input, there))) continue;
    return Status::Unsupported(file + ": it is what is read, " + input +
                               "; name another file (-o)");
  }
  return exporting::OpenSink(file);
}

Result<uint64_t> WriteOutput(const std::string& file, const std::vector<std::string>& inputs,
                             std::string_view text) {
  auto sink = OpenOutput(file, inputs);
  if (Status status = Write(sink, text); !status.ok()) return status;
  return (*sink)->bytes();
}

Status WriteWholeFile(const std::string& path, std::string_view text, bool durable) {
  auto sink = exporting::OpenFileSink(path, durable);
  return Write(sink, text);
}

std::string NameOfCopy(const std::string& prefix, const std::string& path) {
  const fs::path normal = fs::path(path).lexically_normal();
  const std::string name = (normal.has_filename() ? normal : normal.parent_path()).filename();
  size_t left_out = std::max(prefix.size() + name.size(), size_t{NAME_MAX}) - NAME_MAX;
  while (left_out > 0 && left_out < name.size() && (name[left_out] & 0xc0) == 0x80) ++left_out;
  return prefix + name.substr(left_out);
}

bool IsStandardOutput(const std::string& path) { return exporting::IsStandardOutput(path); }

}  // namespace crosscut::verbs
