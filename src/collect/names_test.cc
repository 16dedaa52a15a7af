#include "src/collect/names.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <string>
#include <vector>

namespace crosscut::record {
namespace {

TEST(NamesTest, EqualArgumentsGiveEqualIdsAndOthersDoNot) {
  static Names names;
  std::map<std::string, uint32_t> ids;
  for (int i = 0; i < 5000; ++i) {
    const std::string text = "name " + std::to_string(i);
    const uint32_t id = names.Add(text, 7, 4 << 20);
    ASSERT_NE(id, 0u);
    EXPECT_TRUE(ids.emplace(text, id).second);
  }
  for (const auto& [text, id] : ids) {
    EXPECT_EQ(names.Find(text, 7), id);
    EXPECT_EQ(names.Find(text, 8), 0u);
    EXPECT_EQ(std::string(names.Get(id).text, names.Get(id).bytes), text);
  }
}

TEST(NamesTest, AChildWithoutMemoryForTheTableRefusesAndKnowsAllOnceItHasSome) {
  static Names names;
  std::vector<uint32_t> ids;
  for (int i = 0; i < 2000; ++i) ids.push_back(names.Add("of " + std::to_string(i), 7, 4 << 20));
  const size_t bytes = names.bytes();
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    names.AfterFork();
    const bool counted = names.bytes() == bytes - 4096 * sizeof(uint32_t);  // the table's places
    rlimit before = {};
    getrlimit(RLIMIT_AS, &before);
    const rlimit none = {0, before.rlim_max};
    setrlimit(RLIMIT_AS, &none);
    bool good = counted && names.Find("of 7", 7) == ids[7] && names.Add("another", 7, 4 << 20) == 0;
    setrlimit(RLIMIT_AS, &before);
    const uint32_t another = names.Add("another", 7, 4 << 20);
    good = good && another > ids.back() && names.Find("another", 7) == another;
    for (int i = 0; i < 2000; ++i)
      good = good && names.Find("of " + std::to_string(i), 7) == ids[i];
    _exit(good ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(NamesTest, BeyondItsCapTheTableRefusesAndKeepsWhatItHas) {
  static Names names;
  uint32_t id = 0, last = 0;
  int count = 0;
  const std::string long_text(3000, 'x');
  while ((id = names.Add(long_text + std::to_string(count), 1, 1 << 20)) != 0) {
    last = id;
    ++count;
  }
  EXPECT_GT(count, 200);
  EXPECT_LT(count, 350);
  EXPECT_EQ(names.Find(long_text + std::to_string(count - 1), 1), last);
  // What found no room stands under one name of its attributes, which is no new one each time.
  const uint32_t unnamed = names.Unnamed(1);
  EXPECT_GT(unnamed, last);
  EXPECT_EQ(names.Unnamed(1), unnamed);
  EXPECT_NE(names.Unnamed(2), unnamed);
  EXPECT_EQ(names.Get(unnamed).text, Names::kUnnamed);
  EXPECT_EQ(names.Get(unnamed).attributes, 1u);
}

TEST(NamesTest, EvenTheNamesThatStandForOthersAreBounded) {
  static Names names;
  for (int i = 0; names.Add("name " + std::to_string(i), 1, 256 << 10) != 0; ++i) {
  }
  const uint32_t before = names.count();
  uint64_t attributes = 2;
  while (names.Unnamed(attributes) != 0) ++attributes;
  EXPECT_EQ(names.Unnamed(2), names.Find(Names::kUnnamed, 2));
  EXPECT_GE(names.count() - before, 256u);
  EXPECT_LE(names.count() - before, 1024u);
}

}  // namespace
}  // namespace crosscut::record
