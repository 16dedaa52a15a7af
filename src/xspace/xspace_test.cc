// What the writer writes the reader reads; what nobody should have written is refused with its
// place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "src/xspace/reader.h"
#include "src/xspace/writer.h"

namespace crosscut::xspace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string Small() {
  SpaceWriter space;
  PlaneWriter& device = space.AddPlane(7, "/device:CUSTOM:crosscut");
  const int64_t kernel = device.EventName("saxpy");
  LineWriter& queue = device.AddLine(3, "queue 0", 1'700'000'000'000'000'000);
  queue.Event(kernel, 0, 5'000);
  queue.Uint64Stat(device.StatName("correlation_id"), 41);
  queue.Event(kernel, 10'000, 6'000);
  queue.Int64Stat(device.StatName("bytes"), -1);
  queue.DoubleStat(device.StatName("share"), 0.25);
  queue.TextStat(device.StatName("kernel_details"), "regs:1 grid:1,1,1");
  queue.RefStat(device.StatName("kind"), device.StatName("copy"));
  device.TextStat(device.StatName("vendor"), "none");
  space.AddPlane(8, "/host:CPU");
  space.AddHostname("here");
  space.AddWarning("two events were dropped");
  Result<std::string> bytes = space.Finish();
  EXPECT_TRUE(bytes.ok()) << bytes.status().message();
  return *bytes;
}

// Everything a reader can ask for, as one text.
Status Walk(std::string_view bytes, std::string* text) {
  const auto add = [&](const auto&... parts) { ((*text += parts, *text += ' '), ...); };
  const auto stat_of = [&](const Plane& plane, const Stat& stat) {
    add(std::string(plane.stat_name(stat.metadata_id)) + "=");
    switch (stat.type) {
      case Stat::Type::kDouble: add(std::to_string(stat.real)); break;
      case Stat::Type::kInt64: add(std::to_string(static_cast<int64_t>(stat.number))); break;
      case Stat::Type::kUint64: add(std::to_string(stat.number), "u"); break;
      case Stat::Type::kRef:
        add(std::string(plane.stat_name(static_cast<int64_t>(stat.number))));
        break;
      default: add(std::string(stat.text));
    }
    return Status();
  };
  return ForEachPlane(bytes, [&](const Plane& plane) {
    add(std::string(plane.name), std::to_string(plane.id));
    Status status = plane.ForEachStat([&](const Stat& stat) { return stat_of(plane, stat); });
    if (!status.ok()) return status;
    return plane.ForEachLine([&](const Line& line) {
      add("|", std::string(line.name), std::to_string(line.id));
      return ForEachEvent(line, [&](const Event& event) {
        const EventMetadata name = plane.event_metadata(event.metadata_id);
        add(";", std::string(name.name), std::to_string(line.timestamp_ns * 0 + event.offset_ps),
            std::to_string(event.duration_ps));
        Status read =
            ForEachMetadataStat(name.bytes, [&](const Stat& stat) { return stat_of(plane, stat); });
        if (!read.ok()) return read;
        return ForEachEventStat(event.bytes,
                                [&](const Stat& stat) { return stat_of(plane, stat); });
      });
    });
  });
}

TEST(XSpace, ReadsWhatItWrote) {
  const std::string bytes = Small();
  std::string text;
  const Status status = Walk(bytes, &text);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(text,
            "/device:CUSTOM:crosscut 7 vendor= none | queue 0 3 ; saxpy 0 5000 correlation_id= 41 "
            "u ; saxpy 10000 6000 bytes= -1 share= 0.250000 kernel_details= regs:1 grid:1,1,1 "
            "kind= copy /host:CPU 8 ");
  EXPECT_THAT(*SpaceTexts(bytes, Texts::kHostnames), ElementsAre("here"));
  EXPECT_THAT(*SpaceTexts(bytes, Texts::kWarnings), ElementsAre("two events were dropped"));
  EXPECT_TRUE(SpaceTexts(bytes, Texts::kErrors)->empty());
}

TEST(XSpace, EmptyIsASpaceWithoutPlanes) {
  std::string text;
  EXPECT_TRUE(Walk("", &text).ok());
  EXPECT_EQ(text, "");
}

TEST(XSpace, CutAnywhereItIsReadOrRefusedWithAPlace) {
  const std::string bytes = Small();
  for (size_t size = 0; size < bytes.size(); ++size) {
    std::string text;
    const Status status = Walk(std::string_view(bytes).substr(0, size), &text);
    if (!status.ok()) {
      EXPECT_THAT(std::string(status.message()), HasSubstr("byte "));
    }
  }
}

TEST(XSpace, EveryFlippedBitIsHarmless) {
  const std::string bytes = Small();
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string damaged = bytes, text;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    (void)Walk(damaged, &text);
  }
}

