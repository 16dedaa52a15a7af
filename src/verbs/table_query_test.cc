#include "src/verbs/table_query.h"

#include <gtest/gtest.h>

#include <cmath>

namespace crosscut::verbs {
namespace {

using analyze::Integers;
using analyze::kMissing;
using analyze::Reals;
using analyze::Table;
using analyze::Texts;

Table Sample() {
  return {"sample",
          {{"name", Texts{"forward", "backward", "", "data"}},
           {"wall_ns", Integers{2'000'000, kMissing, 9'007'199'254'740'993, 1'500}},
           {"peak_bytes", Integers{1 << 20, 4096, 0, 2 << 20}},
           {"percent", Reals{12.5, NAN, 50, 0.1}}},
          {}};
}

std::vector<std::string> Names(const TableQuery& query) {
  const auto table = Select(Sample(), query);
  if (!table.ok()) return {std::string(table.status().message())};
  const Texts& names = table->texts("name");
  return {names.begin(), names.end()};
}

using Expected = std::vector<std::string>;

TEST(TableQuery, SortsByAColumnWithUnknownCellsLast) {
  EXPECT_EQ(Names({.sort = "wall_ns"}), (Expected{"data", "forward", "", "backward"}));
  EXPECT_EQ(Names({.sort = "-wall_ns"}), (Expected{"", "forward", "data", "backward"}));
  EXPECT_EQ(Names({.sort = "-percent"}), (Expected{"", "forward", "data", "backward"}));
  EXPECT_EQ(Names({.sort = "name"}), (Expected{"", "backward", "data", "forward"}));
}

TEST(TableQuery, RowsThatAreAlikeKeepTheirOrder) {
  const Table table = {"alike",
                       {{"name", Texts{"b", "a", "b", "a"}},
                        {"row", Integers{1, 2, 3, 4}},
                        {"ns", Integers{7, 7, kMissing, 7}}},
                       {}};
  const auto sorted = [&](const std::string& by) {
    return Select(table, {.sort = by})->integers("row");
  };
  EXPECT_EQ(sorted("name"), (Integers{2, 4, 1, 3}));
  EXPECT_EQ(sorted("-name"), (Integers{1, 3, 2, 4}));
  EXPECT_EQ(sorted("ns"), (Integers{1, 2, 4, 3}));
  EXPECT_EQ(sorted("-ns"), (Integers{1, 2, 4, 3}));
}

TEST(TableQuery, ReadsTimesAndSizesInTheUnitOfTheColumn) {
  EXPECT_EQ(Names({.where = {"wall_ns >= 2ms"}}), (Expected{"forward", ""}));
  EXPECT_EQ(Names({.where = {"wall_ns=1.5us"}}), (Expected{"data"}));
  EXPECT_EQ(Names({.where = {"wall_ns = 1500"}}), (Expected{"data"}));
  EXPECT_EQ(Names({.where = {"wall_ns = +1500"}}), (Expected{"data"}));
  EXPECT_EQ(Names({.where = {"peak_bytes > 1M"}}), (Expected{"data"}));
  EXPECT_EQ(Names({.where = {"percent < 12.6"}}), (Expected{"forward", "data"}));
}

TEST(TableQuery, ComparesLargeIntegersExactly) {
  EXPECT_EQ(Names({.where = {"wall_ns = 9007199.254740993s"}}), (Expected{""}));
  EXPECT_EQ(Names({.where = {"wall_ns > 9007199.254740992s"}}), (Expected{""}));
  EXPECT_EQ(Names({.where = {"wall_ns > 9007199254740992"}}), (Expected{""}));
  EXPECT_EQ(Names({.where = {"wall_ns > 9007199254740993"}}), (Expected{}));
}

TEST(TableQuery, ReadsNumbersWithThePrecisionOfTheCells) {
  EXPECT_EQ(Names({.where = {"percent = 0.1"}}), (Expected{"data"}));
  EXPECT_EQ(Names({.where = {"percent <= 0.1"}}), (Expected{"data"}));
  EXPECT_EQ(Names({.where = {"percent < 0.1"}}), (Expected{}));
}

TEST(TableQuery, ComparesTextsWholeOrInPart) {
  EXPECT_EQ(Names({.where = {"name ~ ward"}}), (Expected{"forward", "backward"}));
  EXPECT_EQ(Names({.where = {"name ~ ward", "name != forward"}}), (Expected{"backward"}));
  EXPECT_EQ(Names({.where = {"name="}}), (Expected{""}));
}

TEST(TableQuery, TakesTheFirstRowsAndSaysHowManyThereWere) {
  const auto table = Select(Sample(), {.where = {"name != data"}, .sort = "name", .limit = 1});
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(table->rows(), 1u);
  EXPECT_EQ(table->notes, (Expected{"3 rows of 4 meet the conditions", "the first 1 row of 3"}));
  for (const size_t all : {4, 9}) EXPECT_EQ(Select(Sample(), {.limit = all})->notes, Expected{});
  EXPECT_TRUE(TableQuery().all());
  EXPECT_FALSE(TableQuery{.limit = 3}.all());
}

TEST(TableQuery, NamesWhatIsNearWhereAColumnIsMisspelt) {
  EXPECT_EQ(Names({.sort = "-wal_ns"}),
            (Expected{"--sort: table sample has no column wal_ns; did you mean wall_ns? Its "
                      "columns are name, wall_ns, peak_bytes, percent"}));
}

TEST(TableQuery, RefusesWhatIsNoCondition) {
  EXPECT_EQ(Names({.where = {"wall_ns 5"}}),
            (Expected{"--where: \"wall_ns 5\": a condition is COLUMN OP VALUE, where OP is = != < "
                      "<= > >= or ~ (contains)"}));
  EXPECT_EQ(Names({.where = {"wall_ns > fast"}}),
            (Expected{"--where: \"wall_ns > fast\": fast is no number; write 1500, 1.5us, 2ms or "
                      "1s"}));
  for (const std::string op : {"<", "<=", ">", ">="}) {
    EXPECT_EQ(Names({.where = {"name " + op + " 3"}}),
              (Expected{"--where: \"name " + op +
                        " 3\": name holds texts, which are compared by = != or ~ (contains)"}));
  }
  EXPECT_EQ(Names({.where = {"percent ~ 1"}}),
            (Expected{"--where: \"percent ~ 1\": percent holds numbers, which contain nothing"}));
}

}  // namespace
}  // namespace crosscut::verbs
