// Parts of the recorder by themselves, each beside a plain model of it: lists of chunks, names that
// are too long, states of threads, spans that nobody sees, the ring's file.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "src/base/file.h"
#include "src/collect/chunk_lists.h"
#include "src/collect/hidden_spans.h"
#include "src/collect/memory.h"
#include "src/collect/ring_making.h"
#include "src/collect/test_ring.h"

namespace crosscut::record {
namespace {

using PartsTest = testing::CollectTest;

TEST(ChunkLists, CleanChunksAreGivenOnceEachAndTheReservedOnesToNobody) {
  for (const uint32_t chunks : {1u, 2u, 63u, 64u, 65u, 127u, 128u, 129u}) {
    EXPECT_EQ(CleanChunks::Words(chunks), chunks <= 64 ? 1u : chunks <= 128 ? 2u : 3u);
    std::vector<sync::Atomic<uint64_t>> bits(CleanChunks::Words(chunks));
    CleanChunks clean;
    clean.Init(bits.data(), chunks);
    for (int round = 0; round < 2; ++round) {
      for (uint32_t i = 0; i < chunks; ++i) {
        EXPECT_EQ(clean.count(), i);
        EXPECT_EQ(clean.TakeCount(i), false) << "no more than are reserved";
        clean.Add(chunks - 1 - i);
      }
      std::set<uint32_t> taken;
      for (uint32_t left = chunks; left > 0; --left) {
        ASSERT_EQ(clean.count(), left);
        ASSERT_FALSE(clean.TakeCount(left));
        ASSERT_TRUE(clean.TakeCount(left - 1));
        taken.insert(clean.Take());
      }
      EXPECT_FALSE(clean.TakeCount(0));
      EXPECT_EQ(taken.size(), chunks);
      EXPECT_EQ(*taken.begin(), 0u);
      EXPECT_EQ(*taken.rbegin(), chunks - 1);
    }
  }
}

TEST(ChunkLists, FullChunksAreTakenAllInTheirOrder) {
  constexpr uint32_t kChunks = 9;
  std::vector<sync::Atomic<uint32_t>> next(kChunks);
  FullChunks full;
  full.Init(next.data());
  uint32_t taken[kChunks] = {};
  EXPECT_EQ(full.TakeAll(taken, kChunks), 0u);
  for (uint32_t count = 1; count <= kChunks; ++count) {
    std::vector<uint32_t> added;
    for (uint32_t i = 0; i < count; ++i) added.push_back((i * 4 + count) % kChunks);
    for (const uint32_t index : added) full.Add(index);
    ASSERT_EQ(full.TakeAll(taken, kChunks), count);
    EXPECT_EQ(std::vector<uint32_t>(taken, taken + count), added);
    EXPECT_EQ(full.TakeAll(taken, kChunks), 0u);
  }
}

// The oldest first, as far as they were there at some time, are begun and nobody holds them.
TEST(ChunkLists, WaitingChunksAreTakenByAgeAndHeldOnesByNobody) {
  constexpr uint32_t kChunks = 7, kNone = WaitingChunks::kNone;
  std::vector<sync::Atomic<uint64_t>> words(kChunks);
  WaitingChunks waiting;
  waiting.Init(words.data());
  EXPECT_EQ(waiting.TakeOldest(UINT64_MAX >> 2, kChunks), kNone);
  const std::vector<uint32_t> order = {5, 2, 6, 0};
  for (uint32_t i = 0; i < order.size(); ++i) {
    EXPECT_EQ(waiting.added(), i);
    EXPECT_EQ(waiting.count(kChunks), i);
    waiting.Add(order[i]);
  }
  EXPECT_EQ(waiting.count(6), 3u) << "of the first six chunks";
  EXPECT_EQ(waiting.TakeOldest(0, kChunks), kNone);
  EXPECT_EQ(waiting.TakeOldest(1, 5), kNone) << "it lies behind the first five";
  waiting.Hold(5);
  waiting.Hold(3);  // which does not wait yet
  EXPECT_EQ(waiting.count(kChunks), 4u) << "held or not";
  EXPECT_EQ(waiting.TakeOldest(1, kChunks), kNone);
  EXPECT_EQ(waiting.TakeOldest(2, kChunks), 2u);
  waiting.Add(3);  // the fifth
  EXPECT_EQ(waiting.TakeOldest(UINT64_MAX >> 2, kChunks), 6u);
  waiting.Release(5);
  waiting.Release(3);
  EXPECT_EQ(waiting.TakeOldest(4, kChunks), 5u);
  EXPECT_EQ(waiting.TakeOldest(4, kChunks), 0u);
  EXPECT_EQ(waiting.TakeOldest(4, kChunks), kNone);
  EXPECT_EQ(waiting.TakeOldest(5, kChunks), 3u);
  EXPECT_EQ(waiting.count(kChunks), 0u);
  EXPECT_EQ(waiting.added(), 5u);
}

// Of a text that is too long whole characters are kept, and the mark of the cut.
TEST(LongNames, AreCutBetweenCharactersAndMarked) {
  const auto own = std::make_unique<Names>();
  Names& names = *own;
  const std::string mark = "...[cut]";
  const size_t most = Names::kLongestText, kept = most - mark.size();
  for (const std::string& character :
       {std::string("x"), std::string("\xc3\xa4"), std::string("\xe2\x82\xac"),
        std::string("\xf0\x9f\x98\x80")}) {
    for (size_t before = 0; before < character.size(); ++before) {
      std::string text(before, 'a');
      while (text.size() < most + 20) text += character;
      const size_t whole = before + (kept - before) / character.size() * character.size();
      const uint32_t id = names.Add(text, 1, 64 << 20);
      ASSERT_NE(id, 0u);
      const std::string_view stored(names.Get(id).text, names.Get(id).bytes);
      EXPECT_EQ(stored, text.substr(0, whole) + mark);
      EXPECT_EQ(names.Get(id).text[stored.size()], '\0');
      EXPECT_EQ(names.Find(text, 1), id);
      EXPECT_EQ(names.Find(text + "more", 1), id) << "what was cut off makes no difference";
      EXPECT_EQ(names.Find(text.substr(0, most), 1), 0u) << "nothing is cut off that";
      EXPECT_EQ(names.Find(text, 2), 0u);
    }
  }
  for (const size_t bytes : {most - 1, most}) {
    const std::string text(bytes, 'y');
    const uint32_t id = names.Add(text, 1, 64 << 20);
    EXPECT_EQ(std::string_view(names.Get(id).text, names.Get(id).bytes), text);
  }
}

// Its bytes are those of the texts, of blocks of entries and of the table, which doubles.
TEST(NamesMemory, GrowsByWhatIsAddedAndByTheTable) {
  const auto own = std::make_unique<Names>();
  Names& names = *own;
  size_t table = 0, arenas = 0, left = 0, blocks = 0, longs = 0;
  std::mt19937 random(1);
  for (uint32_t i = 0; i < 10'000; ++i) {
    while ((i + 1) * 2 > table) table = table == 0 ? 1024 : table * 2;
    const std::string text = std::to_string(i) + std::string(random() % 40, 'z') +
                             (i % 1000 == 0 ? std::string((16 << 10) - 3 + i / 1000, 'l') : "");
    const size_t bytes = text.size() + 1;
    if (bytes > 16 << 10) {
      longs += bytes;
    } else {
      if (bytes > left) ++arenas, left = 64 << 10;
      left -= bytes;
    }
    if (i % 4096 == 0) ++blocks;
    ASSERT_EQ(names.Add(text, 0, 64 << 20), Names::kFirstId + i);
    ASSERT_EQ(names.bytes(),
              table * 4 + arenas * (64 << 10) + longs + blocks * 4096 * sizeof(NameEntry))
        << i;
  }
}

TEST(ThreadStatesTest, AreTakenOutOfSlabsUpToTheirCapAndGivenBack) {
  const auto own = std::make_unique<ThreadStates>();
  ThreadStates& states = *own;
  constexpr size_t kSlab = 64 << 10, kInSlab = kSlab / sizeof(ThreadState);
  EXPECT_EQ(states.Take(kSlab - 1), nullptr);
  std::vector<ThreadState*> taken;
  for (size_t i = 0; i < 2 * kInSlab; ++i) {
    ThreadState* state = states.Take(2 * kSlab);
    ASSERT_NE(state, nullptr) << i;
    EXPECT_TRUE(state->in_use);
    EXPECT_EQ(state->track, 0u);
    EXPECT_EQ(state->next_free, nullptr);
    state->track = 7;
    EXPECT_EQ(std::count(taken.begin(), taken.end(), state), 0);
    taken.push_back(state);
    EXPECT_EQ(states.bytes(), i < kInSlab ? kSlab : 2 * kSlab);
  }
  EXPECT_EQ(states.Take(3 * kSlab - 1), nullptr);
  const auto count = [&] {
    size_t all = 0;
    states.ForEach([&](const ThreadState* state) { all += state->in_use ? 1 : 0; });
    return all;
  };
  EXPECT_EQ(count(), 2 * kInSlab);
  for (const size_t i : {size_t{0}, kInSlab - 1, 2 * kInSlab - 1}) states.Give(taken[i]);
  EXPECT_EQ(count(), 2 * kInSlab - 3);
  for (const size_t i : {2 * kInSlab - 1, kInSlab - 1, size_t{0}}) {
    ThreadState* again = states.Take(0);  // no slab is needed
    EXPECT_EQ(again, taken[i]) << "the one that was given back last";
    EXPECT_EQ(again->track, 0u) << "as if it were new";
  }
  EXPECT_EQ(states.Take(2 * kSlab), nullptr);
}

// ---- Spans that nobody sees ---------------------------------------------------------------------

// What lies hidden, of each its name and whether it was counted as lost. Names are known of the
// first 64 alone.
struct Hidden {
  std::vector<std::pair<uint32_t, bool>> spans;
  bool lost_all = false;

