// Events out of JSON, whatever else it holds and however it is damaged.
#include "src/import/chrome/json_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <random>

namespace crosscut::import {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Text in pieces of a given size.
class Pieces : public TextStream {
 public:
  Pieces(std::string text, size_t piece) : text_(std::move(text)), piece_(piece) {}
  Result<size_t> Read(std::span<char> to) override {
    const size_t n = std::min({to.size(), piece_, text_.size() - at_});
    memcpy(to.data(), text_.data() + at_, n);
    at_ += n;
    return n;
  }

 private:
  std::string text_;
  size_t piece_, at_ = 0;
};

std::string Words(const JsonValue& value) {
  constexpr const char* kKinds[] = {"-", "n", "t", "r"};
  return kKinds[static_cast<int>(value.kind)] + std::string(value.text);
}

class Log : public JsonEvents {
 public:
  void OnEvent(const JsonEvent& e) override {
    std::string line = std::string(1, e.ph) + "|" + std::string(e.name) + "|" +
                       std::to_string(e.ts_ns) + "|" + Words(e.pid) + "|" + Words(e.tid);
    for (const JsonArg& arg : e.args) line += "|" + std::string(arg.key) + "=" + Words(arg.value);
    lines.push_back(line);
  }
  void OnFact(std::string_view key, const JsonValue& value) override {
    facts.push_back(std::string(key) + "=" + Words(value));
  }
  std::vector<std::string> lines, facts;
};

struct Read {
  Log log;
  Result<JsonReading> reading;
};
Read ReadText(const std::string& text, size_t window = size_t{8} << 20, size_t piece = 1 << 20) {
  Read read = {{}, Status::Invalid("")};
  Pieces pieces(text, piece);
  read.reading = ReadJsonEvents(&pieces, &read.log, window);
  return read;
}

TEST(JsonEvents, TellsEventsAndWhatStandsBesideThem) {
  const Read read = ReadText(R"({"schemaVersion": 1, "host": "a\"b", "traceEvents": [
    {"ph": "X", "cat": "c", "name": "one", "pid": 1, "tid": "t", "ts": 12.3456, "dur": 1,
     "args": {"k": 1, "l": [1, {"m": 2}], "n": "x", "o": null}},
    {"ph": "i", "name": "two", "pid": 1, "tid": 2, "ts": -0.5}
  ], "traceName": "end"})");
  ASSERT_TRUE(read.reading.ok()) << read.reading.status().message();
  EXPECT_THAT(read.log.lines, ElementsAre("X|one|12346|n1|tt|k=n1|l=r[1, {\"m\": 2}]|n=tx|o=rnull",
                                          "i|two|-500|n1|n2"));
  EXPECT_THAT(read.log.facts, ElementsAre("schemaVersion=n1", "host=ta\\\"b", "traceName=tend"));
  EXPECT_EQ(read.reading->events, 2U);
  EXPECT_EQ(read.reading->damaged, 0U);
  EXPECT_EQ(read.reading->cut_off, "");
}

TEST(JsonEvents, ABareArrayNeedsNoEnd) {
  for (const char* end : {"]", "", ",", ",\n]", "\n", "]\n"}) {
    const Read read = ReadText(std::string(R"([{"ph": "B", "name": "a"}, {"ph": "E"})") + end);
    ASSERT_TRUE(read.reading.ok());
    EXPECT_EQ(read.log.lines.size(), 2U) << end;
    EXPECT_EQ(read.reading->damaged, 0U) << end;
    EXPECT_EQ(read.reading->cut_off, "") << end;
  }
}

TEST(JsonEvents, WhatIsNoTraceIsRefused) {
  for (const char* text : {"", "{}", "7", R"({"traceEvents": 7})", R"({"a": {"traceEvents": 7}})",
                           "\"traceEvents\": [", "nonsense"}) {
    EXPECT_FALSE(ReadText(text).reading.ok()) << text;
  }
}

