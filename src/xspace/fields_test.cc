// Field by field what the reader and the writer make of a space, by an encoder that knows nothing
// of theirs: numbers of fields as in xplane.proto and docs/xspace.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "src/xspace/notes.h"
#include "src/xspace/reader.h"
#include "src/xspace/testing/encode.h"
#include "src/xspace/writer.h"

namespace crosscut::xspace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Fields, OfALineAndItsEventsAreReadAsTheyAre) {
  const std::string event = Number(1, 17) + Number(2, 18) + Number(3, 19) + Text(9, "unknown") +
                            Text(4, Number(1, 5) + Text(5, "five")) + Number(1000, 77);
  const std::string aggregated = Number(1, 20) + Number(5, 21) + Number(3, 22);
  const std::string line = Number(1, 1) + Text(2, "name") + Number(3, 3) + Text(4, event) +
                           Number(9, 9) + Text(4, aggregated) + Number(10, 10) + Text(11, "shown") +
                           Text(1000, "note") + Number(12, 12);
  const std::string space =
      Text(1, Number(1, -4) + Text(3, line) + Text(2, "plane") + Text(1000, "its note"));
  std::vector<Event> events;
  size_t lines = 0;
  const Status status = ForEachPlane(space, [&](const Plane& plane) {
    EXPECT_EQ(plane.id, -4);
    EXPECT_EQ(plane.name, "plane");
    EXPECT_EQ(plane.note, "its note");
    return plane.ForEachLine([&](const Line& got) {
      ++lines;
      EXPECT_EQ(got.id, 1);
      EXPECT_EQ(got.name, "name");
      EXPECT_EQ(got.timestamp_ns, 3);
      EXPECT_EQ(got.duration_ps, 9);
      EXPECT_EQ(got.display_id, 10);
      EXPECT_EQ(got.display_name, "shown");
      EXPECT_EQ(got.note, "note");
      return ForEachEvent(got, [&](const Event& one) {
        events.push_back(one);
        return Status();
      });
    });
  });
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(lines, 1);
  ASSERT_EQ(events.size(), 2);
  EXPECT_EQ(events[0].metadata_id, 17);
  EXPECT_EQ(events[0].offset_ps, 18);
  EXPECT_EQ(events[0].duration_ps, 19);
  EXPECT_EQ(events[0].num_occurrences, 0);
  EXPECT_FALSE(events[0].aggregated);
  EXPECT_EQ(events[0].note, 77);
  EXPECT_EQ(events[0].bytes, event);
  EXPECT_EQ(events[1].metadata_id, 20);
  EXPECT_EQ(events[1].offset_ps, 0);
  EXPECT_EQ(events[1].duration_ps, 22);
  EXPECT_EQ(events[1].num_occurrences, 21);
  EXPECT_TRUE(events[1].aggregated);
  EXPECT_EQ(events[1].note, 0);
}

TEST(Fields, ThatAreMissingHaveTheirDefaults) {
  const std::string space = Text(1, Text(3, Text(4, "")) + Text(6, ""));
  size_t seen = 0;
  const Status status = ForEachPlane(space, [&](const Plane& plane) {
    EXPECT_EQ(plane.id, 0);
    EXPECT_EQ(plane.name, "");
    EXPECT_EQ(plane.note, "");
    Status read = plane.ForEachStat([&](const Stat& stat) {
      ++seen;
      EXPECT_EQ(stat.metadata_id, 0);
      EXPECT_EQ(stat.type, Stat::Type::kNone);
      EXPECT_EQ(stat.number, 0);
      EXPECT_EQ(stat.real, 0);
      EXPECT_EQ(stat.text, "");
      return Status();
    });
    if (!read.ok()) return read;
    return plane.ForEachLine([&](const Line& line) {
      EXPECT_EQ(line.id, 0);
      EXPECT_EQ(line.display_id, 0);
      EXPECT_EQ(line.timestamp_ns, 0);
      EXPECT_EQ(line.duration_ps, 0);
      return ForEachEvent(line, [&](const Event& event) {
        ++seen;
        EXPECT_EQ(event.metadata_id, 0);
        EXPECT_EQ(event.offset_ps, 0);
        EXPECT_EQ(event.duration_ps, 0);
        EXPECT_EQ(event.num_occurrences, 0);
        EXPECT_FALSE(event.aggregated);
        EXPECT_EQ(event.note, 0);
        return Status();
      });
    });
  });
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(seen, 2);
}

