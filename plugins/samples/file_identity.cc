#include "file_identity.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

namespace crosscut::samples {
namespace {

constexpr size_t kMostNotes = 64 << 10, kMostSegments = 256;

template <class T>
bool Read(int fd, uint64_t offset, T* to, size_t count) {
  const auto bytes = static_cast<ssize_t>(count * sizeof(T));
  return pread(fd, to, count * sizeof(T), static_cast<off_t>(offset)) == bytes;
}

std::string Digits(const unsigned char* bytes, size_t count) {
  std::string text;
  char two[3];
  for (size_t i = 0; i < count; ++i) {
    std::snprintf(two, sizeof two, "%02x", bytes[i]);
    text += two;
  }
  return text;
}

// The build id among the notes of a segment; "" where there is none.
std::string IdIn(const std::vector<unsigned char>& notes) {
  for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();) {
    Elf64_Nhdr note;
    std::memcpy(&note, notes.data() + at, sizeof note);
    const size_t name = at + sizeof note, id = name + (size_t{note.n_namesz} + 3) / 4 * 4;
    const size_t end = id + (size_t{note.n_descsz} + 3) / 4 * 4;
    if (id > notes.size() || id + note.n_descsz > notes.size()) return "";
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
        std::memcmp(notes.data() + name, "GNU", 4) == 0) {
      return Digits(notes.data() + id, note.n_descsz);
    }
    at = end;
  }
  return "";
}

std::string BuildId(int fd) {
  Elf64_Ehdr head;
  if (!Read(fd, 0, &head, 1) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
      head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(Elf64_Phdr) ||
      head.e_phnum > kMostSegments) {
    return "";
  }
  std::vector<Elf64_Phdr> segments(head.e_phnum);
  if (!Read(fd, head.e_phoff, segments.data(), segments.size())) return "";
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_NOTE || segment.p_filesz > kMostNotes) continue;
    std::vector<unsigned char> notes(segment.p_filesz);
    if (!Read(fd, segment.p_offset, notes.data(), notes.size())) continue;
    if (std::string id = IdIn(notes); !id.empty()) return id;
  }
  return "";
}

}  // namespace

std::string IdentityOf(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return "";
  struct stat facts;
  std::string identity;
  if (fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode)) {
    identity = BuildId(fd);
    identity =
        identity.empty()
            ? "file:" + std::to_string(facts.st_size) + "," +
                  std::to_string(facts.st_mtim.tv_sec * 1'000'000'000LL + facts.st_mtim.tv_nsec)
            : "build-id:" + identity;
  }
  close(fd);
  return identity;
}

}  // namespace crosscut::samples
