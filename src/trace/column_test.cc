#include "src/trace/column.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <numeric>
#include <string>

namespace crosscut::trace {
namespace {

class ColumnTest : public testing::Test {
 protected:
  ColumnTest() { setenv("CROSSCUT_READ_MEMORY", "8", 1); }
  ~ColumnTest() override {
    unsetenv("CROSSCUT_READ_MEMORY");
    unsetenv("TMPDIR");
  }
  static constexpr size_t kMany = (size_t{40} << 20) / sizeof(int64_t);
};

void FillAndCheck(Column<int64_t>* column, size_t n) {
  for (size_t i = 0; i < n; ++i) column->push_back(static_cast<int64_t>(i * i));
  for (size_t i = 0; i < n; ++i) ASSERT_EQ((*column)[i], static_cast<int64_t>(i * i));
}

TEST_F(ColumnTest, BeyondTheLimitItStandsInFiles) {
  {
    Column<int64_t> column;
    FillAndCheck(&column, kMany);
    EXPECT_LE(ColumnsInUse().memory, size_t{8} << 20);
    EXPECT_GE(ColumnsInUse().files, kMany * sizeof(int64_t));
    Column<int64_t> copy = column;
    column.clear();
    column.shrink_to_fit();
    EXPECT_EQ(copy[kMany - 1], static_cast<int64_t>((kMany - 1) * (kMany - 1)));
  }
  EXPECT_EQ(ColumnsInUse().memory, 0u);
  EXPECT_EQ(ColumnsInUse().files, 0u);
}

// Pages of this process's address space.
long MappedPages() {
  long pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages;
}

TEST_F(ColumnTest, WhatIsFreedIsNoLongerMapped) {
  for (const size_t bytes : {size_t{2} << 20, size_t{16} << 20}) {  // in memory, and in a file
    const long before = MappedPages();
    for (int i = 0; i < 20; ++i) FreeColumn(AllocateColumn(bytes), bytes);
    EXPECT_LT(MappedPages() - before, static_cast<long>(bytes / 4096)) << bytes;
  }
}

TEST_F(ColumnTest, SmallOnesCountNowhere) {
  Column<int64_t> column(1000, 7);
  EXPECT_EQ(ColumnsInUse().memory + ColumnsInUse().files, 0u);
}

TEST_F(ColumnTest, WhereThereIsNoDiskItStaysInMemory) {
  setenv("TMPDIR", "/proc", 1);  // holds no files; the next choice does
  {
    Column<int64_t> column;
    column.reserve(kMany);
    EXPECT_EQ(ColumnsInUse().files, kMany * sizeof(int64_t));
  }
  // More than any disk has.
  EXPECT_THROW(AllocateColumn(size_t{1} << 50), std::bad_alloc);
  EXPECT_EQ(ColumnsInUse().memory + ColumnsInUse().files, 0u);
}

TEST_F(ColumnTest, TheUsualLimitIsAQuarterOfTheMachine) {
  unsetenv("CROSSCUT_READ_MEMORY");
  EXPECT_GT(ColumnLimit(), size_t{64} << 20);
}

}  // namespace
}  // namespace crosscut::trace
