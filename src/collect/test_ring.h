// For the tests of this folder: rings without a session, and recording into one.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
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

// Losses that the ring has counted, by whatever reason.
inline uint64_t SlotCounts(const ChunkRing& ring) {
  uint64_t sum = 0;
  for (size_t i = 0; i < format::kRingDropSlots; ++i) sum += ring.drop_slots()[i].count;
  return sum;
}

}  // namespace crosscut::record::testing
