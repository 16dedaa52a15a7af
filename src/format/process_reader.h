// Yields what one process of a run recorded, from its log and from its ring, each event once.
// RunReader makes these readers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/base/process.h"
#include "src/base/status.h"
#include "src/format/log_identity.h"
#include "src/format/log_reader.h"
#include "src/format/ring.h"

namespace crosscut::format {

// Consecutive whole events of one track. Views are valid only during the callback.
struct WordBatch {
  uint32_t track = 0;      // 0: session stream
  uint64_t base_tick = 0;  // feed to TickReader, then every event word in order
  std::span<const uint64_t> words;
  // Set where the batch begins a log chunk: the spans that are open before its first word. They
  // serve checks, and continuing behind a damaged place.
  bool has_open_names = false;
  std::span<const uint32_t> open_names;
  bool from_ring = false;
  uint64_t fill = 0;  // where in the ring the words are or were; 0: nowhere
  uint32_t first_word = 0;
  bool after_damage = false;  // a part between the track's last batch and this is unreadable
};

struct ProcessInfo {
  std::string key;        // the log's file name without ".crosscut"
  std::string log_path;   // "" where only a ring was found
  std::string ring_path;  // "" where none was found
  LogIdentity identity;
  base::Liveness liveness = base::Liveness::kUnknown;
  bool has_ring = false;
  RingHeader ring;        // valid where has_ring; ticks, state, last plugin, ...
  bool finished = false;  // the log has its end chunk
  bool stopped = false;   // a kStop word or the ring's header says the session ended
  // How many words the ForEach calls have yielded from the log and from the ring, and left out as
  // duplicates.
  uint64_t log_words = 0, ring_words = 0, duplicate_words = 0;
  std::string problem;  // why log or ring could not be read at all; "" otherwise
  // It ended by itself, and nothing was cut off. A killed process whose ring was reaped is finished
  // but not complete. Requires: ForEachSession was called.
  bool complete() const { return stopped && problem.empty(); }
};

class ProcessReader {
 public:
  // For this folder: process_state.h.
  struct State;  // process_state.h: for this folder
  ~ProcessReader();
  const ProcessInfo& info() const;

  // Visits all session words in order, from the log, then from the ring. May be called again.
  Status ForEachSession(const std::function<Status(const WordBatch&)>& visit);
  // Visits all words of threads. Each batch belongs to one track. The batches of a track come in
  // the order of its time, those of different tracks in any order. A batch either begins with a
  // kThread word or continues where the track's last batch ended. Losses that only the ring's drop
  // slots count come last, as kDrop words. An error of `visit` ends the walk and is returned;
  // damage does not: see damage(). May be called again.
  Status ForEachEvents(const std::function<Status(const WordBatch&)>& visit);
  // The log's damage, by offset; complete after both walks.
  const std::vector<LogDamage>& damage() const;
  // How many ring chunks have unreadable words behind their readable ones.
  uint64_t damaged_ring_chunks() const;

 private:
  friend class RunReader;
  friend class Reaper;
  explicit ProcessReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace crosscut::format
