// protobuf's wire format, as the reader of XSpaces and what passes planes on see it.
#pragma once

#include <cstdint>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <string_view>

#include "src/base/status.h"

namespace crosscut::xspace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

inline std::string_view View(protozero::data_view data) { return {data.data(), data.size()}; }
inline std::string_view ViewOf(pbf_reader* reader) { return View(reader->get_view()); }

// protozero keeps but 32 bits of a key or a length: what says more must not pass for less.
inline void RefuseWide(const pbf_reader& reader, uint64_t limit) {
  const protozero::data_view rest = reader.data();
  const char* at = rest.data();
  if (protozero::decode_varint(&at, rest.data() + rest.size()) > limit) {
    throw protozero::end_of_buffer_exception{};
  }
}

// Runs `read` on every field of a message; what protozero throws becomes a Status with the place.
template <class Read>
Status Fields(std::string_view bytes, Read read) {
  pbf_reader reader(bytes.data(), bytes.size());
  try {
    while (reader) {
      RefuseWide(reader, UINT32_MAX);
      if (!reader.next()) break;
      if (reader.wire_type() == pbf_wire_type::length_delimited) {
        RefuseWide(reader, reader.length());
      }
      if (Status status = read(&reader); !status.ok()) return status;
    }
  } catch (const protozero::exception& e) {
    const size_t left = reader.length();
    return Status::Corrupt("byte " + std::to_string(bytes.size() - left) + " of " +
                           std::to_string(bytes.size()) + ": " + e.what());
  }
  return {};
}

}  // namespace crosscut::xspace
