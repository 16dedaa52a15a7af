#include "src/xspace/writer.h"

#include <protozero/pbf_writer.hpp>

#include "src/xspace/copy.h"

namespace crosscut::xspace {
namespace {

using protozero::pbf_writer;

// Appends XStat to `message` as its field `field`.
template <class Value>
void AddStat(std::string* message, uint32_t field, int64_t stat_id, Value value) {
  pbf_writer outer(*message);
  pbf_writer stat(outer, field);
  stat.add_int64(1, stat_id);
  value(&stat);
}

}  // namespace

LineWriter::LineWriter(int64_t id, std::string_view name, int64_t timestamp_ns) {
  pbf_writer line(bytes_);
  line.add_int64(1, id);
  line.add_string(2, name.data(), name.size());
  line.add_int64(3, timestamp_ns);
}

void LineWriter::Event(int64_t metadata_id, int64_t offset_ps, int64_t duration_ps) {
  EndEvent();
  pbf_writer event(event_);
  event.add_int64(1, metadata_id);
  event.add_int64(2, offset_ps);  // 0, too: else it would read as an aggregated event
  event.add_int64(3, duration_ps);
}

void LineWriter::EndEvent() {
  if (event_.empty()) return;
  pbf_writer(bytes_).add_message(4, event_);
  event_.clear();
}

void LineWriter::Int64Stat(int64_t stat_id, int64_t value) {
  AddStat(&event_, 4, stat_id, [&](pbf_writer* stat) { stat->add_int64(4, value); });
}
void LineWriter::Uint64Stat(int64_t stat_id, uint64_t value) {
  AddStat(&event_, 4, stat_id, [&](pbf_writer* stat) { stat->add_uint64(3, value); });
}
void LineWriter::DoubleStat(int64_t stat_id, double value) {
  AddStat(&event_, 4, stat_id, [&](pbf_writer* stat) { stat->add_double(2, value); });
}
void LineWriter::TextStat(int64_t stat_id, std::string_view value) {
  AddStat(&event_, 4, stat_id,
          [&](pbf_writer* stat) { stat->add_string(5, value.data(), value.size()); });
}
void LineWriter::Note(uint64_t packed) { pbf_writer(event_).add_uint64(kNoteField, packed); }
void LineWriter::Note(const LineNote& note) {
  pbf_writer(bytes_).add_message(kNoteField, Encode(note));
}
void LineWriter::RefStat(int64_t stat_id, int64_t value_id) {
  AddStat(&event_, 4, stat_id,
          [&](pbf_writer* stat) { stat->add_uint64(7, static_cast<uint64_t>(value_id)); });
}

PlaneWriter::PlaneWriter(int64_t id, std::string_view name) {
  pbf_writer plane(head_);
  plane.add_int64(1, id);
  plane.add_string(2, name.data(), name.size());
}

int64_t PlaneWriter::Ids::Free() {
  while (!taken.insert(next).second) ++next;
  return next;
}

int64_t PlaneWriter::Intern(std::string_view name, uint32_t field, uint64_t note, Ids* ids) {
  std::string key(name);
  if (note != 0) key += '\0' + std::to_string(note);
  const auto [at, added] = ids->by_name.try_emplace(std::move(key), 0);
  if (!added) return at->second;
  at->second = ids->Free();
  pbf_writer plane(dictionaries_);
  pbf_writer entry(plane, field);
  entry.add_int64(1, at->second);
  pbf_writer metadata(entry, 2);
  metadata.add_int64(1, at->second);
  metadata.add_string(2, name.data(), name.size());
  if (note != 0) metadata.add_uint64(kNoteField, note);
  return at->second;
}

int64_t PlaneWriter::EventName(std::string_view name, uint64_t note) {
  return Intern(name, 4, note, &event_names_);
}
int64_t PlaneWriter::StatName(std::string_view name) { return Intern(name, 5, 0, &stat_names_); }
void PlaneWriter::Note(const PlaneNote& note) {
  pbf_writer(head_).add_message(kNoteField, Encode(note));
}

LineWriter& PlaneWriter::AddLine(int64_t id, std::string_view name, int64_t timestamp_ns) {
  lines_.push_back(LineWriter(id, name, timestamp_ns));
  return lines_.back();
}

Status PlaneWriter::PassOn(const Plane& plane, const std::function<PassedLine(const Line&)>& edit) {
  // By the plane's own ids: what they are called here.
  using Known = std::unordered_map<int64_t, int64_t>;
  Known events, stats;
  const auto id_of = [](Known* known, Ids* ids, int64_t id) {
    const auto [at, added] = known->try_emplace(id, id);
    if (added && !ids->taken.insert(id).second) at->second = ids->Free();
    return at->second;
  };
  const NewIds ids = {[&](int64_t id) { return id_of(&events, &event_names_, id); },
                      [&](int64_t id) { return id_of(&stats, &stat_names_, id); }};
  pbf_writer beside(dictionaries_);
  const Status copied = Fields(plane.bytes(), [&](pbf_reader* r) {
    const uint32_t field = r->tag();
    if (field > 3 && field != kNoteField) return CopyField(Message::kPlane, r, ids, &beside);
    r->skip();
    return Status();
  });
  if (!copied.ok()) return copied;
  for (const auto& [id, here] : stats) {
    const std::string_view name = plane.stat_name(id);
    if (!name.empty()) stat_names_.by_name.try_emplace(std::string(name), here);
  }
  return plane.ForEachLine([&](const Line& line) {
    LineWriter copy;
    const Status status = Copy(Message::kLine, line.bytes, ids, &copy.bytes_);
    const PassedLine edited = edit(line);
    pbf_writer to(copy.bytes_);  // of a field that is there twice the last one counts
    if (edited.timestamp_ns != line.timestamp_ns) to.add_int64(3, edited.timestamp_ns);
    to.add_message(kNoteField, Encode(edited.note));
    lines_.push_back(std::move(copy));
    return status;
  });
}

void PlaneWriter::Int64Stat(int64_t stat_id, int64_t value) {
  AddStat(&head_, 6, stat_id, [&](pbf_writer* stat) { stat->add_int64(4, value); });
}
void PlaneWriter::TextStat(int64_t stat_id, std::string_view value) {
  AddStat(&head_, 6, stat_id,
          [&](pbf_writer* stat) { stat->add_string(5, value.data(), value.size()); });
}

PlaneWriter& SpaceWriter::AddPlane(int64_t id, std::string_view name) {
  planes_.push_back(PlaneWriter(id, name));
  return planes_.back();
}

void SpaceWriter::AddHostname(std::string_view name) {
  pbf_writer(texts_).add_string(4, name.data(), name.size());
}
void SpaceWriter::AddError(std::string_view text) {
  pbf_writer(texts_).add_string(2, text.data(), text.size());
}
void SpaceWriter::AddWarning(std::string_view text) {
  pbf_writer(texts_).add_string(3, text.data(), text.size());
}

Result<std::string> SpaceWriter::Finish() {
  size_t total = texts_.size();
  for (PlaneWriter& plane : planes_) {
    total += plane.head_.size() + plane.dictionaries_.size() + 10;
    for (LineWriter& line : plane.lines_) {
      line.EndEvent();
      total += line.bytes_.size() + 10;
    }
  }
  if (total > kMaxSpaceBytes) {
    return Status::Limit("an XSpace of " + std::to_string(total >> 20) +
                         " MiB: its readers take no more than 2047");
  }
  std::string bytes;
  bytes.reserve(total);
  pbf_writer space(bytes);
  for (PlaneWriter& plane : planes_) {
    pbf_writer message(space, 1);  // what is appended to `bytes` while it lives is its content
    bytes += plane.head_;
    bytes += plane.dictionaries_;
    for (LineWriter& line : plane.lines_) {
      message.add_message(3, line.bytes_);
      line.bytes_ = {};  // no second copy of everything
    }
  }
  bytes += texts_;
  return bytes;
}

}  // namespace crosscut::xspace
