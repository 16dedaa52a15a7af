// Planes of other profilers go through as they are.
#include "src/xspace/copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/xspace/reader.h"
#include "src/xspace/testing/encode.h"
#include "src/xspace/writer.h"

namespace crosscut::xspace {
namespace {

using testing::ElementsAre;

// A stat of each arm, of the name `id`, and one that refers to the name `ref`.
std::string Stats(uint64_t field, int64_t id, int64_t ref) {
  const auto stat = [&](const std::string& value) { return Text(field, Number(1, id) + value); };
  return stat(Double(2, 0.5)) + stat(Number(3, -1)) + stat(Number(4, -4)) + stat(Text(5, "été")) +
         stat(Text(6, "\xff\x01")) + stat(Number(7, ref)) + stat("") + stat(Text(9, "new"));
}

// Everything that a plane can hold, with a field behind it all that nobody knows.
std::string Everything(int64_t event, int64_t child, int64_t stat, int64_t ref) {
  const std::string line = Number(1, 7) + Text(2, "line") + Number(3, 99) +
                           Text(4, Number(1, event) + Number(2, 5) + Number(3, 6) +
                                       Stats(4, stat, ref) + Text(77, "more")) +
                           Text(4, Number(1, child) + Number(5, 3)) + Number(9, 8) +
                           Number(10, 17) + Text(11, "shown") + Double(12, 1.5);
  const std::string packed = Varint(static_cast<uint64_t>(child)) + Varint(0);
  const std::string name = Number(1, event) + Text(2, "name") + Text(3, "\xfe raw") +
                           Text(4, "shown") + Stats(5, stat, ref) + Text(6, packed) +
                           Number(6, child) + Number(8, 1);
  const auto entry = [](uint64_t field, int64_t id, const std::string& value) {
    return Text(field, Number(1, id) + Text(2, value));
  };
  return Text(3, line) + entry(4, event, name) + entry(4, child, Number(1, child)) +
         entry(5, stat, Number(1, stat) + Text(2, "bytes") + Text(3, "how many")) +
         entry(5, ref, Number(1, ref) + Text(2, "value")) + Stats(6, stat, ref) + Text(7, "new");
}

TEST(Copy, HasEveryFieldAsItWas) {
  const std::string space = Text(1, Number(1, 3) + Text(2, "plane") + Everything(1, 2, 3, 4)) +
                            Text(2, "error") + Text(3, "warning") + Text(4, "host") + Number(9, 1);
  std::string copy;
  ASSERT_TRUE(Copy(Message::kSpace, space, {}, &copy).ok());
  EXPECT_EQ(copy, space);
}

TEST(Copy, HasOtherIdsWhereverOneStands) {
  const NewIds ids = {[](int64_t id) { return id + 100; }, [](int64_t id) { return id - 100; }};
  std::string copy;
  ASSERT_TRUE(Copy(Message::kPlane, Everything(1, 2, 3, 4), ids, &copy).ok());
  EXPECT_EQ(copy, Everything(101, 102, -97, -96));
}

TEST(Copy, IsRefusedWhereAReaderOfProtobufRefusesIt) {
  const std::string cut = Varint(4 << 3 | 2) + Varint(9), dirty = Text(5, "\xff");
  const auto told = [](const std::string& plane) {
    std::string copy;
    return Copy(Message::kSpace, Text(1, plane), {}, &copy).code();
  };
  EXPECT_EQ(told(Everything(1, 2, 3, 4)), Status::Code::kOk);
  for (const std::string& bad :
       {cut, Text(2, "\xff"), Text(3, cut), Text(3, Text(2, "\xff")), Text(3, Text(11, "\xff")),
        Text(3, Text(4, cut)), Text(3, Text(4, Text(4, cut))), Text(3, Text(4, Text(4, dirty))),
        Text(4, cut), Text(4, Text(2, cut)), Text(4, Text(2, Text(5, dirty))),
        Text(4, Text(2, Text(6, "\x80"))), Text(4, Text(2, Text(2, "\xff"))),
        Text(4, Text(2, Text(4, "\xff"))), Text(5, Text(2, Text(2, "\xff"))),
        Text(5, Text(2, Text(3, "\xff"))), Text(6, dirty), std::string("\x0b")}) {
    EXPECT_EQ(told(bad), Status::Code::kCorrupt) << testing::PrintToString(bad);
  }
}

// What a reader finds of a plane: names by their ids.
std::vector<std::string> Told(const Plane& plane) {
  std::vector<std::string> told;
  const auto stats = [&](std::string* text) {
    return [&plane, text](const Stat& stat) {
      const auto id = static_cast<int64_t>(stat.number);
      *text += " " + std::string(plane.stat_name(stat.metadata_id)) + "=" +
               (stat.type == Stat::Type::kRef ? std::string(plane.stat_name(id))
                                              : std::to_string(stat.number)) +
               std::string(stat.text);
      return Status();
    };
  };
  std::string of_plane = "plane";
  EXPECT_TRUE(plane.ForEachStat(stats(&of_plane)).ok());
  told.push_back(of_plane);
  const Status status = plane.ForEachLine([&](const Line& line) {
    told.push_back("line " + std::to_string(line.id) + " " + std::to_string(line.timestamp_ns));
    return ForEachEvent(line, [&](const Event& event) {
      const EventMetadata name = plane.event_metadata(event.metadata_id);
      std::string text = std::string(name.name);
      EXPECT_TRUE(ForEachMetadataStat(name.bytes, stats(&text)).ok());
      EXPECT_TRUE(ForEachEventStat(event.bytes, stats(&text)).ok());
      told.push_back(text);
      return Status();
    });
  });
  EXPECT_TRUE(status.ok());
  return told;
}

std::string PlaneOf(const std::string& name, const std::string& stat, int64_t timestamp) {
  const auto entry = [](uint64_t field, int64_t id, const std::string& text) {
    return Text(field, Number(1, id) + Text(2, Number(1, id) + Text(2, text)));
  };
  const std::string of = Number(1, 2) + Number(4, 8);
  return Number(1, 5) + Text(2, "plane") +
         Text(3, Number(1, 1) + Number(3, timestamp) +
                     Text(4, Number(1, 1) + Number(2, 0) + Text(4, of)) + Text(4, Number(1, 9))) +
         entry(4, 1, name) + entry(5, 2, stat) + Text(6, of) + Text(1000, "a note of before");
}

TEST(Copy, PlanesThatArePassedOnStandBesideEachOtherAndBesideWhatIsOurs) {
  const std::string first = PlaneOf("gemm", "bytes", 7), second = PlaneOf("conv", "flops", 1000);
  SpaceWriter space;
  PlaneWriter& to = space.AddPlane(3, "one");
  for (const std::string& bytes : {first, second}) {
    const auto plane = Plane::Open(bytes);
    ASSERT_TRUE(plane.ok());
    const auto edit = [](const Line& line) {
      PlaneWriter::PassedLine edited{line.timestamp_ns, {}};
      if (line.timestamp_ns == 7) edited.timestamp_ns = 500;
      edited.note.role = LineNote::kPassed;
      return edited;
    };
    ASSERT_TRUE(to.PassOn(*plane, edit).ok());
  }
  LineWriter& ours = to.AddLine(4, "ours", 1);
  ours.Event(to.EventName("gemm", 33), 0, 1);  // with what we note of it
  ours.Int64Stat(to.StatName("bytes"), 6);
  const Result<std::string> written = space.Finish();
  ASSERT_TRUE(written.ok());
  const Status status = ForEachPlane(*written, [](const Plane& plane) {
    EXPECT_EQ(plane.id, 3);
    EXPECT_EQ(plane.name, "one");
    EXPECT_EQ(plane.note, "");
    EXPECT_THAT(Told(plane),
                ElementsAre("plane bytes=8 flops=8", "line 1 500", "gemm bytes=8", "",
                            "line 1 1000", "conv flops=8", "", "line 4 1", "gemm bytes=6"));
    return Status();
  });
  EXPECT_TRUE(status.ok()) << status.message();
}

}  // namespace
}  // namespace crosscut::xspace
