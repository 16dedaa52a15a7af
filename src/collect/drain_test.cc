// The drain beside threads that record: what it puts into the log, and what it does when asked.
#include "src/collect/drain.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "crosscut/crosscut.h"
#include "src/base/time.h"
#include "src/collect/test_ring.h"
#include "src/format/log_reader.h"

namespace crosscut::record {
namespace {

using testing::CollectTest;
using testing::SlotCounts;

constexpr uint32_t kName = format::kFirstNameCode;
constexpr size_t kWordsInChunk = format::kRingChunkWords - format::kRingChunkHeaderWords;

// An event of a log: its track (0: the session's), the low bits of its tick, code and payload.
struct Logged {
  uint32_t track;
  uint64_t tick;
  std::vector<uint64_t> words;
};

std::atomic<int> starts, passes, failures;
std::string failure;
int failure_number;

class DrainTest : public CollectTest {
 protected:
  DrainTest() { starts = passes = failures = 0; }
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
    options.on_start = [] { ++starts; };
    options.on_pass = [] { ++passes; };
    options.on_failure = [](const char* words, int number) {
      ++failures;
      failure = words;
      failure_number = number;
    };
    ASSERT_EQ(drain_->Start(options, fd), 0);
    EXPECT_TRUE(drain_->running());
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
struct Names {
  std::multimap<std::string, uint64_t> ids;
  std::map<uint64_t, format::NameAttributes> attributes;
};
Names NamesIn(const std::vector<Logged>& events) {
  Names out;
  for (const Logged& event : events) {
    if (event.words[0] != format::kName) continue;
    const std::string text(reinterpret_cast<const char*>(event.words.data() + 4), event.words[3]);
    out.ids.emplace(text, event.words[1]);
    out.attributes[event.words[1]] = format::NameAttributes::Unpack(event.words[2]);
  }
  return out;
}

// Begins by name, by track.
std::map<uint64_t, std::map<uint32_t, uint64_t>> SpansIn(const std::vector<Logged>& events) {
  std::map<uint64_t, std::map<uint32_t, uint64_t>> out;
  for (const Logged& event : events) {
    if (event.words[0] >= kName) ++out[event.words[0]][event.track];
  }
  return out;
}

void MarkSpans(uint32_t name, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    crosscut_begin(name);
    crosscut_end();
  }
}

int64_t Ns(clockid_t id) {
  timespec t;
  clock_gettime(id, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

TEST_F(DrainTest, WhatThreadsMark_StandsInTheLogWhenItQuits) {
  RecordAndDrain(32);
  constexpr uint64_t kSpans = 50'000;
  std::vector<std::thread> threads;  // each marks a name of its own
  for (uint32_t name = kName; name < kName + 2; ++name) {
    threads.emplace_back([name] {
      for (uint64_t i = 0; i < kSpans / 1000; ++i) {
        MarkSpans(name, 1000);
        usleep(1000);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Flush();
  Quit();
  auto spans = SpansIn(ReadLog());
  ASSERT_EQ(spans[kName].size(), 1);
  ASSERT_EQ(spans[kName + 1].size(), 1);
  EXPECT_NE(spans[kName].begin()->first, spans[kName + 1].begin()->first);
  EXPECT_EQ(spans[kName].begin()->second, kSpans);
  EXPECT_EQ(spans[kName + 1].begin()->second, kSpans);
}

// Threads that end leave chunks in which others go on: those of two tracks.
TEST_F(DrainTest, ChunksThatSeveralThreadsWrote_GiveEachItsOwnInOrder) {
  RecordAndDrain(128);
  constexpr uint32_t kThreads = 300, kLong = kName + kThreads;
  // All that is marked has room in the ring, however slow the drain is.
  std::atomic<uint32_t> begun{0};
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      for (uint32_t turn = 0; turn < kThreads; ++turn) {
        while (begun <= turn) usleep(50);
        MarkSpans(kLong + i, 100);
      }
    });
  }
  for (uint32_t i = 0; i < kThreads; ++i) {
    ++begun;
    std::thread(MarkSpans, kName + i, 1 + i % 70 * 10).join();
    if (i % 50 == 0) Flush();
  }
  for (std::thread& thread : threads) thread.join();
  Quit();
  const std::vector<Logged> events = ReadLog();
  auto spans = SpansIn(events);
  std::set<uint32_t> tracks;
  for (uint32_t i = 0; i < kThreads; ++i) {
    ASSERT_EQ(spans[kName + i].size(), 1) << i;
    EXPECT_EQ(spans[kName + i].begin()->second, 1 + i % 70 * 10);
    tracks.insert(spans[kName + i].begin()->first);
  }
  EXPECT_EQ(tracks.size(), kThreads);
  for (const uint32_t name : {kLong, kLong + 1}) {
    EXPECT_EQ(spans[name].begin()->second, 100 * kThreads);
  }
  std::map<uint32_t, uint64_t> last;
  std::map<uint32_t, int> ended;
  for (const Logged& event : events) {
    if (event.track == 0) continue;
    EXPECT_GE(event.tick, last[event.track]) << "track " << event.track;
    last[event.track] = event.tick;
    ended[event.track] += static_cast<int>(event.words[0] == format::kThreadEnd);
  }
  int ends = 0;
  for (const uint32_t track : tracks) {
    EXPECT_LE(ended[track], 1);
    ends += ended[track];
  }
  EXPECT_GE(ends, int{kThreads} - 30) << "who finds a chunk full to its last words tells none";
}

TEST_F(DrainTest, EachFlushAnchorsBothClocks_AndOtherPassesOneASecond) {
  struct Reading {
    uint64_t tick;
    int64_t ns[2];
  };
  const auto read = [] { return Reading{ClockNow(), {Ns(CLOCK_MONOTONIC), Ns(CLOCK_REALTIME)}}; };
  constexpr size_t kFlushes = 5;
  const int64_t begin = Ns(CLOCK_MONOTONIC);
  RecordAndDrain(16);
  std::vector<std::pair<Reading, Reading>> around;
  for (size_t i = 0; i < kFlushes; ++i) {
    usleep(30'000);  // with passes of its own in between
    const Reading before = read();
    Flush();
    around.push_back({before, read()});
  }
  Quit();
  const int64_t seconds = (Ns(CLOCK_MONOTONIC) - begin) / 1'000'000'000;
  std::map<uint64_t, size_t> count;
  std::vector<size_t> met(2 * kFlushes);
  for (const Logged& event : ReadLog()) {
    if (event.words[0] != format::kAnchor) continue;
    ASSERT_EQ(event.words.size(), 5);
    const uint64_t clock = event.words[1];
    ++count[clock];
    const auto ns = static_cast<int64_t>(event.words[3]);
    const auto error = static_cast<int64_t>(event.words[4]);
    EXPECT_GT(error, 0);
    for (size_t i = 0; i < kFlushes; ++i) {
      const auto& [before, after] = around[i];
      if (event.words[2] < before.tick || event.words[2] > after.tick) continue;
      const size_t which = clock == format::kClockRealtime ? 1 : 0;
      EXPECT_GE(ns, before.ns[which]);
      EXPECT_LE(ns, after.ns[which]);
      ++met[2 * i + which];
    }
  }
  ASSERT_EQ(count.size(), 2);
  for (const size_t anchors : met) EXPECT_GE(anchors, 1);
  // Those of the flushes, of the first pass, of the end, and of each second.
  for (const auto& [clock, anchors] : count) EXPECT_LE(anchors, kFlushes + 2 + seconds);
}

TEST_F(DrainTest, WhatIsAskedIsDoneOnceAndTheProgramsHooksAreCalled) {
  RecordAndDrain(16);
  Flush();
  EXPECT_EQ(starts, 0);
  drain_->Ask(Drain::kStarted);
  ASSERT_TRUE(drain_->Await(60'000));
  EXPECT_EQ(starts, 1);
  drain_->Ask(Drain::kStarted | Drain::kFlush);
  ASSERT_TRUE(drain_->Await(60'000));
  EXPECT_EQ(starts, 2);
  const int before = passes;
  Flush();
  EXPECT_GT(passes, before);
  Quit();
  EXPECT_EQ(starts, 2);
  EXPECT_EQ(failures, 0);
}

TEST_F(DrainTest, ItsOwnWorkIsASpanOfOverheadOnATrackOfItsOwn) {
  RecordAndDrain(16);
  const uint64_t before = ClockNow();
  Flush();
  Flush();
  const uint64_t after = ClockNow();
  Quit();
  const std::vector<Logged> events = ReadLog();
  const Names names = NamesIn(events);
  std::set<uint64_t> spans;
  for (auto [at, end] = names.ids.equal_range("drain"); at != end; ++at) {
    const format::NameAttributes& name = names.attributes.at(at->second);
    if (name.kind != format::kKindSpan) continue;
    EXPECT_EQ(name.layer, format::kLayerOverhead);
    EXPECT_EQ(name.flags, 0);
    ASSERT_EQ(names.attributes.count(name.probe), 1) << "the probe has a name";
    const format::NameAttributes text = {format::kKindText};
    EXPECT_EQ(names.attributes.at(name.probe).Pack(), text.Pack());
    spans.insert(at->second);
  }
  ASSERT_EQ(spans.size(), 1);
  size_t inside = 0;
  uint64_t last = 0;
  uint32_t track = 0;
  for (const Logged& event : events) {
    if (event.words[0] == format::kThread && (event.words[3] & format::kThreadIsOurs) != 0) {
      track = event.track;
    }
    if (event.words[0] != format::kSpanAt || spans.count(event.words[1]) == 0) continue;
    EXPECT_EQ(event.track, track);
    EXPECT_GE(event.words[2], last) << "one after the other";
    EXPECT_GE(event.words[3], event.words[2]);
    last = event.words[3];
    inside += event.words[2] >= before && last <= after ? 1 : 0;
  }
  EXPECT_EQ(inside, 2) << "a span for each flush, and no other had anything to do";
}

TEST_F(DrainTest, TheProcessesUseIsCountedTwiceASecond) {
  [[maybe_unused]] const ChunkRing* ring = RecordAndDrain(16);
  const int64_t cpu = Ns(CLOCK_PROCESS_CPUTIME_ID), begin = Ns(CLOCK_MONOTONIC);
  Flush();
  Flush();  // too soon for another
  usleep(520'000);
  MarkSpans(kName, 100'000);
  Flush();
  long pages = 0;
  FILE* const file = fopen("/proc/self/statm", "re");
  ASSERT_EQ(fscanf(file, "%*d %ld", &pages), 1);
  fclose(file);
  const int64_t cpu_after = Ns(CLOCK_PROCESS_CPUTIME_ID);
  const int64_t took = Ns(CLOCK_MONOTONIC) - begin;
  Quit();
  const std::vector<Logged> events = ReadLog();
  const Names names = NamesIn(events);
  std::map<std::string, std::vector<std::pair<uint64_t, int64_t>>> counters;
  for (const Logged& event : events) {
    if (event.words[0] != format::kCounter) continue;
    for (const auto& [text, id] : names.ids) {
      if (id == event.words[1]) {
        counters[text].emplace_back(event.tick, static_cast<int64_t>(event.words[2]));
      }
    }
  }
  ASSERT_EQ(counters.size(), 2);
  for (const char* name : {"crosscut.cpu_ns", "crosscut.resident_bytes"}) {
    const auto& values = counters[name];
    const uint64_t id = names.ids.find(name)->second;
    EXPECT_EQ(names.attributes.at(id).Pack(), format::NameAttributes{}.Pack());
    EXPECT_GE(values.size(), 2);
    EXPECT_LE(values.size(), static_cast<size_t>(2 + took / 500'000'000));
    const double apart = 0.49e9 / ClockNsPerTick();
    for (size_t i = 1; i < values.size(); ++i) {
      EXPECT_GT(static_cast<double>(values[i].first - values[i - 1].first), apart);
    }
  }
  int64_t last = 0;
  for (const auto& [tick, ns] : counters["crosscut.cpu_ns"]) {
    EXPECT_GT(ns, last);
    last = ns;
  }
  EXPECT_GT(last, cpu);
  EXPECT_LT(last, cpu_after);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their memory comes and goes
  const int64_t rest = pages * sysconf(_SC_PAGESIZE) - int64_t{ring->prepared()} * 65536;
  EXPECT_NEAR(static_cast<double>(counters["crosscut.resident_bytes"].back().second),
              static_cast<double>(rest), 8 << 20);
#endif
}

// For eight passes like the busiest of late, and 16 at least: not for all that there ever was.
TEST_F(DrainTest, CleanChunksArePreparedForWhatIsClaimedBetweenItsPasses) {
  ChunkRing* ring = RecordAndDrain(1024);
  for (int round = 0; round < 60; ++round) {
    MarkSpans(kName, kWordsInChunk / 2 + 1);  // a chunk, and now and then another one
    Flush();
  }
  EXPECT_GE(ring->claimed(), 60u);
  EXPECT_GE(ring->clean(), 16u);
  EXPECT_LE(ring->clean(), 64u);
  Quit();
}

// One session after the other, by one drain: each as if it were the first.
TEST_F(DrainTest, ALogThatCannotBeWrittenIsToldAndTheNextOneIsWritten) {
  for (int round = 1; round <= 2; ++round) {
    DrainOptions options;
    options.ring = Record(32);
    StartOn(options, open("/dev/full", O_RDWR | O_CLOEXEC));
    MarkSpans(kName, 100);
    Flush();
    Flush();
    Quit();
    EXPECT_EQ(failures, round);
    EXPECT_EQ(failure_number, ENOSPC);
    EXPECT_EQ(options.ring->header()->failed_errno, uint32_t{ENOSPC});
    EXPECT_NE(options.ring->header()->failed_at_byte, 0u);

    ChunkRing* ring = RecordAndDrain(32);
    for (int i = 0; i < 3; ++i) MarkSpans(kName + 1, 100);
    Flush();
    Quit();
    EXPECT_EQ(failures, round);
    EXPECT_EQ(ring->header()->failed_at_byte, 0u);
    auto spans = SpansIn(ReadLog());
    EXPECT_EQ(spans.count(kName), 0u) << "of the session before";
    ASSERT_EQ(spans[kName + 1].size(), 1u);
    EXPECT_EQ(spans[kName + 1].begin()->second, 300u);
    std::filesystem::remove(log());
  }
}

TEST_F(DrainTest, WhereTheLogWasRemovedThatIsToldOnceAndTheRingGoes) {
  ChunkRing* ring = Record(16);
  const std::string ring_file = dir_ + "/named";
  fclose(fopen(ring_file.c_str(), "we"));
  DrainOptions options;
  options.ring = ring;
  options.ring_name = ring_file.c_str();
  Start(options);
  Flush();
  EXPECT_EQ(access(ring_file.c_str(), F_OK), 0);
  EXPECT_EQ(ring->header()->failed_at_byte, 0);
  unlink(log().c_str());
  Flush();
  Flush();
  EXPECT_NE(access(ring_file.c_str(), F_OK), 0);
  EXPECT_EQ(failures, 1);
  EXPECT_EQ(failure, "log: the log was removed");
  EXPECT_EQ(failure_number, 0);
  EXPECT_GE(ring->header()->failed_at_byte, format::kLogHeaderBytes);
  Quit();
  EXPECT_EQ(failures, 1);
  EXPECT_NE(ring->header()->state, uint64_t{format::kRingFinished});
}

TEST_F(DrainTest, AtTheEndTheRingOfARemovedRunGoesAndAllThatNothingWasRecordedInto) {
  for (const auto& [request, removed] :
       {std::pair(Drain::kLook, false), {Drain::kLook, true}, {Drain::kDiscard, false}}) {
    ChunkRing* ring = Record(16);
    const std::string ring_file = dir_ + "/named", log_file = log();
    fclose(fopen(ring_file.c_str(), "we"));
    DrainOptions options;
    options.ring = ring;
    options.ring_name = ring_file.c_str();
    options.log_name = log_file.c_str();
    Start(options);
    Recorder::Get().SetPhase(Phase::kOff, ClockNow());
    if (removed) unlink(log_file.c_str());
    drain_->Ask(request);
    ASSERT_TRUE(drain_->Await(60'000));
    const bool goes = removed || request == Drain::kDiscard;
    EXPECT_EQ(access(ring_file.c_str(), F_OK) != 0, goes);
    EXPECT_EQ(access(log_file.c_str(), F_OK) != 0, goes);
    Quit();
    EXPECT_EQ(failures, 0);
    EXPECT_EQ(ring->header()->state == uint64_t{format::kRingFinished}, !goes);
    unlink(log_file.c_str());
  }
}

TEST_F(DrainTest, WhatItLeavesStaysInTheRingAndTheLogIsNotComplete) {
  for (const bool written_on : {true, false}) {
    ChunkRing* ring = RecordAndDrain(16);
    format::RingStore(ring->header()->marks_use, uint64_t{1});
    MarkSpans(kName, 10);
    drain_->Leave(written_on);
    EXPECT_FALSE(drain_->running());
    EXPECT_EQ(ring->header()->marks_use, written_on ? 0 : 1);
    EXPECT_FALSE(ring->Drained());
    EXPECT_EQ(SpansIn(ReadLog(false)).count(kName), 0);
    unlink(log().c_str());
  }
}

// Whatever the program opens and closes: the log, the ring's mark, and nothing else.
TEST_F(DrainTest, ItHasDescriptorsOfItsOwnThatStandHigh) {
  DrainOptions options;
  options.ring = Record(16);
  Recorder::Get().SetPhase(Phase::kOff, ClockNow());  // it opens no files of its own then
  options.mark = open((dir_ + "/mark").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  const int mark = options.mark;
  Start(options);
  EXPECT_EQ(fcntl(mark, F_GETFD), -1) << "the program's number is free";
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  std::map<int, std::string> files;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    char name[32] = {};
    FILE* const comm = fopen((task.path() / "comm").c_str(), "re");
    if (comm == nullptr || fgets(name, sizeof name, comm) == nullptr) name[0] = '\0';
    if (comm != nullptr) fclose(comm);
    if (std::string(name) != "crosscut-drain\n") continue;
    for (const auto& fd : std::filesystem::directory_iterator(task.path() / "fd")) {
      files[std::stoi(fd.path().filename())] = std::filesystem::read_symlink(fd.path());
    }
  }
  const auto least = static_cast<int>(std::min<rlim_t>(limit.rlim_cur / 2, 4096));
  ASSERT_EQ(files.size(), 2u);
  EXPECT_GE(files.begin()->first, least);
  EXPECT_LT(files.rbegin()->first, least + 2);
  EXPECT_EQ(files.begin()->second, log());
  EXPECT_EQ(files.rbegin()->second, dir_ + "/mark");
  Quit();
}

// By the clock: what is younger is there, and of the older what stands in the same chunk.
TEST_F(DrainTest, ASnapshotOfSoMuchTimeReachesBackSoFar) {
  static std::atomic<uint64_t> now;
  constexpr uint64_t kSpans = 6 * kWordsInChunk, kKeep = kSpans;  // half of the ticks
  now = 1'000'000;
  ClockInjectForTest([] { return ++now; });
  ChunkRing* ring = NewRing(24);
  ring->KeepNewest();
  ASSERT_TRUE(Recorder::Get().BeginSession(ring, 4 << 20));
  Recorder::Get().SetPhase(Phase::kOn, ClockNow());
  DrainOptions options;
  options.ring = ring;
  options.flight_recorder = true;
  options.keep_ticks = kKeep;
  Start(options);
  std::thread(MarkSpans, kName, kSpans).join();
  const uint64_t before = now;
  Flush();
  const uint64_t after = now;
  Quit();
  uint64_t first = UINT64_MAX, last = 0, events = 0;
  for (const Logged& event : ReadLog()) {
    if (event.words[0] != kName && event.words[0] != format::kEnd) continue;
    first = std::min(first, event.tick);
    last = std::max(last, event.tick);
    ++events;
  }
  EXPECT_EQ(events + SlotCounts(*ring), 2 * kSpans);
  EXPECT_LE(first, after - kKeep);
  EXPECT_GT(first, before - kKeep - kWordsInChunk - 5000) << "a chunk, and who else took ticks";
  EXPECT_LT(last, before);
}

TEST_F(DrainTest, ASnapshotHoldsAllThatIsKeptOrTheNewestOfIt) {
  constexpr uint64_t kSpans = 6 * kWordsInChunk;
  for (const uint64_t keep_ticks : {uint64_t{0}, uint64_t{1}, UINT64_MAX}) {
    ChunkRing* ring = NewRing(24);
    ring->KeepNewest();
    ASSERT_TRUE(Recorder::Get().BeginSession(ring, 4 << 20));
    Recorder::Get().SetPhase(Phase::kOn, ClockNow());
    DrainOptions options;
    options.ring = ring;
    options.flight_recorder = true;
    options.keep_ticks = keep_ticks;
    Start(options);
    const uint64_t begin = ClockNow();
    std::thread(MarkSpans, kName, kSpans).join();
    Flush();
    Quit();
    auto spans = SpansIn(ReadLog());
    ASSERT_EQ(spans[kName].size(), 1);
    const uint64_t kept = spans[kName].begin()->second;
    if (keep_ticks == 1) {
      EXPECT_GE(kept, 1);
      EXPECT_LE(kept, kWordsInChunk) << "two chunks, each with as many begins as ends";
    } else {
      EXPECT_EQ(kept, kSpans) << keep_ticks << " since " << begin;
      EXPECT_EQ(SlotCounts(*ring), 0);
    }
    if (keep_ticks == 1) {
      uint64_t events = 0;
      for (const Logged& event : ReadLog()) {
        events += event.words[0] == kName || event.words[0] == format::kEnd ? 1 : 0;
      }
      EXPECT_EQ(events + SlotCounts(*ring), 2 * kSpans);
    }
    unlink(log().c_str());
  }
}

}  // namespace
}  // namespace crosscut::record
