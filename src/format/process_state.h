// What run reader and reaper know of one process: its log, the copy of its ring, and which words of
// the ring the log already holds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/format/process_reader.h"

namespace crosscut::format {

// Which words of which ring fills were seen: sorted, disjoint ranges for each fill.
class SeenWords {
 public:
  void Clear() { fills_.clear(); }
  void Add(uint64_t fill, uint32_t from, uint32_t to);
  // The parts of [from, to) that were not seen, in order.
  std::vector<std::pair<uint32_t, uint32_t>> Missing(uint64_t fill, uint32_t from,
                                                     uint32_t to) const;

 private:
  std::unordered_map<uint64_t, std::vector<std::pair<uint32_t, uint32_t>>> fills_;
};

struct ProcessReader::State {
  ProcessInfo info;
  std::unique_ptr<LogReader> log;
  bool has_ring = false;
  RingSnapshot ring;
  uint64_t damaged_ring_chunks = 0;
  SeenWords seen;

  void OpenLog();
  bool Matches(const RingSnapshot& candidate, const std::string& log_name) const;
  void TakeRing(RingSnapshot snapshot);
  // Fills in liveness, finished, stopped.
  void Judge();

  using Visit = std::function<Status(const WordBatch&)>;
  // Receives a piece that was not seen yet, whole or in parts.
  using VisitPiece = std::function<Status(const Piece&, uint32_t track)>;
  // Visits what the log holds: batches of session or event chunks, each fill's words once.
  Status WalkLog(bool session, const Visit& visit);
  Status WalkChunks(bool session, const Visit& visit);
  // Visits what only the ring holds.
  Status WalkRing(bool session, const VisitPiece& visit);
  using DropTotals = std::map<std::pair<uint32_t, uint64_t>, uint64_t>;
  // Visits kDrop words for losses that only the ring's slots count, given what the stream reported.
  Status WalkDrops(const DropTotals& told, const Visit& visit);
  // Adds the losses in the kDrop words of a batch.
  static void CountDrops(const WordBatch& batch, DropTotals* told);
  // Sets info.stopped by the starts and stops in session words.
  void NoteStops(std::span<const uint64_t> words);
  // The log's damage without the tail that a living process is writing.
  std::vector<LogDamage> damage;
  void ListDamage();
};

// Cuts whole events at their kThread words: visits every stretch with its track. Sets *track to the
// track that continues behind them.
Status SplitTracks(const WordBatch& batch, uint32_t* track,
                   const std::function<Status(const WordBatch&)>& visit);

}  // namespace crosscut::format
