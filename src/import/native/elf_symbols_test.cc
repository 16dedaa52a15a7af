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

}  // namespace
}  // namespace crosscut::import