TEST(Fields, OfStatsAreReadByTheirArm) {
  const std::string stats =
      Text(4, Number(1, 1) + Double(2, 0.5)) + Text(4, Number(1, 2) + Number(3, 3)) +
      Text(4, Number(1, 3) + Number(4, -4)) + Text(4, Number(1, 4) + Text(5, "text")) +
      Text(4, Number(1, 5) + Text(6, "bytes")) + Text(4, Number(7, 8) + Number(1, 6)) +
      Text(5, Number(1, 9));
  std::vector<Stat> got;
  const auto take = [&](const Stat& stat) {
    got.push_back(stat);
    return Status();
  };
  ASSERT_TRUE(ForEachEventStat(stats, take).ok());
  ASSERT_EQ(got.size(), 6);
  using Type = Stat::Type;
  const Type types[] = {Type::kDouble, Type::kUint64, Type::kInt64,
                        Type::kText,   Type::kBytes,  Type::kRef};
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(got[i].metadata_id, static_cast<int64_t>(i + 1));
    EXPECT_EQ(got[i].type, types[i]);
  }
  EXPECT_EQ(got[0].real, 0.5);
  EXPECT_EQ(got[1].number, 3);
  EXPECT_EQ(static_cast<int64_t>(got[2].number), -4);
  EXPECT_EQ(got[3].text, "text");
  EXPECT_EQ(got[4].text, "bytes");
  EXPECT_EQ(got[5].number, 8);
  got.clear();
  ASSERT_TRUE(ForEachMetadataStat(stats, take).ok());
  ASSERT_EQ(got.size(), 1) << "those of a name have another field";
  EXPECT_EQ(got[0].metadata_id, 9);
  const std::string bytes = Text(6, Number(1, 8)) + Text(4, Number(1, 1));
  const auto plane = Plane::Open(bytes);
  got.clear();
  ASSERT_TRUE(plane->ForEachStat(take).ok());
  ASSERT_EQ(got.size(), 1) << "and so have those of a plane";
  EXPECT_EQ(got[0].metadata_id, 8);
}

TEST(Fields, OfDictionariesAreFoundByTheirKeys) {
  const std::string seven = Number(1, 99) + Text(2, "seven") + Text(3, "more") + Text(4, "shown") +
                            Text(5, Number(1, 1)) + Number(1000, 5);
  const std::string bytes = Text(4, Number(1, 7) + Text(2, seven)) +
                            Text(4, Text(2, Text(2, "of no key"))) + Text(4, Number(1, 3)) +
                            Text(5, Text(2, Text(2, "stat")) + Number(1, 7)) +
                            Text(5, Number(1, -1) + Text(2, Text(2, "minus")));
  const auto plane = Plane::Open(bytes);
  ASSERT_TRUE(plane.ok());
  const EventMetadata name = plane->event_metadata(7);
  EXPECT_EQ(name.id, 7);
  EXPECT_EQ(name.name, "seven");
  EXPECT_EQ(name.metadata, "more");
  EXPECT_EQ(name.display_name, "shown");
  EXPECT_EQ(name.note, 5);
  EXPECT_EQ(name.bytes, seven);
  EXPECT_EQ(plane->event_metadata(0).name, "of no key");
  EXPECT_EQ(plane->event_metadata(3).name, "");
  EXPECT_EQ(plane->event_metadata(3).bytes, "");
  EXPECT_EQ(plane->event_metadata(3).note, 0);
  EXPECT_EQ(plane->event_metadata(1).name, "");
  EXPECT_EQ(plane->event_metadata(8).name, "");
  EXPECT_EQ(plane->stat_name(7), "stat");
  EXPECT_EQ(plane->stat_name(-1), "minus");
  EXPECT_EQ(plane->stat_name(0), "");
}

// All that a reader is told of a space with a plane of two names at most.
std::string Told(const std::string& space) {
  std::string out;
  const auto add = [&out](const auto&... parts) {
    const auto text = [](const auto& part) {
      if constexpr (std::is_arithmetic_v<std::decay_t<decltype(part)>>) {
        return std::to_string(part);
      } else {
        return std::string(part);
      }
    };
    ((out += text(parts) + " "), ...);
  };
  const auto stats = [&](const Stat& s) {
    add(static_cast<int>(s.type), s.number, s.real, s.text, ",");
    return Status();
  };
  const Status status = ForEachPlane(space, [&](const Plane& plane) {
    add(plane.name, plane.id, plane.note);
    for (const int64_t id : {1, 2}) {
      const EventMetadata event = plane.event_metadata(id);
      add(event.name, event.note, plane.stat_name(id), "/");
    }
    EXPECT_TRUE(plane.ForEachStat(stats).ok());
    return plane.ForEachLine([&](const Line& line) {
      add("|", line.id, line.name, line.timestamp_ns, line.note);
      return ForEachEvent(line, [&](const Event& event) {
        add(";", event.metadata_id, event.offset_ps, event.duration_ps, event.note,
            static_cast<int>(event.aggregated));
        return ForEachEventStat(event.bytes, stats);
      });
    });
  });
  EXPECT_TRUE(status.ok()) << status.message();
  return out;
}

