#include "src/import/native/elf_symbols.h"

#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace crosscut::import {
namespace elf_symbols_test {

// What the tests look for in their own program.
struct Thing {
  __attribute__((noinline)) static int Method(int value, const std::string&) { return value + 1; }
};
extern "C" __attribute__((noinline)) int crosscut_elf_plain_c_function(int value) {
  return value * 3;
}

}  // namespace elf_symbols_test

namespace {

std::string Self() { return "/proc/self/exe"; }

// The byte of this program's file from which `function` was loaded.
uint64_t OffsetOf(const void* function) {
  struct Search {
    uintptr_t at;
    uint64_t offset;
  } search = {reinterpret_cast<uintptr_t>(function), 0};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto* search = static_cast<Search*>(data);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& segment = info->dlpi_phdr[i];
          const uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
          if (segment.p_type != PT_LOAD || search->at - begin >= segment.p_memsz) continue;
          search->offset = search->at - begin + segment.p_offset;
        }
        return 0;
      },
      &search);
  return search.offset;
}

std::vector<std::byte> FileBytes() {
  std::ifstream file(Self(), std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

TEST(ElfSymbols, NamesTheFunctionThatHoldsAByteOfTheFile) {
  const auto symbols = ElfSymbols::Open(Self());
  ASSERT_TRUE(symbols.ok()) << symbols.status().message();
  const auto method = reinterpret_cast<const void*>(&elf_symbols_test::Thing::Method);
  EXPECT_EQ(symbols->Find(OffsetOf(method)), "crosscut::import::elf_symbols_test::Thing::Method");
  EXPECT_EQ(symbols->Find(OffsetOf(method) + 1),
            "crosscut::import::elf_symbols_test::Thing::Method");
  const auto plain =
      reinterpret_cast<const void*>(&elf_symbols_test::crosscut_elf_plain_c_function);
  EXPECT_EQ(symbols->Find(OffsetOf(plain)), "crosscut_elf_plain_c_function");
  EXPECT_EQ(symbols->Find(0), "");
  EXPECT_EQ(symbols->Find(UINT64_MAX), "");
}

TEST(ElfSymbols, OtherFilesAreRefusedByName) {
  const auto none = ElfSymbols::Open("/no/such/file");
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.status().message().find("/no/such/file"), std::string::npos);
  EXPECT_FALSE(ElfSymbols::Open("/proc/self").ok());
  const std::string pipe = ::testing::TempDir() + "elf_symbols_pipe" + std::to_string(getpid());
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_FALSE(ElfSymbols::Open(pipe).ok());  // and does not wait for a writer
  unlink(pipe.c_str());
  const std::byte text[] = {std::byte{'#'}, std::byte{'!'}};
  EXPECT_FALSE(ElfSymbols::Parse(text).ok());
}

TEST(ElfSymbols, DamagedFilesGiveWhatIsReadable) {
  const std::vector<std::byte> whole = FileBytes();
  std::mt19937_64 random(7);
  for (int round = 0; round < 30; ++round) {
    std::vector<std::byte> file = whole;
    if (round % 2 == 0) file.resize(random() % file.size());
    for (int i = 0; i < 200 && !file.empty(); ++i) {
      // The header and the section headers (at the end) are where damage leads astray.
      const size_t at = i % 2 == 0
                            ? random() % std::min<size_t>(file.size(), 4096)
                            : file.size() - 1 - random() % std::min<size_t>(file.size(), 4096);
      if (at >= 6) file[at] = static_cast<std::byte>(random());
    }
    const auto symbols = ElfSymbols::Parse(file);
    for (int i = 0; i < 100 && symbols.ok(); ++i) (void)symbols->Find(random() % whole.size());
  }
}

TEST(ElfSymbols, TablesThatNoLibraryHasArePassedOver) {
  Elf64_Ehdr head = {};
  std::memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_ident[EI_CLASS] = ELFCLASS64;
  head.e_ident[EI_DATA] = ELFDATA2LSB;
  head.e_shentsize = sizeof(Elf64_Shdr);
  head.e_shnum = 2;
  head.e_shoff = sizeof head;
  Elf64_Shdr sections[2] = {};
  for (Elf64_Shdr& section : sections) section.sh_size = uint64_t{1} << 38;
  sections[0].sh_type = SHT_SYMTAB;
  sections[0].sh_link = 1;
  const std::string path = testing::TempDir() + "crosscut-sparse-" + std::to_string(getpid());
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(&head), sizeof head)
      .write(reinterpret_cast<const char*>(sections), sizeof sections);
  ASSERT_EQ(truncate(path.c_str(), int64_t{1} << 39), 0);
  const auto symbols = ElfSymbols::Open(path);
  unlink(path.c_str());
  ASSERT_TRUE(symbols.ok()) << symbols.status().message();
  EXPECT_EQ(symbols->Find(0), "");
}

