#include "src/base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "src/base/descriptors.h"

namespace crosscut::base {
namespace {

Status Failed(const std::string& path, int error) {
  const Status status = Status::Io(strerror(error));
  return path.empty() ? status : status.At(path);
}

}  // namespace

std::string UnforeseenName(const std::string& folder) {
  unsigned long long number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number) return "";
  char name[32];
  snprintf(name, sizeof name, ".crosscut-%016llx", number);
  return folder + name;
}

std::string FolderOf(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

NewFile::NewFile(NewFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      folder_(std::exchange(other.folder_, -1)),
      part_(std::exchange(other.part_, "")),
      path_(std::move(other.path_)) {}

NewFile::~NewFile() {
  if (fd_ >= 0) close(fd_);
  if (!part_.empty()) unlinkat(folder_, part_.c_str(), 0);
  if (folder_ >= 0) close(folder_);
}

Result<NewFile> NewFile::Make(const std::string& folder, mode_t mode, std::string path) {
  NewFile file(std::move(path));
  const char* const place = folder.empty() ? "." : folder.c_str();
  file.folder_ = OpenHigh(place, O_PATH | O_DIRECTORY | O_CLOEXEC);
  constexpr int kTries = 100;
  for (int i = 0; i < kTries && file.folder_ >= 0; ++i) {
    const std::string part = UnforeseenName("");
    if (part.empty()) break;
    constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    file.fd_ = OpenHigh(part.c_str(), kFlags, mode, file.folder_);
    if (file.fd_ >= 0) file.part_ = part;
    if (file.fd_ >= 0) return file;
    if (errno != EEXIST) break;
  }
  return Failed(file.path_.empty() ? folder : file.path_, errno);
}

Result<NewFile> NewFile::Scratch(const std::string& folder) {
  auto file = Make(folder, 0600, "");
  if (file.ok() && unlinkat(file->folder_, file->part_.c_str(), 0) == 0) file->part_.clear();
  return file;
}

Result<NewFile> NewFile::For(const std::string& path) {
  struct stat there, made;
  const bool ours =
      lstat(path.c_str(), &there) == 0 && S_ISREG(there.st_mode) && there.st_uid == geteuid();
  auto file = Make(FolderOf(path), ours ? 0600 : 0644, path);
  if (!file.ok() || !ours || fstat(file->fd_, &made) != 0) return file;
  const bool grouped =
      made.st_gid == there.st_gid || fchown(file->fd_, static_cast<uid_t>(-1), there.st_gid) == 0;
  (void)fchmod(file->fd_, there.st_mode & (grouped ? 0777 : 0707));
  return file;
}

Status NewFile::Write(std::string_view bytes) {
  return WriteAll(fd_, bytes) ? Status() : Failed(path_, errno);
}

Status NewFile::Place(bool durable) {
  if (durable && fsync(fd_) != 0) return Failed(path_, errno);
  if (close(std::exchange(fd_, -1)) != 0) return Failed(path_, errno);
  const std::string name = path_.substr(FolderOf(path_).size());
  if (renameat(folder_, part_.c_str(), folder_, name.c_str()) != 0) return Failed(path_, errno);
  part_.clear();
  return {};
}

}  // namespace crosscut::base