TEST(Fields, AreWrittenAsTheSchemaHasThem) {
  SpaceWriter space;
  space.AddWarning("careful");
  space.AddError("wrong");
  space.AddHostname("host");
  PlaneWriter& plane = space.AddPlane(7, "plane");
  const int64_t noted = plane.EventName("event", 33), plain = plane.EventName("event");
  EXPECT_EQ(noted, 1);
  EXPECT_EQ(plain, 2);
  EXPECT_EQ(plane.EventName("event", 33), noted);
  EXPECT_EQ(plane.StatName("stat"), 1);
  plane.Int64Stat(1, -2);
  plane.TextStat(1, "text");
  LineWriter& line = plane.AddLine(8, "line", 1234);
  LineNote line_note;
  line_note.main = true;
  line.Note(line_note);
  line.Event(1, 0, 5);
  line.Int64Stat(1, 2);
  line.Uint64Stat(1, 3);
  line.DoubleStat(1, 0.25);
  line.TextStat(1, "four");
  line.RefStat(1, 5);
  line.Note(6);
  line.Event(2, -1, 0);
  plane.AddLine(9, "empty", 0);
  PlaneNote plane_note;
  plane_note.pid = 11;
  plane.Note(plane_note);
  const auto stat = [](uint64_t field, const std::string& value) {
    return Text(field, Number(1, 1) + value);
  };
  const std::string first = Number(1, 1) + Number(2, 0) + Number(3, 5) + stat(4, Number(4, 2)) +
                            stat(4, Number(3, 3)) + stat(4, Double(2, 0.25)) +
                            stat(4, Text(5, "four")) + stat(4, Number(7, 5)) + Number(1000, 6);
  const std::string second = Number(1, 2) + Number(2, -1) + Number(3, 0);
  const std::string head = Number(1, 7) + Text(2, "plane") + stat(6, Number(4, -2)) +
                           stat(6, Text(5, "text")) + Text(1000, Encode(plane_note));
  const auto name = [](uint64_t field, int64_t id, const std::string& text,
                       const std::string& more) {
    return Text(field, Number(1, id) + Text(2, Number(1, id) + Text(2, text) + more));
  };
  const std::string dictionaries =
      name(4, 1, "event", Number(1000, 33)) + name(4, 2, "event", "") + name(5, 1, "stat", "");
  const std::string lines =
      Text(3, Number(1, 8) + Text(2, "line") + Number(3, 1234) + Text(1000, Encode(line_note)) +
                  Text(4, first) + Text(4, second)) +
      Text(3, Number(1, 9) + Text(2, "empty") + Number(3, 0));
  const Result<std::string> bytes = space.Finish();
  ASSERT_TRUE(bytes.ok());
  const std::string want = Text(1, head + dictionaries + lines) + Text(3, "careful") +
                           Text(2, "wrong") + Text(4, "host");
  // protozero leaves room for the longest length of what it does not know before: longer, the same.
  EXPECT_EQ(Told(*bytes), Told(want));
  for (const Texts which : {Texts::kErrors, Texts::kWarnings, Texts::kHostnames}) {
    EXPECT_EQ(*SpaceTexts(*bytes, which), *SpaceTexts(want, which));
  }
  EXPECT_THAT(*SpaceTexts(want, Texts::kErrors), ElementsAre("wrong"));
}

TEST(Fields, WhatIsWrongIsSaidWithItsPlace) {
  const std::string bad = Varint(1 << 3 | 2) + Varint(9);  // a text without its bytes
  const std::string good = Text(4, Number(1, 1));
  const auto told = [](const std::string& plane) {
    return std::string(ForEachPlane(Text(1, Text(2, "first")) + Text(1, Text(2, "second") + plane),
                                    [](const Plane& p) {
                                      return p.ForEachLine([](const Line& line) {
                                        return ForEachEvent(line, [](const Event& event) {
                                          return ForEachEventStat(
                                              event.bytes, [](const Stat&) { return Status(); });
                                        });
                                      });
                                    })
                           .message());
  };
  EXPECT_EQ(told(Text(3, good)), "");
  EXPECT_THAT(told(Text(3, good) + Text(3, bad)),
              testing::StartsWith("plane 1 'second': line 1: byte 1 of 2: "));
  EXPECT_THAT(told(Text(3, good + Text(4, bad))),
              testing::StartsWith("plane 1 'second': line 0: event 1: byte 1 of 2: "));
  EXPECT_THAT(told(Text(3, Text(4, Text(4, bad)))),
              HasSubstr("line 0: event 0: stat: byte 1 of 2: "));
  EXPECT_THAT(told(Text(4, bad)), testing::StartsWith("plane 1: event_metadata: byte 1 of 2: "));
  EXPECT_THAT(told(Text(5, bad)), testing::StartsWith("plane 1: stat_metadata: byte 1 of 2: "));
}

