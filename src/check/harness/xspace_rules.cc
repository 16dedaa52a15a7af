#include "src/check/harness/xspace_rules.h"

#include <algorithm>

#include "src/base/utf8.h"
#include "src/base/varint.h"

namespace crosscut::check {
namespace {

constexpr int64_t kSlackNs = 1'000'000;
constexpr int64_t kAbsoluteNs = 1'000'000'000'000;  // 1000 s: smaller stamps count from the start

// What a field of a message is: text, a message of a type, or nothing to look into.
enum class Type {
  kSpace,
  kPlane,
  kLine,
  kEvent,
  kStat,
  kEventName,
  kStatName,
  kEventEntry,
  kStatEntry,
  kText,
  kBytes,
  kNumber
};

struct Field {
  Type holder;
  uint32_t tag;
  Type type;
};
constexpr Field kFields[] = {
    {Type::kSpace, 1, Type::kPlane},
    {Type::kSpace, 2, Type::kText},
    {Type::kSpace, 3, Type::kText},
    {Type::kSpace, 4, Type::kText},
    {Type::kPlane, 1, Type::kNumber},
    {Type::kPlane, 2, Type::kText},
    {Type::kPlane, 3, Type::kLine},
    {Type::kPlane, 4, Type::kEventEntry},
    {Type::kPlane, 5, Type::kStatEntry},
    {Type::kPlane, 6, Type::kStat},
    {Type::kLine, 1, Type::kNumber},
    {Type::kLine, 2, Type::kText},
    {Type::kLine, 3, Type::kNumber},
    {Type::kLine, 4, Type::kEvent},
    {Type::kLine, 9, Type::kNumber},
    {Type::kLine, 10, Type::kNumber},
    {Type::kLine, 11, Type::kText},
    {Type::kEvent, 1, Type::kNumber},
    {Type::kEvent, 2, Type::kNumber},
    {Type::kEvent, 3, Type::kNumber},
    {Type::kEvent, 4, Type::kStat},
    {Type::kEvent, 5, Type::kNumber},
    {Type::kStat, 1, Type::kNumber},
    {Type::kStat, 2, Type::kNumber},
    {Type::kStat, 3, Type::kNumber},
    {Type::kStat, 4, Type::kNumber},
    {Type::kStat, 5, Type::kText},
    {Type::kStat, 6, Type::kBytes},
    {Type::kStat, 7, Type::kNumber},
    {Type::kEventName, 1, Type::kNumber},
    {Type::kEventName, 2, Type::kText},
    {Type::kEventName, 3, Type::kBytes},
    {Type::kEventName, 4, Type::kText},
    {Type::kEventName, 5, Type::kStat},
    {Type::kStatName, 1, Type::kNumber},
    {Type::kStatName, 2, Type::kText},
    {Type::kStatName, 3, Type::kText},
    {Type::kEventEntry, 1, Type::kNumber},
    {Type::kEventEntry, 2, Type::kEventName},
    {Type::kStatEntry, 1, Type::kNumber},
    {Type::kStatEntry, 2, Type::kStatName},
};

const Field* FieldOf(Type holder, uint64_t tag) {
  for (const Field& field : kFields) {
    if (field.holder == holder && field.tag == tag) return &field;
  }
  return nullptr;
}

// 0 number, 1 eight bytes, 2 bytes.
uint32_t WireTypeOf(const Field& field) {
  if (field.holder == Type::kStat && field.tag == 2) return 1;
  return field.type == Type::kNumber ? 0 : 2;
}

// The fields of one message. Groups, which proto3 does not have, count as broken.
class Cursor {
 public:
  explicit Cursor(std::string_view message)
      : at_(reinterpret_cast<const uint8_t*>(message.data())), end_(at_ + message.size()) {}

  uint64_t tag = 0, number = 0;
  uint32_t type = 0;
  std::string_view bytes;
  const char* broken = nullptr;  // why Next() was false before the end