TEST(ElfSymbols, SayWhichBuildTheyAreOf) {
  const Result<ElfSymbols> here = ElfSymbols::Open(Self());
  ASSERT_TRUE(here.ok());
  EXPECT_TRUE(here->identity().starts_with("build-id:") || here->identity().starts_with("file:"))
      << here->identity();
  EXPECT_GT(here->identity().size(), 12u);
  // Whatever stands where notes should be.
  std::mt19937_64 random(5);
  const std::vector<std::byte> bytes = FileBytes();
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::byte> file(bytes.begin(), bytes.begin() + 4096);
    for (int change = 0; change < 20; ++change) {
      file[random() % file.size()] = static_cast<std::byte>(random());
    }
    std::memcpy(file.data(), bytes.data(), 16);
    (void)ElfSymbols::Parse(file);
  }
}

// A file made by hand: what the tables say, and nothing beside it.
class HandMade {
 public:
  // A function (or what else `info` says) of [begin, begin + size), in the code that the file has
  // at byte 0x1000 and memory at 0x5000.
  void Symbol(const char* name, uint64_t begin, uint64_t size, uint8_t info = STT_FUNC,
              uint16_t section = 1) {
    Elf64_Sym symbol = {};
    symbol.st_name = static_cast<uint32_t>(names_.size());
    symbol.st_value = begin;
    symbol.st_size = size;
    symbol.st_info = info;
    symbol.st_shndx = section;
    symbols_.push_back(symbol);
    names_ += std::string(name) + '\0';
  }
  void Note(const std::string& name, const std::string& text, uint32_t type) {
    const Elf64_Nhdr note = {static_cast<uint32_t>(name.size()), static_cast<uint32_t>(text.size()),
                             type};
    notes_.append(reinterpret_cast<const char*>(&note), sizeof note);
    for (const std::string& part : {name, text}) {
      notes_ += part;
      notes_.resize((notes_.size() + 3) / 4 * 4);
    }
  }
  // The first `notes` bytes of the notes.
  ElfSymbols Parsed(size_t notes = SIZE_MAX) const {
    notes = std::min(notes, notes_.size());
    Elf64_Ehdr head = {};
    std::memcpy(head.e_ident, ELFMAG, SELFMAG);
    head.e_ident[EI_CLASS] = ELFCLASS64;
    head.e_ident[EI_DATA] = ELFDATA2LSB;
    head.e_phoff = sizeof head;
    head.e_phentsize = sizeof(Elf64_Phdr);
    head.e_phnum = 2;
    Elf64_Phdr segments[2] = {};
    segments[0].p_type = PT_NOTE;
    segments[0].p_offset = sizeof head + sizeof segments;
    segments[0].p_filesz = notes;
    segments[1].p_type = PT_LOAD;
    segments[1].p_offset = 0x1000;
    segments[1].p_filesz = 0x200;
    segments[1].p_vaddr = 0x5000;
    Elf64_Shdr sections[2] = {};
    sections[0].sh_type = SHT_SYMTAB;
    sections[0].sh_link = 1;
    sections[0].sh_offset = segments[0].p_offset + notes;
    sections[0].sh_size = symbols_.size() * sizeof(Elf64_Sym);
    sections[1].sh_offset = sections[0].sh_offset + sections[0].sh_size;
    sections[1].sh_size = names_.size();
    head.e_shoff = sections[1].sh_offset + names_.size();
    head.e_shentsize = sizeof(Elf64_Shdr);
    head.e_shnum = 2;
    std::string file;
    const auto put = [&](const void* from, size_t size) {
      file.append(static_cast<const char*>(from), size);
    };
    put(&head, sizeof head);
    put(segments, sizeof segments);
    put(notes_.data(), notes);
    put(symbols_.data(), sections[0].sh_size);
    put(names_.data(), names_.size());
    put(sections, sizeof sections);
    auto parsed = ElfSymbols::Parse(std::as_bytes(std::span(file)));
    EXPECT_TRUE(parsed.ok()) << parsed.status().message();
    return std::move(*parsed);
  }

