#include "src/base/quantity.h"

#include <gtest/gtest.h>
#include <locale.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

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

// As a program does that shows numbers in the way of its country.
TEST(Quantity, ADecimalCommaOfTheProgramChangesNothing) {
  char folder[] = "/tmp/crosscut-locale-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string made = std::string("localedef -i de_DE -f UTF-8 ") + folder + "/de_DE.UTF-8";
  if (std::system((made + " 2>/dev/null").c_str()) > 1 << 8) GTEST_SKIP() << "no localedef here";
  setenv("LOCPATH", folder, 1);
  ASSERT_NE(setlocale(LC_ALL, "de_DE.UTF-8"), nullptr);
  char plain[32], text[32];
  snprintf(plain, sizeof plain, "%g", 2.5);
  WriteNumber(2.5, text, sizeof text);
  const double seconds = Seconds("1.5h");
  const char* end = nullptr;
  const double number = ReadNumber("-0.25,", &end);
  setlocale(LC_ALL, "C");
  std::filesystem::remove_all(folder);
  EXPECT_STREQ(plain, "2,5") << "the locale is none";
  EXPECT_STREQ(text, "2.5");
  EXPECT_EQ(seconds, 5400);
  EXPECT_EQ(number, -0.25);
  EXPECT_STREQ(end, ",");
}

TEST(Quantity, WritesWhatPrintfWrites) {
  for (const double number : {0.0, 5.0, 2.5, 0.1, 1.0 / 3, 91.0, 1e-5, 123456.0, 1234567.0}) {
    char plain[32], text[32];
    snprintf(plain, sizeof plain, "%.6g", number);
    WriteNumber(number, text, sizeof text);
    EXPECT_STREQ(text, plain);
  }
}

}  // namespace
}  // namespace crosscut::base
