// What reading Chrome's traces costs is in proportion to what they hold.
#include <gtest/gtest.h>

#include <chrono>

#include "src/import/chrome/chrome_file_test.h"

namespace crosscut::import {
namespace {

using ChromeCostTest = ChromeFileTest;

// A square of these would be minutes.
TEST_F(ChromeCostTest, ManyArrowsAtTheEndOfManySpansAllLeaveThem) {
  constexpr int kMany = 100'000;
  const std::string row = R"(,"pid":1,"tid":3,"ts":)", end = std::to_string(2 * kMany);
  std::string events;
  for (int i = 0; i < kMany; ++i) {
    const std::string at = std::to_string(i), length = std::to_string(2 * kMany - i);
    events += R"({"ph":"X","cat":"cpu_op","name":"op")" + row + at + R"(,"dur":)" + length + "},";
    for (const char* phase : {R"("s")", R"("f","bp":"e")"}) {
      events += R"({"ph":)" + std::string(phase) + R"(,"id":)" + at + R"(,"cat":"x","name":"x")" +
                row + end + "},";
    }
  }
  events.pop_back();
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(Of(events).flows.size(), size_t{kMany});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

}  // namespace
}  // namespace crosscut::import