  bool Next() {
    if (at_ == end_) return false;
    uint64_t key = 0;
    if (!Varint(&key)) return Break("a tag is cut off");
    tag = key >> 3;
    type = key & 7;
    if (tag == 0 || tag > 536870911) return Break("a field has a number that there is not");
    switch (type) {
      case 0: return Varint(&number) || Break("a number is cut off");
      case 1: return Skip(8);
      case 2: return Varint(&number) ? Take() : Break("a length is cut off");
      case 5: return Skip(4);
      default: return Break("a wire type that proto3 does not have");
    }
  }

 private:
  bool Break(const char* why) {
    broken = why;
    return false;
  }
  bool Varint(uint64_t* value) {
    const uint8_t* after = base::GetVarint(at_, end_, value);
    if (after == nullptr) return false;
    at_ = after;
    return true;
  }
  bool Skip(size_t size) {
    if (size > static_cast<size_t>(end_ - at_)) return Break("a field is cut off");
    at_ += size;
    return true;
  }
  bool Take() {
    if (number > static_cast<uint64_t>(end_ - at_)) return Break("a length goes beyond the end");
    bytes = {reinterpret_cast<const char*>(at_), static_cast<size_t>(number)};
    at_ += number;
    return true;
  }

  const uint8_t *at_, *end_;
};

class Checker {
 public:
  Checker(int64_t begin_ns, int64_t end_ns) : begin_ns_(begin_ns), end_ns_(end_ns) {}

  void Run(std::string_view bytes) {
    if (bytes.size() > kMaxSpaceBytes) {
      Fault("C8.size", "the space is over 2 GiB - 1: readers refuse it; bound the buffer");
      return;
    }
    if (!Wire(bytes, Type::kSpace)) return;
    const Status status = xspace::ForEachPlane(bytes, [&](const xspace::Plane& plane) {
      place_ = "plane '" + std::string(plane.name.substr(0, 60)) + "'";
      return CheckPlane(plane);
    });
    if (!status.ok()) Fault("C8.wire", std::string(status.message()));
  }

  std::vector<SpaceFault> faults;

 private:
  void Fault(const char* rule, const std::string& text, bool warn = false) {
    for (const SpaceFault& fault : faults) {
      if (std::string_view(fault.rule) == rule) return;
    }
    faults.push_back({rule, warn, text});
  }

  // Every byte is some field's; the schema bounds the depth. False where it ends.
  bool Wire(std::string_view bytes, Type holder) {
    Cursor cursor(bytes);
    uint64_t key = 0, id = 0;
    while (cursor.Next()) {
      const Field* field = FieldOf(holder, cursor.tag);
      if (field != nullptr && cursor.type != WireTypeOf(*field)) {
        Fault("C8.wire", "field " + std::to_string(cursor.tag) + " of an " + NameOfType(holder) +
                             " has another wire type than xplane.proto gives it");
      }
      if (cursor.tag == 1 && cursor.type == 0) key = cursor.number;
      if (field == nullptr || cursor.type != 2) continue;
      if (field->type == Type::kText) {
        Text(cursor.bytes, NameOfType(holder));
      } else if (field->type < Type::kText) {
        if (!Wire(cursor.bytes, field->type)) return false;
        id = ids_here_;
      }
    }
    const bool entry = holder == Type::kEventEntry || holder == Type::kStatEntry;
    if (entry && key != id) {
      Fault("C8.ids", std::string("an entry of ") + NameOfType(holder) + " has key " +
                          std::to_string(key) + " but id " + std::to_string(id) +
                          ": both must be equal");
    }
    ids_here_ = key;
    if (cursor.broken == nullptr) return true;
    Fault("C8.wire", std::string("in an ") + NameOfType(holder) + ": " + cursor.broken +
                         ": not a serialised XSpace; check lengths and field tags");
    return false;
  }

  void Text(std::string_view text, const char* what) {
    if (base::IsUtf8(text)) return;
    Fault("C8.utf8", std::string("a text of ") + what +
                         " is no UTF-8: protobuf's parsers refuse the space; convert it");
  }

