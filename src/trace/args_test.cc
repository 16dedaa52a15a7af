#include "src/trace/args.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

namespace crosscut::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Arg Number(uint32_t key, int64_t value) { return {{key}, false, value}; }
Arg Text(uint32_t key, uint32_t id) { return {{key}, true, id}; }

std::vector<std::string> Show(const Args& args, uint32_t owner) {
  std::vector<std::string> out;
  for (const Arg& arg : args.of(owner)) {
    out.push_back(std::to_string(arg.key.value) + (arg.is_text ? ":" : "=") +
                  std::to_string(arg.value));
  }
  return out;
}

TEST(Args, GiveBackWhatWasAdded) {
  Args args;
  args.Add(1, Number(7, 5));
  args.Add(1, Text(8, UINT32_MAX - 1));
  args.Add(3, Number(7, -1));
  EXPECT_THAT(Show(args, 0), IsEmpty());
  EXPECT_THAT(Show(args, 1), ElementsAre("7=5", "8:4294967294"));
  EXPECT_THAT(Show(args, 2), IsEmpty());
  EXPECT_THAT(Show(args, 3), ElementsAre("7=-1"));
  EXPECT_THAT(Show(args, 4), IsEmpty());
  EXPECT_THAT(Show(args, kNoSpan), IsEmpty());
  EXPECT_EQ(args.size(), 3u);
}

TEST(Args, KeepNumbersOfAnySize) {
  Args args;
  const int64_t values[] = {
      0,         -1,        INT32_MAX,       INT32_MIN,        INT32_MAX + 1LL,
      INT64_MAX, INT64_MIN, INT32_MIN - 1LL, INT64_C(-1) << 32};
  for (uint32_t i = 0; i < std::size(values); ++i) {
    args.Add(i, Number(1, values[i]));
    args.Add(i, Number(2, i));
  }
  for (uint32_t i = 0; i < std::size(values); ++i) {
    EXPECT_EQ(args.Find(i, {1}).value, values[i]);
    EXPECT_EQ(args.Find(i, {2}).value, i);
  }
}

TEST(Args, TellTextFromJsonAndArgumentsFromWhatStandsBesideThem) {
  Args args;
  args.Add(0, {{1}, true, 9});
  args.Add(0, {{1}, true, 9, /*is_json=*/true});
  args.Add(0, {{1}, false, 9, /*is_json=*/false, /*beside=*/true});
  std::vector<std::string> seen;
  for (const Arg& arg : args.of(0)) {
    seen.push_back(std::string(arg.is_text ? "t" : "n") + (arg.is_json ? "j" : "") +
                   (arg.beside ? "b" : ""));
  }
  EXPECT_THAT(seen, ElementsAre("t", "tj", "nb"));
}

TEST(Args, SayWhetherAKeyStandsThereTwice) {
  Args args;
  args.Add(0, Number(1, 1));
  args.Add(0, Number(2, 1));
  args.Add(1, Number(1, 1));
  args.Add(1, Text(1, 1));
  args.Add(1, Number(3, 1));
  args.Add(2, Number(1, 1));
  args.Add(2, {{1}, false, 1, /*is_json=*/false, /*beside=*/true});
  EXPECT_FALSE(args.of(0).repeats);
  EXPECT_TRUE(args.of(1).repeats);
  auto at = args.of(1).begin();
  EXPECT_TRUE(args.of(1).StandsLater(at));
  EXPECT_FALSE(args.of(1).StandsLater(++at));
  EXPECT_FALSE(args.of(2).repeats);
}

TEST(Args, SayOfAnyNumberWhetherAKeyStandsThereTwice) {
  Args args;
  const auto add = [&](uint32_t owner, uint32_t count, uint32_t more) {
    for (uint32_t key = 0; key < count; ++key) args.Add(owner, Number(key, 5));
    args.Add(owner, Number(more, 5));
    return args.of(owner).repeats;
  };
  uint32_t owner = 0;
  for (const uint32_t count : {1u, 30u, 31u, 32u, 33u, 100u}) {
    EXPECT_TRUE(add(owner++, count, count - 1)) << count;
    EXPECT_FALSE(add(owner++, count, count)) << count;
    EXPECT_TRUE(add(owner++, count, 0)) << count;
    EXPECT_FALSE(add(owner++, count, 1000)) << count;
  }
  // Keys that other ids took the place of.
  args.MapStrings([](StringId id) { return StringId{id.value + 1}; });
  EXPECT_FALSE(add(owner++, 100, 100));
  EXPECT_TRUE(add(owner++, 100, 50));
}

TEST(Args, FindTheFirstOfAKeyOrNone) {
  Args args;
  args.Add(0, Number(1, 10));
  args.Add(0, Number(1, 11));
  EXPECT_EQ(args.Find(0, {1}).value, 10);
  EXPECT_FALSE(args.Find(0, {2}).key.valid());
  EXPECT_FALSE(args.Find(1, {1}).key.valid());
}

