#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <map>

#include "src/base/fault_point.h"
#include "src/format/layout.h"
#include "src/format/log_writer.h"
#include "src/format/process_state.h"
#include "src/format/reap.h"
#include "src/format/ring_mapping.h"
#include "src/format/run_json.h"
#include "src/format/run_reader.h"
#include "src/format/test_words.h"

namespace crosscut::format {
namespace {

using testing::RingBuilder;
using testing::ThreadWords;
using testing::Word;

constexpr uint64_t kNonce = 4242;
using Stream = std::map<uint32_t, std::vector<uint64_t>>;  // words by track

// A run directory with one dead process that had drained a part of its ring.
class RunTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/crosscut_run_XXXXXX";
    dir_ = mkdtemp(pattern);
    std::ofstream(dir_ + "/run.json") << R"({"format": 1, "command": "a \"ring_dir\": b"})";
  }
  void TearDown() override { [[maybe_unused]] int rc = system(("rm -rf '" + dir_ + "'").c_str()); }

  static std::vector<uint64_t> Spans(uint32_t track, uint64_t from, int count) {
    std::vector<uint64_t> words = ThreadWords(track, from);
    for (int i = 0; i < count; ++i) {
      words.push_back(Word(from + 2 * static_cast<uint64_t>(i) + 1, 0x100));
      words.push_back(Word(from + 2 * static_cast<uint64_t>(i) + 2, kEnd));
    }
    return words;
  }
  static std::vector<uint64_t> Name(uint64_t id) { return {Word(1, kName), id, 0, 4, 0x64636261}; }

  std::string LogPath() const { return dir_ + "/p1-1.crosscut"; }
  std::string WriteRing(RingBuilder* ring, const char* suffix = "") const {
    struct stat info;
    stat(dir_.c_str(), &info);
    ring->header().run_device = info.st_dev;
    ring->header().run_inode = info.st_ino;
    const std::string path = RingPath(dir_, ring->header().pid, ring->header().nonce);
    WriteBytes(path + suffix, ring->bytes());
    return path;
  }
  static void WriteBytes(const std::string& path, const std::vector<char>& bytes) {
    std::ofstream(path, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

  // Log: names, fill 2 whole, the first half of fill 3. Ring: session fill 1, fills 2 and 3 whole,
  // fill 4 of two threads. Three of track 7 and one of track 8 stand in the stream in the end.
  void MakeRun(bool with_log = true) {
    RingBuilder ring(8, kNonce);
    const auto names = Name(0x100);
    const auto a = Spans(7, 1000, 100), b = Spans(7, 2000, 100);
    auto c = Spans(7, 3000, 50);
    const auto d = Spans(8, 4000, 50);
    c.insert(c.end(), d.begin(), d.end());
    const uint64_t f1 = ring.Fill(0, 0, 1, names);
    const uint64_t f2 = ring.Fill(1, 7, 1000, a, kChunkFull);
    const uint64_t f3 = ring.Fill(2, 7, 2000, b);
    ring.Fill(5, 7, 3000, c);
    ring.drop(3) = {7 + 1, kDropFull, 12, 500, 600, {}};
    for (const auto* part : {&a, &b}) Add(&expected_[7], *part);
    Add(&expected_[7], Spans(7, 3000, 50));
    Add(&expected_[7], {Word(600, kDrop), kDropFull, 12, 500, 600});
    Add(&expected_[8], d);
    WriteRing(&ring);
    if (!with_log) return;
    auto file = base::OpenFile(LogPath(), base::OpenMode::kCreateNew);
    LogIdentity identity;
    identity.nonce = kNonce;
    identity.pid = ring.header().pid;
    auto writer = std::move(*LogWriter::Create(std::move(*file), identity));
    Piece piece = {f1, kRingChunkHeaderWords, 1, names};
    ASSERT_TRUE(writer->AppendSession(piece).ok());
    piece = {f2, kRingChunkHeaderWords, 1000, a};
    ASSERT_TRUE(writer->AppendEvents(7, {&piece, 1}).ok());
    piece = {f3, kRingChunkHeaderWords, 2000, std::span(b).first(105)};
    ASSERT_TRUE(writer->AppendEvents(7, {&piece, 1}).ok());
  }

  // A process that is gone: its ring in this state, with a name and these words of its session; all
  // in its log, too, where `logged`.
  void Leave(uint32_t state, const std::vector<uint64_t>& words, bool logged) const {
    RingBuilder ring(2, kNonce);
    ring.header().state = state;
    ring.header().drain_tick = 95;
    std::vector<uint64_t> session = Name(0x100);
    Add(&session, words);
    const Piece piece = {ring.Fill(0, 0, 1, session), kRingChunkHeaderWords, 1, session};
    WriteRing(&ring);
    if (!logged) return;
    auto file = base::OpenFile(LogPath(), base::OpenMode::kCreateNew);
    const LogIdentity identity = {kNonce, ring.header().pid};
    auto writer = std::move(*LogWriter::Create(std::move(*file), identity));
    ASSERT_TRUE(writer->AppendSession(piece).ok());
  }

  // All words of sessions, as bytes, and whether the last one was over.
  std::string SessionText(bool* over) const {
    std::string text;
    const auto run = RunReader::Open(dir_);
    EXPECT_TRUE(run.ok());
    for (ProcessReader* process : (*run)->processes()) {
      const auto take = [&text](const WordBatch& batch) {
        text.append(reinterpret_cast<const char*>(batch.words.data()), batch.words.size_bytes());
        return Status();
      };
      EXPECT_TRUE(process->ForEachSession(take).ok());
      *over = process->info().stopped;
    }
    return text;
  }

  static void Add(std::vector<uint64_t>* to, const std::vector<uint64_t>& words) {
    to->insert(to->end(), words.begin(), words.end());
  }

  Stream ReadStream(size_t* session_words = nullptr) const {
    Stream stream;
    auto run = RunReader::Open(dir_);
    EXPECT_TRUE(run.ok()) << run.status().message();
    if (!run.ok()) return stream;
    size_t session = 0;
    for (ProcessReader* process : (*run)->processes()) {
      EXPECT_TRUE(process
                      ->ForEachSession([&](const WordBatch& batch) {
                        session += batch.words.size();
                        return Status();
                      })
                      .ok());
      EXPECT_TRUE(process
                      ->ForEachEvents([&](const WordBatch& batch) {
                        TickReader clock(batch.base_tick);
                        auto& words = stream[batch.track];
                        words.insert(words.end(), batch.words.begin(), batch.words.end());
                        return Status();
                      })
                      .ok());
    }
    if (session_words != nullptr) *session_words = session;
    return stream;
  }

  // Makes its log, then its ring, then the log's header, as a recorder does, and ends.
  [[noreturn]] void LiveForAnInstant(uint32_t track) const {
    const base::ProcessIdentity self = base::ThisProcess();
    RingBuilder ring(1, track);
    RingHeader& header = ring.header();
    header.pid = self.pid;
    header.pid_start = self.start;
    ring.Fill(0, track, 1000, Spans(track, 1000, 1));
    const std::string name = "p" + std::to_string(self.pid) + "-" + std::to_string(track);
    snprintf(header.log_name, sizeof header.log_name, "%s.crosscut", name.c_str());
    auto file = base::OpenFile(dir_ + "/" + header.log_name, base::OpenMode::kCreateNew);
    const std::string path = WriteRing(&ring, ".making");
    rename((path + ".making").c_str(), path.c_str());
    const bool made = LogWriter::Create(std::move(*file), {track, self.pid, self.start}).ok();
    _exit(made ? 0 : 1);
  }

  // Reaps in a child with a fault armed; returns its wait status.
  int ReapInChild(const char* fault) const {
    const pid_t child = fork();
    if (child == 0) {
#ifdef CROSSCUT_FAULT_POINTS
      setenv("CROSSCUT_FAULT", fault, 1);
      base::FaultPointsReload();
#else
      (void)fault;
#endif
      _exit(ReapRun(dir_).ok() ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
  }

  std::string dir_;
  Stream expected_;
};

TEST_F(RunTest, MergesLogAndRingWithEachWordOnce) {
  MakeRun();
  size_t session = 0;
  EXPECT_EQ(ReadStream(&session), expected_);
  EXPECT_EQ(session, Name(0x100).size());
  auto run = RunReader::Open(dir_);
  ProcessReader* process = (*run)->processes().at(0);
  EXPECT_EQ(process->info().liveness, base::Liveness::kDead);
  EXPECT_FALSE(process->info().complete());
  EXPECT_TRUE(process->damage().empty());
}

TEST_F(RunTest, FindsAProcessThatDiedBeforeItsLogWasBegun) {
  MakeRun(false);
  EXPECT_EQ(ReadStream(), expected_);
  WriteBytes(LogPath(), std::vector<char>(10, 'x'));
  EXPECT_EQ(ReadStream(), expected_) << "a torn log header";
}

TEST_F(RunTest, ReapingMovesEverythingIntoTheLog) {
  MakeRun();
  auto report = ReapRun(dir_);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->finished, 1u);
  EXPECT_EQ(report->rings_deleted, 1u);
  ASSERT_EQ(report->processes.size(), 1u);
  EXPECT_EQ(report->processes[0].problem, "");
  EXPECT_TRUE(ListRings(dir_).empty());
  EXPECT_EQ(ReadStream(), expected_);
  auto again = ReapRun(dir_);
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->processes.empty());
  auto run = RunReader::Open(dir_);
  const ProcessInfo& info = (*run)->processes().at(0)->info();
  EXPECT_TRUE(info.finished);
  EXPECT_FALSE(info.has_ring);
  EXPECT_FALSE(info.stopped);
  EXPECT_EQ(info.liveness, base::Liveness::kUnknown);
  EXPECT_EQ(info.problem, "");
}

// Whether its session was over is what the session's last words say, or else the ring's state.
TEST_F(RunTest, OfAReapedProcessItIsToldWhenItWasLastSeenUnlessItsSessionWasOver) {
  struct Case {
    uint32_t state;
    std::vector<uint64_t> session;
    bool over;
  };
  const std::vector<uint64_t> started = {Word(10, kStart), 10},
                              stopped = {Word(10, kStart), 10, Word(90, kStop), 0},
                              again = {Word(10, kStop), 0, Word(90, kStart), 90};
  const std::vector<Case> cases = {{kRingPreparing, {}, false},      {kRingDormant, {}, true},
                                   {kRingRecording, {}, false},      {kRingPaused, {}, false},
                                   {kRingStopped, {}, true},         {kRingFinished, {}, true},
                                   {kRingRecording, started, false}, {kRingPaused, started, false},
                                   {kRingRecording, stopped, true},  {kRingStopped, stopped, true},
                                   {kRingRecording, again, false}};
  for (const Case& one : cases) {
    for (const bool logged : {false, true}) {
      SCOPED_TRACE(::testing::Message() << one.state << ", " << one.session.size() << " words"
                                        << (logged ? " in the log" : ""));
      Leave(one.state, one.session, logged);
      const auto report = ReapRun(dir_);
      ASSERT_TRUE(report.ok());
      ASSERT_EQ(report->processes.size(), 1u);
      EXPECT_FALSE(report->processes[0].alive);
      EXPECT_EQ(report->finished, 1u);
      bool over = false;
      const std::string told = SessionText(&over);
      EXPECT_EQ(told.find("last_seen") == std::string::npos, one.over);
      EXPECT_NE(told.find("abcd"), std::string::npos);
      EXPECT_EQ(over, one.over && !one.session.empty());  // by the words; the ring is gone
      TearDown();
      SetUp();
    }
  }
}

TEST_F(RunTest, ReapingBeginsTheLogOfAProcessThatHadNone) {
  MakeRun(false);
  auto report = ReapRun(dir_);
  ASSERT_TRUE(report.ok() && report->finished == 1) << report->processes.at(0).problem;
  EXPECT_EQ(ReadStream(), expected_);
}

// Whatever a process did between the looks at rings, logs and the living.
TEST_F(RunTest, ReapingLosesNothingOfProcessesThatLiveForAnInstant) {
  constexpr uint32_t kProcesses = 150;
  const pid_t maker = fork();
  if (maker == 0) {
    for (uint32_t track = 1; track <= kProcesses; ++track) {
      if (fork() == 0) LiveForAnInstant(track);
      wait(nullptr);
    }
    _exit(0);
  }
  while (waitpid(maker, nullptr, WNOHANG) == 0) EXPECT_TRUE(ReapRun(dir_).ok());
  ASSERT_TRUE(ReapRun(dir_).ok());
  const Stream stream = ReadStream();
  for (uint32_t track = 1; track <= kProcesses; ++track) {
    const auto found = stream.find(track);
    EXPECT_TRUE(found != stream.end() && found->second == Spans(track, 1000, 1)) << track;
  }
}

TEST_F(RunTest, ReapingLeavesTheLivingAlone) {
  MakeRun(false);
  RingBuilder alive(1, 77);
  const base::ProcessIdentity self = base::ThisProcess();
  alive.header().pid = self.pid;
  alive.header().pid_start = self.start;
  strcpy(alive.header().log_name, "p2-2.crosscut");
  const std::string path = WriteRing(&alive);
  auto mapping = RingMapping::Open(path);
  ASSERT_TRUE(mapping.ok()) << mapping.status().message();
  auto report = ReapRun(dir_);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->rings_deleted, 1u);
  EXPECT_EQ(ListRings(dir_), std::vector<std::string>{path});
  { RingMapping gone = std::move(*mapping); }
  ASSERT_EQ(ReapRun(dir_)->rings_deleted, 1u) << "no longer mapped: its image was replaced";
}