TEST(Fields, WhatIsWholeOfASpaceThatEndsTooEarlyIsKnown) {
  const std::string one = Text(1, Text(2, "first") + Text(4, Number(1, 1))), text = Text(4, "host");
  const std::string all = one + text + one;
  for (size_t size = 0; size <= all.size(); ++size) {
    const size_t want = size == all.size()                 ? all.size()
                        : size >= one.size() + text.size() ? one.size() + text.size()
                        : size >= one.size()               ? one.size()
                                                           : 0;
    EXPECT_EQ(WholeBytes(all.substr(0, size)), want) << size;
  }
  EXPECT_EQ(WholeBytes(one + Text(1, Text(4, "\x0a\x09")) + one), one.size());
}

TEST(Fields, ZerosBehindASpaceAreNoneOfItsOwn) {
  const std::string ends_in_zero = Text(1, Text(2, "plane") + Text(3, Number(3, 0)));
  for (const std::string& space : {std::string(), ends_in_zero, ends_in_zero + Number(9, 0)}) {
    for (size_t zeros = 0; zeros < 4; ++zeros) {
      EXPECT_EQ(WithoutZeros(space + std::string(zeros, '\0')), space);
    }
  }
  const std::string damaged = ends_in_zero + std::string(3, '\0') + "x";
  EXPECT_EQ(WithoutZeros(damaged), damaged);
}

TEST(Fields, TheHeadOfASpaceIsKnown) {
  for (const uint64_t length : {2u, 100u, 1000u, 100'000u, 10'000'000u, 1'000'000'000u}) {
    std::string plane = Number(1, 3) + Text(2, "anything");
    const std::string head = Varint(1 << 3 | 2) + Varint(std::max<uint64_t>(length, plane.size()));
    const bool whole = length <= plane.size();
    EXPECT_TRUE(LooksLikeSpace(head + plane + (whole ? "" : Varint(3 << 3 | 2) + Varint(40))))
        << length;
    EXPECT_FALSE(LooksLikeSpace(head + Number(1, 3) + Number(3, 1))) << "a line is no number";
    EXPECT_FALSE(LooksLikeSpace(head + Number(1, 3) + Text(7, "x"))) << "there is no field 7";
    EXPECT_TRUE(LooksLikeSpace(head + Number(1, 3) + Text(1000, "note") + Text(2, "x")));
    EXPECT_TRUE(LooksLikeSpace(head + Text(3, "") + Text(2, "x")));
    EXPECT_FALSE(LooksLikeSpace(head + Text(4, "") + Text(2, "x"))) << "it begins with another";
  }
  for (const char* word : {"/host:", "/device:", "Task Environment", "#Chip"}) {
    EXPECT_TRUE(LooksLikeSpace(std::string("\x0a\x20\x08") + "?" + word)) << word;
    EXPECT_FALSE(LooksLikeSpace(std::string("\x0b\x20\x08") + "?" + word)) << word;
  }
  EXPECT_FALSE(LooksLikeSpace(std::string("\x0a\x80\x80\x80\x80\x80\x08", 7) + "/host:"));
}

TEST(Fields, OfSpacesBeyondTwoGibibytesAreNotRead) {
  const std::string group = "\x0b";  // refused at once, so what is not there is not read
  const auto read = [&](size_t bytes) {
    return ForEachPlane({group.data(), bytes}, [](const Plane&) { return Status(); }).code();
  };
  EXPECT_EQ(read(size_t{1} << 31), Status::Code::kLimit);
  EXPECT_EQ(read((size_t{1} << 31) - 1), Status::Code::kCorrupt);
}

