#include "src/runtime/run_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crosscut/crosscut.h"
#include "src/base/descriptors.h"
#include "src/base/process.h"
#include "src/runtime/error.h"

namespace crosscut::record {
namespace {

int OpenFolder(const char* path) {
  return base::OpenHigh(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

}  // namespace

RunFolder::RunFolder(const char* path, const RunIdentity& identity) : fd_(OpenFolder(path)) {
  struct stat info;
  if (fd_ < 0 ||
      (fstat(fd_, &info) == 0 && info.st_dev == identity.device && info.st_ino == identity.inode)) {
    return;
  }
  close(fd_);
  fd_ = -1;
  errno = ESTALE;
}

RunFolder::~RunFolder() {
  const int error = errno;
  if (fd_ >= 0) close(fd_);
  errno = error;
}

int RunFolder::Open(const char* name, int flags) const {
  return fd_ < 0 ? -1 : base::OpenHigh(name, flags | O_CLOEXEC | O_NOFOLLOW, 0600, fd_);
}

int IdentifyRun(const char* path, RunIdentity* identity) {
  const int fd = OpenFolder(path);
  struct stat info;
  if (fd < 0 || fstat(fd, &info) != 0) {
    const int error = Fail(CROSSCUT_EIO, "run directory %.120s: %s", path, strerror(errno));
    if (fd >= 0) close(fd);
    return error;
  }
  *identity = {info.st_dev, info.st_ino, base::MadeNs(fd)};
  close(fd);
  return CROSSCUT_OK;
}

// "boot:device:inode:made_ns:path", numbers in hex. Those of another host are other numbers.
bool ReadIdentity(const char* path, RunIdentity* identity) {
  const char* text = secure_getenv("CROSSCUT_RUN_ID");
  unsigned long long boot = 0, device = 0, inode = 0, made = 0;
  int end = 0;
  if (text == nullptr ||
      sscanf(text, "%llx:%llx:%llx:%llx:%n", &boot, &device, &inode, &made, &end) != 4 ||
      end == 0 || strcmp(text + end, path) != 0 || boot != base::ThisProcess().boot) {
    return false;
  }
  *identity = {device, inode, made};
  return true;
}

}  // namespace crosscut::record