 private:
  std::vector<Elf64_Sym> symbols_;
  std::string names_ = std::string(1, '\0'), notes_;
};

TEST(ElfSymbols, AFunctionReachesToItsEndOrWithoutASizeToTheNext) {
  HandMade file;
  file.Symbol("last", 0x51f0, 0x100);
  file.Symbol("shorter", 0x5040, 0x8);
  file.Symbol("first", 0x5000, 0x10);
  file.Symbol("assembly", 0x5010, 0);
  file.Symbol("_ZN1a1bEi", 0x5040, 0x10);
  file.Symbol("data", 0x5060, 0x10, STT_OBJECT);
  file.Symbol("elsewhere", 0x5070, 0x10, STT_FUNC, SHN_UNDEF);
  file.Symbol("chosen", 0x5080, 0x10, STT_GNU_IFUNC);
  file.Symbol("_ZNK1a1bERKSt6vectorIiSaIiEE", 0x5090, 0x10);
  const ElfSymbols symbols = file.Parsed();
  const std::pair<uint64_t, const char*> kAll[] = {
      {0xfff, ""},          {0x1000, "first"}, {0x100f, "first"},  {0x1010, "assembly"},
      {0x103f, "assembly"}, {0x1040, "a::b"},  {0x104f, "a::b"},   {0x1050, ""},
      {0x1060, ""},         {0x1070, ""},      {0x1080, "chosen"}, {0x108f, "chosen"},
      {0x1090, "a::b"},     {0x10a0, ""},      {0x11ef, ""},       {0x11f0, "last"},
      {0x11ff, "last"},     {0x1200, ""}};
  for (const auto& [offset, name] : kAll) EXPECT_EQ(symbols.Find(offset), name) << offset;
}

TEST(ElfSymbols, TheBuildIdIsThatOfItsNoteAmongOthers) {
  const std::string gnu("GNU\0", 4);
  HandMade file;
  file.Note("stapsdt", "12345", 3);
  file.Note(gnu, "x", 1);
  file.Note("GO", "y", NT_GNU_BUILD_ID);
  EXPECT_EQ(file.Parsed().identity(), "");
  const size_t before = 3 * 12 + 8 + 8 + 4 + 4 + 4 + 4;
  file.Note(gnu, "\x01\xab\x7f\xf0\x0f", NT_GNU_BUILD_ID);
  file.Note(gnu, "second", NT_GNU_BUILD_ID);
  EXPECT_EQ(file.Parsed().identity(), "build-id:01ab7ff00f");
  for (size_t cut = 0; cut < before + 24; ++cut) {
    const bool whole = cut >= before + 12 + 4 + 5;
    EXPECT_EQ(file.Parsed(cut).identity(), whole ? "build-id:01ab7ff00f" : "") << cut;
  }
}

}  // namespace
}  // namespace crosscut::import