  static const char* NameOfType(Type type) {
    switch (type) {
      case Type::kSpace: return "XSpace";
      case Type::kPlane: return "XPlane";
      case Type::kLine: return "XLine";
      case Type::kEvent: return "XEvent";
      case Type::kStat: return "XStat";
      case Type::kEventName: return "XEventMetadata";
      case Type::kStatName: return "XStatMetadata";
      case Type::kEventEntry: return "event_metadata";
      case Type::kStatEntry: return "stat_metadata";
      default: return "?";
    }
  }

  Status CheckPlane(const xspace::Plane& plane) {
    if (plane.name.empty()) {
      Fault("C8.ids", "a plane has no name: readers find planes by name");
    }
    Status status = plane.ForEachStat([&](const xspace::Stat& stat) {
      CheckStat(plane, stat);
      return Status();
    });
    if (!status.ok()) return status;
    return plane.ForEachLine([&](const xspace::Line& line) { return CheckLine(plane, line); });
  }

  void CheckStat(const xspace::Plane& plane, const xspace::Stat& stat) {
    const bool ref = stat.type == xspace::Stat::Type::kRef;
    if (!plane.stat_name(stat.metadata_id).empty() &&
        (!ref || !plane.stat_name(static_cast<int64_t>(stat.number)).empty())) {
      return;
    }
    Fault("C8.ids", "in " + place_ + ": a stat refers to stat_metadata " +
                        std::to_string(stat.metadata_id) + (ref ? " or a value" : "") +
                        " that the plane does not have: add it to stat_metadata");
  }

  Status CheckLine(const xspace::Plane& plane, const xspace::Line& line) {
    last_begin_ = INT64_MIN;
    open_.clear();
    if (line.timestamp_ns < 0 || line.timestamp_ns > INT64_MAX / 2) {
      Fault("C8.time", "in " + place_ + ": a line's timestamp_ns is " +
                           std::to_string(line.timestamp_ns) + ": write CLOCK_REALTIME ns");
      return {};
    }
    return xspace::ForEachEvent(line, [&](const xspace::Event& event) {
      if (plane.event_metadata(event.metadata_id).bytes.empty()) {
        Fault("C8.ids", "in " + place_ + ", line '" + std::string(line.name.substr(0, 60)) +
                            "': an event refers to event_metadata " +
                            std::to_string(event.metadata_id) +
                            " that the plane does not have: add it");
      }
      if (!event.aggregated) CheckEvent(line, event);
      return xspace::ForEachEventStat(event.bytes, [&](const xspace::Stat& stat) {
        CheckStat(plane, stat);
        return Status();
      });
    });
  }

  void CheckEvent(const xspace::Line& line, const xspace::Event& event) {
    const std::string where =
        "in " + place_ + ", line '" + std::string(line.name.substr(0, 60)) + "': ";
    if (event.offset_ps < 0 || event.duration_ps < 0) {
      Fault("C8.time", where + "an event has " +
                           (event.offset_ps < 0 ? "a negative offset_ps: the line's timestamp "
                                                  "must not be later than its events"
                                                : "a negative duration_ps"));
      return;
    }
    CheckWindow(where, line, event);
    if (event.offset_ps < last_begin_) {
      Fault("C8.order",
            where +
                "events are not in order of their begin: sort them, readers are "
                "faster and some rely on it",
            true);
      return;  // nesting is told for lines in order
    }
    last_begin_ = event.offset_ps;
    int64_t end = 0;
    if (__builtin_add_overflow(event.offset_ps, event.duration_ps, &end)) {
      Fault("C8.time", where + "an event ends beyond what 64 bits of picoseconds hold");
      return;
    }
    while (!open_.empty() && open_.back() <= event.offset_ps) open_.pop_back();
    if (!open_.empty() && open_.back() < end) {
      Fault("C8.nesting", where +
                              "two events overlap without nesting: put concurrent work on "
                              "lines of its own");
    }
    open_.push_back(end);
  }