TEST(JsonEvents, UnescapedQuotesCostOneEvent) {
  for (const char* name : {"a \"b\" c", "a \"b c"}) {
    std::string text = "[";
    for (int i = 0; i < 50; ++i) {
      text += R"({"ph": "X", "name": "n)" + std::to_string(i) + "\", \"ts\": 1},\n";
      if (i == 20) text += R"({"ph": "X", "name": ")" + std::string(name) + "\", \"ts\": 1},\n";
    }
    const Read read = ReadText(text + "]");
    ASSERT_TRUE(read.reading.ok());
    EXPECT_EQ(read.reading->events, 50U) << name;
    EXPECT_EQ(read.reading->damaged, 1U) << name;
    EXPECT_EQ(read.reading->first_damage_at, text.find(name) - strlen(R"({"ph": "X", "name": ")"))
        << name;
    EXPECT_EQ(read.reading->cut_off, "");
  }
}

TEST(JsonEvents, BytesThatAreNoTextCostOneEvent) {
  const Read read = ReadText(
      "[{\"ph\": \"X\", \"name\": \"a\"}, {\"ph\": \"X\", \"name\": \"\xff\xfe\"}, "
      "{\"ph\": \"X\", \"name\": \"b\"}]");
  ASSERT_TRUE(read.reading.ok());
  EXPECT_EQ(read.log.lines.size(), 2U);
  EXPECT_EQ(read.reading->damaged, 1U);
}

// A text of random events, hostile to whoever looks for their ends.
std::string RandomTrace(std::mt19937* random, int events) {
  const std::vector<std::string> texts = {"a", "},{\\\"ph\\\":1", "\\\\", "[{\\\"", "x y",
                                          "",  "\\u00e4",         "}, {", "\\\"",   "traceEvents"};
  const auto text = [&] { return "\"" + texts[(*random)() % texts.size()] + "\""; };
  const auto space = [&] { return std::string((*random)() % 3 == 0 ? "\n  " : ""); };
  std::string out = "{\"a\": " + text() + ", \"traceEvents\": [";
  for (int i = 0; i < events; ++i) {
    if (i > 0) out += "," + space();
    out += "{" + space() + R"("ph": "X", "name": )" + text() + R"(, "pid": )" +
           std::to_string((*random)() % 3) + R"(, "tid": 1, "ts": )" + std::to_string(i) + ".5";
    if ((*random)() % 2 == 0) {
      out += R"(, "args": {"v": [{"w": )" + text() + "}," + space() + "{\"x\": " + text() +
             R"(}], "y": )" + text() + "}";
    }
    out += space() + "}";
  }
  return out + "], \"b\": [{\"c\": 1}, {\"d\": " + text() + "}]}";
}

TEST(JsonEvents, WindowsOfAnySizeReadTheSame) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    const std::string text = RandomTrace(&random, 1 + static_cast<int>(random() % 40));
    const Read whole = ReadText(text);
    ASSERT_TRUE(whole.reading.ok());
    simdjson::dom::parser parser;
    const simdjson::dom::element theirs = parser.parse(text);
    size_t i = 0;
    for (const simdjson::dom::element event : theirs["traceEvents"].get_array()) {
      std::string space;
      ASSERT_LT(i, whole.log.lines.size());
      const std::string name = whole.log.lines[i].substr(2, whole.log.lines[i].find('|', 2) - 2);
      EXPECT_EQ(WithoutEscapes(name, &space), std::string_view(event["name"]));
      ++i;
    }
    EXPECT_EQ(i, whole.log.lines.size());
    EXPECT_THAT(whole.log.facts, ::testing::SizeIs(2));
    for (const size_t window : {64, 200, 1000}) {
      const Read parts = ReadText(text, window, 1 + random() % 100);
      ASSERT_TRUE(parts.reading.ok());
      EXPECT_EQ(parts.log.lines, whole.log.lines) << text;
      EXPECT_EQ(parts.log.facts, whole.log.facts);
      EXPECT_EQ(parts.reading->damaged, 0U) << text;
    }
  }
}

