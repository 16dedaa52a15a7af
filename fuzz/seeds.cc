// Writes seeds for the fuzzers: "seeds DIR" makes DIR/log, DIR/ring, DIR/xspace,
// DIR/chrome_json, DIR/elf_symbols and DIR/python_stacks.
#include <elf.h>
#include <sys/stat.h>

#include <cstddef>
#include <cstring>
#include <fstream>

#include "src/base/testing/files.h"
#include "src/format/log_writer.h"
#include "src/format/test_words.h"
#include "src/xspace/writer.h"

namespace {

using namespace crosscut::format;
namespace xspace = crosscut::xspace;

void Save(const std::string& path, const void* data, size_t bytes) {
  std::ofstream(path, std::ios::binary)
      .write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
}

void SaveLog(const std::string& path, size_t events, bool finish) {
  std::mt19937_64 random(events);
  std::vector<std::byte> bytes;
  LogIdentity identity;
  identity.nonce = 42;
  auto writer = LogWriter::Create(crosscut::base::MemoryFile(&bytes), identity);
  const uint64_t name[] = {uint64_t{1} << 16 | kName, 0x100, 0, 4, 0x64636261};
  bool good = (*writer)->AppendSession({1, 8, 1, name}).ok();
  uint64_t tick = 1000;
  for (uint64_t fill = 2; fill < 5; ++fill) {
    const uint64_t base = tick;
    const auto words = testing::RandomEvents(&random, events, &tick);
    const Piece piece = {fill, 8, base, words};
    good = good && (*writer)->AppendEvents(3, {&piece, 1}).ok();
  }
  if (finish) good = good && (*writer)->Finish().ok();
  if (good) Save(path, bytes.data(), bytes.size());
}

void SaveRing(const std::string& path) {
  testing::RingBuilder ring(2, 42);
  std::mt19937_64 random(1);
  uint64_t tick = 1000;
  auto words = testing::ThreadWords(7, tick);
  const auto more = testing::RandomEvents(&random, 20, &tick);
  words.insert(words.end(), more.begin(), more.end());
  ring.Fill(0, 7, 1000, words);
  ring.Fill(1, 0, 1, {uint64_t{1} << 16 | kName, 0x100, 0, 4, 0x64636261});
  std::string bytes(1, '\xc2');
  bytes.append(reinterpret_cast<const char*>(&ring.header()), sizeof(RingHeader));
  for (int i = 0; i < 2; ++i) bytes.append(reinterpret_cast<const char*>(ring.chunk(i)), 1024);
  Save(path, bytes.data(), bytes.size());
}

void SaveSpace(const std::string& path) {
  xspace::SpaceWriter space;
  xspace::PlaneWriter& plane = space.AddPlane(1, "/device:GPU:0");
  xspace::LineWriter& line = plane.AddLine(7, "Stream #7", 1'000'000);
  for (int i = 0; i < 3; ++i) {
    line.Event(plane.EventName("kernel"), i * 2000, 1000);
    line.Uint64Stat(plane.StatName("correlation_id"), 1 + i);
    line.RefStat(plane.StatName("kind"), plane.StatName("copy"));
    line.TextStat(plane.StatName("details"), "regs:1");
  }
  xspace::PlaneWriter& host = space.AddPlane(2, "/host:CPU");
  xspace::LineWriter& thread = host.AddLine(8, "thread", 1'000'000);
  for (int i = 0; i < 4; ++i) {
    thread.Event(host.EventName(i < 3 ? "MemoryAllocation" : "MemoryDeallocation"), i * 3000, 0);
    thread.TextStat(host.StatName("allocator_name"), "GPU_0_bfc");
    thread.Int64Stat(host.StatName("allocation_bytes"), 256);
    thread.Int64Stat(host.StatName("bytes_allocated"), 1024);
  }
  space.AddWarning("dropped");
  const std::string bytes = *space.Finish();
  Save(path, bytes.data(), bytes.size());
}

// The first byte chooses the window.
void SaveChromeJson(const std::string& path) {
  const std::string text = R"(P{"schemaVersion": 1, "distributedInfo": {"rank": 1}, "traceEvents": [
 {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 5.5, "dur": 2,
  "args": {"stream": 7, "correlation": 3, "grid": [1, {"a": "},{"}]}},
 {"ph": "X", "cat": "cuda_runtime", "name": "l\"", "pid": 1, "tid": 2, "ts": 1, "dur": 2,
  "args": {"correlation": 3}},
 {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#2", "pid": 1, "tid": 2, "ts": 0,
  "dur": 9},
 {"ph": "B", "name": "b", "pid": 1, "tid": 2, "ts": 1e1}, {"ph": "E", "pid": 1, "tid": 2, "ts": 12},
 {"ph": "s", "id": 1, "pid": 1, "tid": 2, "ts": 1},
 {"ph": "f", "id": 1, "pid": 1, "tid": 3, "ts": 2},
 {"ph": "i", "cat": "c", "name": "[memory]", "pid": 1, "tid": 2, "ts": 3, "args": {"Bytes": -4}},
 {"ph": "C", "name": "n", "pid": 1, "ts": 3, "args": {"v": 1.5}},
 {"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "t"}}
], "traceName": "x"})";
  Save(path, text.data(), text.size());
}

