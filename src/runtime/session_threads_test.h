// Sessions of tests, and what they wrote.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "crosscut/crosscut.h"
#include "src/base/testing/folder.h"
#include "src/collect/clock.h"
#include "src/format/run_reader.h"

namespace crosscut::record {

class SessionThreads : public testing::Test {
 protected:
  SessionThreads() {
    options_.struct_size = sizeof options_;
    options_.memory_bytes = 4 << 20;
    options_.plan = "full";
    options_.control_percent = 0;
    options_.budget_percent = -1;
    options_.seed = 1;
    Into("run");
  }
  ~SessionThreads() override { crosscut_stop(); }
  void Into(const std::string& run) {
    run_ = dir_ + "/" + run;
    options_.run_dir = run_.c_str();
  }
  void Start() { ASSERT_EQ(crosscut_start(&options_), CROSSCUT_OK) << crosscut_error(); }
  void StopAndFlush() {
    EXPECT_EQ(crosscut_stop(), CROSSCUT_OK) << crosscut_error();
    EXPECT_EQ(crosscut_flush(), CROSSCUT_OK) << crosscut_error();
  }
  base::TestFolder folder_;
  const std::string dir_ = folder_.path();
  std::string run_;
  crosscut_options options_ = {};
};

// Each event of a run's threads, with its full tick.
inline void ForEachEvent(
    const std::string& run,
    const std::function<void(uint64_t tick, std::span<const uint64_t> event)>& visit) {
  const auto reader = format::RunReader::Open(run);
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  for (format::ProcessReader* process : (*reader)->processes()) {
    const Status status = process->ForEachEvents([&](const format::WordBatch& batch) {
      format::TickReader clock(batch.base_tick);
      for (size_t at = 0, n = 0; at < batch.words.size(); at += n) {
        n = format::EventLength(batch.words, at);
        if (n == 0) break;
        visit(clock.Next(batch.words[at]), batch.words.subspan(at, n));
      }
      return Status();
    });
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

inline uint64_t CodeOf(std::span<const uint64_t> event) { return event[0] & format::kCodeMask; }

inline uint32_t Name(const std::string& text) {
  return crosscut_intern(text.data(), text.size(), CROSSCUT_SPAN, CROSSCUT_NATIVE, 0, 0);
}

// For those who wait for it.
template <class T>
void Set(std::atomic<T>* value, T to) {
  *value = to;
  value->notify_all();
}

}  // namespace crosscut::record