#ifdef CROSSCUT_FAULT_POINTS
TEST_F(RunTest, ReapingKilledAnywhereAndRunAgainLosesAndDoublesNothing) {
  for (const char* point : {"log.write.before", "log.write.half", "log.write.after", "reap.opened",
                            "reap.appended", "reap.delete"}) {
    for (int nth = 1; nth < 12; ++nth) {
      MakeRun(nth % 2 == 0);
      const std::string fault = std::string(point) + ":" + std::to_string(nth) + ":kill";
      const int status = ReapInChild(fault.c_str());
      ASSERT_TRUE(nth > 1 || WIFSIGNALED(status)) << fault << " was never passed";
      ASSERT_EQ(ReadStream(), expected_) << fault << ", read as it was left";
      auto report = ReapRun(dir_);
      ASSERT_TRUE(report.ok());
      ASSERT_EQ(ReadStream(), expected_) << fault << ", reaped again";
      ASSERT_TRUE(ListRings(dir_).empty()) << fault;
      ASSERT_TRUE((*RunReader::Open(dir_))->processes().at(0)->info().finished) << fault;
      TearDown();
      SetUp();
      expected_.clear();
      if (WIFEXITED(status)) break;
    }
  }
}

TEST_F(RunTest, TwoReapersAtOnceDoTheWorkOnce) {
  MakeRun();
  const pid_t child = fork();
  if (child == 0) _exit(WEXITSTATUS(ReapInChild("reap.opened:1:pause200")));
  usleep(50000);
  auto report = ReapRun(dir_);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(ReadStream(), expected_);
}
#endif

