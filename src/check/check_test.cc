#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "src/check/harness/board.h"
#include "src/check/harness/exports.h"
#include "src/check/harness/options.h"
#include "src/check/harness/push_host.h"
#include "src/check/harness/tensorflow.h"
#include "src/check/harness/xspace_rules.h"
#include "src/xspace/writer.h"

namespace crosscut::check {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int64_t kBegin = 1'700'000'000'000'000'000, kEnd = kBegin + 1'000'000'000;

struct Times {
  int64_t offset_ps, duration_ps;
};

// One line of the device with these events, from `timestamp_ns` on.
std::string Space(int64_t timestamp_ns, const std::vector<Times>& events) {
  xspace::SpaceWriter space;
  xspace::PlaneWriter& plane = space.AddPlane(1, "/device:GPU:0");
  const int64_t name = plane.EventName("kernel");
  xspace::LineWriter& line = plane.AddLine(1, "Queue 0", timestamp_ns);
  for (const Times& event : events) line.Event(name, event.offset_ps, event.duration_ps);
  return *space.Finish();
}

std::vector<std::string> Rules(const std::string& bytes) {
  std::vector<std::string> rules;
  for (const SpaceFault& fault : CheckSpace(bytes, kBegin, kEnd)) rules.emplace_back(fault.rule);
  return rules;
}

TEST(Options, AnotherProcessHasThemAllOrTakesNone) {
  const Options before = options();
  options().plugin = std::string("a\n\0b", 4);
  options().deadline = 0.1;
  options().environment = {{"A", "B=C"}, {"A", ""}};
  options().only = {"C1", ""};
  const std::string packed = PackOptions();
  options() = before;
  EXPECT_TRUE(UnpackOptions(packed));
  EXPECT_EQ(PackOptions(), packed);
  EXPECT_EQ(options().plugin, std::string("a\n\0b", 4));
  for (size_t size = 0; size < packed.size(); ++size) {
    EXPECT_FALSE(UnpackOptions(packed.substr(0, size)));
  }
  options() = before;
}

TEST(XSpaceRules, FindNothingInAValidSpace) {
  EXPECT_THAT(Rules(""), IsEmpty());
  EXPECT_THAT(Rules(Space(kBegin, {{0, 4000}, {1000, 1000}, {2000, 2000}, {5000, 0}})), IsEmpty());
}

TEST(XSpaceRules, TakeTimesThatCountFromTheStartOfTheSession) {
  EXPECT_THAT(Rules(Space(0, {{0, 1000}})), IsEmpty());
  EXPECT_THAT(Rules(Space(3'000'000'000, {{0, 1000}})), ElementsAre("C8.session"));
}

TEST(XSpaceRules, AllowOneMillisecondAroundTheSession) {
  EXPECT_THAT(Rules(Space(kBegin - 900'000, {{0, 1000}})), IsEmpty());
  EXPECT_THAT(Rules(Space(kBegin - 1'100'000, {{0, 1000}})), ElementsAre("C8.session"));
  EXPECT_THAT(Rules(Space(kEnd, {{0, 900'000'000}})), IsEmpty());
  EXPECT_THAT(Rules(Space(kEnd, {{0, 1'100'000'000}})), ElementsAre("C8.session"));
}

TEST(XSpaceRules, FindTimesThatCannotBe) {
  EXPECT_THAT(Rules(Space(kBegin, {{-1, 5}})), ElementsAre("C8.time"));
  EXPECT_THAT(Rules(Space(kBegin, {{5, -1}})), ElementsAre("C8.time"));
  EXPECT_THAT(Rules(Space(INT64_MIN, {{0, 1}})), ElementsAre("C8.time"));
  EXPECT_THAT(Rules(Space(INT64_MAX, {{0, 1}})), ElementsAre("C8.time"));
  EXPECT_THAT(Rules(Space(kBegin, {{INT64_MAX, INT64_MAX}})), Contains("C8.time"));
}

TEST(XSpaceRules, TellOverlapFromNesting) {
  EXPECT_THAT(Rules(Space(kBegin, {{0, 10}, {5, 10}})), ElementsAre("C8.nesting"));
  EXPECT_THAT(Rules(Space(kBegin, {{0, 10}, {10, 10}})), IsEmpty());
  EXPECT_THAT(Rules(Space(kBegin, {{0, 10}, {0, 5}, {5, 5}})), IsEmpty());
}

TEST(XSpaceRules, FindEventsOutOfOrder) {
  EXPECT_THAT(Rules(Space(kBegin, {{10, 1}, {0, 1}})), ElementsAre("C8.order"));
}

TEST(XSpaceRules, RefuseEveryCutOfASpace) {
  const std::string whole = Space(kBegin, {{0, 4000}, {4000, 1000}});
  for (size_t size = 1; size < whole.size(); ++size) {
    EXPECT_THAT(Rules(whole.substr(0, size)), Contains("C8.wire")) << size;
  }
}

TEST(XSpaceRules, RefuseLengthsThatOnlyLookRightIn32Bits) {
  // A plane of 2^63 bytes, and one of 2^32.
  EXPECT_THAT(Rules("\x0a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"), ElementsAre("C8.wire"));
  EXPECT_THAT(Rules("\x0a\x80\x80\x80\x80\x10"), ElementsAre("C8.wire"));
}

TEST(XSpaceRules, RefuseNestedGroupsAtOnce) {
  EXPECT_THAT(Rules(std::string(1'000'000, '\x7b')), ElementsAre("C8.wire"));
}

TEST(XSpaceRules, KnowWhetherASpaceTellsOfLoss) {
  EXPECT_FALSE(TellsOfLoss(Space(kBegin, {{0, 1}})));
  xspace::SpaceWriter warned;
  warned.AddPlane(1, "/device:GPU:0");
  warned.AddWarning("the buffer was full");
  EXPECT_TRUE(TellsOfLoss(*warned.Finish()));
  xspace::SpaceWriter counted;
  xspace::PlaneWriter& plane = counted.AddPlane(1, "/device:GPU:0");
  plane.Int64Stat(plane.StatName("Dropped events"), 7);
  EXPECT_TRUE(TellsOfLoss(*counted.Finish()));
}

class PushTable : public ::testing::Test {
 protected:
  void SetUp() override {
    table_ = reinterpret_cast<const crosscut_host*>(PushHost());
    BeginPushSession();
    const crosscut_track track = {sizeof track, 0, 1, 0, "Queue 1", nullptr};
    track_ = table_->track(table_->host, &track);
    name_ = table_->name(table_->host, "kernel", SIZE_MAX, CROSSCUT_ON_DEVICE, 0);
  }

  void Span(uint32_t track, uint32_t name, int64_t begin, int64_t end) {
    table_->span(table_->host, track, name, begin, end);
  }
  std::vector<std::string> Faults() {
    EndPushSession();
    std::vector<std::string> rules;
    for (const PushFault& fault : PushFaults()) rules.emplace_back(fault.rule);
    return rules;
  }

  const crosscut_host* table_;
  uint32_t track_ = 0, name_ = 0;
};

TEST_F(PushTable, GivesEqualIdsForEqualArguments) {
  EXPECT_NE(name_, 0u);
  EXPECT_EQ(name_, table_->name(table_->host, "kernel", 6, CROSSCUT_ON_DEVICE, 0));
  EXPECT_NE(name_, table_->name(table_->host, "kernel", 6, CROSSCUT_ON_HOST_RUNTIME, 0));
  EXPECT_THAT(Faults(), IsEmpty());
}

TEST_F(PushTable, FindsNothingInAGoodSession) {
  const int64_t now = MonotonicNs();
  Span(track_, name_, now, now + 100);
  Span(track_, name_, now + 20, now + 50);
  Span(track_, name_, now + 100, now + 200);
  EXPECT_THAT(Faults(), IsEmpty());
  EXPECT_EQ(Pushed().spans, 3u);
}

TEST_F(PushTable, FindsIdsThatWereNeverGivenOut) {
  const int64_t now = MonotonicNs();
  Span(track_, name_ + 100, now, now);
  EXPECT_THAT(Faults(), ElementsAre("C8.push_id"));
}

TEST_F(PushTable, FindsTimesOutsideTheSessionAndBackwards) {
  const int64_t now = MonotonicNs();
  Span(track_, name_, now, now - 1);
  EXPECT_THAT(Faults(), ElementsAre("C8.push_time"));
  BeginPushSession();
  Span(track_, name_, now - 2'000'000'000, now);
  EXPECT_THAT(Faults(), ElementsAre("C8.push_time"));
}

TEST_F(PushTable, FindsOverlapOnOneTrackOnly) {
  const int64_t now = MonotonicNs();
  const crosscut_track other = {sizeof other, 0, 2, 0, "Queue 2", nullptr};
  Span(track_, name_, now, now + 100);
  Span(table_->track(table_->host, &other), name_, now + 50, now + 150);
  EXPECT_THAT(Faults(), IsEmpty());
  BeginPushSession();
  Span(track_, name_, now, now + 100);
  Span(track_, name_, now + 50, now + 150);
  EXPECT_THAT(Faults(), ElementsAre("C8.push_nesting"));
}

TEST_F(PushTable, FindsBeginsAndEndsThatDoNotMatch) {
  table_->end(table_->host);
  EXPECT_THAT(Faults(), ElementsAre("C8.push_balance"));
  BeginPushSession();
  table_->begin(table_->host, name_);
  EXPECT_THAT(Faults(), ElementsAre("C8.push_balance"));
}

TEST_F(PushTable, FindsWhatComesAfterTheSession) {
  EndPushSession();
  Span(track_, name_, MonotonicNs(), MonotonicNs());
  EXPECT_THAT(Faults(), ElementsAre("C8.push_late"));
  EXPECT_EQ(Pushed().spans, 0u);
}

TEST(Exports, ListsWhatALibraryOffersAndLeavesOutWhatItHides) {
  const Symbols zoo = ReadSymbols(CROSSCUT_EXAMPLE_PLUGIN);
  EXPECT_THAT(zoo.exported, ElementsAre("TF_InitProfiler"));
  EXPECT_THAT(zoo.needed, Contains("pthread_mutex_lock"));
  EXPECT_THAT(ReadSymbols("/dev/null").exported, IsEmpty());
}

TEST(TensorFlow, IsLackedWhereItsSymbolsOrLibrariesAreMissing) {
  EXPECT_TRUE(LacksTensorFlow("/a/p.so: undefined symbol: TF_NewKernelBuilder"));
  EXPECT_TRUE(LacksTensorFlow("/a/p.so: undefined symbol: TFE_NewContext, version tensorflow"));
  EXPECT_TRUE(LacksTensorFlow("/a/p.so: undefined symbol: _ZN10tensorflow8profiler6XSpaceD1Ev"));
  EXPECT_TRUE(LacksTensorFlow("/a/p.so: undefined symbol: _ZN6google8protobuf7Message5ClearEv"));
  EXPECT_TRUE(LacksTensorFlow("libtensorflow_cc.so.2: cannot open shared object file: No such"));
}

TEST(TensorFlow, IsNotLackedWhereAnothersAre) {
  EXPECT_FALSE(LacksTensorFlow("/tensorflow/TF_p.so: undefined symbol: chip_start"));
  EXPECT_FALSE(LacksTensorFlow("/tensorflow/p.so: undefined symbol: _ZN4chip5startEv"));
  EXPECT_FALSE(LacksTensorFlow("libchip.so.1: cannot open shared object file: No such file"));
  EXPECT_FALSE(LacksTensorFlow("/a/libtensorflow_cc.so.2: invalid ELF header"));
}

// A program that says what a test wants stands in for the Python.
class AskedPython : public ::testing::Test {
 protected:
  AskedPython() {
    char name[] = "/tmp/crosscut-check-test-XXXXXX";
    root_ = mkdtemp(name);
    std::filesystem::create_directory(root_ + "/tensorflow");
  }
  ~AskedPython() override { std::filesystem::remove_all(root_); }

  std::string Saying(const std::string& text) {
    const std::string python = root_ + "/python";
    std::ofstream(python) << "#!/bin/sh\n" << text;
    chmod(python.c_str(), 0755);
    return python;
  }

  std::string root_;
};

TEST_F(AskedPython, TellsItsTensorFlowAmongWhatElseItSays) {
  std::ofstream(root_ + "/tensorflow/libtensorflow_framework.so.2");
  const auto found = FindTensorFlow(
      Saying("echo a warning >&2; echo tensorflow " + root_ + "/tensorflow; echo libpython /p.so"));
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->folder, root_ + "/tensorflow");
  EXPECT_EQ(found->libpython, "/p.so");
}

TEST_F(AskedPython, HasNoTensorFlowInAFolderWithoutItsLibrary) {
  const auto found = FindTensorFlow(Saying("echo tensorflow " + root_ + "/tensorflow"));
  EXPECT_EQ(found.status().code(), Status::Code::kNotFound);
  EXPECT_THAT(std::string(found.status().message()), HasSubstr(root_ + "/python has no"));
}

TEST_F(AskedPython, IsNamedWhereItCannotAnswer) {
  for (const std::string& python : {Saying("echo it is broken >&2; exit 1"), root_ + "/none"}) {
    const auto found = FindTensorFlow(python);
    EXPECT_EQ(found.status().code(), Status::Code::kIo);
    EXPECT_THAT(std::string(found.status().message()), HasSubstr(python));
  }
}

TEST_F(AskedPython, SaysWhichLibraryOfTensorFlowCannotBeLoaded) {
  std::ofstream(root_ + "/tensorflow/libtensorflow_framework.so.2") << "not a library";
  void* library = nullptr;
  const Status status = LoadTensorFlow({root_ + "/tensorflow", ""}, &library);
  EXPECT_THAT(std::string(status.message()), HasSubstr("libtensorflow_framework.so.2"));
  EXPECT_EQ(library, nullptr);
}

TEST(Board, TellsEachRuleOnceAndKeepsWhatFits) {
  const uint32_t before = board().count.load();
  Fail("X1.once", "first");
  Fail("X1.once", "second");
  EXPECT_EQ(board().count.load(), before + 1);
  EXPECT_STREQ(board().findings[before].text, "first");
  Fail("X1.long", std::string(5000, 'x'));
  EXPECT_EQ(std::string(board().findings[before + 1].text).size(),
            sizeof board().findings[0].text - 1);
  for (int i = 0; i < 100; ++i) Fail("X2." + std::to_string(i), "many");
  EXPECT_EQ(board().count.load(), Board::kFindings);
}

}  // namespace
}  // namespace crosscut::check
