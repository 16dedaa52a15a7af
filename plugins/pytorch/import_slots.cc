#include "import_slots.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace crosscut::pytorch {
namespace {

bool Holds(const dl_phdr_info& library, uintptr_t address) {
  for (int i = 0; i < library.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = library.dlpi_phdr[i];
    const uintptr_t begin = library.dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && address >= begin && address < begin + segment.p_memsz) {
      return true;
    }
  }
  return false;
}

// The parts of a library's dynamic section that tell its imports.
struct Imports {
  const ElfW(Sym) * symbols = nullptr;
  const char* texts = nullptr;
  const ElfW(Rela) * tables[2] = {};
  size_t counts[2] = {};
  size_t relative = 0;  // at the begin of tables[1]: no imports
  uintptr_t read_only_begin = 0, read_only_end = 0;
};

Imports ImportsOf(const dl_phdr_info& library) {
  Imports out;
  const ElfW(Dyn)* entry = nullptr;
  for (int i = 0; i < library.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = library.dlpi_phdr[i];
    const uintptr_t begin = library.dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_DYNAMIC) entry = reinterpret_cast<const ElfW(Dyn)*>(begin);
    if (segment.p_type == PT_GNU_RELRO) {
      out.read_only_begin = begin;
      out.read_only_end = begin + segment.p_memsz;
    }
  }
  const auto at = [&](ElfW(Addr) value) {  // some loaders put addresses there, others offsets
    return value < library.dlpi_addr ? value + library.dlpi_addr : value;
  };
  for (; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
    const ElfW(Addr) value = entry->d_un.d_val;
    switch (entry->d_tag) {
      case DT_SYMTAB: out.symbols = reinterpret_cast<const ElfW(Sym)*>(at(value)); break;
      case DT_STRTAB: out.texts = reinterpret_cast<const char*>(at(value)); break;
      case DT_JMPREL: out.tables[0] = reinterpret_cast<const ElfW(Rela)*>(at(value)); break;
      case DT_PLTRELSZ: out.counts[0] = value / sizeof(ElfW(Rela)); break;
      case DT_RELA: out.tables[1] = reinterpret_cast<const ElfW(Rela)*>(at(value)); break;
      case DT_RELASZ: out.counts[1] = value / sizeof(ElfW(Rela)); break;
      case DT_RELACOUNT: out.relative = value; break;
      default: break;
    }
  }
  return out;
}

bool IsImport(const ElfW(Rela) & relocation) {
#if defined(__x86_64__)
  constexpr uint64_t kKinds[] = {R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT};
#else
  constexpr uint64_t kKinds[] = {R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT};
#endif
  const uint64_t kind = ELF64_R_TYPE(relocation.r_info);
  return std::find(std::begin(kKinds), std::end(kKinds), kind) != std::end(kKinds);
}

bool NeedsTorch(const dl_phdr_info& library, const Imports& imports) {
  for (int i = 0; i < library.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = library.dlpi_phdr[i];
    if (segment.p_type != PT_DYNAMIC) continue;
    const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(library.dlpi_addr + segment.p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag != DT_NEEDED) continue;
      if (strncmp(imports.texts + entry->d_un.d_val, "libc10", 6) == 0) return true;
    }
  }
  return false;
}

int CountLoads(dl_phdr_info* library, size_t, void* into) {
  *static_cast<unsigned long long*>(into) = library->dlpi_adds;
  return 1;
}

}  // namespace

std::string SymbolAt(uintptr_t function) {
  Dl_info info = {};
  const bool found = dladdr(reinterpret_cast<const void*>(function), &info) != 0;
  return found && info.dli_sname != nullptr ? info.dli_sname : "";
}

ImportSlots::ImportSlots(std::vector<ImportedFunction> functions)
    : functions_(std::move(functions)) {}

struct ImportSlots::Scan {
  const std::vector<ImportedFunction>* functions;
  std::vector<Slot>* slots;
  std::vector<std::string> libraries;
};

bool ImportSlots::Knows(const std::vector<Slot>& slots, const uintptr_t* at) {
  return std::any_of(slots.begin(), slots.end(), [at](const Slot& slot) { return slot.at == at; });
}

int ImportSlots::Visit(void* visited, void* into) {
  const dl_phdr_info& library = *static_cast<const dl_phdr_info*>(visited);
  Scan& scan = *static_cast<Scan*>(into);
  const Imports imports = ImportsOf(library);
  if (imports.symbols == nullptr || imports.texts == nullptr) return 0;
  for (const ImportedFunction& function : *scan.functions) {
    if (Holds(library, function.theirs) || Holds(library, function.ours)) return 0;
  }
  if (!NeedsTorch(library, imports)) return 0;
  const size_t before = scan.slots->size();
  for (int table = 0; table < 2; ++table) {
    for (size_t i = table == 0 ? 0 : imports.relative; i < imports.counts[table]; ++i) {
      const ElfW(Rela)& relocation = imports.tables[table][i];
      if (!IsImport(relocation)) continue;
      const ElfW(Sym)& symbol = imports.symbols[ELF64_R_SYM(relocation.r_info)];
      if (symbol.st_shndx != SHN_UNDEF) continue;
      const char* name = imports.texts + symbol.st_name;
      for (const ImportedFunction& function : *scan.functions) {
        if (function.symbol != name) continue;
        const uintptr_t at = library.dlpi_addr + relocation.r_offset;
        auto* const slot = reinterpret_cast<uintptr_t*>(at);
        if (Knows(*scan.slots, slot)) continue;
        const bool read_only = at >= imports.read_only_begin && at < imports.read_only_end;
        scan.slots->push_back({slot, *slot, function.ours, read_only});
      }
    }
  }
  if (scan.slots->size() > before) scan.libraries.emplace_back(library.dlpi_name);
  return 0;
}

void ImportSlots::Store(const Slot& slot, uintptr_t value) {
  if (__atomic_load_n(slot.at, __ATOMIC_RELAXED) == value) return;
  const auto page = static_cast<uintptr_t>(getpagesize());
  void* const begin = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(slot.at) & ~(page - 1));
  if (slot.read_only && mprotect(begin, page, PROT_READ | PROT_WRITE) != 0) return;
  __atomic_store_n(slot.at, value, __ATOMIC_RELEASE);
  if (slot.read_only) mprotect(begin, page, PROT_READ);
}

void ImportSlots::Find() {
  unsigned long long loads = 0;
  dl_iterate_phdr(&CountLoads, &loads);
  if (loads == loads_) return;
  loads_ = loads;
  Scan scan = {&functions_, &slots_, {}};
  dl_iterate_phdr([](dl_phdr_info* library, size_t, void* into) { return Visit(library, into); },
                  &scan);
  for (const std::string& library : scan.libraries) {
    (void)dlopen(library.c_str(), RTLD_LAZY | RTLD_NOLOAD);  // never closed: it stays
  }
}

size_t ImportSlots::Lead(bool to_ours) {
  Find();
  for (const Slot& slot : slots_) Store(slot, to_ours ? slot.ours : slot.before);
  return slots_.size();
}

}  // namespace crosscut::pytorch