TEST_F(RunTest, HostileRingsAreRefusedOrReadWithoutHarm) {
  std::mt19937_64 random(11);
  const auto words = Spans(7, 1000, 200);
  for (int round = 0; round < 400; ++round) {
    RingBuilder ring(3, kNonce);
    ring.Fill(0, 0, 1, Name(0x100));
    ring.Fill(1, 7, 1000, words);
    struct stat info;
    stat(dir_.c_str(), &info);
    ring.header().run_device = info.st_dev;
    ring.header().run_inode = info.st_ino;
    auto& bytes = ring.bytes();
    for (int i = 0; i < 4; ++i) {
      const size_t areas[] = {256, 1024, kRingHeaderBytes + 512,
                              kRingHeaderBytes + kRingChunkBytes + 512};
      const size_t limit = areas[random() % 4];
      bytes[limit - 256 + random() % 256] = static_cast<char>(random());
    }
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    WriteBytes(RingPath(dir_, ring.header().pid, kNonce), bytes);
    auto run = RunReader::Open(dir_);
    ASSERT_TRUE(run.ok());
    for (ProcessReader* process : (*run)->processes()) {
      size_t visited = 0;
      ASSERT_TRUE(process
                      ->ForEachEvents([&](const WordBatch& batch) {
                        visited += batch.words.size();
                        return Status();
                      })
                      .ok());
      ASSERT_LE(visited, 3 * kRingChunkWords);
    }
  }
}

