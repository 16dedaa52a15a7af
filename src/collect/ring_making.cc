#include "src/collect/ring_making.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/descriptors.h"
#include "src/base/fault_point.h"
#include "src/base/file.h"

namespace crosscut::record {
namespace {

constexpr size_t kMaxPath = 4096;

void Close(int* fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

int OpenNameless(const char* path) {
  char folder[kMaxPath];
  const char* slash = strrchr(path, '/');
  if (slash == nullptr || static_cast<size_t>(slash - path) >= sizeof folder) return -1;
  memcpy(folder, path, static_cast<size_t>(slash - path));
  folder[slash - path] = '\0';
  return base::OpenHigh(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

int Fill(int fd, size_t bytes, format::RingHeader* header) {
  if (ftruncate(fd, static_cast<off_t>(bytes)) != 0) return errno;
  header->marks_use = base::MarkInUse(fd) ? 1 : 0;
  header->magic = format::kRingMagic;
  // The magic number last, for files that have their name already.
  const auto* rest = reinterpret_cast<const char*>(header) + sizeof header->magic;
  const auto length = static_cast<ssize_t>(sizeof *header - sizeof header->magic);
  if (CROSSCUT_FAULT("ring.header")) return ENOSPC;
  if (pwrite(fd, rest, static_cast<size_t>(length), sizeof header->magic) != length) {
    return ENOSPC;
  }
  return pwrite(fd, &header->magic, sizeof header->magic, 0) == sizeof header->magic ? 0 : ENOSPC;
}

int Name(int fd, const char* path) {
  char link[32];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  return linkat(AT_FDCWD, link, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

// Another opening, by its name: a mapping of a file that had none when it was opened is shown as
// deleted for ever, and nobody would find the ring by it.
int OpenAgain(const char* path, int fd) {
  const int again = base::OpenHigh(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  struct stat one, other;
  if (again >= 0 && fstat(fd, &one) == 0 && fstat(again, &other) == 0 &&
      one.st_dev == other.st_dev && one.st_ino == other.st_ino) {
    return again;
  }
  if (again >= 0) close(again);
  return -1;
}

}  // namespace

int MakeRingFile(const char* path, size_t bytes, format::RingHeader* header, NewRingFile* file) {
  const base::NoSignal no_signal(SIGXFSZ);
  file->mark = OpenNameless(path);
  bool named = false;
  if (file->mark >= 0) {
    const int error = Fill(file->mark, bytes, header);
    named = error == 0 && Name(file->mark, path) == 0;
    if (!named) Close(&file->mark);
    if (error != 0) return error;
  }
  if (!named) {
    file->mark = base::OpenHigh(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file->mark < 0) return errno;
    if (const int error = Fill(file->mark, bytes, header); error != 0) {
      unlink(path);
      Close(&file->mark);
      return error;
    }
  }
  file->map = OpenAgain(path, file->mark);
  if (file->map >= 0) return 0;
  unlink(path);
  Close(&file->mark);
  return EIO;
}

}  // namespace crosscut::record