// Owners with a random part of a few keys, and some with keys of their own.
std::vector<std::vector<Arg>> RandomArgs(uint32_t owners) {
  std::mt19937_64 random(3);
  std::vector<std::vector<Arg>> all(owners);
  for (uint32_t owner = 0; owner < owners; ++owner) {
    for (uint32_t key = 0; key < 8; ++key) {
      if (random() % 3 == 0) continue;
      const bool text = random() % 4 == 0;
      const auto value = static_cast<int64_t>(random()) >> (random() % 64);
      all[owner].push_back(text ? Text(key, static_cast<uint32_t>(value)) : Number(key, value));
    }
    if (random() % 10 == 0) all[owner].push_back(Number(100 + owner, 1));
  }
  return all;
}

std::vector<std::string> Show(const std::vector<Arg>& of) {
  Args args;
  for (const Arg& arg : of) args.Add(0, arg);
  return Show(args, 0);
}

TEST(Args, OfManyShapesStayApartAndMoveToOthersInAnyOrder) {
  constexpr uint32_t kOwners = 20'000;
  const std::vector<std::vector<Arg>> all = RandomArgs(kOwners);
  Args args;
  for (uint32_t owner = 0; owner < kOwners; ++owner) {
    for (const Arg& arg : all[owner]) args.Add(owner, arg);
  }
  Args others = args.LikeThese();
  EXPECT_EQ(others.size(), 0u);
  for (uint32_t i = 0; i < kOwners; ++i) {
    const uint32_t owner = i * 7 % kOwners;
    ASSERT_EQ(Show(args, owner), Show(all[owner]));
    if (i % 5 == 0) others.Add(i, Number(500, i));
    others.Take(i, &args, owner);
  }
  for (uint32_t i = 0; i < kOwners; ++i) {
    std::vector<Arg> expected = all[i * 7 % kOwners];
    if (i % 5 == 0) expected.insert(expected.begin(), Number(500, i));
    ASSERT_EQ(Show(others, i), Show(expected));
  }
  EXPECT_EQ(others.size(), args.size() + kOwners / 5);
}

TEST(Args, MapTheIdsOfKeysAndTextsAndNoNumbers) {
  Args args;
  args.Add(0, Number(1, 1));
  args.Add(0, Text(2, 1));
  args.Add(1, Number(1, 1));
  args.Add(1, Number(3, int64_t{1} << 40));
  args.Add(1, Text(2, 9));
  args.MapStrings([](StringId id) { return StringId{id.value + 100}; });
  EXPECT_THAT(Show(args, 0), ElementsAre("101=1", "102:101"));
  EXPECT_THAT(Show(args, 1), ElementsAre("101=1", "103=1099511627776", "102:109"));
}

TEST(Args, SharedOnesAreTheSameUntilTheirOwnerGetsMore) {
  Args args;
  args.Add(0, Number(1, 10));
  args.Add(0, Text(2, 20));
  const Args::Shared shared = args.SharedOf(0);
  args.Share(1, shared);
  args.Add(1, Number(3, 30));
  args.Share(2, shared);
  args.Add(2, Number(4, int64_t{1} << 40));
  args.Share(3, shared);
  args.Add(4, Number(1, 50));
  EXPECT_THAT(Show(args, 0), ElementsAre("1=10", "2:20"));
  EXPECT_THAT(Show(args, 1), ElementsAre("1=10", "2:20", "3=30"));
  EXPECT_THAT(Show(args, 2), ElementsAre("1=10", "2:20", "4=1099511627776"));
  EXPECT_THAT(Show(args, 3), ElementsAre("1=10", "2:20"));
  EXPECT_THAT(Show(args, 4), ElementsAre("1=50"));
  EXPECT_EQ(args.size(), 11u);

  args.MapStrings([](StringId id) { return StringId{id.value + 100}; });
  EXPECT_THAT(Show(args, 0), ElementsAre("101=10", "102:120"));
  EXPECT_THAT(Show(args, 2), ElementsAre("101=10", "102:120", "104=1099511627776"));
  EXPECT_THAT(Show(args, 3), ElementsAre("101=10", "102:120"));
}

TEST(Args, SharedOnesMoveToOthersAsOftenAsTheyAreAskedFor) {
  constexpr uint32_t kOwners = 100'000;  // of many blocks
  Args args;
  args.Add(0, Number(1, 10));
  const Args::Shared shared = args.SharedOf(0);
  for (uint32_t owner = 1; owner < kOwners; ++owner) {
    if (owner % 3 == 0) {
      args.Add(owner, Number(2, owner));
    } else {
      args.Share(owner, shared);
    }
  }
  Args others = args.LikeThese();
  for (uint32_t owner = 0; owner < kOwners; ++owner) {
    others.Take(kOwners - 1 - owner, &args, owner);
  }
  for (uint32_t owner = 0; owner < kOwners; ++owner) {
    const uint32_t was = kOwners - 1 - owner;
    const bool own = was % 3 == 0 && was != 0;
    ASSERT_THAT(Show(others, owner),
                ElementsAre(own ? "2=" + std::to_string(was) : std::string("1=10")));
  }
  EXPECT_EQ(others.size(), kOwners);
}

}  // namespace
}  // namespace crosscut::trace
