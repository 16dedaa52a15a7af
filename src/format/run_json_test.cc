// What is read of run.json, against an encoder of JSON's escapes.
#include "src/format/run_json.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <random>
#include <string>

namespace crosscut::format {
namespace {

std::string Utf8(uint32_t c) {
  std::string out;
  const auto add = [&out](uint32_t byte) { out += static_cast<char>(byte); };
  if (c < 0x80) {
    add(c);
  } else if (c < 0x800) {
    add(0xc0 + c / 64), add(0x80 + c % 64);
  } else if (c < 0x10000) {
    add(0xe0 + c / 4096), add(0x80 + c / 64 % 64), add(0x80 + c % 64);
  } else {
    add(0xf0 + c / 262144), add(0x80 + c / 4096 % 64), add(0x80 + c / 64 % 64), add(0x80 + c % 64);
  }
  return out;
}

std::string Escape(uint32_t c) {
  char text[8];
  snprintf(text, sizeof text, "\\u%04x", c);
  return text;
}

TEST(RunJson, StringsComeBackHoweverTheyWereWritten) {
  std::mt19937_64 random(1);
  const std::string shorts = "\"\\/\b\f\n\r\t", letters = "\"\\/bfnrt";
  for (int round = 0; round < 3000; ++round) {
    std::string text, json;
    for (uint64_t i = random() % 12; i > 0; --i) {
      const uint64_t bits = random() % 4;
      uint32_t c = static_cast<uint32_t>(random()) % (bits == 0   ? 0x80
                                                      : bits == 1 ? 0x800
                                                      : bits == 2 ? 0x10000
                                                                  : 0x110000);
      if (c == 0 || (c >= 0xd800 && c < 0xe000)) c = 0x20ac;
      text += Utf8(c);
      const size_t named = c < 0x80 ? shorts.find(static_cast<char>(c)) : std::string::npos;
      if (named != std::string::npos && random() % 2 == 0) {
        json += std::string("\\") + letters[named];
      } else if (c >= 0x10000 && random() % 2 == 0) {
        json += Escape(0xd800 + (c - 0x10000) / 1024) + Escape(0xdc00 + (c - 0x10000) % 1024);
      } else if (c < 0x10000 && (random() % 2 == 0 || named != std::string::npos)) {
        json += Escape(c);
      } else {
        json += Utf8(c);
      }
    }
    const std::string all = R"({"x" : [1, {"key": "no"}], "key":  ")" + json + R"(", "y": "key"})";
    ASSERT_EQ(JsonStringMember(all, "key"), text) << all;
    const size_t begin = all.find(R"(")" + json + R"(", "y")");
    for (size_t cut = begin; cut <= begin + json.size() + 1; ++cut) {
      EXPECT_EQ(JsonStringMember(all.substr(0, cut), "key"), "") << "cut at " << cut << ": " << all;
    }
  }
}

TEST(RunJson, HalfAPairStandsForItself) {
  EXPECT_EQ(JsonStringMember(R"({"a": "\ud83d"})", "a"), "\xed\xa0\xbd");
  EXPECT_EQ(JsonStringMember(R"({"a": "\ud83dx"})", "a"), "\xed\xa0\xbdx");
  EXPECT_EQ(JsonStringMember(R"({"a": "\ud83d\u0041"})", "a"),
            "\xed\xa0\xbd"
            "A");
  EXPECT_EQ(JsonStringMember(R"({"a": "\ude00\ud83d\ude00"})", "a"),
            "\xed\xb8\x80"
            "😀");
}

TEST(RunJson, IntegersAreThoseOfTheTopLevel) {
  const std::string json =
      R"({"deep": {"n": 1}, "list": [{"n": 2}], "t": "\"n\": 3", "n"	:
 -42, "big": 9223372036854775807, "text": "5", "n2": 6})";
  EXPECT_EQ(JsonIntegerMember(json, "n"), -42);
  EXPECT_EQ(JsonIntegerMember(json, "big"), INT64_MAX);
  EXPECT_EQ(JsonIntegerMember(json, "text"), 0);
  EXPECT_EQ(JsonIntegerMember(json, "n2"), 6);
  EXPECT_EQ(JsonIntegerMember(json, "none"), 0);
  EXPECT_EQ(JsonIntegerMember("", "n"), 0);
  EXPECT_EQ(JsonIntegerMember(R"({"n")", "n"), 0);
  EXPECT_EQ(JsonIntegerMember(R"(["n", 5])", "n"), 0);
  EXPECT_EQ(JsonStringMember(json, "n"), "");
}

TEST(RunJson, ANewerFormatIsToldByItsNumber) {
  EXPECT_EQ(ProblemOfRun(R"({"format": 1})"), "");
  EXPECT_EQ(ProblemOfRun("{}"), "");
  EXPECT_EQ(ProblemOfRun(R"({"format": 2})"),
            "a newer Crosscut wrote it (format 2, this one reads 1): pip install --upgrade "
            "crosscut");
}

}  // namespace
}  // namespace crosscut::format