  static format::NameAttributes KindOf(uint32_t name) {
    return Recorder::Get().stream().KindOf(name);
  }
  // Whether nothing of it has to be written.
  bool Take(uint64_t code, uint32_t name) {
    if (code >= format::kFirstNameCode || code == format::kBeginWide) {
      spans.emplace_back(name, false);
      if (spans.size() == 2000) spans.clear(), lost_all = true;
      return true;
    }
    if (code == format::kEnd) {
      size_t i = spans.size();
      while (i > 0 && i <= 64 && format::EndsByName(KindOf(spans[i - 1].first))) --i;
      if (i == 0) return false;
      spans.erase(spans.begin() + static_cast<ptrdiff_t>(i) - 1);
      return true;
    }
    if (code != format::kEndNamed) return code != format::kBase;
    if (spans.size() > 64) spans.resize(64);
    size_t found = spans.size();
    while (found > 0 && spans[found - 1].first != name) --found;
    std::vector<std::pair<uint32_t, bool>> left;
    for (size_t i = 0; i < spans.size(); ++i) {
      const bool ended = i + 1 == found;
      const bool above = i >= found && !format::GoesOnAbove(KindOf(name), KindOf(spans[i].first));
      if (!ended && !above) left.push_back(spans[i]);
    }
    spans = left;
    return found > 0;
  }
};

TEST_F(PartsTest, HiddenSpansAreThoseOfAPlainModel) {
  const auto name = [](const char* text, format::NameAttributes attributes) {
    return Recorder::Get().stream().Intern(text, attributes.Pack());
  };
  const uint32_t probe = name("a probe", {format::kKindText});
  const std::vector<uint32_t> names = {
      name("an operation", {format::kKindOperation}),
      name("a probe's operation", {format::kKindOperation, format::kLayerNone, 0, probe}),
      name("a probe's span", {format::kKindSpan, format::kLayerNative, 0, probe}),
      name("a span", {format::kKindSpan, format::kLayerNative}),
      name("what crosses", {format::kKindSpan, format::kLayerNone, format::kFlagCrosses, probe})};
  size_t deepest = 0;
  bool some_lost = false;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    auto state = std::make_unique<ThreadState>();
    ThreadState* s = state.get();
    Hidden model;
    const uint32_t begins = seed % 3 == 0 ? 80 : seed % 3 == 1 ? 55 : 45;  // of a hundred
    for (int i = 0; i < 6000; ++i) {
      const uint32_t draw = random() % 100, which = names[random() % names.size()];
      const uint64_t payload = which;
      const uint64_t code = draw < begins / 2           ? uint64_t{which}
                            : draw < begins             ? uint64_t{format::kBeginWide}
                            : draw < 97                 ? uint64_t{format::kEnd}
                            : draw == 97 && begins < 80 ? uint64_t{format::kEndNamed}
                            : draw == 98                ? uint64_t{format::kBase}
                                                        : uint64_t{format::kInstant};
      if (s->hidden_depth == 0) SetOnTick(s, 9);
      const uint32_t depth = s->hidden_depth;
      ASSERT_EQ(Hide(s, Recorder::Get().stream(), code, &payload), model.Take(code, which));
      if (BeginsSpan(code) && random() % 4 == 0 && depth < kHiddenNames && s->hidden_depth > 0) {
        s->hidden_lost |= uint64_t{1} << depth;
        model.spans[depth].second = true;
      }
      ASSERT_EQ(s->hidden_depth, model.spans.size()) << "seed " << seed << ", event " << i;
      if (depth == 0 && BeginsSpan(code)) {
        ASSERT_EQ(OnTick(s), 0u) << "hidden from here on";
      }
      for (size_t k = 0; k < std::min<size_t>(kHiddenNames, s->hidden_depth); ++k) {
        ASSERT_EQ(s->hidden[k], model.spans[k].first) << "seed " << seed << ", event " << i;
        ASSERT_EQ((s->hidden_lost >> k & 1) != 0, model.spans[k].second) << k << " of " << i;
      }
      ASSERT_EQ(s->stack_lost, model.lost_all);
      ASSERT_EQ(s->announce, model.lost_all);
      deepest = std::max<size_t>(deepest, s->hidden_depth);
    }
    some_lost = some_lost || model.lost_all;
  }
  EXPECT_TRUE(some_lost);
  EXPECT_EQ(deepest, 1999u);
}

TEST(BeginsSpan, IsSoOfNamesAndOfTheCodeForWideOnes) {
  for (uint64_t code = 0; code < 0x200; ++code) {
    EXPECT_EQ(BeginsSpan(code), code == format::kBeginWide || code >= 0x100) << code;
  }
}

// ---- The ring's file ----------------------------------------------------------------------------

TEST_F(PartsTest, ARingsFileIsWholeAndMarkedAndItsOwnersAlone) {
  const std::string here = std::filesystem::current_path();
  std::filesystem::current_path(dir_);
  // A path without a folder gets its name first, as where files without a name cannot be had.
  for (const std::string& path : {dir_ + "/one.ring", std::string("two.ring")}) {
    constexpr size_t kBytes = 3 << 16;
    format::RingHeader header = {};
    header.nonce = 77;
    header.control.run_dir[5] = 'x';
    NewRingFile file;
    ASSERT_EQ(MakeRingFile(path.c_str(), kBytes, &header, &file), 0);
    EXPECT_GT(file.map, 2);
    EXPECT_GT(file.mark, 2);
    EXPECT_NE(file.map, file.mark);
    EXPECT_EQ(header.magic, format::kRingMagic);
    EXPECT_EQ(header.marks_use, 1u);
    struct stat facts;
    ASSERT_EQ(stat(path.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 07777, 0600u);
    EXPECT_EQ(static_cast<size_t>(facts.st_size), kBytes);
    std::string bytes(kBytes, '\1');
    ASSERT_EQ(pread(file.map, bytes.data(), kBytes, 0), static_cast<ssize_t>(kBytes));
    EXPECT_EQ(memcmp(bytes.data(), &header, sizeof header), 0);
    EXPECT_EQ(bytes.find_first_not_of('\0', sizeof header), std::string::npos);
    for (const int fd : {file.map, file.mark}) {
      EXPECT_NE(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
      EXPECT_EQ(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDWR);
    }
    // In use as long as `mark` is open, whoever looks.
    const int other = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    EXPECT_TRUE(base::IsInUse(other));
    close(file.mark);
    EXPECT_FALSE(base::IsInUse(other));
    close(other);
    close(file.map);
    // Never over another.
    NewRingFile second;
    EXPECT_EQ(MakeRingFile(path.c_str(), kBytes, &header, &second), EEXIST);
    EXPECT_EQ(second.map, -1);
    EXPECT_EQ(second.mark, -1);
    ASSERT_EQ(stat(path.c_str(), &facts), 0);
  }
  format::RingHeader header = {};
  NewRingFile none;
  EXPECT_EQ(MakeRingFile((dir_ + "/no/ring").c_str(), 1 << 16, &header, &none), ENOENT);
  const std::string far = "/" + std::string(5000, 'f') + "/ring";
  EXPECT_EQ(MakeRingFile(far.c_str(), 1 << 16, &header, &none), ENAMETOOLONG);
  EXPECT_EQ(none.map, -1);
  EXPECT_EQ(none.mark, -1);
  std::filesystem::current_path(here);
}

TEST(Pages, AreCountedByWhatTheyTake) {
  const size_t before = MappedBytes();
  for (const size_t bytes :
       {size_t{1}, size_t{4095}, size_t{4096}, size_t{4097}, size_t{100'000}}) {
    char* memory = static_cast<char*>(MapPages(bytes));
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(MappedBytes() - before, (bytes + 4095) / 4096 * 4096);
    EXPECT_EQ(memory[0] + memory[bytes - 1], 0);
    memory[bytes - 1] = 1;
    UnmapPages(memory, bytes);
    EXPECT_EQ(MappedBytes(), before);
  }
  UnmapPages(nullptr, 4096);
  EXPECT_EQ(MappedBytes(), before);
}

}  // namespace
}  // namespace crosscut::record
