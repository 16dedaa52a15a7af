// Reads the events in a piece of a trace's text. simdjson's first stage finds the tokens and checks
// that the bytes are UTF-8; this class then walks over the tokens once.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <string_view>

#include "src/import/chrome/json_event.h"

namespace crosscut::import {

inline bool IsJsonSpace(char c) {
  return c <= ' ' && (c == ' ' || c == '\n' || c == '\r' || c == '\t');
}

class JsonScan {
 public:
  enum class Outcome : uint8_t {
    kAll,         // up to the last bracket
    kArrayEnded,  // an earlier bracket ends the array; `done` is behind it
    kDamaged,     // what begins at `done` is no event
    kUnreadable   // texts or bytes are damaged: no event can be read
  };

  // `text`: '[', events with commas between, ']'; behind it lie a 0 and simdjson's padding. Passes
  // the events to `events` unless that is null. Sets `*done` to how many bytes behind the first one
  // were dealt with.
  Outcome Events(std::string_view text, JsonEvents* events, size_t* done);
  // How many events the last call found.
  uint64_t found() const { return found_; }

  // Passes the fields of `text`, an object with a 0 and padding behind it, to `events`, up to the
  // first that cannot be read. False where there is such a field, or something else behind the
  // object.
  bool Facts(std::string_view text, JsonEvents* events);

 private:
  bool FindTokens(std::string_view text);
  // The token that comes next. Behind the last there are two more, at the end of the text.
  char Next() const { return text_[*token_]; }
  bool Take(char c) {
    if (Next() != c) return false;
    ++token_;
    return true;
  }
  // The text from the next token to the one after it, without the space between.
  std::string_view Word() const {
    const char* const begin = text_ + token_[0];
    const char* end = text_ + token_[1];
    while (IsJsonSpace(end[-1])) --end;
    return {begin, static_cast<size_t>(end - begin)};
  }
  bool TakeText(std::string_view* text) {
    if (Next() != '"') return false;
    const std::string_view word = Word();
    if (word.size() < 2 || word.back() != '"') return false;
    *text = {word.data() + 1, word.size() - 2};
    ++token_;
    return true;
  }
  bool TakeValue(JsonValue* value);
  bool TakeBare(JsonValue* value);
  bool TakeNested(JsonValue* value);
  // Calls `take` with the key of each field; it takes the value.
  template <class Taking>
  bool TakeObject(Taking take);
  // {} or null, which some writers put between the commas.
  bool TakeNothing();
  bool TakeEvent();
  bool TakeField(std::string_view key);
  bool TakeShort(std::string_view key, const JsonValue& value);
  bool TakeMiddle(std::string_view key, const JsonValue& value);
  bool TakeArgs();

  simdjson::dom::parser parser_;
  const char* text_ = nullptr;
  const uint32_t* token_ = nullptr;
  uint32_t end_ = 0;
  JsonEvent event_;
  uint64_t found_ = 0;
};

}  // namespace crosscut::import
