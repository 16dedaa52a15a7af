#include "src/collect/names.h"

#include <string.h>

#include "src/collect/memory.h"

namespace crosscut::record {
namespace {

constexpr std::string_view kCutMark = "...[cut]";

uint32_t Hash(std::string_view text, uint64_t attributes) {
  uint64_t h = 0x9e3779b97f4a7c15 ^ attributes * 0xff51afd7ed558ccd;
  size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    uint64_t word;
    memcpy(&word, text.data() + i, 8);
    h = (h ^ word) * 0x9fb21c651e98df25;
    h ^= h >> 32;
  }
  uint64_t tail = text.size();
  for (; i < text.size(); ++i) tail = tail << 8 | static_cast<uint8_t>(text[i]);
  h = (h ^ tail) * 0x9fb21c651e98df25;
  return static_cast<uint32_t>(h ^ h >> 29);
}

// How much of `text` is kept: whole UTF-8 sequences, and room for the mark.
size_t KeptBytes(std::string_view text) {
  if (text.size() <= Names::kLongestText) return text.size();
  size_t kept = Names::kLongestText - kCutMark.size();
  while (kept > 0 && (static_cast<uint8_t>(text[kept]) & 0xc0) == 0x80) --kept;
  return kept;
}

bool Same(const NameEntry& entry, std::string_view kept, bool cut, uint64_t attributes) {
  const size_t bytes = kept.size() + (cut ? kCutMark.size() : 0);
  return entry.attributes == attributes && entry.bytes == bytes &&
         memcmp(entry.text, kept.data(), kept.size()) == 0;
}

}  // namespace

uint32_t Names::Find(std::string_view text, uint64_t attributes) const {
  const std::string_view kept = text.substr(0, KeptBytes(text));
  const bool cut = kept.size() != text.size();
  const uint32_t hash = Hash(kept, attributes);
  const auto is = [&](const NameEntry& entry) {
    return entry.hash == hash && Same(entry, kept, cut, attributes);
  };
  for (uint32_t i = 0; table_size_ == 0 && i < count(); ++i) {
    if (is(Get(kFirstId + i))) return kFirstId + i;
  }
  for (uint32_t i = hash; table_size_ != 0; ++i) {
    const uint32_t id = table_[i & (table_size_ - 1)];
    if (id == 0) return 0;
    if (is(Get(id))) return id;
  }
  return 0;
}

uint32_t Names::Add(std::string_view text, uint64_t attributes, size_t cap_bytes) {
  cap_bytes_ = cap_bytes;
  // Without memory for a table of a forked child's own the names are their own table.
  if (!HasRoomInTable() && table_size_ != 0) return 0;
  const std::string_view kept = text.substr(0, KeptBytes(text));
  const bool cut = kept.size() != text.size();
  const size_t bytes = kept.size() + (cut ? kCutMark.size() : 0);
  if (count() >= entries_.kMost - kMostUnnamed) return 0;
  char* copy = AllocateText(bytes + 1);
  if (copy == nullptr) return 0;
  memcpy(copy, kept.data(), kept.size());
  if (cut) memcpy(copy + kept.size(), kCutMark.data(), kCutMark.size());
  copy[bytes] = '\0';
  return Put(copy, bytes, Hash(kept, attributes), attributes);
}

uint32_t Names::Unnamed(uint64_t attributes) {
  if (const uint32_t known = Find(kUnnamed, attributes)) return known;
  if ((table_size_ != 0 && count() >= table_size_ / 4 * 3) || unnamed_ == kMostUnnamed) return 0;
  const size_t cap_bytes = cap_bytes_;
  cap_bytes_ = SIZE_MAX;  // one block of entries at most
  const uint32_t id = Put(kUnnamed.data(), kUnnamed.size(), Hash(kUnnamed, attributes), attributes);
  cap_bytes_ = cap_bytes;
  unnamed_ += id != 0 ? 1 : 0;
  return id;
}

// 0 without memory for another block of entries. The table has a free place.
uint32_t Names::Put(const char* text, size_t bytes, uint32_t hash, uint64_t attributes) {
  const uint32_t id = kFirstId + count();
  const NameEntry entry = {text, static_cast<uint32_t>(bytes), hash, attributes};
  if (!entries_.Add(entry, [this](size_t size) { return Pages(size); })) return 0;
  if (table_size_ != 0) InsertIntoTable(id);
  return id;
}

void* Names::Pages(size_t bytes) {
  if (bytes_ + bytes > cap_bytes_) return nullptr;
  void* memory = MapPages(bytes);
  if (memory != nullptr) bytes_ += bytes;
  return memory;
}

char* Names::AllocateText(size_t bytes) {
  if (bytes > kArenaBytes / 4) return static_cast<char*>(Pages(bytes));
  if (bytes > arena_left_) {
    char* fresh = static_cast<char*>(Pages(kArenaBytes));
    if (fresh == nullptr) return nullptr;
    arena_ = fresh;
    arena_left_ = kArenaBytes;
  }
  char* at = arena_;
  arena_ += bytes;
  arena_left_ -= bytes;
  return at;
}

void Names::InsertIntoTable(uint32_t id) {
  uint32_t i = Get(id).hash;
  while (table_[i & (table_size_ - 1)] != 0) ++i;
  table_[i & (table_size_ - 1)] = id;
}

// For one more. At most half of its places are taken.
bool Names::HasRoomInTable() {
  const uint32_t names = count();
  if ((names + 1) * 2 <= table_size_) return true;
  uint32_t size = 1024;
  while (size < (names + 1) * 2) size *= 2;
  auto* table = static_cast<uint32_t*>(Pages(size * sizeof(uint32_t)));
  if (table == nullptr) return false;
  if (table_ != nullptr) {
    UnmapPages(table_, table_size_ * sizeof(uint32_t));
    bytes_ -= table_size_ * sizeof(uint32_t);
  }
  table_ = table;
  table_size_ = size;
  for (uint32_t i = 0; i < names; ++i) InsertIntoTable(kFirstId + i);
  return true;
}

// The table may be half changed: leak it, its pages are shared with the parent until written.
void Names::AfterFork() {
  arena_ = nullptr;
  arena_left_ = 0;
  table_ = nullptr;
  bytes_ -= table_size_ * sizeof(uint32_t);
  table_size_ = 0;
}

}  // namespace crosscut::record
