// For the tests of this folder: rings without a session, and recording into one.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "src/collect/clock.h"
#include "src/collect/recorder.h"

namespace crosscut::record::testing {

inline void InitOnce() {
  static const bool done = [] {
    ClockInit(false);
    Recorder::Get().Init();
    return true;
  }();
  (void)done;
}

class CollectTest : public ::testing::Test {
 protected:
  CollectTest() {
    InitOnce();
    char path[] = "/tmp/crosscut-collect-XXXXXX";
    dir_ = mkdtemp(path);
  }
  ~CollectTest() override {
    Recorder::Get().SetPhase(Phase::kOff, ClockNow());
    ClockInjectForTest(nullptr);
    std::filesystem::remove_all(dir_);
  }

  // Rings stay mapped: threads of other tests may hold positions in them.
  ChunkRing* NewRing(uint64_t chunks) {
    static std::vector<std::unique_ptr<ChunkRing>> rings;
    ChunkRing* ring = rings.emplace_back(std::make_unique<ChunkRing>()).get();
    int mark = -1;
    EXPECT_EQ(ring->Create((dir_ + "/ring").c_str(), chunks, {}, &mark), 0);
    close(mark);
    std::filesystem::remove(dir_ + "/ring");
    return ring;
  }
  ChunkRing* Record(uint64_t chunks) {
    ChunkRing* ring = NewRing(chunks);
    EXPECT_TRUE(Recorder::Get().BeginSession(ring, 4 << 20));
    Recorder::Get().SetPhase(Phase::kOn, ClockNow());
    return ring;
  }

  std::string dir_;
};

using Words = std::vector<uint64_t>;

// An event of a thread: its tick, its code and what follows.
struct Event {
  uint64_t tick;
  Words words;
  bool operator==(const Event&) const = default;
};
inline std::ostream& operator<<(std::ostream& out, const Event& event) {
  out << "at " << event.tick << ":";
  for (const uint64_t word : event.words) out << " " << std::hex << word << std::dec;
  return out;
}

// What threads have written, without their own first words; or the session.
inline std::vector<Event> EventsIn(const ChunkRing& ring, bool of_session = false) {
  std::vector<Event> out;
  for (uint32_t i = 0; i < ring.prepared(); ++i) {
    const uint64_t* chunk = ring.chunk(i);
    const uint64_t state = format::RingLoad(chunk[format::kChunkState]);
    if (format::ChunkState(state) < format::kChunkActive ||
        (chunk[format::kChunkTrack] == 0) != of_session) {
      continue;
    }
    const size_t end = format::PublishedEnd(chunk);
    for (size_t at = format::kRingChunkHeaderWords; at < end;) {
      const size_t n = format::EventLength({chunk, end}, at);
      if (n == 0) break;
      Event event = {chunk[at] >> 16, {chunk[at] & 0xffff}};
      event.words.insert(event.words.end(), chunk + at + 1, chunk + at + n);
      if (event.words[0] != format::kThread && event.words[0] != format::kThreadEnd) {
        out.push_back(event);
      }
      at += n;
    }
  }
  return out;
}

// Losses that the ring has counted, by whatever reason.
inline uint64_t SlotCounts(const ChunkRing& ring) {
  uint64_t sum = 0;
  for (size_t i = 0; i < format::kRingDropSlots; ++i) sum += ring.drop_slots()[i].count;
  return sum;
}

}  // namespace crosscut::record::testing
