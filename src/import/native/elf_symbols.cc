#include "src/import/native/elf_symbols.h"

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

namespace crosscut::import {
namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 30;  // of one table

// "a::b(int) const" -> "a::b"; a name that ends in no parameters stays as it is.
std::string WithoutParameters(std::string name) {
  const size_t end = name.rfind(')');
  if (end == std::string::npos || name.find_first_not_of(" const&[]", end + 1) < name.size()) {
    return name;
  }
  int depth = 0;
  for (size_t at = end + 1; at-- > 0;) {
    if (name[at] == ')') ++depth;
    if (name[at] != '(' || --depth > 0) continue;
    if (at > 0) name.resize(at);
    break;
  }
  return name;
}

std::string Demangle(const char* name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
  return status == 0 && text ? WithoutParameters(text.get()) : name;
}

}  // namespace

struct ElfSymbols::Section {
  uint64_t offset, size;
};

// The file, read and never mapped: one that is cut short meanwhile must not end this process.
class ElfSymbols::Source {
 public:
  Source(int fd, uint64_t size) : fd_(fd), size_(size) {}
  explicit Source(std::span<const std::byte> bytes) : bytes_(bytes), size_(bytes.size()) {}

  // `count` structs at `offset`; empty where the file does not hold them all.
  template <class T>
  std::vector<T> ReadAll(uint64_t offset, uint64_t count) const {
    std::vector<T> all;
    const bool held = offset <= size_ && count <= (size_ - offset) / sizeof(T);
    if (!held || count > kMostBytes / sizeof(T)) return all;
    all.resize(count);
    if (!Read(offset, all.data(), count * sizeof(T))) all.clear();
    return all;
  }

 private:
  bool Read(uint64_t offset, void* to, size_t size) const {
    if (fd_ < 0) {
      if (size > 0) std::memcpy(to, bytes_.data() + offset, size);
      return true;
    }
    auto* at = static_cast<char*>(to);
    while (size > 0) {
      const ssize_t n = pread(fd_, at, size, static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      at += n;
      offset += static_cast<uint64_t>(n);
      size -= static_cast<size_t>(n);
    }
    return true;
  }

  int fd_ = -1;
  std::span<const std::byte> bytes_;
  uint64_t size_;
};

Result<ElfSymbols> ElfSymbols::Open(const std::string& path) {
  // The path comes from a recording: what it names may be a pipe that nobody writes to.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat facts = {};
  if (fd < 0 || fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    if (fd >= 0) close(fd);
    return Status::Io(path + ": cannot be read");
  }
  Result<ElfSymbols> symbols = Parse(Source(fd, static_cast<uint64_t>(facts.st_size)));
  close(fd);
  if (!symbols.ok()) return symbols.status().At(path);
  if (symbols->identity_.empty()) {
    symbols->identity_ =
        "file:" + std::to_string(facts.st_size) + "," +
        std::to_string(facts.st_mtim.tv_sec * 1'000'000'000LL + facts.st_mtim.tv_nsec);
  }
  return symbols;
}

Result<ElfSymbols> ElfSymbols::Parse(std::span<const std::byte> file) {
  return Parse(Source(file));
}

Result<ElfSymbols> ElfSymbols::Parse(const Source& file) {
  const auto heads = file.ReadAll<Elf64_Ehdr>(0, 1);
  if (heads.empty() || std::memcmp(heads[0].e_ident, ELFMAG, SELFMAG) != 0 ||
      heads[0].e_ident[EI_CLASS] != ELFCLASS64 || heads[0].e_ident[EI_DATA] != ELFDATA2LSB) {
    return Status::Corrupt("not a 64-bit little-endian ELF file");
  }
  const Elf64_Ehdr& head = heads[0];
  ElfSymbols elf;
  if (head.e_phentsize == sizeof(Elf64_Phdr)) {
    for (const auto& segment : file.ReadAll<Elf64_Phdr>(head.e_phoff, head.e_phnum)) {
      if (segment.p_type == PT_NOTE) elf.TakeBuildId(file, segment.p_offset, segment.p_filesz);
      if (segment.p_type != PT_LOAD) continue;
      elf.segments_.push_back({segment.p_offset, segment.p_filesz, segment.p_vaddr});
    }
  }
  if (head.e_shentsize != sizeof(Elf64_Shdr)) return elf;
  const auto sections = file.ReadAll<Elf64_Shdr>(head.e_shoff, head.e_shnum);
  for (const Elf64_Shdr& section : sections) {
    const bool symbols = section.sh_type == SHT_SYMTAB || section.sh_type == SHT_DYNSYM;
    if (!symbols || section.sh_link >= sections.size()) continue;
    const Elf64_Shdr& names = sections[section.sh_link];
    elf.TakeSymbols(file, {section.sh_offset, section.sh_size}, {names.sh_offset, names.sh_size});
  }
  elf.Order();
  return elf;
}

void ElfSymbols::TakeBuildId(const Source& file, uint64_t offset, uint64_t bytes) {
  constexpr uint64_t kMostNotes = 64 << 10;
  if (bytes > kMostNotes || !identity_.empty()) return;
  const auto notes = file.ReadAll<unsigned char>(offset, bytes);
  for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();) {
    Elf64_Nhdr note;
    std::memcpy(&note, notes.data() + at, sizeof note);
    const size_t name = at + sizeof note, id = name + (size_t{note.n_namesz} + 3) / 4 * 4;
    if (id > notes.size() || note.n_descsz > notes.size() - id) return;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
        std::memcmp(notes.data() + name, "GNU", 4) == 0) {
      identity_ = "build-id:";
      for (size_t i = 0; i < note.n_descsz; ++i) {
        constexpr char kDigits[] = "0123456789abcdef";
        identity_ += kDigits[notes[id + i] >> 4];
        identity_ += kDigits[notes[id + i] & 15];
      }
      return;
    }
    at = id + (size_t{note.n_descsz} + 3) / 4 * 4;
  }
}

