// A ring by itself: its slots of losses, and what of it stays mapped.
#include <errno.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "src/collect/chunk_ring.h"
#include "src/collect/clock.h"
#include "src/collect/memory.h"

namespace crosscut::record {
namespace {

class RingTest : public testing::Test {
 protected:
  RingTest() {
    ClockInit(false);
    char path[] = "/tmp/crosscut-ring-XXXXXX";
    dir_ = mkdtemp(path);
  }
  ~RingTest() override { std::filesystem::remove_all(dir_); }

  int Create(ChunkRing* ring, uint64_t chunks) const {
    int mark = -1;
    const std::string path = dir_ + "/ring";
    const int error = ring->Create(path.c_str(), chunks, {}, &mark);
    if (error == 0) close(mark);
    std::filesystem::remove(path);
    return error;
  }

  std::string dir_;
};

TEST_F(RingTest, LossesOfATrackHaveASlotOfItsOwnOrTheSharedOneAndNoOthers) {
  ChunkRing ring;
  ASSERT_EQ(Create(&ring, 8), 0);
  format::RingDropSlot* const slots = ring.drop_slots();
  format::RingDropSlot* const shared = &slots[format::kRingDropSlots - 1];
  std::set<format::RingDropSlot*> own;
  constexpr auto kTracks = static_cast<uint32_t>(3 * format::kRingDropSlots);
  for (const uint64_t tick : {100u, 200u}) {
    for (uint32_t track = 1; track <= kTracks; ++track) {
      format::RingDropSlot* slot = ring.DropSlotFor(track, format::kDropFull, tick + track);
      if (track < format::kRingDropSlots) {
        EXPECT_EQ(slot->track, uint64_t{track} + 1);
        EXPECT_EQ(slot->first_tick, 100 + track);
        own.insert(slot);
      } else {
        EXPECT_EQ(slot, shared);
        EXPECT_EQ(slot->track, uint64_t{format::kRingSharedDropTrack} + 1);
        EXPECT_EQ(slot->first_tick, 100 + format::kRingDropSlots);
      }
      EXPECT_EQ(slot->reason, uint64_t{format::kDropFull});
    }
  }
  EXPECT_EQ(own.size(), format::kRingDropSlots - 1);
  EXPECT_EQ(own.count(shared), 0);
  ring.Unmap();
}

// A chunk in which two threads wrote, of which the log holds the first events.
TEST_F(RingTest, WhatIsOverwrittenIsCountedByItsThreadFromWhereTheLogEnds) {
  for (const bool drained : {false, true}) {
    ChunkRing ring;
    ASSERT_EQ(Create(&ring, 8), 0);
    ring.KeepNewest();
    uint64_t* const chunk = ring.Claim(5, 1000, /*for_session=*/false);
    ASSERT_NE(chunk, nullptr);
    const auto word = [](uint64_t tick, uint64_t code) { return tick << 16 | code; };
    const std::vector<uint64_t> before = {
        word(1000, format::kThread), 5, 55, 0, 1000, word(1001, 0x100), word(1002, format::kEnd)};
    const std::vector<uint64_t> behind = {word(1003, 0x100),
                                          word(1004, format::kDrop),
                                          1,
                                          2,
                                          3,
                                          4,
                                          word(1005, format::kEnd),
                                          word(1006, format::kThread),
                                          6,
                                          66,
                                          0,
                                          1006,
                                          word(1007, 0x100),
                                          word(1008, format::kEnd),
                                          word(1009, format::kThreadEnd),
                                          word(1010, format::kThread),
                                          5,
                                          55,
                                          format::kThreadContinues,
                                          1010,
                                          word(1011, 0x101)};
    uint64_t* at = std::copy(before.begin(), before.end(), chunk + format::kRingChunkHeaderWords);
    if (drained) chunk[format::kChunkDrained] = static_cast<uint64_t>(at - chunk);
    std::copy(behind.begin(), behind.end(), at);
    ring.PushFull(chunk);
    const uint32_t oldest = ring.TakeOldest();
    ASSERT_EQ(ring.chunk(oldest), chunk);
    ring.Overwrite(oldest);
    std::map<uint64_t, std::vector<uint64_t>> told;
    for (size_t i = 0; i < format::kRingDropSlots; ++i) {
      const format::RingDropSlot& slot = ring.drop_slots()[i];
      if (slot.track == 0) continue;
      EXPECT_EQ(slot.reason, uint64_t{format::kDropOverwritten});
      told[slot.track - 1] = {slot.count, slot.first_tick, slot.last_tick};
    }
    const uint64_t more = drained ? 0 : 2, first = drained ? 1003 : 1001;
    EXPECT_EQ(told, (std::map<uint64_t, std::vector<uint64_t>>{{5, {3 + more, first, 1011}},
                                                               {6, {2, 1007, 1008}}}));
    EXPECT_EQ(format::ChunkState(chunk[format::kChunkState]), format::kChunkClean);
    EXPECT_EQ(format::PublishedEnd(chunk), size_t{format::kRingChunkHeaderWords});
    ring.Unmap();
  }
}

// Pages of this process's address space.
long MappedPages() {
  FILE* const file = fopen("/proc/self/statm", "re");
  long pages = 0;
  EXPECT_EQ(fscanf(file, "%ld", &pages), 1);
  fclose(file);
  return pages;
}

// Sees to it that the kernel's next gap of so many bytes does not begin where a chunk might.
// Returns the pages that it has put in the way.
std::vector<void*> PushOffAlignment(size_t bytes) {
  std::vector<void*> pages;
  while (true) {
    char* const gap = static_cast<char*>(
        mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    munmap(gap, bytes);
    if (reinterpret_cast<uintptr_t>(gap) % format::kRingChunkBytes != 0) return pages;
    pages.push_back(mmap(gap + bytes - kPageBytes, kPageBytes, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0));
  }
}

size_t OpenFiles() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(files), end(files)));
}