TEST(XSpace, RandomBytesAreHarmless) {
  std::mt19937 random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes(random() % 200, '\0'), text;
    for (char& c : bytes) c = static_cast<char>(random() % 3 == 0 ? random() : random() % 64);
    (void)Walk(bytes, &text);
  }
}

TEST(XSpace, ALengthBeyondTheEndIsRefusedWithItsPlace) {
  const std::string huge = std::string("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10) + "x";
  std::string text;
  const Status status = Walk(huge, &text);
  EXPECT_EQ(status.code(), Status::Code::kCorrupt);
  EXPECT_THAT(std::string(status.message()), HasSubstr("byte "));
}

TEST(XSpace, NumbersThatFitOnlyIn32BitsAreRefused) {
  // Plane of length 2^63, of length 2^32 + 2 (before two bytes), and field 1 + 2^32.
  const std::string wide[] = {std::string("\x0a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11),
                              std::string("\x0a\x82\x80\x80\x80\x10\x08\x01", 8),
                              std::string("\x8a\x80\x80\x80\x80\x01\x00", 7)};
  for (const std::string& bytes : wide) {
    std::string text;
    const Status status = Walk(bytes, &text);
    EXPECT_EQ(status.code(), Status::Code::kCorrupt);
    EXPECT_THAT(status.message(), testing::HasSubstr("byte "));
  }
}

TEST(XSpace, GroupsAreRefusedHoweverDeep) {
  std::string text;
  EXPECT_FALSE(Walk(std::string(100'000, '\x0b'), &text).ok());
}

TEST(XSpace, OfEqualIdsTheLastEntryCountsAndUnknownIdsHaveNoName) {
  // event_metadata { key: 1 value { name: "a" } }, then the same with "b"
  const std::string entry = "\x22\x07\x08\x01\x12\x03\x12\x01";
  const std::string bytes = entry + "a" + entry + "b";
  const Result<Plane> plane = Plane::Open(bytes);
  ASSERT_TRUE(plane.ok()) << plane.status().message();
  EXPECT_EQ(plane->event_metadata(1).name, "b");
  EXPECT_EQ(plane->event_metadata(2).name, "");
  EXPECT_EQ(plane->stat_name(1), "");
}

TEST(XSpace, IsKnownByItsHead) {
  EXPECT_TRUE(LooksLikeSpace(Small()));
  EXPECT_FALSE(LooksLikeSpace(""));
  EXPECT_FALSE(LooksLikeSpace("{\"traceEvents\": []}"));
  const std::string strange = "\n\x0c\x12\x06plugin\x1a\x02\x08\x01";  // a name, a line
  EXPECT_TRUE(LooksLikeSpace(strange));
  EXPECT_TRUE(LooksLikeSpace(strange.substr(0, 11)));  // a head ends anywhere
  EXPECT_FALSE(LooksLikeSpace("\n\x0c\x12\x06plugin\x3a\x02\x08\x01"));
  EXPECT_FALSE(LooksLikeSpace("\n a text that tells of /host:CPU"));
}

TEST(XSpace, EqualNamesGiveEqualIdsFromOne) {
  SpaceWriter space;
  PlaneWriter& plane = space.AddPlane(1, "p");
  EXPECT_EQ(plane.EventName("a"), 1);
  EXPECT_EQ(plane.EventName("b"), 2);
  EXPECT_EQ(plane.EventName("a"), 1);
  EXPECT_EQ(plane.StatName("a"), 1);
}

}  // namespace
}  // namespace crosscut::xspace