void ElfSymbols::TakeSymbols(const Source& file, const Section& symbols, const Section& names) {
  const auto base = static_cast<uint32_t>(names_.size());
  const auto texts = file.ReadAll<char>(names.offset, names.size);
  if (texts.empty() || texts.size() > UINT32_MAX - 1 - base) return;
  names_.append(texts.data(), texts.size());
  names_ += '\0';
  for (const auto& symbol :
       file.ReadAll<Elf64_Sym>(symbols.offset, symbols.size / sizeof(Elf64_Sym))) {
    const auto type = ELF64_ST_TYPE(symbol.st_info);
    if (type != STT_FUNC && type != STT_GNU_IFUNC) continue;
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= texts.size()) continue;
    const uint64_t end = symbol.st_value + std::min(symbol.st_size, UINT64_MAX - symbol.st_value);
    symbols_.push_back({symbol.st_value, end, base + symbol.st_name});
  }
}

// Of several at one address the one that reaches farthest stays. A function of no stated size
// (assembly) reaches to the next.
void ElfSymbols::Order() {
  std::stable_sort(symbols_.begin(), symbols_.end(), [](const Symbol& a, const Symbol& b) {
    return std::pair(a.begin, b.end) < std::pair(b.begin, a.end);
  });
  const auto same = [](const Symbol& a, const Symbol& b) { return a.begin == b.begin; };
  symbols_.erase(std::unique(symbols_.begin(), symbols_.end(), same), symbols_.end());
  for (size_t i = 0; i + 1 < symbols_.size(); ++i) {
    if (symbols_[i].end == symbols_[i].begin) symbols_[i].end = symbols_[i + 1].begin;
  }
}

std::string ElfSymbols::Find(uint64_t offset) const {
  for (const Segment& segment : segments_) {
    if (offset < segment.offset || offset - segment.offset >= segment.size) continue;
    const uint64_t address = segment.address + (offset - segment.offset);
    auto symbol = std::upper_bound(symbols_.begin(), symbols_.end(), address,
                                   [](uint64_t at, const Symbol& s) { return at < s.begin; });
    if (symbol == symbols_.begin() || (--symbol)->end <= address) return "";
    return Demangle(names_.c_str() + symbol->name);
  }
  return "";
}

}  // namespace crosscut::import