// The bits are those that files have.
TEST(Notes, ArePackedIntoTheirBits) {
  EXPECT_EQ(NameNote{}.Packed(), 1);
  EXPECT_EQ((NameNote{5, 10, true, false, true}.Packed()), 1 | 5 << 1 | 10 << 4 | 1 << 8 | 1 << 10);
  EXPECT_EQ((NameNote{2, 1, false, true, false}.Packed()), 1 | 2 << 1 | 1 << 4 | 1 << 9);
  EXPECT_EQ(SpanNote{}.Packed(), 0);
  const SpanNote span = {true, false, true, false, 4711, 200};
  EXPECT_EQ(span.Packed(), 1 | 1 << 2 | 200 << 4 | 4711 << 12);
  EXPECT_EQ((SpanNote{false, true, false, true, 0, 0}.Packed()), 1 << 1 | 1 << 3);
  EXPECT_EQ(StepNote{}.Packed(), 0);
  EXPECT_EQ((StepNote{4, true, false, 99}.Packed()), 4 | 1 << 3 | 99 << 5);
  EXPECT_EQ((StepNote{1, false, true, 0}.Packed()), 1 | 1 << 4);
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i) {
    const uint64_t name = random() & 0x7ff;
    EXPECT_EQ(NameNote::Of(name).Packed(), name | 1);
    const uint64_t packed = random() >> random() % 64;
    EXPECT_EQ(SpanNote::Of(packed).Packed(), packed);
    EXPECT_EQ(StepNote::Of(packed & 0x1fffffffff).Packed(), packed & 0x1fffffffff);
  }
}

TEST(Notes, OfPlanesAndLinesComeBack) {
  std::mt19937_64 random(2);
  const auto number = [&] { return static_cast<int64_t>(random() >> random() % 64); };
  const auto text = [&] { return std::string(random() % 3, 'x') + std::to_string(random() % 9); };
  const auto pairs = [&] {
    std::vector<std::pair<int64_t, int64_t>> out(random() % 4);
    for (auto& [a, b] : out) a = number(), b = number();
    return out;
  };
  for (int i = 0; i < 300; ++i) {
    PlaneNote plane;
    plane.process = number(), plane.device = number() - 1;
    plane.device_name = text(), plane.key = text(), plane.name = text();
    plane.why_incomplete = text();
    plane.pid = number(), plane.parent_pid = number();
    plane.start_ns = number(), plane.end_ns = number(), plane.parent = number() - 1;
    plane.complete = random() % 2 == 0;
    plane.paused = pairs();
    PlaneNote plane_back;
    ASSERT_TRUE(Decode(Encode(plane), &plane_back).ok());
    EXPECT_EQ(plane_back.process, plane.process);
    EXPECT_EQ(plane_back.device, plane.device);
    EXPECT_EQ(plane_back.device_name, plane.device_name);
    EXPECT_EQ(plane_back.key, plane.key);
    EXPECT_EQ(plane_back.name, plane.name);
    EXPECT_EQ(plane_back.why_incomplete, plane.why_incomplete);
    EXPECT_EQ(plane_back.pid, plane.pid);
    EXPECT_EQ(plane_back.parent_pid, plane.parent_pid);
    EXPECT_EQ(plane_back.start_ns, plane.start_ns);
    EXPECT_EQ(plane_back.end_ns, plane.end_ns);
    EXPECT_EQ(plane_back.parent, plane.parent);
    EXPECT_EQ(plane_back.complete, plane.complete);
    EXPECT_EQ(plane_back.paused, plane.paused);
    LineNote line;
    line.role = static_cast<int64_t>(random() % 4);
    line.main = random() % 2 == 0, line.ours = random() % 2 == 0, line.lead = random() % 2 == 0;
    line.name = text();
    line.begin_ns = number(), line.end_ns = number(), line.base = pairs();
    LineNote line_back;
    ASSERT_TRUE(Decode(Encode(line), &line_back).ok());
    EXPECT_EQ(line_back.role, line.role);
    EXPECT_EQ(line_back.main, line.main);
    EXPECT_EQ(line_back.ours, line.ours);
    EXPECT_EQ(line_back.lead, line.lead);
    EXPECT_EQ(line_back.name, line.name);
    EXPECT_EQ(line_back.begin_ns, line.begin_ns);
    EXPECT_EQ(line_back.end_ns, line.end_ns);
    EXPECT_EQ(line_back.base, line.base);
  }
  LineNote passed, passed_back;
  passed.role = LineNote::kPassed;
  passed.profile = 3, passed.part = 400, passed.python = -5;
  ASSERT_TRUE(Decode(Encode(passed), &passed_back).ok());
  EXPECT_EQ(passed_back.role, LineNote::kPassed);
  EXPECT_EQ(passed_back.profile, 3);
  EXPECT_EQ(passed_back.part, 400);
  EXPECT_EQ(passed_back.python, -5);
  PlaneNote plane;
  EXPECT_EQ(Decode("\x0a\x09", &plane).code(), Status::Code::kCorrupt);
}

}  // namespace
}  // namespace crosscut::xspace
