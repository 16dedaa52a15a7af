// Reads a log that may be whole, still growing, cut off, damaged or hostile. What it yields was
// written as it stands; what it cannot read it names. Memory: the directory of chunks plus one
// chunk. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/base/file.h"
#include "src/base/status.h"
#include "src/format/format.h"
#include "src/format/log_identity.h"
#include "src/format/pack.h"

namespace crosscut::format {

// An event or session chunk, unpacked. `words` is the concatenation of the pieces.
struct LogBatch {
  uint32_t track = 0;  // 0 for session chunks
  std::vector<PieceOrigin> pieces;
  std::vector<uint32_t> open_names;  // name ids of the spans open on `track` at the start,
                                     // outermost first
  std::vector<uint64_t> words;
};

// One chunk of the directory; its contents are checked when it is read.
struct LogChunk {
  uint64_t offset = 0;  // of the chunk header
  uint64_t bytes = 0;   // payload
  ChunkType type = kChunkSession;
};

// A place that could not be read.
struct LogDamage {
  uint64_t offset = 0, bytes = 0;
  std::string reason;  // "checksum differs", "no chunk header", "cut off", ...
  // Where the chunk's own head is intact (has_events), what is lost:
  bool has_events = false;
  uint32_t track = 0;
  uint64_t words = 0;
  uint64_t first_tick = 0, last_tick = 0;
};

class LogReader {
 public:
  // Builds the directory by walking the chunk headers up to the file's size now.
  static Result<std::unique_ptr<LogReader>> Open(const std::string& path);
  static Result<std::unique_ptr<LogReader>> Open(std::unique_ptr<base::File> file);
  ~LogReader();

  const LogIdentity& identity() const;
  // Session and event chunks in file order.
  const std::vector<LogChunk>& chunks() const;
  // Unpacks a chunk into `batch` (its memory is re-used). An unreadable chunk is kCorrupt and is
  // added to damage() once.
  Status Read(const LogChunk& chunk, LogBatch* batch);
  // Gives back the descriptor and the memory for unpacking, until the next Read: a run may have
  // more logs than a process may have descriptors. Nothing happens where no path is known.
  void Rest();
  // What Open and Read found broken so far, by offset.
  const std::vector<LogDamage>& damage() const;
  bool complete() const;            // its end chunk is there
  uint64_t unknown_chunks() const;  // of later versions, skipped
  uint64_t readable_end() const;    // offset behind the last chunk of the directory
  uint64_t size() const;

 private:
  struct State;
  explicit LogReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace crosscut::format