TEST(JsonEvents, AnyPrefixGivesItsWholeEvents) {
  std::mt19937 random(11);
  const std::string text = RandomTrace(&random, 12);
  const Read whole = ReadText(text);
  const size_t begin = text.find('[') + 1;
  for (size_t length = begin; length < text.size(); ++length) {
    const Read part = ReadText(text.substr(0, length), 256);
    ASSERT_TRUE(part.reading.ok());
    const std::vector<std::string>& lines = part.log.lines;
    ASSERT_LE(lines.size(), whole.log.lines.size());
    EXPECT_TRUE(std::equal(lines.begin(), lines.end(), whole.log.lines.begin()))
        << text.substr(0, length) << "\n"
        << ::testing::PrintToString(lines);
    EXPECT_EQ(part.reading->damaged, 0U) << length;
  }
}

TEST(JsonEvents, AMissingCommaBetweenEventsCostsNothing) {
  const Read read = ReadText(R"([{"ph": "B", "name": "a"} {"ph": "E"}, {"ph": "i"}])");
  ASSERT_TRUE(read.reading.ok());
  EXPECT_EQ(read.log.lines.size(), 3U);
  EXPECT_EQ(read.reading->damaged, 0U);
}

TEST(JsonEvents, WhatStandsBesideTheEventsIsWholeOrToldToBeDamaged) {
  const auto read = [](const std::string& text) {
    Read read = ReadText(text);
    EXPECT_TRUE(read.reading.ok());
    EXPECT_EQ(read.reading->events, 1U) << text;
    EXPECT_EQ(read.reading->cut_off, "") << text;
    return read;
  };
  const std::string head = R"({"traceEvents": [{"ph": "E"}])";
  for (const char* tail : {"}", " }\n", R"(, "a": 1})", R"(, "a": {"b": [2]}} )"}) {
    EXPECT_FALSE(read(head + tail).reading->beside_damaged) << tail;
  }
  for (const char* tail : {"", ",", R"(, "a": 1)", R"(, "a": 1}, {})", R"(}{"traceEvents": []})",
                           R"(, "a": 1, x})", "]}"}) {
    EXPECT_TRUE(read(head + tail).reading->beside_damaged) << tail;
  }
  EXPECT_THAT(read(head + R"(, "a": 1, "b": x})").log.facts, ElementsAre("a=n1"));
  EXPECT_TRUE(read(R"({"a": 1, "b": x, "traceEvents": [{"ph": "E"}]})").reading->beside_damaged);
  EXPECT_FALSE(read("[{\"ph\": \"E\"}]\n").reading->beside_damaged);
  EXPECT_TRUE(read("[{\"ph\": \"E\"}] [").reading->beside_damaged);
}

TEST(JsonEvents, AnArrayInAnObjectIsCutOffWhereItsEndIsMissing) {
  for (const char* end : {"", ",", ",\n"}) {
    const Read read = ReadText(std::string(R"({"traceEvents": [{"ph": "B"}, {"ph": "E"})") + end);
    ASSERT_TRUE(read.reading.ok());
    EXPECT_EQ(read.reading->events, 2U);
    EXPECT_EQ(read.reading->cut_off, "the text ends in the middle of the events");
  }
}

TEST(JsonEvents, NothingBetweenTheCommasIsNoEvent) {
  const Read read = ReadText(R"([null, {"ph": "B", "name": "a"}, {}, null, {"ph": "E"}, {}])");
  ASSERT_TRUE(read.reading.ok());
  EXPECT_EQ(read.reading->events, 2U);
  EXPECT_EQ(read.reading->damaged, 0U);
  EXPECT_THAT(read.log.lines, ::testing::SizeIs(2));
}