// One segment and two functions, as a linker would write them.
void SaveElf(const std::string& path) {
  struct {
    Elf64_Ehdr head;
    Elf64_Phdr segment;
    Elf64_Sym symbols[3];
    char names[24];
    Elf64_Shdr sections[3];
  } file = {};
  const std::string names("\0_ZN1a1bEi\0plain\0", 18);
  memcpy(file.names, names.data(), names.size());
  memcpy(file.head.e_ident, ELFMAG, SELFMAG);
  file.head.e_ident[EI_CLASS] = ELFCLASS64;
  file.head.e_ident[EI_DATA] = ELFDATA2LSB;
  file.head.e_phoff = offsetof(decltype(file), segment);
  file.head.e_phentsize = sizeof(Elf64_Phdr);
  file.head.e_phnum = 1;
  file.head.e_shoff = offsetof(decltype(file), sections);
  file.head.e_shentsize = sizeof(Elf64_Shdr);
  file.head.e_shnum = 3;
  file.segment = {PT_LOAD, PF_X, 0, 0x1000, 0x1000, sizeof file, sizeof file, 4096};
  file.symbols[1] = {1, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, 0x1000, 64};
  file.symbols[2] = {11, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, 0x1080, 0};
  file.sections[1].sh_type = SHT_SYMTAB;
  file.sections[1].sh_offset = offsetof(decltype(file), symbols);
  file.sections[1].sh_size = sizeof file.symbols;
  file.sections[1].sh_link = 2;
  file.sections[2].sh_type = SHT_STRTAB;
  file.sections[2].sh_offset = offsetof(decltype(file), names);
  file.sections[2].sh_size = sizeof file.names;
  Save(path, &file, sizeof file);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string dir = argv[1];
  mkdir(dir.c_str(), 0700);
  mkdir((dir + "/log").c_str(), 0700);
  mkdir((dir + "/ring").c_str(), 0700);
  SaveLog(dir + "/log/small", 3, false);
  SaveLog(dir + "/log/finished", 40, true);
  SaveLog(dir + "/log/larger", 400, true);
  SaveRing(dir + "/ring/two_chunks");
  mkdir((dir + "/xspace").c_str(), 0700);
  SaveSpace(dir + "/xspace/small");
  mkdir((dir + "/chrome_json").c_str(), 0700);
  SaveChromeJson(dir + "/chrome_json/small");
  mkdir((dir + "/elf_symbols").c_str(), 0700);
  SaveElf(dir + "/elf_symbols/small");
  mkdir((dir + "/python_stacks").c_str(), 0700);
  Save(dir + "/python_stacks/whole", "\xff\x80\x01\xf8", 4);  // nothing written over
  return 0;
}
