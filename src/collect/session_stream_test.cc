// Names and facts in the session's stream: they are in the ring when who writes them goes on, or
// they are counted until the drain has them.
#include "src/collect/session_stream.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "src/collect/test_ring.h"

namespace crosscut::record {
namespace {

using testing::CollectTest;
using testing::Event;
using testing::EventsIn;
using testing::SlotCounts;
using testing::Words;

class SessionStreamTest : public CollectTest {
 protected:
  SessionStream& stream() { return Recorder::Get().stream(); }
  // A ring that holds all names so far.
  ChunkRing* RecordNames() {
    ChunkRing* ring = Record(32);
    stream().PublishAllNames();
    return ring;
  }
  // A text of so many bytes that no other test has.
  static std::string Text(size_t bytes) {
    static int number = 0;
    std::string text = "session stream " + std::to_string(++number) + " ";
    while (text.size() < bytes) text += static_cast<char>('a' + text.size() % 26);
    return text;
  }
  static void Append(Words* words, const std::string& text) {
    const size_t from = words->size();
    words->resize(from + (text.size() + 7) / 8);
    memcpy(words->data() + from, text.data(), text.size());
  }
  // Names that the ring says are missing.
  static uint64_t MissingNames(const ChunkRing& ring) {
    uint64_t count = 0;
    for (size_t i = 0; i < format::kRingDropSlots; ++i) {
      const format::RingDropSlot& slot = ring.drop_slots()[i];
      if (slot.track != 0 && slot.reason == format::kDropNames) count += slot.count;
    }
    return count;
  }
  static Words NameWords(uint64_t id, uint64_t attributes, const std::string& text) {
    Words words = {format::kName, id, attributes, text.size()};
    Append(&words, text);
    return words;
  }
};

TEST_F(SessionStreamTest, ANameIsInTheRingWhenItsIdIsGiven) {
  ChunkRing* ring = RecordNames();
  size_t events = EventsIn(*ring, true).size();
  for (const size_t bytes : {18u, 23u, 24u, 25u, 300u, 4000u, 49'120u, 20u}) {
    const std::string text = Text(bytes);
    const uint64_t before = ClockNow();
    const uint32_t id = stream().Intern(text, 7 + bytes);
    const uint64_t after = ClockNow();
    const std::vector<Event> session = EventsIn(*ring, true);
    ASSERT_EQ(session.size(), ++events) << bytes;
    EXPECT_EQ(session.back().words, NameWords(id, 7 + bytes, text)) << bytes;
    EXPECT_GE(session.back().tick, before & format::kTickMask);
    EXPECT_LE(session.back().tick, after & format::kTickMask);
    EXPECT_EQ(stream().Intern(text, 7 + bytes), id);
    EXPECT_EQ(EventsIn(*ring, true).size(), events) << "once";
    EXPECT_NE(stream().Intern(text, 8 + bytes), id) << "another name of that text";
    ++events;
  }
  EXPECT_EQ(SlotCounts(*ring), 0u);
  EXPECT_EQ(stream().TakeUnpublished(), 0u);
}

TEST_F(SessionStreamTest, ANameWithoutRoomCountsUntilTheDrainHasIt) {
  ChunkRing* ring = RecordNames();
  const std::string longest = Text(49'121), behind = Text(30);
  const uint32_t first = stream().Intern(longest, 0), second = stream().Intern(behind, 0);
  EXPECT_EQ(second, first + 1);
  for (const Event& event : EventsIn(*ring, true)) {
    EXPECT_TRUE(event.words[0] != format::kName || event.words[1] < first) << "in their order";
  }
  const auto counted = [&] {
    const uint64_t count = MissingNames(*ring);
    EXPECT_EQ(SlotCounts(*ring), count);
    return count;
  };
  EXPECT_EQ(counted(), 2u);
  EXPECT_EQ(stream().TakeUnpublished(), first);
  stream().Published(/*written=*/false);
  EXPECT_EQ(counted(), 2u);
  EXPECT_EQ(stream().TakeUnpublished(), first);
  // While the drain has one, nobody else publishes: names are in their order.
  const uint32_t third = stream().Intern(Text(30), 0);
  EXPECT_EQ(third, second + 1);
  stream().Published(/*written=*/true);
  EXPECT_EQ(counted(), 2u);
  EXPECT_EQ(stream().TakeUnpublished(), second);
  stream().Published(true);
  EXPECT_EQ(counted(), 1u);
  // With room again, who writes the next one publishes all that is left.
  const std::string fourth = Text(40);
  const uint32_t last = stream().Intern(fourth, 3);
  EXPECT_EQ(counted(), 0u);
  EXPECT_EQ(stream().TakeUnpublished(), 0u);
  const std::vector<Event> session = EventsIn(*ring, true);
  EXPECT_EQ(session.back().words, NameWords(last, 3, fourth));
  EXPECT_EQ(session[session.size() - 2].words[1], third);
}

TEST_F(SessionStreamTest, EachRingSaysHowManyNamesItLacks) {
  RecordNames();
  (void)stream().Intern(Text(49'121), 0);
  (void)stream().Intern(Text(30), 0);
  for (int i = 0; i < 3; ++i) {
    ChunkRing* ring = RecordNames();
    const uint32_t first = stream().TakeUnpublished();
    stream().Published(/*written=*/false);
    ASSERT_NE(first, 0u);
    const uint32_t missing = stream().names().count() - (first - Names::kFirstId);
    EXPECT_GE(missing, 2u);
    EXPECT_EQ(MissingNames(*ring), missing) << i;
  }
}

TEST_F(SessionStreamTest, FactsAndEventsAreWrittenAsTheyAreGivenOrNotAtAll) {
  ChunkRing* ring = RecordNames();
  const auto last = [&] { return EventsIn(*ring, true).back(); };
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, std::string>>{{"key", "value"},
                                                        {"12345678", "123456789"},
                                                        {"", ""},
                                                        {"k", std::string(16'384, 'v')},
                                                        {"key", std::string(20'000, 'v')},
                                                        {std::string(20'000, 'k'), "value"}}) {
    EXPECT_TRUE(stream().WriteMeta(key, value));
    const std::string kept_key = key.substr(0, 16'384), kept = value.substr(0, 16'384);
    Words words = {format::kMeta, kept_key.size(), kept.size(), 0};
    Append(&words, kept_key);
    Append(&words, kept);
    EXPECT_EQ(last().words, words);
  }
  const uint64_t payload[4] = {1, 2, 3, 4};
  for (const bool waits : {false, true}) {
    EXPECT_TRUE(waits ? stream().Write(5000, format::kAnchor, payload, 4)
                      : stream().TryWrite(5000, format::kAnchor, payload, 4));
    EXPECT_EQ(last(), (Event{5000, {format::kAnchor, 1, 2, 3, 4}}));
  }
  stream().LeaveRing();
  EXPECT_FALSE(stream().WriteMeta("key", "value"));
  EXPECT_FALSE(stream().Write(5000, format::kPause, nullptr, 0));
  EXPECT_FALSE(stream().TryWrite(5000, format::kPause, nullptr, 0));
  EXPECT_EQ(stream().chunk(), nullptr);
}

// Full chunks go to the drain, in their order, and nothing is lost between them.
TEST_F(SessionStreamTest, GoesOnInTheNextChunkWhereOneIsFull) {
  ChunkRing* ring = RecordNames();
  const size_t before = EventsIn(*ring, true).size();
  constexpr uint64_t kEvents = 10'000;  // five words each: more than six chunks
  for (uint64_t i = 0; i < kEvents; ++i) {
    const uint64_t payload[4] = {i, i, i, i};
    ASSERT_TRUE(stream().TryWrite(5000 + i, format::kAnchor, payload, 4)) << i;
  }
  std::vector<uint32_t> full(ring->chunk_count());
  const uint32_t count = ring->TakeFull(full.data());
  EXPECT_GE(count, 6u);
  uint64_t next = 0;
  const auto look = [&](const uint64_t* chunk) {
    EXPECT_EQ(chunk[format::kChunkTrack], 0u);
    const size_t end = format::PublishedEnd(chunk);
    for (size_t at = format::kRingChunkHeaderWords; at < end;
         at += format::EventLength({chunk, end}, at)) {
      if ((chunk[at] & 0xffff) != format::kAnchor) continue;
      EXPECT_EQ(chunk[at + 1], next++);
    }
  };
  for (uint32_t i = 0; i < count; ++i) look(ring->chunk(full[i]));
  look(stream().chunk());
  EXPECT_EQ(next, kEvents);
  EXPECT_EQ(EventsIn(*ring, true).size(), before + kEvents);
}

}  // namespace
}  // namespace crosscut::record
