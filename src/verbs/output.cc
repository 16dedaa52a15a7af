#include "src/verbs/output.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "src/base/new_file.h"

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

Status NoFolder(const std::string& path, int error) {
  return Status::Io(path + ": " + std::strerror(error) +
                    (error == EEXIST ? "; name a folder that is not there yet (-o)" : ""));
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

NewFolder::NewFolder(std::string part, std::string path, bool replace)
    : part_(std::move(part)), path_(std::move(path)), replace_(replace) {}

NewFolder::NewFolder(NewFolder&& other) noexcept
    : part_(std::exchange(other.part_, "")),
      path_(std::move(other.path_)),
      replace_(other.replace_) {}

NewFolder::~NewFolder() {
  std::error_code ignored;
  if (!part_.empty()) fs::remove_all(part_, ignored);
}

Result<NewFolder> NewFolder::For(std::string path, Options options) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  struct stat facts;
  if (!options.replace && lstat(path.c_str(), &facts) == 0) return NoFolder(path, EEXIST);
  std::string part = base::UnforeseenName(base::FolderOf(path));
  if (part.empty() || mkdir(part.c_str(), options.mode) != 0) return NoFolder(path, errno);
  return NewFolder(std::move(part), std::move(path), options.replace);
}

Status NewFolder::Place() {
  const char *from = part_.c_str(), *to = path_.c_str();
  bool placed = renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0;
  if (!placed && errno == EINVAL) placed = rename(from, to) == 0;  // an old file system
  if (!placed && replace_) return Replace() ? Status() : NoFolder(path_, errno);
  if (!placed) return NoFolder(path_, errno);
  part_.clear();
  return {};
}

// The old one goes with this object.
bool NewFolder::Replace() {
  const char *from = part_.c_str(), *to = path_.c_str();
  if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE) == 0) return true;
  const std::string old = part_ + ".old";
  if (errno != EINVAL || rename(to, old.c_str()) != 0) return false;
  if (rename(from, to) == 0) {
    part_ = old;
    return true;
  }
  const int failed = errno;
  (void)rename(old.c_str(), to);
  errno = failed;
  return false;
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
