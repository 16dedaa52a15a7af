#include "src/xspace/copy.h"

#include "src/base/utf8.h"

namespace crosscut::xspace {
namespace {

using protozero::pbf_writer;

enum class Holds : uint8_t { kAnything, kText, kEventId, kStatId, kMessage };

struct Field {
  Message in;
  uint32_t number;
  Holds holds;
  Message message = Message::kNone;
};
// All others are kept as they are.
constexpr Field kFields[] = {
    {Message::kSpace, 1, Holds::kMessage, Message::kPlane},
    {Message::kSpace, 2, Holds::kText},
    {Message::kSpace, 3, Holds::kText},
    {Message::kSpace, 4, Holds::kText},
    {Message::kPlane, 2, Holds::kText},
    {Message::kPlane, 3, Holds::kMessage, Message::kLine},
    {Message::kPlane, 4, Holds::kMessage, Message::kEventEntry},
    {Message::kPlane, 5, Holds::kMessage, Message::kStatEntry},
    {Message::kPlane, 6, Holds::kMessage, Message::kStat},
    {Message::kLine, 2, Holds::kText},
    {Message::kLine, 4, Holds::kMessage, Message::kEvent},
    {Message::kLine, 11, Holds::kText},
    {Message::kEvent, 1, Holds::kEventId},
    {Message::kEvent, 4, Holds::kMessage, Message::kStat},
    {Message::kStat, 1, Holds::kStatId},
    {Message::kStat, 5, Holds::kText},
    {Message::kStat, 7, Holds::kStatId},
    {Message::kEventEntry, 1, Holds::kEventId},
    {Message::kEventEntry, 2, Holds::kMessage, Message::kEventMetadata},
    {Message::kEventMetadata, 1, Holds::kEventId},
    {Message::kEventMetadata, 2, Holds::kText},
    {Message::kEventMetadata, 4, Holds::kText},
    {Message::kEventMetadata, 5, Holds::kMessage, Message::kStat},
    {Message::kEventMetadata, 6, Holds::kEventId},  // of children
    {Message::kStatEntry, 1, Holds::kStatId},
    {Message::kStatEntry, 2, Holds::kMessage, Message::kStatMetadata},
    {Message::kStatMetadata, 1, Holds::kStatId},
    {Message::kStatMetadata, 2, Holds::kText},
    {Message::kStatMetadata, 3, Holds::kText},
};

Field FieldOf(Message in, uint32_t number) {
  for (const Field& field : kFields) {
    if (field.in == in && field.number == number) return field;
  }
  return {in, number, Holds::kAnything};
}

uint64_t NewId(Holds holds, uint64_t id, const NewIds& ids) {
  const auto& of = holds == Holds::kEventId ? ids.event : ids.stat;
  const bool is_id = holds == Holds::kEventId || holds == Holds::kStatId;
  return is_id && id != 0 && of ? static_cast<uint64_t>(of(static_cast<int64_t>(id))) : id;
}

Status CopyBytes(const Field& field, std::string_view bytes, const NewIds& ids, pbf_writer* to) {
  std::string copy;
  switch (field.holds) {
    case Holds::kMessage: {
      if (Status status = Copy(field.message, bytes, ids, &copy); !status.ok()) return status;
      bytes = copy;
      break;
    }
    case Holds::kText:
      if (!base::IsUtf8(bytes)) return Status::Corrupt("a text that is no UTF-8");
      break;
    case Holds::kEventId:
    case Holds::kStatId: {  // several, packed
      const char* at = bytes.data();
      while (at != bytes.data() + bytes.size()) {
        const uint64_t id = protozero::decode_varint(&at, bytes.data() + bytes.size());
        protozero::add_varint_to_buffer(&copy, NewId(field.holds, id, ids));
      }
      bytes = copy;
      break;
    }
    case Holds::kAnything: break;
  }
  to->add_bytes(field.number, bytes.data(), bytes.size());
  return {};
}

}  // namespace

Status CopyField(Message in, pbf_reader* r, const NewIds& ids, pbf_writer* copy) {
  const Field field = FieldOf(in, r->tag());
  switch (r->wire_type()) {
    case pbf_wire_type::varint:
      copy->add_uint64(field.number, NewId(field.holds, r->get_uint64(), ids));
      break;
    case pbf_wire_type::fixed64: copy->add_fixed64(field.number, r->get_fixed64()); break;
    case pbf_wire_type::fixed32: copy->add_fixed32(field.number, r->get_fixed32()); break;
    default: return CopyBytes(field, ViewOf(r), ids, copy);
  }
  return {};
}

Status Copy(Message kind, std::string_view bytes, const NewIds& ids, std::string* copy) {
  pbf_writer to(*copy);
  return Fields(bytes, [&](pbf_reader* r) { return CopyField(kind, r, ids, &to); });
}

}  // namespace crosscut::xspace