TEST(JsonEvents, WhatIsNoNumberCostsNoEvent) {
  for (const char* word :
       {"NaN", "nan", "inf", "-inf", "Infinity", "-Infinity", "+inf", "-nan", "nan(ind)", "None"}) {
    const Read read = ReadText(R"([{"ph": "X", "name": "a", "args": {"v": )" + std::string(word) +
                               R"(, "w": 1}}, {"ph": "X", "name": "b"}])");
    ASSERT_TRUE(read.reading.ok());
    EXPECT_EQ(read.reading->damaged, 0U) << word;
    ASSERT_THAT(read.log.lines, ::testing::SizeIs(2)) << word;
    EXPECT_THAT(read.log.lines[0], HasSubstr("v=r" + std::string(word) + "|w=n1"));
  }
  EXPECT_EQ(ReadText(R"([{"ph": "X", "ts": oops}, {"ph": "X", "ts": NaN}])").reading->damaged, 1U);
}

TEST(JsonEvents, AByteOrderMarkIsNoPartOfTheText) {
  for (const char* text :
       {"\xef\xbb\xbf[{\"ph\": \"B\"}]", "\xef\xbb\xbf {\"traceEvents\": [{\"ph\": \"B\"}]}"}) {
    const Read read = ReadText(text);
    ASSERT_TRUE(read.reading.ok());
    EXPECT_EQ(read.reading->events, 1U);
  }
}

TEST(JsonEvents, OnlyTheObjectsOwnFieldHoldsTheEvents) {
  const std::string text = R"({"metadata": {"traceEvents": [{"ph": "X", "name": "no"}], "s":
      "\"traceEvents\": [1"}, "traceEvents" : [{"ph": "X", "name": "yes"}], "b": 1})";
  for (const size_t window : {64, 1 << 20}) {
    for (const size_t piece : {1, 7, 1000}) {
      const Read read = ReadText(text, window, piece);
      ASSERT_TRUE(read.reading.ok());
      ASSERT_THAT(read.log.lines, ::testing::SizeIs(1));
      EXPECT_THAT(read.log.lines[0], HasSubstr("|yes|"));
      EXPECT_FALSE(read.reading->beside_damaged);
      EXPECT_THAT(read.log.facts, ::testing::SizeIs(2));
    }
  }
}

TEST(JsonEvents, ASecondArrayOfEventsIsTold) {
  EXPECT_TRUE(ReadText(R"({"traceEvents": [{"ph": "E"}], "traceEvents": [{"ph": "E"}]})")
                  .reading->beside_damaged);
}

TEST(JsonEvents, TimesKeepEveryNanosecond) {
  EXPECT_EQ(MicrosecondsToNs("1712195495519703.772"), 1712195495519703772);
  EXPECT_EQ(MicrosecondsToNs("0.0005"), 1);
  EXPECT_EQ(MicrosecondsToNs("0.00049"), 0);
  EXPECT_EQ(MicrosecondsToNs("-1.25"), -1250);
  EXPECT_EQ(MicrosecondsToNs("1.5e3"), 1'500'000);
  EXPECT_EQ(MicrosecondsToNs("1.712195495519703772E+15"), 1712195495519703772);
  EXPECT_EQ(MicrosecondsToNs("-25e-1"), -2500);
  EXPECT_EQ(MicrosecondsToNs("15e-4"), 2);
  EXPECT_EQ(MicrosecondsToNs("1e-999999"), 0);
  EXPECT_EQ(MicrosecondsToNs("7"), 7000);
  for (const char* text : {"", "x", "-", "99999999999999999999", "1e300", "1e999999",
                           "1e99999999999", "1.2.3", "1.2e", "nan", "1e18"}) {
    EXPECT_EQ(MicrosecondsToNs(text), JsonEvent::kNoTime) << text;
  }
}

}  // namespace
}  // namespace crosscut::import
