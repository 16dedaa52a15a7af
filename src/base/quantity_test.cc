#include "src/base/quantity.h"

#include <gtest/gtest.h>

namespace crosscut::base {
namespace {

double Seconds(const char* text) {
  double value = -1;
  return ParseSeconds(text, &value) ? value : -1;
}
double Mebibytes(const char* text) {
  double value = -1;
  return ParseMebibytes(text, &value) ? value : -1;
}

TEST(Quantity, ReadsTimesInSecondsAndTheirUnits) {
  EXPECT_EQ(Seconds("10"), 10);
  EXPECT_EQ(Seconds("0.5"), 0.5);
  EXPECT_EQ(Seconds("10s"), 10);
  EXPECT_EQ(Seconds("500ms"), 0.5);
  EXPECT_DOUBLE_EQ(Seconds("20us"), 20e-6);
  EXPECT_DOUBLE_EQ(Seconds("20µs"), 20e-6);
  EXPECT_DOUBLE_EQ(Seconds("7ns"), 7e-9);
  EXPECT_EQ(Seconds("2m"), 120);
  EXPECT_EQ(Seconds("2min"), 120);
  EXPECT_EQ(Seconds("1.5h"), 5400);
  EXPECT_EQ(Seconds("1d"), 86400);
  EXPECT_EQ(Seconds("1e3"), 1000);
}

TEST(Quantity, ReadsSizesInMebibytesAndTheirUnits) {
  EXPECT_EQ(Mebibytes("64"), 64);
  EXPECT_EQ(Mebibytes("64M"), 64);
  EXPECT_EQ(Mebibytes("512k"), 0.5);
  EXPECT_EQ(Mebibytes("1G"), 1024);
  EXPECT_EQ(Mebibytes("1.5GiB"), 1536);
  EXPECT_EQ(Mebibytes("2gb"), 2048);
  EXPECT_EQ(Mebibytes("1T"), 1048576);
}

TEST(Quantity, RefusesWhatIsNeither) {
  for (const char* text : {"", "s", "10x", "10 s", "1h30m", "ten", "0x10", "nan", "inf", "10sG"}) {
    EXPECT_EQ(Seconds(text), -1) << text;
  }
  for (const char* text : {"", "G", "1Q", "1GG", "1 G", "1s", "0x10", "inf", "1Gib2"}) {
    EXPECT_EQ(Mebibytes(text), -1) << text;
  }
}

}  // namespace
}  // namespace crosscut::base
