#include "src/xspace/reader.h"

#include <algorithm>
#include <string>

#include "src/xspace/notes.h"
#include "src/xspace/wire.h"

namespace crosscut::xspace {
namespace {

// Field and wire type in one, as a switch wants them.
constexpr uint64_t Is(uint32_t field, pbf_wire_type type) {
  return uint64_t{field} << 3 | static_cast<uint64_t>(type);
}
constexpr pbf_wire_type kVarint = pbf_wire_type::varint;
constexpr pbf_wire_type kBytes = pbf_wire_type::length_delimited;
constexpr pbf_wire_type kFixed64 = pbf_wire_type::fixed64;
uint64_t What(const pbf_reader& reader) { return Is(reader.tag(), reader.wire_type()); }

Status ReadStat(std::string_view bytes, Stat* stat) {
  return Fields(bytes, [stat](pbf_reader* r) {
    const auto number = [stat](Stat::Type type, uint64_t value) {
      stat->type = type;
      stat->number = value;
    };
    switch (What(*r)) {
      case Is(1, kVarint): stat->metadata_id = r->get_int64(); break;
      case Is(2, kFixed64):
        stat->type = Stat::Type::kDouble;
        stat->real = r->get_double();
        break;
      case Is(3, kVarint): number(Stat::Type::kUint64, r->get_uint64()); break;
      case Is(4, kVarint): number(Stat::Type::kInt64, static_cast<uint64_t>(r->get_int64())); break;
      case Is(5, kBytes):
        stat->type = Stat::Type::kText;
        stat->text = ViewOf(r);
        break;
      case Is(6, kBytes):
        stat->type = Stat::Type::kBytes;
        stat->text = ViewOf(r);
        break;
      case Is(7, kVarint): number(Stat::Type::kRef, r->get_uint64()); break;
      default: r->skip();
    }
    return Status();
  });
}

Status StatsOf(std::string_view bytes, uint32_t field,
               const std::function<Status(const Stat&)>& visit) {
  return Fields(bytes, [&](pbf_reader* r) {
    if (What(*r) != Is(field, kBytes)) {
      r->skip();
      return Status();
    }
    Stat stat;
    if (Status status = ReadStat(ViewOf(r), &stat); !status.ok()) return status.At("stat");
    return visit(stat);
  });
}

Status ReadEvent(std::string_view bytes, Event* event) {
  event->bytes = bytes;
  return Fields(bytes, [event](pbf_reader* r) {
    switch (What(*r)) {
      case Is(1, kVarint): event->metadata_id = r->get_int64(); break;
      case Is(2, kVarint):
        event->offset_ps = r->get_int64();
        event->aggregated = false;
        break;
      case Is(3, kVarint): event->duration_ps = r->get_int64(); break;
      case Is(5, kVarint):
        event->num_occurrences = r->get_int64();
        event->aggregated = true;
        break;
      case Is(kNoteField, kVarint): event->note = r->get_uint64(); break;
      default: r->skip();
    }
    return Status();
  });
}

Status ReadLine(std::string_view bytes, Line* line) {
  line->bytes = bytes;
  return Fields(bytes, [line](pbf_reader* r) {
    switch (What(*r)) {
      case Is(1, kVarint): line->id = r->get_int64(); break;
      case Is(2, kBytes): line->name = ViewOf(r); break;
      case Is(3, kVarint): line->timestamp_ns = r->get_int64(); break;
      case Is(9, kVarint): line->duration_ps = r->get_int64(); break;
      case Is(10, kVarint): line->display_id = r->get_int64(); break;
      case Is(11, kBytes): line->display_name = ViewOf(r); break;
      case Is(kNoteField, kBytes): line->note = ViewOf(r); break;
      default: r->skip();
    }
    return Status();
  });
}

}  // namespace

Result<Plane> Plane::Open(std::string_view bytes) {
  Plane plane;
  plane.bytes_ = bytes;
  Status status = Fields(bytes, [&](pbf_reader* r) {
    switch (What(*r)) {
      case Is(1, kVarint): plane.id = r->get_int64(); break;
      case Is(2, kBytes): plane.name = ViewOf(r); break;
      case Is(kNoteField, kBytes): plane.note = ViewOf(r); break;
      default: r->skip();
    }
    return Status();
  });
  if (status.ok()) status = plane.Index(4, &plane.events_).At("event_metadata");
  if (status.ok()) status = plane.Index(5, &plane.stats_).At("stat_metadata");
  if (!status.ok()) return status;
  return plane;
}

Status Plane::Index(uint32_t field, std::vector<Entry>* entries) const {
  size_t count = 0;
  Status status = Fields(bytes_, [&](pbf_reader* r) {
    count += What(*r) == Is(field, kBytes);
    r->skip();
    return Status();
  });
  if (!status.ok()) return status;
  entries->reserve(count);
  status = Fields(bytes_, [&](pbf_reader* r) {
    if (What(*r) != Is(field, kBytes)) {
      r->skip();
      return Status();
    }
    Entry entry = {0, 0, 0};
    const Status read = Fields(ViewOf(r), [&](pbf_reader* pair) {
      switch (What(*pair)) {
        case Is(1, kVarint): entry.id = pair->get_int64(); break;
        case Is(2, kBytes): {
          const std::string_view value = ViewOf(pair);
          entry.at = static_cast<uint32_t>(value.data() - bytes_.data());
          entry.size = static_cast<uint32_t>(value.size());
          break;
        }
        default: pair->skip();
      }
      return Status();
    });
    if (read.ok()) entries->push_back(entry);
    return read;
  });
  std::stable_sort(entries->begin(), entries->end(),
                   [](const Entry& a, const Entry& b) { return a.id < b.id; });
  return status;
}

std::string_view Plane::Find(const std::vector<Entry>& entries, int64_t id) const {
  auto at = std::upper_bound(entries.begin(), entries.end(), id,
                             [](int64_t wanted, const Entry& e) { return wanted < e.id; });
  if (at == entries.begin() || (--at)->id != id) return {};
  return bytes_.substr(at->at, at->size);
}

EventMetadata Plane::event_metadata(int64_t id) const {
  EventMetadata out;
  out.id = id;
  out.bytes = Find(events_, id);
  // What cannot be read says nothing.
  (void)Fields(out.bytes, [&](pbf_reader* r) {
    switch (What(*r)) {
      case Is(2, kBytes): out.name = ViewOf(r); break;
      case Is(3, kBytes): out.metadata = ViewOf(r); break;
      case Is(4, kBytes): out.display_name = ViewOf(r); break;
      case Is(kNoteField, kVarint): out.note = r->get_uint64(); break;
      default: r->skip();
    }
    return Status();
  });
  return out;
}

std::string_view Plane::stat_name(int64_t id) const {
  std::string_view name;
  (void)Fields(Find(stats_, id), [&](pbf_reader* r) {
    if (What(*r) == Is(2, kBytes)) {
      name = ViewOf(r);
    } else {
      r->skip();
    }
    return Status();
  });
  return name;
}

Status Plane::ForEachLine(const std::function<Status(const Line&)>& visit) const {
  size_t number = 0;
  return Fields(bytes_, [&](pbf_reader* r) {
    if (What(*r) != Is(3, kBytes)) {
      r->skip();
      return Status();
    }
    Line line;
    Status status = ReadLine(ViewOf(r), &line);
    if (status.ok()) status = visit(line);
    return status.At("line " + std::to_string(number++));
  });
}

Status Plane::ForEachStat(const std::function<Status(const Stat&)>& visit) const {
  return StatsOf(bytes_, 6, visit);
}

Status ForEachPlane(std::string_view space, const std::function<Status(const Plane&)>& visit) {
  if (space.size() > kMaxSpaceBytes) return Status::Limit("an XSpace of more than 2 GiB");
  size_t number = 0;
  return Fields(space, [&](pbf_reader* r) {
    if (What(*r) != Is(1, kBytes)) {
      r->skip();
      return Status();
    }
    const Result<Plane> plane = Plane::Open(ViewOf(r));
    const std::string place = "plane " + std::to_string(number++);
    if (!plane.ok()) return plane.status().At(place);
    return visit(*plane).At(place + " '" + std::string(plane->name.substr(0, 100)) + "'");
  });
}

size_t WholeBytes(std::string_view space) {
  size_t whole = 0;
  const Status status = Fields(space, [&](pbf_reader* r) {
    if (What(*r) != Is(1, kBytes)) {
      r->skip();
    } else if (const Result<Plane> plane = Plane::Open(ViewOf(r)); !plane.ok()) {
      return plane.status();
    }
    whole = space.size() - r->length();
    return Status();
  });
  return whole;
}

std::string_view WithoutZeros(std::string_view bytes) {
  size_t whole = 0;
  (void)Fields(bytes, [&](pbf_reader* r) {
    r->skip();
    whole = bytes.size() - r->length();
    return Status();
  });
  const bool zeros = bytes.find_first_not_of('\0', whole) == std::string_view::npos;
  return zeros ? bytes.substr(0, whole) : bytes;
}

Result<std::vector<std::string_view>> SpaceTexts(std::string_view space, Texts which) {
  std::vector<std::string_view> texts;
  Status status = Fields(space, [&](pbf_reader* r) {
    if (What(*r) == Is(static_cast<uint32_t>(which), kBytes)) {
      texts.push_back(ViewOf(r));
    } else {
      r->skip();
    }
    return Status();
  });
  if (!status.ok()) return status;
  return texts;
}

std::vector<std::string_view> WordsOfWriter(std::string_view space) {
  std::vector<std::string_view> words;
  for (const Texts which : {Texts::kErrors, Texts::kWarnings}) {
    const auto texts = SpaceTexts(space, which);
    if (texts.ok()) words.insert(words.end(), texts->begin(), texts->end());
  }
  return words;
}

namespace {

// False where the bytes end in it.
bool SkipVarint(std::string_view bytes, size_t* at, uint64_t* value) {
  *value = 0;
  for (int shift = 0; *at < bytes.size() && shift < 64; shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes[(*at)++]);
    *value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

// Whether a plane's fields are a plane's, a name among them, as far as the bytes reach.
bool IsPlane(std::string_view bytes) {
  bool named = false;
  for (size_t at = 0; at < bytes.size();) {
    uint64_t tag = 0, value = 0;
    if (!SkipVarint(bytes, &at, &tag)) return named;
    const uint64_t field = tag >> 3, wire = tag & 7;
    if (field < 1 || (field > 6 && field != kNoteField) || wire != (field == 1 ? 0U : 2U))
      return false;
    if (!SkipVarint(bytes, &at, &value)) return named;
    named = named || field == 2;
    if (field > 1 && value > bytes.size() - at) return named;
    if (field > 1) at += value;
  }
  return named;
}

}  // namespace

bool LooksLikeSpace(std::string_view head) {
  // A plane: tag, length, and behind them its id or its name.
  if (head.size() < 4 || head[0] != '\x0a') return false;
  size_t at = 1;
  while (at < head.size() && at < 6 && (head[at] & 0x80) != 0) ++at;
  if (++at >= head.size()) return false;
  if (head[at] != '\x08' && head[at] != '\x12' && head[at] != '\x1a') return false;
  size_t begin = 1;
  uint64_t length = 0;
  if (SkipVarint(head, &begin, &length) && IsPlane(head.substr(begin, length))) return true;
  return head.find("/host:") != std::string_view::npos ||
         head.find("/device:") != std::string_view::npos ||
         head.find("Task Environment") != std::string_view::npos ||
         head.find("#Chip") != std::string_view::npos;
}

Status ForEachEvent(const Line& line, const std::function<Status(const Event&)>& visit) {
  size_t number = 0;
  return Fields(line.bytes, [&](pbf_reader* r) {
    if (What(*r) != Is(4, kBytes)) {
      r->skip();
      return Status();
    }
    Event event;
    Status status = ReadEvent(ViewOf(r), &event);
    if (status.ok()) status = visit(event);
    ++number;
    return status.ok() ? status : status.At("event " + std::to_string(number - 1));
  });
}

Status ForEachEventStat(std::string_view bytes, const std::function<Status(const Stat&)>& visit) {
  return StatsOf(bytes, 4, visit);
}

Status ForEachMetadataStat(std::string_view bytes,
                           const std::function<Status(const Stat&)>& visit) {
  return StatsOf(bytes, 5, visit);
}

}  // namespace crosscut::xspace
