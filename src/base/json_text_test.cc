#include "src/base/json_text.h"

#include <gtest/gtest.h>

namespace crosscut::base {
namespace {

std::string Json(std::string_view text) {
  std::string out;
  AppendJsonString(text, &out);
  return out;
}

TEST(JsonText, EscapesWhatMayNotStandInAString) {
  EXPECT_EQ(Json("plain"), "\"plain\"");
  EXPECT_EQ(Json("a\"b\\c\n\t\r"), R"("a\"b\\c\n\t\r")");
  EXPECT_EQ(Json(std::string_view("\0\x1f\x7f", 3)), R"("\u0000\u001f\u007f")");
}

TEST(JsonText, EscapesAtEveryPlaceOfALongText) {
  for (int c = 0; c < 0x100; ++c) {
    const std::string one(1, static_cast<char>(c));
    const std::string alone = Json(one);  // with its quotes
    for (size_t at = 0; at <= 20; ++at) {
      const std::string before(at, 'z'), behind(20 - at, ' ');
      EXPECT_EQ(Json(before + one + behind),
                '"' + before + alone.substr(1, alone.size() - 2) + behind + '"');
    }
  }
}

TEST(JsonText, KeepsValidUtf8AndReplacesTheRest) {
  EXPECT_EQ(Json("é€😀"), "\"é€😀\"");
  EXPECT_EQ(Json("a\xff"
                 "b"),
            "\"a\ufffdb\"");
  EXPECT_EQ(Json("\xc0\x80"), "\"\ufffd\ufffd\"");            // overlong
  EXPECT_EQ(Json("\xed\xa0\x80"), "\"\ufffd\ufffd\ufffd\"");  // a surrogate
  EXPECT_EQ(Json("\xe2\x82"), "\"\ufffd\"");                  // cut off
  EXPECT_EQ(Json("\xf4\x90\x80\x80"), "\"\ufffd\ufffd\ufffd\ufffd\"");
}

}  // namespace
}  // namespace crosscut::base
