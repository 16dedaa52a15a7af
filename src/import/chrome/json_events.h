// Cuts a trace in Chrome's JSON format into its events, without holding the whole text.
//
// There are two forms: {"traceEvents": [...], "other": ...} and a bare array, whose last bracket
// may be missing. What is damaged is left out and counted: an event that is no JSON (unescaped
// quotes), bytes that are no UTF-8, an end that was cut off.
#pragma once

#include <cstdint>
#include <string>

#include "src/base/status.h"
#include "src/import/chrome/json_event.h"
#include "src/import/text_stream.h"

namespace crosscut::import {

struct JsonReading {
  uint64_t events = 0;
  uint64_t damaged = 0;          // events left out
  uint64_t first_damage_at = 0;  // byte of the text
  std::string cut_off;           // why the end is missing; "" where it is not
  bool beside_damaged = false;   // a part of what stands beside the events is lost
};

// Passes all events to `events`. kInvalid, with the reason, where the text has no array of events.
// Takes about `window` bytes of memory, more where an event is longer.
Result<JsonReading> ReadJsonEvents(TextStream* text, JsonEvents* events,
                                   size_t window = size_t{1} << 20);

}  // namespace crosscut::import
