// The functions of an ELF file, by their offsets in it. Reads .symtab and .dynsym of 64-bit
// little-endian files; skips section and symbol tables that point outside the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace crosscut::import {

class ElfSymbols {
 public:
  // kIo where it cannot be read, kCorrupt where it is no such file; both name `path`.
  static Result<ElfSymbols> Open(const std::string& path);
  // The same for the bytes of a file, which are not kept.
  static Result<ElfSymbols> Parse(std::span<const std::byte> file);

  // The build of the file, as a recording may name it (plugins/samples/file_identity.h):
  // "build-id:" and the GNU build id. For a file without one: "file:", its size and last change.
  // Empty after Parse() of bytes without a build id.
  const std::string& identity() const { return identity_; }

  // The function that holds byte `offset` of the file, demangled and without its parameters; ""
  // where no symbol covers it.
  std::string Find(uint64_t offset) const;

 private:
  struct Segment {
    uint64_t offset, size, address;
  };
  struct Symbol {
    uint64_t begin, end;  // addresses
    uint32_t name;        // in names_
  };
  struct Section;
  class Source;
  static Result<ElfSymbols> Parse(const Source& file);
  void TakeSymbols(const Source& file, const Section& symbols, const Section& names);
  void TakeBuildId(const Source& file, uint64_t offset, uint64_t bytes);
  void Order();

  std::vector<Segment> segments_;
  std::vector<Symbol> symbols_;  // ascending, one for each begin
  std::string names_;            // each ends in a NUL
  std::string identity_;
};

}  // namespace crosscut::import
