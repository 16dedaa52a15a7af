// Reads serialised XSpaces, the traces of TensorFlow, JAX and XProf: takes bytes and gives views of
// them.
//
// Nothing is copied and nothing is trusted: every length is checked against what contains it, ids
// may be unresolved, and an error names the place ("plane 2 '/host:CPU', line 0: byte 4711: ...").
// The memory is the caller's bytes and, per plane, 16 bytes for each entry of its two dictionaries.
// Unknown fields are skipped. The schema fixes the nesting, so input cannot make it deeper.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace crosscut::xspace {

// protobuf's own limit, and so that of every reader.
inline constexpr size_t kMaxSpaceBytes = (size_t{1} << 31) - 1;

struct Stat {
  enum class Type : uint8_t { kNone, kDouble, kUint64, kInt64, kText, kBytes, kRef };
  int64_t metadata_id = 0;
  Type type = Type::kNone;
  double real = 0;        // kDouble
  uint64_t number = 0;    // kUint64, kInt64 (as two's complement), kRef: id of a stat's metadata
  std::string_view text;  // kText, kBytes
};

struct Event {
  int64_t metadata_id = 0;
  int64_t offset_ps = 0;  // from the line's timestamp_ns
  int64_t duration_ps = 0;
  int64_t num_occurrences = 0;  // of an aggregated event, which has no offset
  bool aggregated = false;
  uint64_t note = 0;       // SpanNote or StepNote of notes.h, packed
  std::string_view bytes;  // for ForEachEventStat
};

struct Line {
  int64_t id = 0, display_id = 0;
  std::string_view name, display_name;
  int64_t timestamp_ns = 0, duration_ps = 0;
  std::string_view note;   // LineNote of notes.h; "": none
  std::string_view bytes;  // for ForEachEvent
};

struct EventMetadata {
  int64_t id = 0;
  std::string_view name, display_name, metadata;
  uint64_t note = 0;       // NameNote of notes.h, packed; 0: none
  std::string_view bytes;  // for ForEachMetadataStat: stats of all its events
};

// A plane with its dictionaries indexed. It is a view: the space's bytes must outlive it.
class Plane {
 public:
  int64_t id = 0;
  std::string_view name;
  std::string_view note;  // PlaneNote of notes.h; "": none

  // Fails where the plane's own fields, a line's head or a dictionary entry cannot be read.
  static Result<Plane> Open(std::string_view bytes);

  // What the dictionaries say of an id. Where they say nothing, there is only the id, or "".
  EventMetadata event_metadata(int64_t id) const;
  std::string_view stat_name(int64_t id) const;
  std::string_view bytes() const { return bytes_; }

  Status ForEachLine(const std::function<Status(const Line&)>& visit) const;
  Status ForEachStat(const std::function<Status(const Stat&)>& visit) const;

 private:
  struct Entry {
    int64_t id;
    uint32_t at, size;  // of the value message, in bytes_
  };
  Status Index(uint32_t field, std::vector<Entry>* entries) const;
  std::string_view Find(const std::vector<Entry>& entries, int64_t id) const;

  std::string_view bytes_;
  std::vector<Entry> events_, stats_;  // by id; of equal ids the last one counts, as in protobuf
};

// Visits the planes in the order of the file. An error of `visit` ends the walk and is returned;
// that holds for all ForEach functions.
Status ForEachPlane(std::string_view space, const std::function<Status(const Plane&)>& visit);
// How many bytes at the begin of `space` are whole fields whose planes are all readable.
size_t WholeBytes(std::string_view space);
enum class Texts : uint8_t { kErrors = 2, kWarnings = 3, kHostnames = 4 };
// The message in `bytes`: hosts and plugins leave zeros behind it, which TensorFlow forgives.
std::string_view WithoutZeros(std::string_view bytes);
// The texts of the space's field `errors`, `warnings` or `hostnames`.
Result<std::vector<std::string_view>> SpaceTexts(std::string_view space, Texts which);
// What its writer says of it: the errors, then the warnings. Nothing where the space is damaged.
std::vector<std::string_view> WordsOfWriter(std::string_view space);

Status ForEachEvent(const Line& line, const std::function<Status(const Event&)>& visit);
// The stats of an event (Event::bytes), and those that all events of a name share
// (EventMetadata::bytes).
Status ForEachEventStat(std::string_view event_bytes,
                        const std::function<Status(const Stat&)>& visit);
Status ForEachMetadataStat(std::string_view metadata_bytes,
                           const std::function<Status(const Stat&)>& visit);

// Whether the first bytes of a file look like an XSpace, for importers.
bool LooksLikeSpace(std::string_view head);

}  // namespace crosscut::xspace
