// Copies of what other profilers wrote, with all its fields: those that nobody here reads, too.
#pragma once

#include <cstdint>
#include <functional>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/xspace/wire.h"

namespace crosscut::xspace {

// Messages of xplane.proto. An entry is one of a plane's dictionaries.
enum class Message : uint8_t {
  kNone,
  kSpace,
  kPlane,
  kLine,
  kEvent,
  kStat,
  kEventEntry,
  kEventMetadata,
  kStatEntry,
  kStatMetadata
};

// What the names of events and of stats are called in the copy, by their ids. 0, which is no id,
// stays 0. None: as they are.
struct NewIds {
  std::function<int64_t(int64_t)> event, stat;
};

// Appends the message to `copy`, in the order of its fields; numbers may be written shorter. An
// error where a reader of protobuf would refuse it, at whatever depth: `copy` is of no use then.
Status Copy(Message kind, std::string_view bytes, const NewIds& ids, std::string* copy);
// The same for the field of such a message at which the reader stands: inside of Fields() alone.
Status CopyField(Message in, pbf_reader* field, const NewIds& ids, protozero::pbf_writer* copy);

}  // namespace crosscut::xspace
