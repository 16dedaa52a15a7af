// For the tests of the drain: one that writes a log, and what stands in that.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "crosscut/crosscut.h"
#include "src/collect/drain.h"
#include "src/collect/test_ring.h"
#include "src/format/log_reader.h"

namespace crosscut::record::testing {

inline constexpr uint32_t kName = format::kFirstNameCode;
inline constexpr size_t kWordsInChunk = format::kRingChunkWords - format::kRingChunkHeaderWords;

// An event of a log: its track (0: the session's), the low bits of its tick, code and payload.
struct Logged {
  uint32_t track;
  uint64_t tick;
  std::vector<uint64_t> words;
};

inline std::atomic<int> starts, passes, failures;
inline std::atomic<bool> hold;  // its thread, when a session starts
inline std::string failure;
inline int failure_number;

class DrainTest : public CollectTest {
 protected:
  DrainTest() {
    starts = passes = failures = 0;
    hold = false;
  }
  ~DrainTest() override {
    Recorder::Get().SetPhase(Phase::kOff, ClockNow());
    if (drain_->running()) drain_->Quit();
  }

  std::string log() const { return dir_ + "/log"; }

  void Start(DrainOptions options) {
    StartOn(options, open(log().c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  }
  void StartOn(DrainOptions options, int fd) {
    ASSERT_GE(fd, 0);
    options.identity.nonce = 9;
    if (*options.log_name == '\0') options.log_name = "log";
    options.on_start = [] {
      ++starts;
      while (hold) usleep(1000);
    };
    options.on_pass = [] { ++passes; };
    options.on_failure = [](const char* words, int number) {
      ++failures;
      failure = words;
      failure_number = number;
    };
    ASSERT_EQ(drain_->Start(options, fd), 0);
    EXPECT_TRUE(drain_->running());
    EXPECT_EQ(fcntl(fd, F_GETFD), -1) << "the program's number is free";
  }
  // Recording, with names in the session stream.
  ChunkRing* RecordAndDrain(uint64_t chunks) {
    ChunkRing* ring = Record(chunks);
    Recorder::Get().stream().PublishAllNames();
    DrainOptions options;
    options.ring = ring;
    Start(options);
    return ring;
  }
  void Flush() {
    drain_->Ask(Drain::kFlush);
    ASSERT_TRUE(drain_->Await(60'000));
  }
  void Quit() {
    Recorder::Get().SetPhase(Phase::kOff, ClockNow());
    drain_->Quit();
    EXPECT_FALSE(drain_->running());
  }

  std::vector<Logged> ReadLog(bool complete = true) {
    std::vector<Logged> out;
    auto reader = format::LogReader::Open(log());
    EXPECT_TRUE(reader.ok());
    if (!reader.ok()) return out;
    EXPECT_EQ((*reader)->complete(), complete);
    EXPECT_TRUE((*reader)->damage().empty());
    format::LogBatch batch;
    for (const format::LogChunk& chunk : (*reader)->chunks()) {
      EXPECT_TRUE((*reader)->Read(chunk, &batch).ok());
      uint32_t track = chunk.type == format::kChunkSession ? 0 : batch.track;
      size_t n = 0;
      for (size_t at = 0; at < batch.words.size(); at += n) {
        n = format::EventLength(batch.words, at);
        const uint64_t* word = batch.words.data() + at;
        const uint64_t code = word[0] & 0xffff;
        if (code == format::kThread) track = static_cast<uint32_t>(word[1]);
        Logged event = {track, word[0] >> 16, {code}};
        event.words.insert(event.words.end(), word + 1, word + n);
        out.push_back(event);
      }
    }
    return out;
  }

  static Drain* NewDrain() {  // it stays, as rings do
    static std::vector<std::unique_ptr<Drain>> drains;
    return drains.emplace_back(std::make_unique<Drain>()).get();
  }

  Drain* const drain_ = NewDrain();
};

// The names that a session stream tells: text to id, and attributes by id.
struct LoggedNames {
  std::multimap<std::string, uint64_t> ids;
  std::map<uint64_t, format::NameAttributes> attributes;
};
inline LoggedNames NamesIn(const std::vector<Logged>& events) {
  LoggedNames out;
  for (const Logged& event : events) {
    if (event.words[0] != format::kName) continue;
    const std::string text(reinterpret_cast<const char*>(event.words.data() + 4), event.words[3]);
    out.ids.emplace(text, event.words[1]);
    out.attributes[event.words[1]] = format::NameAttributes::Unpack(event.words[2]);
  }
  return out;
}

// Begins by name, by track.
inline std::map<uint64_t, std::map<uint32_t, uint64_t>> SpansIn(const std::vector<Logged>& events) {
  std::map<uint64_t, std::map<uint32_t, uint64_t>> out;
  for (const Logged& event : events) {
    if (event.words[0] >= kName) ++out[event.words[0]][event.track];
  }
  return out;
}

inline void MarkSpans(uint32_t name, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    crosscut_begin(name);
    crosscut_end();
  }
}

inline int64_t Ns(clockid_t id) {
  timespec t;
  clock_gettime(id, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

}  // namespace crosscut::record::testing
