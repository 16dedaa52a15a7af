// Which processes of two runs are the same.
#include "src/compare/roles.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "src/compare/test_recording.h"

namespace crosscut::compare {
namespace {

using analyze::testing::TestTrace;

// Actors of one program, which begin to record in that order; pids tell the order in which they
// were made.
TestTrace Actors(const std::vector<int64_t>& starts) {
  TestTrace t;
  const trace::ProcessId parent = t.Process("p1", 0, 100);
  t.process(parent).pid = 1;
  for (size_t i = 0; i < starts.size(); ++i) {
    const trace::ProcessId child = t.Process("p" + std::to_string(10 + i), starts[i], 90);
    t.process(child).name = t.trace().strings.Intern("actor.py");
    t.process(child).pid = static_cast<int64_t>(10 + i);
    t.process(child).parent = parent;
  }
  return t;
}

TEST(Roles, OfOneParentsChildrenAreInTheOrderOfTheirPids) {
  Recording a(Actors({10, 20, 30})), b(Actors({30, 10, 20}));
  const compare::Run runs[] = {a.run(), b.run()};
  const std::vector<Role> roles = MatchRoles({{runs, 1}, {runs + 1, 1}});
  ASSERT_EQ(roles.size(), 4);
  for (const Role& role : roles) EXPECT_EQ(role.processes.a, role.processes.b) << role.label;
  // Pids that began anew tell nothing.
  Recording late(Actors({20'000'000'000, 10, 20}));
  const compare::Run others[] = {a.run(), late.run()};
  const std::vector<Role> by_start = MatchRoles({{others, 1}, {others + 1, 1}});
  ASSERT_EQ(by_start.size(), 4);
  EXPECT_EQ(by_start[1].processes.b[0], trace::ProcessId{2});
}

TEST(Roles, RanksAreWhatTheyAreCalledInWhateverOrderTheyBegin) {
  const auto made = [](std::vector<const char*> names) {
    TestTrace t;
    for (size_t i = 0; i < names.size(); ++i) {
      const auto id = t.Process("p" + std::to_string(i), static_cast<int64_t>(i), 90);
      t.process(id).name = t.trace().strings.Intern(names[i]);
    }
    return Recording(std::move(t));
  };
  Recording a = made({"rank 0", "rank 1", "rank 2"}), b = made({"rank 1", "rank 2", "rank 0"});
  const compare::Run runs[] = {a.run(), b.run()};
  const std::vector<Role> roles = MatchRoles({{runs, 1}, {runs + 1, 1}});
  ASSERT_EQ(roles.size(), 3);
  for (size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(roles[rank].label, "rank " + std::to_string(rank));
    EXPECT_EQ(roles[rank].processes.b[0].value, (rank + 2) % 3);
  }
}

}  // namespace
}  // namespace crosscut::compare
