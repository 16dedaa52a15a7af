#include "src/runtime/kept_profile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <atomic>

#include "crosscut/crosscut.h"
#include "src/base/descriptors.h"
#include "src/collect/recorder.h"
#include "src/runtime/error.h"

namespace crosscut::record {
namespace {

bool WriteAll(int fd, const void* bytes, size_t size) {
  const char* at = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t n = write(fd, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

// Letters, digits, '-' and '_'; all else becomes '_'.
void FileWord(const char* text, char* out, size_t bytes) {
  snprintf(out, bytes, "%s", text);
  for (char* at = out; *at != '\0'; ++at) {
    const bool plain = (*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'z') ||
                       (*at >= 'A' && *at <= 'Z') || *at == '-';
    if (!plain) *at = '_';
  }
}

// Whole or not at all: under another name until the last byte stands.
int KeepFile(const RunFolder& run, const char* name, const void* bytes, size_t size) {
  char partial[256];
  snprintf(partial, sizeof partial, "%s.part", name);
  const int fd = run.Open(partial, O_WRONLY | O_CREAT | O_EXCL);
  if (fd < 0) return Fail(CROSSCUT_EIO, "cannot write %.100s: %s", name, strerror(errno));
  const base::NoSignal no_signal(SIGXFSZ);
  const bool written = WriteAll(fd, bytes, size);
  const int number = errno;
  if (close(fd) == 0 && written && renameat(run.fd(), partial, run.fd(), name) == 0)
    return CROSSCUT_OK;
  unlinkat(run.fd(), partial, 0);
  return Fail(CROSSCUT_EIO, "cannot write %.100s: %s", name, strerror(written ? errno : number));
}

}  // namespace

int KeepProfile(const Settings& settings, const char* process_key, const Profile& profile) {
  static std::atomic<uint32_t> kept{0};  // each number once, by the addition alone
  if (strcmp(profile.format, "xspace") != 0) {
    return Fail(CROSSCUT_EINVAL, "'%.32s' is not a format of profiles: the only one is xspace",
                profile.format);
  }
  char word[64], name[192], fact[512], key[32];
  FileWord(profile.source, word, sizeof word);
  const uint32_t number = kept.fetch_add(1);
  snprintf(name, sizeof name, "%s.%s-%u.xplane.pb", process_key, word, number);
  const int error =
      KeepFile(RunFolder(settings.run_dir, settings.run), name, profile.bytes, profile.size);
  if (error != CROSSCUT_OK) return error;
  snprintf(key, sizeof key, "collected:%u", number);
  snprintf(fact, sizeof fact, "%s\t%s\t%s\t%lld\t%lld", profile.format, word, name,
           static_cast<long long>(profile.time.begin_realtime_ns),
           static_cast<long long>(profile.time.error_ns));
  return Recorder::Get().stream().WriteMeta(key, fact)
             ? CROSSCUT_OK
             : Fail(CROSSCUT_EIO, "the log takes no more facts");
}

}  // namespace crosscut::record