TEST_F(RingTest, OnceUnmappedNothingOfItIsLeftInTheAddressSpace) {
  constexpr uint64_t kChunks = 8;  // large ones are aligned by the kernel already
  constexpr size_t kSpace = format::kRingHeaderBytes + (kChunks + 1) * format::kRingChunkBytes;
  const auto once = [this] {
    const std::vector<void*> pages = PushOffAlignment(kSpace);
    ChunkRing ring;
    ASSERT_EQ(Create(&ring, kChunks), 0);
    ring.Unmap();
    for (void* const page : pages) munmap(page, kPageBytes);
  };
  once();
  const long before = MappedPages();
  const size_t counted = MappedBytes(), files = OpenFiles();
  for (int i = 0; i < 50; ++i) once();
  EXPECT_EQ(OpenFiles(), files);
  EXPECT_EQ(MappedBytes(), counted);
  EXPECT_LT(MappedPages() - before, 50);  // a page each
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they need the addresses
// Where there is memory for the ring's pages and none for its tables.
TEST_F(RingTest, OfOneThatCouldNotBeMadeNothingIsLeft) {
  constexpr uint64_t kChunks = 20'000;
  const long before = MappedPages();
  const size_t counted = MappedBytes(), files = OpenFiles();
  const auto bytes = static_cast<size_t>(before) * kPageBytes + format::kRingHeaderBytes +
                     (kChunks + 2) * format::kRingChunkBytes;
  rlimit usual;
  ASSERT_EQ(getrlimit(RLIMIT_AS, &usual), 0);
  const rlimit tight = {bytes, usual.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &tight), 0);
  ChunkRing ring;
  const int error = Create(&ring, kChunks);
  setrlimit(RLIMIT_AS, &usual);
  EXPECT_EQ(error, ENOMEM);
  EXPECT_EQ(OpenFiles(), files);
  EXPECT_EQ(MappedBytes(), counted);
  EXPECT_LT(MappedPages() - before, 100);
  EXPECT_TRUE(std::filesystem::is_empty(dir_));
}

#endif

TEST_F(RingTest, NobodyLooksBehindItsLastChunk) {
  constexpr uint32_t kChunks = 8;
  ChunkRing ring;
  ASSERT_EQ(Create(&ring, kChunks), 0);
  ring.Prepare(kChunks);
  ASSERT_EQ(ring.prepared(), kChunks);
  void* const behind = ring.chunk(kChunks - 1) + format::kRingChunkWords;
  const void* const page =
      mmap(behind, kPageBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  EXPECT_TRUE(ring.Drained());
  ring.Unmap();
  if (page == behind) munmap(behind, kPageBytes);
}

TEST_F(RingTest, ItsHeaderSaysHowItIsMadeAndItsTablesHaveRoomForAllChunks) {
  constexpr uint32_t kChunks = 4096;
  const size_t counted = MappedBytes();
  ChunkRing ring;
  ASSERT_EQ(Create(&ring, kChunks), 0);
  const format::RingHeader& header = *ring.header();
  EXPECT_EQ(header.version, format::kFormatVersion);
  EXPECT_EQ(header.header_bytes, format::kRingHeaderBytes);
  EXPECT_EQ(header.chunk_count, kChunks);
  EXPECT_EQ(header.first_fill, 1);
  EXPECT_EQ(header.next_fill, 1);
  for (const uint64_t fill : {1, 2}) {
    EXPECT_EQ(format::ChunkFill(ring.Claim(1, 1, false)[format::kChunkState]), fill);
    EXPECT_EQ(header.next_fill, fill + 1);
  }
  // A word and a link of each, and a bit.
  EXPECT_GE(MappedBytes() - counted, size_t{kChunks} * (8 + 4) + kChunks / 8);
  ring.Unmap();
}

TEST_F(RingTest, PagesAreTakenWhole) {
  const std::pair<size_t, size_t> kAll[] = {
      {1, 1}, {kPageBytes - 1, 1}, {kPageBytes, 1}, {kPageBytes + 1, 2}, {2 * kPageBytes, 2}};
  for (const auto& [bytes, pages] : kAll) {
    const size_t counted = MappedBytes();
    void* const memory = MapPages(bytes);
    EXPECT_EQ(MappedBytes() - counted, pages * kPageBytes) << bytes;
    UnmapPages(memory, bytes);
    EXPECT_EQ(MappedBytes(), counted) << bytes;
  }
}

TEST_F(RingTest, PagesThatWereGivenBackAreNotMapped) {
  const long before = MappedPages();
  const size_t counted = MappedBytes();
  for (int i = 0; i < 100; ++i) {
    void* const memory = MapPages(100'000);
    ASSERT_NE(memory, nullptr);
    EXPECT_GE(MappedBytes(), counted + 100'000);
    UnmapPages(memory, 100'000);
  }
  EXPECT_EQ(MappedBytes(), counted);
  EXPECT_LT(MappedPages() - before, 100);
}

}  // namespace
}  // namespace crosscut::record
