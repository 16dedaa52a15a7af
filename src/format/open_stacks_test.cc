// Which spans are open, against a stack that knows docs/format.md alone.
#include "src/format/open_stacks.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "src/format/test_words.h"

namespace crosscut::format {
namespace {

using testing::Word;

struct Name {
  uint32_t id;
  NameAttributes attributes;
};

// Of each kind one with a code and one without.
std::vector<Name> NamesOfEveryKind() {
  const NameAttributes kinds[] = {{kKindSpan},
                                  {kKindSpan, kLayerNone, 0, 0x1f0},
                                  {kKindOperation},
                                  {kKindOperation, kLayerNone, 0, 0x1f0},
                                  {kKindSpan, kLayerNone, kFlagCrosses, 0x1f0},
                                  {kKindStep},
                                  {kKindPhase}};
  std::vector<Name> out;
  for (const NameAttributes& kind : kinds) {
    out.push_back({static_cast<uint32_t>(0x100 + out.size()), kind});
    // Of wide names no probe is known: a list of them could be long.
    if (kind.probe == 0 || kind.flags != 0 || kind.kind == kKindOperation) {
      out.push_back({static_cast<uint32_t>(70'000 + out.size()), kind});
    }
  }
  return out;
}

// As the grammar says it.
class Model {
 public:
  explicit Model(const std::vector<Name>& names) {
    for (const Name& name : names) names_[name.id] = name.attributes;
  }
  void Begin(uint32_t track, uint32_t id) {
    if (KindOf(id) != kKindStep && KindOf(id) != kKindPhase) open_[track].push_back(id);
  }
  void End(uint32_t track) {  // the innermost that does not end by name
    auto& stack = open_[track];
    for (size_t i = stack.size(); i-- > 0;) {
      if (EndsByItsName(stack[i])) continue;
      stack.erase(stack.begin() + static_cast<ptrdiff_t>(i));
      return;
    }
  }
  void EndNamed(uint32_t track, uint32_t id) {
    auto& stack = open_[track];
    size_t at = stack.size();
    while (at > 0 && stack[at - 1] != id) --at;
    if (at == 0) return;
    std::vector<uint32_t> left(stack.begin(), stack.begin() + static_cast<ptrdiff_t>(at) - 1);
    for (; at < stack.size(); ++at) {
      const uint32_t above = stack[at];
      // Of an operation the operations and the spans without a probe above it end, too; of a span
      // that crosses nothing else; of any other all above it but what ends by name.
      const bool goes_on = Crosses(id) ? true
                           : KindOf(id) == kKindOperation
                               ? KindOf(above) != kKindOperation && names_.at(above).probe != 0
                               : EndsByItsName(above);
      if (goes_on) left.push_back(above);
    }
    stack = left;
  }
  void NewThread(uint32_t track) { open_[track].clear(); }
  const std::vector<uint32_t>& open(uint32_t track) { return open_[track]; }

 private:
  Kind KindOf(uint32_t id) const { return names_.at(id).kind; }
  bool Crosses(uint32_t id) const { return (names_.at(id).flags & kFlagCrosses) != 0; }
  bool EndsByItsName(uint32_t id) const { return KindOf(id) == kKindOperation || Crosses(id); }

  std::map<uint32_t, NameAttributes> names_;
  std::map<uint32_t, std::vector<uint32_t>> open_;
};

void Learn(OpenStacks* stacks, const std::vector<Name>& names) {
  std::vector<uint64_t> words;
  for (const Name& name : names) {
    words.insert(words.end(), {Word(1, kName), name.id, name.attributes.Pack(), 9, 0x61, 0});
  }
  stacks->LearnNames(words);
}

TEST(OpenStacks, FollowRandomEventsAsTheGrammarSays) {
  const std::vector<Name> names = NamesOfEveryKind();
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    std::mt19937_64 random(seed);
    OpenStacks stacks;
    Learn(&stacks, names);
    Model model(names);
    uint32_t track = 1, told = 1;
    for (int round = 0; round < 60; ++round) {
      std::vector<uint64_t> words;
      for (uint64_t i = random() % 12; i > 0; --i) {
        const uint32_t id = names[random() % names.size()].id;
        switch (random() % 8) {
          case 0: {  // tracks whose numbers fall together, too
            track = static_cast<uint32_t>(random() % 3) + (random() % 2 != 0 ? 1024 : 0);
            const bool fresh = random() % 8 == 0;
            words.insert(words.end(),
                         {Word(2, kThread), track, 7, fresh ? 0 : kThreadContinues, 2});
            if (fresh) model.NewThread(track);
            break;
          }
          case 1:
            words.push_back(Word(3, kEnd));
            model.End(track);
            break;
          case 2:
            words.insert(words.end(), {Word(3, kEndNamed), id});
            model.EndNamed(track, id);
            break;
          case 3: words.insert(words.end(), {Word(3, kCounter), id, 5}); break;
          case 4:
            if (random() % 10 != 0) break;
            words.push_back(Word(3, kThreadEnd));
            model.NewThread(track);
            break;
          default:
            if (id <= kLastNameCode) {
              words.push_back(Word(3, id));
            } else {
              words.insert(words.end(), {Word(3, kBeginWide), id});
            }
            model.Begin(track, id);
        }
      }
      stacks.Follow(&told, words);
      ASSERT_EQ(told, track);
      for (const uint32_t one : {0u, 1u, 2u, 1024u, 1025u, 1026u}) {
        const auto open = stacks.Open(one);
        ASSERT_EQ(std::vector<uint32_t>(open.begin(), open.end()), model.open(one))
            << "seed " << seed << ", track " << one;
      }
    }
  }
}

TEST(OpenStacks, BeyondTheirRoomTheyCount) {
  OpenStacks stacks;
  uint32_t track = 1;
  const std::vector<uint64_t> begins(kMaxOpenNames + 10, Word(1, 0x100));
  stacks.Follow(&track, begins);
  EXPECT_EQ(stacks.Open(1).size(), kMaxOpenNames);
  stacks.Follow(&track, std::vector<uint64_t>(10, Word(1, kEnd)));
  EXPECT_EQ(stacks.Open(1).size(), kMaxOpenNames) << "of those that had no room";
  stacks.Follow(&track, std::vector<uint64_t>(3, Word(1, kEnd)));
  EXPECT_EQ(stacks.Open(1).size(), kMaxOpenNames - 3);
}

TEST(OpenStacks, ATrackThatHasEndedTakesNoMemory) {
  OpenStacks stacks;
  uint32_t track = 0;
  stacks.Follow(&track, {});
  const uint64_t before = stacks.memory_bytes();
  for (uint32_t i = 1; i < 3000; ++i) {
    const std::vector<uint64_t> words = {
        Word(1, kThread), i, 7, 0, 1, Word(1, 0x100), Word(2, kThreadEnd),
        Word(3, kThread), 0, 7, 0, 3};
    stacks.Follow(&track, words);
  }
  EXPECT_GT(stacks.memory_bytes(), before);
  // What is asked for behind the end stands there anew, without names.
  EXPECT_LT(stacks.memory_bytes() - before, 3000 * 64);
}

}  // namespace
}  // namespace crosscut::format
