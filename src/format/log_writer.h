// Writes one process's log: chunk after chunk at the end of a file, each readable on its own
// (docs/format.md, "The log"). Used by the drain of a recording process and by the reaper. One
// thread at a time. After Create or Repair it allocates nothing for batches of up to
// kLogBatchWords words but table growth per new track, and never throws.
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
  // Opens the log of a dead process to go on behind its last whole chunk: cuts a torn tail, reads
  // which spans are open on each track. A file shorter than the log header (its process died
  // while it wrote it) is begun anew with `identity`; a log whose header names another nonce is
  // kInvalid.
  static Result<std::unique_ptr<LogWriter>> Repair(std::unique_ptr<base::File> file,
                                                   const LogIdentity& identity,
                                                   RepairReport* report);
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  // Session-stream words (track 0). They must be appended before the events that use their names.
  Status AppendSession(const Piece& piece);

  // Words of one track, in stream order: every append of a track goes on where the last one ended.
  // Pieces may hold kThread words, which switch the track inside; words before the first of them
  // belong to `track`. Every piece must consist of whole events (see EventLength); otherwise
  // kInvalid and nothing is written.
  Status AppendEvents(uint32_t track, std::span<const Piece> pieces);

  // Writes index and end chunk and syncs. Appends are kInvalid afterwards.
  Status Finish();

  // Chunks are handed to the kernel when an append returns: they survive the process. This makes
  // them survive the machine.
  Status Sync();

  uint64_t bytes() const;  // length of the log up to its last whole chunk
  // Once writing failed (disk full, I/O error) the log ends behind its last whole chunk, at
  // bytes(); every later call returns the first error, whose message names that byte.
  bool failed() const;
  const Status& error() const;
  uint64_t memory_bytes() const;  // heap held now, the compressor's included

 private:
  struct State;
  explicit LogWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace crosscut::format
