#include "src/xspace/notes.h"

#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

namespace crosscut::xspace {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;
using protozero::pbf_writer;
using Pairs = std::vector<std::pair<int64_t, int64_t>>;

// Field and wire type in one: a number, or bytes.
constexpr uint32_t N(uint32_t field) {
  return protozero::tag_and_type(field, pbf_wire_type::varint);
}
constexpr uint32_t B(uint32_t field) {
  return protozero::tag_and_type(field, pbf_wire_type::length_delimited);
}

void Put(pbf_writer* to, uint32_t field, const Pairs& pairs) {
  for (const auto& [first, second] : pairs) {
    pbf_writer pair(*to, field);
    pair.add_sint64(1, first);
    pair.add_sint64(2, second);
  }
}

void TakePair(pbf_reader reader, Pairs* pairs) {
  pairs->emplace_back();
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case N(1): pairs->back().first = reader.get_sint64(); break;
      case N(2): pairs->back().second = reader.get_sint64(); break;
      default: reader.skip();
    }
  }
}

template <class Take>
Status Fields(std::string_view bytes, Take take) {
  try {
    for (pbf_reader reader(bytes.data(), bytes.size()); reader.next();) take(&reader);
  } catch (const std::exception& e) {
    return Status::Corrupt(std::string("a note of Crosscut's: ") + e.what());
  }
  return {};
}

}  // namespace

std::string Encode(const PlaneNote& note) {
  std::string bytes;
  pbf_writer to(bytes);
  to.add_sint64(1, note.process);
  to.add_sint64(2, note.device);
  if (!note.device_name.empty()) to.add_string(3, note.device_name);
  if (note.key.empty()) return bytes;
  to.add_string(4, note.key);
  to.add_string(5, note.name);
  to.add_string(6, note.why_incomplete);
  to.add_sint64(7, note.pid);
  to.add_sint64(8, note.parent_pid);
  to.add_sint64(9, note.start_ns);
  to.add_sint64(10, note.end_ns);
  to.add_sint64(11, note.parent);
  to.add_bool(12, note.complete);
  Put(&to, 13, note.paused);
  return bytes;
}

Status Decode(std::string_view bytes, PlaneNote* note) {
  return Fields(bytes, [note](pbf_reader* r) {
    switch (r->tag_and_type()) {
      case N(1): note->process = r->get_sint64(); break;
      case N(2): note->device = r->get_sint64(); break;
      case B(3): note->device_name = r->get_string(); break;
      case B(4): note->key = r->get_string(); break;
      case B(5): note->name = r->get_string(); break;
      case B(6): note->why_incomplete = r->get_string(); break;
      case N(7): note->pid = r->get_sint64(); break;
      case N(8): note->parent_pid = r->get_sint64(); break;
      case N(9): note->start_ns = r->get_sint64(); break;
      case N(10): note->end_ns = r->get_sint64(); break;
      case N(11): note->parent = r->get_sint64(); break;
      case N(12): note->complete = r->get_bool(); break;
      case B(13): TakePair(r->get_message(), &note->paused); break;
      default: r->skip();
    }
  });
}

std::string Encode(const LineNote& note) {
  std::string bytes;
  pbf_writer to(bytes);
  to.add_sint64(1, note.role);
  if (note.role == LineNote::kPassed) {
    to.add_sint64(9, note.profile);
    to.add_sint64(10, note.part);
    to.add_sint64(11, note.python);
    return bytes;
  }
  to.add_bool(2, note.main);
  to.add_bool(3, note.ours);
  to.add_bool(4, note.lead);
  to.add_string(5, note.name);
  to.add_sint64(6, note.begin_ns);
  to.add_sint64(7, note.end_ns);
  Put(&to, 8, note.base);
  return bytes;
}

Status Decode(std::string_view bytes, LineNote* note) {
  return Fields(bytes, [note](pbf_reader* r) {
    switch (r->tag_and_type()) {
      case N(1): note->role = r->get_sint64(); break;
      case N(2): note->main = r->get_bool(); break;
      case N(3): note->ours = r->get_bool(); break;
      case N(4): note->lead = r->get_bool(); break;
      case B(5): note->name = r->get_string(); break;
      case N(6): note->begin_ns = r->get_sint64(); break;
      case N(7): note->end_ns = r->get_sint64(); break;
      case B(8): TakePair(r->get_message(), &note->base); break;
      case N(9): note->profile = r->get_sint64(); break;
      case N(10): note->part = r->get_sint64(); break;
      case N(11): note->python = r->get_sint64(); break;
      default: r->skip();
    }
  });
}

}  // namespace crosscut::xspace
