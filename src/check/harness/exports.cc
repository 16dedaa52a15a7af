#include "src/check/harness/exports.h"

#include <elf.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <string_view>

namespace crosscut::check {
namespace {

// `count` records of T at `offset`, or none where the file is too short.
template <class T>
std::vector<T> Records(const std::string& file, uint64_t offset, uint64_t count) {
  if (offset > file.size() || count > (file.size() - offset) / sizeof(T)) return {};
  std::vector<T> out(count);
  memcpy(out.data(), file.data() + offset, count * sizeof(T));
  return out;
}

std::string NameAt(const std::string& file, const Elf64_Shdr& strings, uint32_t at) {
  const uint64_t offset = strings.sh_offset + at;
  if (at >= strings.sh_size || offset >= file.size()) return "";
  return {file.c_str() + offset, strnlen(file.c_str() + offset, file.size() - offset)};
}

bool OfTheCompiler(std::string_view name, unsigned char binding) {
  for (const char* own : {"_init", "_fini", "_edata", "_end", "__bss_start"}) {
    if (name == own) return true;
  }
  // Templates and inline functions of the standard library that this library happens to hold.
  const bool vague = binding == STB_WEAK || binding == STB_GNU_UNIQUE;
  return vague && (name.starts_with("_ZSt") || name.find("St") < 6 ||
                   name.find("9__gnu_cxx") != std::string_view::npos);
}

void Sort(const Elf64_Sym& symbol, const std::string& name, Symbols* out) {
  const unsigned char binding = ELF64_ST_BIND(symbol.st_info);
  if (name.empty() || binding == STB_LOCAL) return;
  if (symbol.st_shndx == SHN_UNDEF) {
    out->needed.push_back(name);
    return;
  }
  const unsigned char visibility = ELF64_ST_VISIBILITY(symbol.st_other);
  if (visibility == STV_HIDDEN || visibility == STV_INTERNAL) return;
  if (!OfTheCompiler(name, binding) && symbol.st_shndx != SHN_ABS) out->exported.push_back(name);
}

}  // namespace

Symbols ReadSymbols(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  const std::string file((std::istreambuf_iterator<char>(stream)), {});
  Symbols out;
  const auto header = Records<Elf64_Ehdr>(file, 0, 1);
  if (header.empty() || memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0 ||
      header[0].e_ident[EI_CLASS] != ELFCLASS64 || header[0].e_shentsize != sizeof(Elf64_Shdr)) {
    return out;
  }
  const auto sections = Records<Elf64_Shdr>(file, header[0].e_shoff, header[0].e_shnum);
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_DYNSYM || section.sh_link >= sections.size()) continue;
    const auto symbols =
        Records<Elf64_Sym>(file, section.sh_offset, section.sh_size / sizeof(Elf64_Sym));
    for (const Elf64_Sym& symbol : symbols) {
      Sort(symbol, NameAt(file, sections[section.sh_link], symbol.st_name), &out);
    }
  }
  return out;
}

}  // namespace crosscut::check
