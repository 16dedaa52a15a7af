#include "src/verbs/output.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "src/base/descriptors.h"
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

Status RefuseInput(const std::string& place, const std::vector<std::string>& inputs) {
  struct stat there;
  const bool known = stat(place.c_str(), &there) == 0;
  const bool file = known && S_ISREG(there.st_mode), folder = known && S_ISDIR(there.st_mode);
  for (const std::string& input : inputs) {
    // A folder inside an input, whatever it is called, may be an earlier output.
    if (!((file || folder) && IsFile(input, there)) && !(file && IsIn(input, there))) continue;
    return Status::Unsupported(place + ": it is what is read, " + input + "; name another (-o)");
  }
  return {};
}

Result<std::unique_ptr<exporting::Sink>> OpenOutput(const std::string& file,
                                                    const std::vector<std::string>& inputs) {
  if (Status status = RefuseInput(file, inputs); !status.ok()) return status;
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

NewFolder::NewFolder(NewFolder&& other) noexcept
    : folder_(std::exchange(other.folder_, -1)),
      beside_(std::move(other.beside_)),
      part_(std::exchange(other.part_, "")),
      path_(std::move(other.path_)),
      replace_(other.replace_) {}

NewFolder::~NewFolder() {
  std::error_code ignored;
  if (!part_.empty()) fs::remove_all(path(), ignored);
  if (folder_ >= 0) close(folder_);
}

Result<NewFolder> NewFolder::For(std::string path, Options options) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  struct stat facts;
  if (!options.replace && lstat(path.c_str(), &facts) == 0) return NoFolder(path, EEXIST);
  NewFolder folder(std::move(path), options.replace);
  const std::string beside = base::FolderOf(folder.path_);
  folder.folder_ =
      base::OpenHigh(beside.empty() ? "." : beside.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder.folder_ < 0) return NoFolder(folder.path_, errno);
  folder.beside_ = "/proc/self/fd/" + std::to_string(folder.folder_) + "/";
  if (access(folder.beside_.c_str(), X_OK) != 0) folder.beside_ = beside;  // no /proc
  const std::string part = base::UnforeseenName("");
  if (part.empty() || mkdirat(folder.folder_, part.c_str(), options.mode) != 0) {
    return NoFolder(folder.path_, errno);
  }
  folder.part_ = part;
  return folder;
}

bool NewFolder::Rename(const std::string& from, const std::string& to, unsigned flags) const {
  return renameat2(folder_, from.c_str(), folder_, to.c_str(), flags) == 0;
}

Status NewFolder::Place() {
  const std::string place = path_.substr(base::FolderOf(path_).size());
  bool placed = Rename(part_, place, RENAME_NOREPLACE);
  if (!placed && errno == EINVAL) placed = Rename(part_, place, 0);  // an old file system
  if (!placed && replace_) return Replace(place) ? Status() : NoFolder(path_, errno);
  if (!placed) return NoFolder(path_, errno);
  part_.clear();
  return {};
}

// The old one goes with this object.
bool NewFolder::Replace(const std::string& place) {
  if (Rename(part_, place, RENAME_EXCHANGE)) return true;
  const std::string old = part_ + ".old";
  if (errno != EINVAL || !Rename(place, old, 0)) return false;
  if (Rename(part_, place, 0)) {
    part_ = old;
    return true;
  }
  const int failed = errno;
  (void)Rename(old, place, 0);
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

std::string KibiBytes(uint64_t bytes) { return std::to_string((bytes + 1023) / 1024) + " KiB"; }

bool IsStandardOutput(const std::string& path) { return exporting::IsStandardOutput(path); }

}  // namespace crosscut::verbs