  void CheckWindow(const std::string& where, const xspace::Line& line, const xspace::Event& event) {
    const bool absolute = line.timestamp_ns > kAbsoluteNs;
    const int64_t base_ns = absolute ? line.timestamp_ns - begin_ns_ : line.timestamp_ns;
    const int64_t begin_ns = base_ns + event.offset_ps / 1000;
    const int64_t end_ns = begin_ns + event.duration_ps / 1000;
    if (begin_ns >= -kSlackNs && end_ns <= end_ns_ - begin_ns_ + kSlackNs) return;
    Fault("C8.session", where + "an event lies outside its session (it begins " +
                            std::to_string(begin_ns / 1000) + " us after start, the session is " +
                            std::to_string((end_ns_ - begin_ns_) / 1000) +
                            " us long): stamp lines with CLOCK_REALTIME ns, and drop what began "
                            "before start");
  }

  const int64_t begin_ns_, end_ns_;
  std::string place_ = "XSpace";
  uint64_t ids_here_ = 0;  // field 1 of the message that was read last
  int64_t last_begin_ = 0;
  std::vector<int64_t> open_;  // ends of the events that the current one lies in
};

bool Says(std::string_view name) {
  std::string lower(name.substr(0, 200));
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  });
  return lower.find("drop") != std::string::npos || lower.find("lost") != std::string::npos;
}

using EventVisit = std::function<Status(const xspace::Line&, const xspace::Event&)>;
Status ForEachEventOf(std::string_view bytes, const EventVisit& visit) {
  return xspace::ForEachPlane(bytes, [&](const xspace::Plane& plane) {
    return plane.ForEachLine([&](const xspace::Line& line) {
      return xspace::ForEachEvent(line,
                                  [&](const xspace::Event& event) { return visit(line, event); });
    });
  });
}

}  // namespace

std::vector<SpaceFault> CheckSpace(std::string_view bytes, int64_t begin_ns, int64_t end_ns) {
  Checker checker(begin_ns, end_ns);
  checker.Run(bytes);
  return checker.faults;
}

std::vector<EventTime> AbsoluteEvents(std::string_view bytes, size_t most) {
  std::vector<EventTime> events;
  (void)ForEachEventOf(bytes, [&](const xspace::Line& line, const xspace::Event& event) {
    if (line.timestamp_ns > kAbsoluteNs && events.size() < most) {
      events.push_back({line.timestamp_ns, event.offset_ps, event.duration_ps});
    }
    return Status();
  });
  return events;
}

int64_t CountEvents(std::string_view bytes) {
  int64_t count = 0;
  const Status status = ForEachEventOf(bytes, [&](const xspace::Line&, const xspace::Event&) {
    ++count;
    return Status();
  });
  return status.ok() ? count : -1;
}

bool TellsOfLoss(std::string_view bytes) {
  for (const auto which : {xspace::Texts::kErrors, xspace::Texts::kWarnings}) {
    const auto texts = xspace::SpaceTexts(bytes, which);
    if (texts.ok() && !texts->empty()) return true;
  }
  bool told = false;
  const auto look = [&](const xspace::Plane& plane, const xspace::Stat& stat) {
    told = told || Says(plane.stat_name(stat.metadata_id));
    return Status();
  };
  (void)xspace::ForEachPlane(bytes, [&](const xspace::Plane& plane) {
    (void)plane.ForEachStat([&](const xspace::Stat& stat) { return look(plane, stat); });
    return plane.ForEachLine([&](const xspace::Line& line) {
      return xspace::ForEachEvent(line, [&](const xspace::Event& event) {
        told = told || Says(plane.event_metadata(event.metadata_id).name);
        return xspace::ForEachEventStat(
            event.bytes, [&](const xspace::Stat& stat) { return look(plane, stat); });
      });
    });
  });
  return told;
}

}  // namespace crosscut::check
