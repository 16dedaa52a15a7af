// Cuts a trace in Chrome's JSON format into its events, without ever having the whole text.
//
// Two forms: {"traceEvents": [...], "other": ...} and a bare array, whose last bracket may be
// missing. What is damaged is left out and counted: an event that is no JSON (unescaped quotes),
// bytes that are no UTF-8, an end that was cut off.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/import/text_stream.h"

namespace crosscut::import {

// A value as it is written. Views hold until the callback returns.
struct JsonValue {
  enum class Kind : uint8_t { kNothing, kNumber, kText, kRaw };  // kRaw: all else, as JSON
  Kind kind = Kind::kNothing;
  std::string_view text;  // kText: without its quotes, escapes still in it
};
struct JsonArg {
  std::string_view key;  // escapes still in it
  JsonValue value;
};

struct JsonEvent {
  static constexpr int64_t kNoTime = INT64_MIN;
  char ph = 0;  // 0: none
  std::string_view cat, name;
  JsonValue id, pid, tid;
  int64_t ts_ns = kNoTime, dur_ns = kNoTime;  // written in microseconds with decimals
  std::vector<JsonArg> args;
  std::vector<JsonArg> others;  // fields that have no place above, and id
  std::string_view text;        // the whole of it
};

class JsonEvents {
 public:
  virtual ~JsonEvents() = default;
  virtual void OnEvent(const JsonEvent& event) = 0;
  // What stands beside the events.
  virtual void OnFact(std::string_view key, const JsonValue& value) = 0;
};

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

// `text` of a JsonValue or a key without escapes; the input where it has none. `space` may hold it.
std::string_view WithoutEscapes(std::string_view text, std::string* space);

// Microseconds with decimals to nanoseconds; kNoTime where it is no number or out of range.
int64_t MicrosecondsToNs(std::string_view number);

}  // namespace crosscut::import
