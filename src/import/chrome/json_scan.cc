#include "src/import/chrome/json_scan.h"

#include <algorithm>
#include <string>

namespace crosscut::import {
namespace {

constexpr int64_t kLongestNs = 1'000'000'000'000'000'000;  // 31 years: differences fit
constexpr size_t kLeastCapacity = size_t{1} << 16;

int64_t TimeOf(const JsonValue& value) {
  const int64_t ns = MicrosecondsToNs(value.text);
  return ns < -kLongestNs ? JsonEvent::kNoTime : ns;
}

int64_t DurationOf(const JsonValue& value) {
  const int64_t ns = MicrosecondsToNs(value.text);
  return ns > kLongestNs ? JsonEvent::kNoTime : ns;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// What stands without quotes: JSON's own three words, and how writers in C, Python and JavaScript
// print what is no number.
bool IsBare(std::string_view word) {
  if (word == "true" || word == "false" || word == "null" || word == "None") return true;
  if (word.empty()) return false;
  if (word.front() == '-' || word.front() == '+') word.remove_prefix(1);
  std::string folded(word.substr(0, 10));
  for (char& c : folded) c = static_cast<char>(c | 0x20);
  return folded.starts_with("nan") || folded == "inf" || folded == "infinity";
}

char PhaseOf(const JsonValue& value) {
  const bool phase = value.kind == JsonValue::Kind::kText && value.text.size() == 1;
  return phase ? value.text[0] : '?';
}

}  // namespace

bool JsonScan::FindTokens(std::string_view text) {
  if (parser_.capacity() < text.size() &&
      parser_.allocate(std::max(text.size() + text.size() / 4, kLeastCapacity))) {
    return false;
  }
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  if (parser_.implementation->stage1(bytes, text.size(), simdjson::stage1_mode::regular)) {
    return false;
  }
  text_ = text.data();
  token_ = parser_.implementation->structural_indexes.get();
  end_ = static_cast<uint32_t>(text.size());
  return true;
}

bool JsonScan::TakeValue(JsonValue* value) {
  switch (Next()) {
    case '"': value->kind = JsonValue::Kind::kText; return TakeText(&value->text);
    case '{':
    case '[': return TakeNested(value);
    case '-':
      if (!IsDigit(text_[*token_ + 1])) return TakeBare(value);
      break;
    default:
      if (!IsDigit(Next())) return TakeBare(value);
  }
  value->kind = JsonValue::Kind::kNumber;
  value->text = Word();
  ++token_;
  return true;
}

bool JsonScan::TakeBare(JsonValue* value) {
  if (Next() == '\0') return false;  // the end of the text
  value->kind = JsonValue::Kind::kRaw;
  value->text = Word();
  ++token_;
  return IsBare(value->text);
}

bool JsonScan::TakeNested(JsonValue* value) {
  const uint32_t begin = *token_;
  for (size_t depth = 0; *token_ != end_; ++token_) {
    const char c = Next();
    if (c == '{' || c == '[') ++depth;
    if ((c != '}' && c != ']') || --depth > 0) continue;
    value->kind = JsonValue::Kind::kRaw;
    value->text = {text_ + begin, *token_ + 1 - begin};
    ++token_;
    return true;
  }
  return false;
}

template <class Taking>
bool JsonScan::TakeObject(Taking take) {
  if (!Take('{')) return false;
  if (Take('}')) return true;
  do {
    std::string_view key;
    if (!TakeText(&key) || !Take(':') || !take(key)) return false;
  } while (Take(','));
  return Take('}');
}

JsonScan::Outcome JsonScan::Events(std::string_view text, JsonEvents* events, size_t* done) {
  found_ = 0;
  *done = 0;
  if (!FindTokens(text) || !Take('[')) return Outcome::kUnreadable;
  while (!Take(']')) {
    *done = *token_ - 1;
    if (!TakeNothing()) {
      if (!TakeEvent()) return Outcome::kDamaged;
      ++found_;
      if (events != nullptr) events->OnEvent(event_);
    }
    *done = *token_ - 1;
    Take(',');  // nothing is lost where it is missing
  }
  *done = token_[-1];
  return *done + 1 == text.size() ? Outcome::kAll : Outcome::kArrayEnded;
}

bool JsonScan::Facts(std::string_view text, JsonEvents* events) {
  if (!FindTokens(text)) return false;
  const bool whole = TakeObject([this, events](std::string_view key) {
    JsonValue fact;
    if (!TakeValue(&fact)) return false;
    if (key == "traceEvents") return fact.text == "[]";  // a second array of events
    events->OnFact(key, fact);
    return true;
  });
  return whole && *token_ == end_;
}

bool JsonScan::TakeNothing() {
  const bool empty = Next() == '{' && text_[token_[1]] == '}';
  if (!empty && (Next() != 'n' || Word() != "null")) return false;
  token_ += empty ? 2 : 1;
  return true;
}

bool JsonScan::TakeEvent() {
  event_.ph = 0;
  event_.cat = event_.name = {};
  event_.id = event_.pid = event_.tid = {};
  event_.ts_ns = event_.dur_ns = JsonEvent::kNoTime;
  event_.args.clear();
  event_.others.clear();
  const uint32_t begin = *token_;
  if (!TakeObject([this](std::string_view key) { return TakeField(key); })) return false;
  event_.text = {text_ + begin, token_[-1] + 1 - begin};
  return event_.ph != 0;
}

bool JsonScan::TakeField(std::string_view key) {
  if (key == "args") return TakeArgs();
  JsonValue value;
  if (!TakeValue(&value)) return false;
  if (key.size() == 2 && TakeShort(key, value)) return true;
  if (key.size() == 3 && TakeMiddle(key, value)) return true;
  if (key == "name") {
    event_.name = value.text;
  } else {
    event_.others.push_back({key, value});
  }
  return true;
}

bool JsonScan::TakeShort(std::string_view key, const JsonValue& value) {
  if (key == "ph") {
    event_.ph = PhaseOf(value);
  } else if (key == "ts") {
    event_.ts_ns = TimeOf(value);
  } else {
    if (key == "id") event_.id = value;
    return false;
  }
  return true;
}

bool JsonScan::TakeMiddle(std::string_view key, const JsonValue& value) {
  if (key == "pid") {
    event_.pid = value;
  } else if (key == "tid") {
    event_.tid = value;
  } else if (key == "dur") {
    event_.dur_ns = DurationOf(value);
  } else if (key == "cat") {
    event_.cat = value.text;
  } else {
    return false;
  }
  return true;
}

bool JsonScan::TakeArgs() {
  JsonValue other;
  if (Next() != '{') return TakeValue(&other);  // null, as some write
  return TakeObject([this](std::string_view key) {
    JsonArg& arg = event_.args.emplace_back();
    arg.key = key;
    return TakeValue(&arg.value);
  });
}

}  // namespace crosscut::import
