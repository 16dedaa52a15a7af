// Feeds arbitrary bytes to the reader of ELF symbols, and asks for names all over the file.
#include "src/import/native/elf_symbols.h"

#include <cstddef>
#include <cstdint>

using namespace crosscut;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto symbols = import::ElfSymbols::Parse({reinterpret_cast<const std::byte*>(data), size});
  if (!symbols.ok()) return 0;
  for (uint64_t at = 0; at < size; at += 16) (void)symbols->Find(at);
  (void)symbols->Find(UINT64_MAX);
  return 0;
}
