// Cuts a trace in Chrome's JSON format into its events, without ever having the whole text.
//
// Two forms: {"traceEvents": [...], "other": ...} and a bare array, whose last bracket may be
// missing. What is damaged is left out and counted: an event that is no JSON (unescaped quotes),
// bytes that are no UTF-8, an end that was cut off.
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
  std::string cut_off;           // why the end is missing, "" where it is there
  bool beside_damaged = false;   // what stands beside the events is not there in full
};

// kInvalid where there are no events at all in the text, and why. Takes about `window` bytes of
// memory, more where an event is longer than that.
Result<JsonReading> ReadJsonEvents(TextStream* text, JsonEvents* events,
                                   size_t window = size_t{1} << 20);

}  // namespace crosscut::import