TEST_F(RunTest, ARingLongerThanItsFileSaysWhatIsMissing) {
  RingBuilder ring(8, kNonce);
  ring.Fill(0, 7, 1000, Spans(7, 1000, 10));
  ring.bytes().resize(kRingHeaderBytes + 2 * kRingChunkBytes);
  const std::string path = WriteRing(&ring);
  auto snapshot = RingSnapshot::Read(path);
  ASSERT_TRUE(snapshot.ok()) << snapshot.status().message();
  EXPECT_EQ(snapshot->missing_chunks, 6u);
  EXPECT_EQ(snapshot->chunks.size(), 1u);
  ring.bytes().resize(kRingHeaderBytes);  // a header exactly at the end is whole
  WriteRing(&ring);
  snapshot = RingSnapshot::Read(path);
  ASSERT_TRUE(snapshot.ok()) << snapshot.status().message();
  EXPECT_EQ(snapshot->missing_chunks, 8u);
  ring.bytes().pop_back();
  WriteRing(&ring);
  EXPECT_EQ(RingSnapshot::Read(path).status().code(), Status::Code::kCorrupt);
}

// A header that was cut off is written again; one that is whole and no log's is somebody's file.
TEST_F(RunTest, ReapingBeginsALogWhoseHeaderIsCutOffAndLeavesAnothersFile) {
  for (const size_t bytes : {kLogHeaderBytes - 1, kLogHeaderBytes}) {
    MakeRun(false);
    WriteBytes(LogPath(), std::vector<char>(bytes, 'x'));
    const auto report = ReapRun(dir_);
    ASSERT_TRUE(report.ok());
    EXPECT_EQ(report->finished, bytes < kLogHeaderBytes ? 1u : 0u);
    EXPECT_EQ(report->processes.at(0).problem.empty(), bytes < kLogHeaderBytes);
    TearDown();
    SetUp();
  }
}

