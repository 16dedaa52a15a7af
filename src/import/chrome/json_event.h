// An event of a trace in Chrome's JSON format, as it is written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace crosscut::import {

// A value as the file writes it. Views are valid until the callback returns.
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
  int64_t ts_ns = kNoTime, dur_ns = kNoTime;  // the file has microseconds with decimals
  std::vector<JsonArg> args;
  std::vector<JsonArg> others;  // id, and fields that have no place above
  std::string_view text;        // the whole of it
};

class JsonEvents {
 public:
  virtual ~JsonEvents() = default;
  virtual void OnEvent(const JsonEvent& event) = 0;
  // A field that stands beside the events.
  virtual void OnFact(std::string_view key, const JsonValue& value) = 0;
};

// The `text` of a JsonValue, or a key, without escapes; U+FFFD for each escape that is half a
// character (a surrogate alone), counted in `halves` unless that is null. Returns the input if it
// has no escapes, else a view of `space`.
std::string_view WithoutEscapes(std::string_view text, std::string* space,
                                uint64_t* halves = nullptr);

// Nanoseconds of a decimal number of microseconds; kNoTime where it is no number or out of range.
int64_t MicrosecondsToNs(std::string_view number);

}  // namespace crosscut::import
