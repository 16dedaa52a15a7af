// Reads a log that may be whole, still growing, cut off, damaged or hostile. It yields only what
// was written, and names what it cannot read. Its memory is that of the directory of chunks and one
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
  // What is lost, if the chunk's own head is intact (has_events):
  bool has_events = false;
  uint32_t track = 0;
  uint64_t words = 0;
  uint64_t first_tick = 0, last_tick = 0;
};

class LogReader {
 public:
  // Builds the directory: from the index of a finished log, else from the chunk headers up to the
  // file's present size. kCorrupt where it is no log, kUnsupported for another version.
  static Result<std::unique_ptr<LogReader>> Open(const std::string& path);
  static Result<std::unique_ptr<LogReader>> Open(std::unique_ptr<base::File> file);
  ~LogReader();

  const LogIdentity& identity() const;
  // Session and event chunks in file order.
  const std::vector<LogChunk>& chunks() const;
  // Unpacks a chunk into `batch`, whose memory is reused. An unreadable chunk is kCorrupt and is
  // added to damage() once. kLimit: there is no memory.
  Status Read(const LogChunk& chunk, LogBatch* batch);
  // Gives back the descriptor and the memory for unpacking until the next Read, because a run may
  // have more logs than a process may have descriptors. Without effect where the path is not known.
  void Rest();
  // The damage that Open and Read have found so far, by offset.
  const std::vector<LogDamage>& damage() const;
  bool complete() const;            // it has its end chunk
  uint64_t unknown_chunks() const;  // of later versions, skipped
  uint64_t readable_end() const;    // the offset behind the last chunk of the directory
  uint64_t size() const;

 private:
  struct State;
  explicit LogReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace crosscut::format