TEST_F(RunTest, WordsOfAnEarlierSessionAreNotRead) {
  RingBuilder ring(3, kNonce);
  ring.Fill(0, 7, 1000, Spans(7, 1000, 10));
  ring.header().first_fill = ring.header().next_fill;
  ring.Fill(1, 7, 2000, Spans(7, 2000, 20));
  WriteRing(&ring);
  EXPECT_EQ(ReadStream()[7], Spans(7, 2000, 20));
}

TEST_F(RunTest, AThreadThatWentOnInAnOlderChunkIsReadInTheOrderOfItsEvents) {
  RingBuilder ring(3, kNonce);
  auto older = Spans(7, 1000, 10);
  const auto last = Spans(8, 3000, 10);
  Add(&older, last);
  ring.Fill(0, 7, 1000, older, kChunkFull);
  auto expected = Spans(8, 2000, 10);
  ring.Fill(1, 8, 2000, expected, kChunkFull);
  WriteRing(&ring);
  Add(&expected, last);
  EXPECT_EQ(ReadStream()[8], expected);
  EXPECT_EQ(ReadStream()[7], Spans(7, 1000, 10));
  ASSERT_TRUE(ReapRun(dir_).ok());
  EXPECT_EQ(ReadStream()[8], expected) << "in the log";
}

TEST_F(RunTest, DropsAlreadyToldAreNotToldTwice) {
  RingBuilder ring(1, kNonce);
  auto words = Spans(7, 1000, 1);
  Add(&words, {Word(1100, kDrop), kDropFull, 5, 1050, 1090});
  ring.Fill(0, 7, 1000, words);
  ring.drop(0) = {7 + 1, kDropFull, 5, 1050, 1090, {}};
  WriteRing(&ring);
  EXPECT_EQ(ReadStream()[7], words);
}

