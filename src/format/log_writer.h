// Writes one process's log: chunk after chunk at the end of a file, each readable on its own
// (docs/format.md, "The log"). The drain of a recording process and the reaper use it. One thread
// at a time. After Create or Repair, batches of up to kLogBatchWords words need no allocation
// except growth of tables for new tracks. It never throws.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "src/base/file.h"
#include "src/base/status.h"
#include "src/format/log_identity.h"
#include "src/format/pack.h"

namespace crosscut::format {

class LogWriter {
 public:
  // Takes an empty file and writes the log header.
  static Result<std::unique_ptr<LogWriter>> Create(std::unique_ptr<base::File> file,
                                                   const LogIdentity& identity);

  struct RepairReport {
    bool finished = false;         // it has its end chunk: nothing may be appended
    uint64_t truncated_bytes = 0;  // a torn tail that was cut off
    uint64_t damaged_chunks = 0;   // left in place; readers skip them
  };
  // Opens the log of a dead process to continue behind its last whole chunk: cuts a torn tail and
  // reads which spans are open on each track. A file shorter than the log header (its process died
  // while writing it) is begun anew with `identity`. kInvalid where the log's header has another
  // nonce.
  static Result<std::unique_ptr<LogWriter>> Repair(std::unique_ptr<base::File> file,
                                                   const LogIdentity& identity,
                                                   RepairReport* report);
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  // Appends session-stream words (track 0). They must come before the events that use their names.
  Status AppendSession(const Piece& piece);

  // Appends words of one track in stream order: each append continues where the track's last one
  // ended. Pieces may hold kThread words, which switch the track; words before the first of them
  // belong to `track`. Every piece must consist of whole events (see EventLength); otherwise
  // kInvalid and nothing is written.
  Status AppendEvents(uint32_t track, std::span<const Piece> pieces);

  // Writes index and end chunk and syncs. Appends are kInvalid afterwards.
  Status Finish();

  // Chunks are handed to the kernel when an append returns, so they survive the process. Sync makes
  // them survive a crash of the machine.
  Status Sync();

  uint64_t bytes() const;  // length of the log up to its last whole chunk
  // Once writing failed (disk full, I/O error), the log ends behind its last whole chunk, at
  // bytes(). Every later call returns the first error, whose message names that byte.
  bool failed() const;
  const Status& error() const;

 private:
  struct State;
  explicit LogWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace crosscut::format
