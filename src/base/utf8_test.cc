#include "src/base/utf8.h"

#include <gtest/gtest.h>

#include <random>

#include "src/base/shown_text.h"

namespace crosscut::base {
namespace {

// A decoder of its own: the whole characters of `text`, one after the other, else U+FFFD.
std::string ByTheTable(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    size_t best = 0, longest = 0;
    for (size_t n = 1; n <= 4 && at + n <= text.size(); ++n) {
      const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[at + i]); };
      bool prefix = false;  // of some character of `of` bytes
      for (size_t of = n; of <= 4; ++of) {
        const unsigned first = byte(0), second = n > 1 ? byte(1) : 0;
        bool good = of == 1   ? first < 0x80
                    : of == 2 ? first >= 0xc2 && first <= 0xdf
                    : of == 3 ? first >= 0xe0 && first <= 0xef
                              : first >= 0xf0 && first <= 0xf4;
        for (size_t i = 1; i < n; ++i) good = good && byte(i) >= 0x80 && byte(i) <= 0xbf;
        if (n > 1 && first == 0xe0) good = good && second >= 0xa0;
        if (n > 1 && first == 0xed) good = good && second <= 0x9f;
        if (n > 1 && first == 0xf0) good = good && second >= 0x90;
        if (n > 1 && first == 0xf4) good = good && second <= 0x8f;
        if (good && of == n) best = n;
        prefix = prefix || good;
      }
      if (prefix) longest = n;
    }
    out += best > 0 ? text.substr(at, best) : std::string_view("\ufffd");
    at += best > 0 ? best : std::max<size_t>(1, longest);
  }
  return out;
}

TEST(Utf8, CleansRandomBytesAsTheTableOfUnicodeSays) {
  std::mt19937 random(20261128);
  const std::string_view pieces[] = {"abcdefgh", "\xc3\xa9",         "\xe2\x82\xac",
                                     "\xff",     "\xed\xa0\x80",     "\xf0\x9f\x98\x80",
                                     "\xe2\x82", "\xf4\x90\x80\x80", "\xc0\x80"};
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (int n = static_cast<int>(random() % 8); n > 0; --n) {
      if (random() % 3 == 0) text += static_cast<char>(random());
      text += pieces[random() % std::size(pieces)];
    }
    const std::string clean = CleanUtf8(text);
    ASSERT_EQ(clean, ByTheTable(text));
    ASSERT_TRUE(IsUtf8(clean));
    ASSERT_EQ(IsUtf8(text), clean == text);
    ASSERT_EQ(clean.substr(0, Utf8Bytes(text)), text.substr(0, Utf8Bytes(text)));
  }
}

// The first and the last character of every row of the table, and their neighbours that are none.
TEST(Utf8, HoldsTheEdgesOfTheTable) {
  for (const unsigned first : {0x7fu, 0x80u, 0xc1u, 0xc2u, 0xdfu, 0xe0u, 0xe1u, 0xecu, 0xedu, 0xeeu,
                               0xefu, 0xf0u, 0xf1u, 0xf3u, 0xf4u, 0xf5u, 0xffu}) {
    for (const unsigned second : {0x7fu, 0x80u, 0x8fu, 0x90u, 0x9fu, 0xa0u, 0xbfu, 0xc0u}) {
      for (size_t more = 0; more <= 3; ++more) {
        std::string text = {static_cast<char>(first), static_cast<char>(second)};
        text += std::string(more, '\xbf') + "x";
        ASSERT_EQ(CleanUtf8(text), ByTheTable(text)) << first << " " << second << " " << more;
      }
    }
  }
}

TEST(ShownText, ShowsWhatIsNotSeen) {
  EXPECT_EQ(ShownText(std::string_view("a\0b\x1f\x7f~", 6)), "a\u2400b\u241f\u2421~");
  EXPECT_EQ(ShownText("\u00ad \u200b\u200f\u2010 \u2028\u202e\u202f \u2060\u206f\u2070 \ufeff"),
            "<U+00AD> <U+200B><U+200F>\u2010 <U+2028><U+202E>\u202f <U+2060><U+206F>\u2070 "
            "<U+FEFF>");
  EXPECT_EQ(ShownText("\xc2\x80\xc2\x9f\xc2\xa0 \xef\xbf\xbe"), "\ufffd\ufffd\u00a0 \ufffd");
  EXPECT_EQ(ShownText("\u00e9 \u20ac \U0001F600 \ufffd"), "\u00e9 \u20ac \U0001F600 \ufffd");
  EXPECT_EQ(ShownText("\xe2\x82 \xff"), "\ufffd \ufffd");
  size_t used = 0;
  EXPECT_EQ(ShownText("ab\u00e9d", 4, &used), "ab\u00e9");
  EXPECT_EQ(used, 4);
}

TEST(ShownText, OfLinesKeepsTheirBreaksAndShowsEveryOtherControl) {
  EXPECT_EQ(ShownLines("a\x1b[2J,b\nc\r\n\n"), "a\u241b[2J,b\nc\u240d\n\n");
  EXPECT_EQ(ShownLines("caf\xe9"), "caf\ufffd");
}

}  // namespace
}  // namespace crosscut::base
