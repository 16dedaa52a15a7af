// Recorded runs for tests, written word by word.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "src/base/file.h"
#include "src/base/testing/folder.h"
#include "src/format/log_writer.h"
#include "src/import/importer.h"

namespace crosscut::import {

inline constexpr uint64_t kFrom = 1000;  // tick 1000 = 0 ns; one tick is 2 ns

// The words of one stream, at times that are given in ns.
class Words {
 public:
  Words& At(uint64_t ns, uint64_t code, std::vector<uint64_t> payload = {}) {
    words.push_back((kFrom + ns / 2) << format::kCodeBits | code);
    words.insert(words.end(), payload.begin(), payload.end());
    return *this;
  }
  Words& Name(uint32_t id, const std::string& text, format::NameAttributes attributes = {}) {
    At(0, format::kName, {id, attributes.Pack(), text.size()});
    return Tail(text);
  }
  Words& Meta(const std::string& key, const std::string& value) {
    At(0, format::kMeta, {key.size(), value.size(), 0});
    return Tail(key).Tail(value);
  }
  Words& Thread(uint64_t ns, uint64_t track, uint64_t flags) {
    return At(ns, format::kThread, {track, 100 + track, flags, kFrom + ns / 2});
  }
  std::vector<uint64_t> words;

 private:
  Words& Tail(const std::string& text) {
    std::vector<uint64_t> tail((text.size() + 7) / 8);
    std::memcpy(tail.data(), text.data(), text.size());
    words.insert(words.end(), tail.begin(), tail.end());
    return *this;
  }
};

inline uint64_t TickOf(uint64_t ns) { return kFrom + ns / 2; }

class Native : public ::testing::Test {
 protected:
  Native() {
    std::ofstream(dir_ / "run.json")
        << R"({"format": 1, "started_realtime_ns": 7, "command": ["python", "a b.py"]})";
  }

  // Session words that every process writes: start and clock.
  Words Session() {
    Words session;
    session.At(0, format::kStart, {TickOf(0)});
    session.At(0, format::kAnchor, {format::kClockMonotonic, TickOf(0), 0, 10});
    session.At(1000, format::kAnchor, {format::kClockMonotonic, TickOf(1000), 1000, 20});
    return session;
  }

  void Write(const std::string& key, const Words& session, std::vector<Words> threads,
             bool finish = true) {
    auto file = base::OpenFile((dir_ / (key + ".crosscut")).string(), base::OpenMode::kCreateNew);
    ASSERT_TRUE(file.ok());
    format::LogIdentity identity;
    identity.nonce = ++nonce_;
    identity.pid = 4000000 + static_cast<int64_t>(nonce_);
    identity.start_tick = TickOf(0);
    auto log = format::LogWriter::Create(std::move(*file), identity);
    ASSERT_TRUE(log.ok());
    ASSERT_TRUE((*log)->AppendSession({0, 0, TickOf(0), session.words}).ok());
    for (uint32_t i = 0; i < threads.size(); ++i) {
      const format::Piece piece{0, 0, TickOf(0), threads[i].words};
      ASSERT_TRUE((*log)->AppendEvents(i + 1, {&piece, 1}).ok());
    }
    ASSERT_TRUE(!finish || (*log)->Finish().ok());
  }

  trace::Trace Read() {
    auto trace = Import(dir_.string());
    EXPECT_TRUE(trace.ok()) << trace.status().message();
    return trace.ok() ? std::move(*trace) : trace::Trace();
  }

  base::TestFolder folder_;
  const std::filesystem::path dir_ = folder_.path();
  uint64_t nonce_ = 0;
};

inline format::NameAttributes Attributes(format::Kind kind, format::Layer layer,
                                         uint32_t probe = 0) {
  format::NameAttributes attributes;
  attributes.kind = kind;
  attributes.layer = layer;
  attributes.probe = probe;
  return attributes;
}

}  // namespace crosscut::import