TEST_F(RunTest, AnotherRunsRingIsNotOurs) {
  MakeRun();
  RingBuilder other(1, 99);
  other.Fill(0, 9, 1, Spans(9, 1, 5));
  WriteRing(&other);
  other.header().run_inode ^= 1;
  WriteBytes(RingPath(dir_, other.header().pid, 99), other.bytes());
  EXPECT_EQ(ReadStream(), expected_);
}

TEST_F(RunTest, ARingLeftByARemovedRunWithTheSameDirectoryNumberIsNotOurs) {
  MakeRun();
  const int64_t began = time(nullptr) * int64_t{1'000'000'000} + 5'000'000'000;
  std::ofstream(dir_ + "/run.json") << R"({"format": 1, "started_realtime_ns": )" << began << "}";
  RingBuilder older(1, 99);
  older.Fill(0, 9, 1, Spans(9, 1, 5));
  older.header().anchor_realtime_ns = began - 1;
  older.header().pid = 7;
  strcpy(older.header().log_name, "p7-7.crosscut");
  WriteRing(&older);
  RingBuilder namesake(1, 98);  // as old as this run, but the log of its name is another's
  namesake.Fill(0, 9, 1, Spans(9, 1, 5));
  namesake.header().anchor_realtime_ns = began;
  WriteRing(&namesake);
  EXPECT_EQ((*RunReader::Open(dir_))->processes().size(), 1u);
  EXPECT_EQ(ReadStream(), expected_);
}

TEST(RunReader, SaysWhatIsNoRun) {
  EXPECT_EQ(RunReader::Open("/nonexistent-crosscut").status().code(), Status::Code::kNotFound);
  EXPECT_EQ(RunReader::Open("/proc").status().code(), Status::Code::kInvalid);
  EXPECT_EQ(ReapRun("/nonexistent-crosscut").status().code(), Status::Code::kNotFound);
}

TEST(JsonStringMember, FindsTopLevelStringsOnly) {
  const std::string json =
      R"({"a": {"ring_dir": "no"}, "x": ["ring_dir", ":"], "t": "\"ring_dir\": \"no\"",)"
      R"( "ring_dir" : "/dev/\u0073hm\n", "n": 5})";
  EXPECT_EQ(JsonStringMember(json, "ring_dir"), "/dev/shm\n");
  EXPECT_EQ(JsonStringMember(json, "n"), "");
  EXPECT_EQ(JsonStringMember(json, "absent"), "");
  EXPECT_EQ(JsonStringMember("{\"ring_dir\": \"cut", "ring_dir"), "");
  EXPECT_EQ(JsonStringMember(R"({"job": "\ud83d\ude00\u00e9\u20ac"})", "job"), "😀é€");
  EXPECT_EQ(JsonStringMember(R"({"job": "\ud83d\ude0)", "job"), "");
}

TEST(SeenWords, KeepsRangesDisjointWhateverTheOrder) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 200; ++round) {
    SeenWords seen;
    std::vector<bool> truth(100, false);
    for (int i = 0; i < 20; ++i) {
      const uint32_t from = random() % 100, to = from + random() % (101 - from);
      seen.Add(1, from, to);
      for (uint32_t k = from; k < to; ++k) truth[k] = true;
    }
    std::vector<bool> missing(100, false);
    for (const auto& [from, to] : seen.Missing(1, 0, 100)) {
      for (uint32_t k = from; k < to; ++k) missing[k] = true;
    }
    for (int k = 0; k < 100; ++k) ASSERT_NE(truth[k], missing[k]);
  }
}

TEST(TickReader, GoesOnOverADayAndStepsBackALittle) {
  TickReader clock(uint64_t{1} << 50);
  EXPECT_EQ(clock.Next(Word((uint64_t{1} << 50) - 77, kEnd)), (uint64_t{1} << 50) - 77);
  const uint64_t later = (uint64_t{1} << 50) + (uint64_t{1} << 47) + 5;
  EXPECT_EQ(clock.Next(Word(later, kEnd)), later);
}

}  // namespace
}  // namespace crosscut::format
