// The interned names of the process. Callers hold the recorder's stream lock for Intern and Find;
// Get and count may be called from any thread. Ids survive sessions and forks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/collect/append_only.h"
#include "src/format/format.h"

namespace crosscut::record {

struct NameEntry {
  const char* text;
  uint32_t bytes;
  uint32_t hash;
  uint64_t attributes;  // format::NameAttributes, packed
};

class Names {
 public:
  static constexpr uint32_t kFirstId = format::kFirstNameCode;
  static constexpr size_t kLongestText = format::kMaxTextBytes;

  // The id of (text, attributes), or 0 if it does not find any.
  uint32_t Find(std::string_view text, uint64_t attributes) const;
  // Adds what Find did not find. Copies `text`, at most kLongestText bytes of it, the cut marked.
  // 0 when `cap_bytes` would be passed or there is no memory.
  uint32_t Add(std::string_view text, uint64_t attributes, size_t cap_bytes);
  // The id that stands for all names of these attributes for which there is no room: of
  // kUnnamed, from a store of its own. 0 where even that is full.
  uint32_t Unnamed(uint64_t attributes);
  static constexpr std::string_view kUnnamed = "(unnamed)";

  // Ids kFirstId .. kFirstId + count() - 1 are valid.
  uint32_t count() const { return entries_.count(); }
  const NameEntry& Get(uint32_t id) const { return entries_[id - kFirstId]; }
  size_t bytes() const { return bytes_; }

  // In a forked child: another thread may have been inside Add. Entries up to count() are whole;
  // the hash table and the text arena are forgotten, and made anew when they are needed.
  void AfterFork();

 private:
  static constexpr uint32_t kMostUnnamed = 1024;
  static constexpr size_t kArenaBytes = 64 << 10;

  uint32_t Put(const char* text, size_t bytes, uint32_t hash, uint64_t attributes);
  bool HasRoomInTable();
  void InsertIntoTable(uint32_t id);
  char* AllocateText(size_t bytes);
  void* Pages(size_t bytes);  // null beyond cap_bytes_

  AppendOnly<NameEntry, 2048, 4096> entries_;
  uint32_t* table_ = nullptr;  // ids, open addressing; size a power of two
  uint32_t table_size_ = 0;
  char* arena_ = nullptr;
  size_t arena_left_ = 0;
  size_t bytes_ = 0;
  size_t cap_bytes_ = 0;
  uint32_t unnamed_ = 0;  // names that Unnamed() added
};

}  // namespace crosscut::record
