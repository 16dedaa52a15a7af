#include "src/trace/kept.h"

#include <gtest/gtest.h>

namespace crosscut::trace {
namespace {

std::string Row(int i) {
  return R"({"ph": "s", "id": )" + std::to_string(i) + R"(, "pid": 7, "tid": 9, "ts": )" +
         std::to_string(i * 37) + R"(.125, "cat": "ac2g", "name": "ac2g"})";
}

TEST(KeptEvents, GiveEverythingBackInOrder) {
  KeptEvents events;
  std::vector<std::string> put;
  for (int i = 0; i < 20'000; ++i) {
    put.push_back(i % 1000 == 0 ? "" : Row(i));
    events.AddText(put.back());
    const auto row = static_cast<uint32_t>(i) * 100'000;
    events.AddNextOf(row);
    put.push_back(std::to_string(row));
  }
  for (const std::string& text : {std::string(1 << 20, 'x'), std::string("a\0b", 3)}) {
    events.AddText(text);
    put.push_back(text);
  }
  std::vector<std::string> got;
  events.ForEach([&](std::string_view text) { got.emplace_back(text); },
                 [&](uint32_t row) { got.push_back(std::to_string(row)); });
  EXPECT_EQ(events.size(), put.size());
  EXPECT_TRUE(got == put);
}

TEST(KeptEvents, TakeASmallPartOfWhatTheyKeep) {
  KeptEvents events;
  size_t bytes = 0;
  for (int i = 0; i < 200'000; ++i) {
    events.AddText(Row(i));
    bytes += Row(i).size();
  }
  EXPECT_LT(events.bytes() * 7, bytes);
  KeptEvents rows;
  for (uint32_t i = 0; i < 2'000'000; ++i) rows.AddNextOf(i % 3);
  EXPECT_LT(rows.bytes(), 1'000'000U);
}

}  // namespace
}  // namespace crosscut::trace
