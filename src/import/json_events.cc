#include "src/import/json_events.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

namespace crosscut::import {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr size_t kMostHead = size_t{256} << 20;  // what may stand before the events
constexpr size_t kMostEvent = size_t{256} << 20;
constexpr int64_t kLongestNs = 1'000'000'000'000'000'000;  // 31 years: differences fit
constexpr int kMostTries = 32;  // boundaries at which an event may end that has some inside
constexpr size_t kLeastWindow = 64;
constexpr std::string_view kArrayKey = "\"traceEvents\"";

bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

// Where an event begins: a '{' before a '"', behind a '}' and a ','. Such a place may lie inside an
// event, too: what is cut there is seen to be no event.
bool IsBoundary(std::string_view text, size_t brace) {
  size_t after = brace + 1;
  while (after < text.size() && IsSpace(text[after])) ++after;
  if (after == text.size() || text[after] != '"') return false;
  size_t before = brace;
  while (before > 0 && IsSpace(text[before - 1])) --before;
  if (before == 0 || text[before - 1] != ',') return false;
  --before;
  while (before > 0 && IsSpace(text[before - 1])) --before;
  return before > 0 && text[before - 1] == '}';
}

// The first or last boundary in [from, to); npos where there is none.
size_t NextBoundary(std::string_view text, size_t from) {
  for (size_t at = text.find('{', from); at != std::string_view::npos;
       at = text.find('{', at + 1)) {
    if (IsBoundary(text, at)) return at;
  }
  return std::string_view::npos;
}
size_t LastBoundary(std::string_view text, size_t before) {
  while (before > 0) {
    const size_t at = text.rfind('{', before - 1);
    if (at == std::string_view::npos || at == 0) return std::string_view::npos;
    if (IsBoundary(text, at)) return at;
    before = at;
  }
  return std::string_view::npos;
}

simdjson::error_code Take(ondemand::value value, JsonValue* out) {
  ondemand::json_type type;
  if (const auto error = value.type().get(type)) return error;
  switch (type) {
    case ondemand::json_type::array: {
      ondemand::array array;
      if (const auto error = value.get_array().get(array)) return error;
      out->kind = JsonValue::Kind::kRaw;
      if (const auto error = array.raw_json().get(out->text)) return error;
      out->text = Trimmed(out->text);
      return simdjson::SUCCESS;
    }
    case ondemand::json_type::object: {
      ondemand::object object;
      if (const auto error = value.get_object().get(object)) return error;
      out->kind = JsonValue::Kind::kRaw;
      if (const auto error = object.raw_json().get(out->text)) return error;
      out->text = Trimmed(out->text);
      return simdjson::SUCCESS;
    }
    default: break;
  }
  out->text = Trimmed(value.raw_json_token());
  out->kind =
      type == ondemand::json_type::number ? JsonValue::Kind::kNumber : JsonValue::Kind::kRaw;
  if (type == ondemand::json_type::string) {
    if (out->text.size() < 2 || out->text.back() != '"') return simdjson::STRING_ERROR;
    out->text = out->text.substr(1, out->text.size() - 2);
    out->kind = JsonValue::Kind::kText;
  }
  return simdjson::SUCCESS;
}

// Up to the quote that ends it.
std::string_view KeyOf(ondemand::raw_json_string key) {
  const char* begin = key.raw();
  const char* end = begin;
  while (*end != '"') end += *end == '\\' ? 2 : 1;
  return {begin, static_cast<size_t>(end - begin)};
}

class Reader {
 public:
  Reader(TextStream* text, JsonEvents* events, size_t window)
      : text_(text), events_(events), most_window_(window), window_(window) {}

  Result<JsonReading> Run() {
    if (const Status status = FindArray(); !status.ok()) return status;
    while (!array_ended_) {
      if (!ParseWindow()) break;
    }
    if (array_ended_) TakeTail();
    if (!stream_error_.empty() && reading_.cut_off.empty()) reading_.cut_off = stream_error_;
    return reading_;
  }

 private:
  // ---- the text: buffer_[1, size_) is unread; one byte before it and padding behind are ours ----
  std::string_view Unread() const { return {buffer_.data() + 1, size_ - 1}; }

  void More(size_t bytes) {
    const size_t wanted = size_ + bytes + simdjson::SIMDJSON_PADDING + 1;
    if (buffer_.size() < wanted) buffer_.resize(wanted);
    while (bytes > 0 && !at_end_) {
      const Result<size_t> got = text_->Read({buffer_.data() + size_, bytes});
      if (!got.ok()) {
        stream_error_ = got.status().message();
        at_end_ = true;
      } else if (*got == 0) {
        at_end_ = true;
      } else {
        size_ += *got;
        bytes -= *got;
      }
    }
  }
  void Drop(size_t bytes) {
    memmove(buffer_.data() + 1, buffer_.data() + 1 + bytes, size_ - 1 - bytes);
    size_ -= bytes;
    dropped_ += bytes;
  }

  // ---- before and behind the events ----
  Status FindArray() {
    size_t looked = 0;
    for (;;) {
      More(most_window_);
      const std::string_view text = Unread();
      size_t first = 0;
      while (first < text.size() && IsSpace(text[first])) ++first;
      if (first < text.size() && text[first] == '[') {
        Drop(first + 1);
        return {};
      }
      if (first == text.size() || text[first] != '{') break;
      for (size_t at = text.find(kArrayKey, looked); at != std::string_view::npos;
           at = text.find(kArrayKey, at + 1)) {
        size_t after = at + kArrayKey.size();
        while (after < text.size() && (IsSpace(text[after]) || text[after] == ':')) ++after;
        if (after == text.size() || text[after] != '[') continue;
        TakeFacts(std::string(text.substr(first, at - first)) + "\"traceEvents\":0}");
        Drop(after + 1);
        return {};
      }
      looked = text.size() > 64 ? text.size() - 64 : 0;
      if (at_end_ || text.size() > kMostHead) break;
    }
    return Status::Invalid(
        "no trace events: a trace is an array, or an object that has an array "
        "called traceEvents" +
        (stream_error_.empty() ? "" : " (" + stream_error_ + ")"));
  }

  void TakeFacts(const std::string& object_text) {
    const simdjson::padded_string padded(object_text);
    ondemand::document document;
    ondemand::object object;
    if (parser_.iterate(padded).get(document) || document.get_object().get(object)) return;
    for (auto field : object) {
      ondemand::raw_json_string key;
      ondemand::value value;
      JsonValue fact;
      if (field.key().get(key) || field.value().get(value)) return;
      const std::string_view name = KeyOf(key);
      if (Take(value, &fact)) return;
      if (name != "traceEvents") events_->OnFact(name, fact);
    }
  }

  void TakeTail() {
    while (!at_end_ && size_ < kMostHead) More(most_window_);
    std::string_view text = Unread();
    while (!text.empty() && (IsSpace(text.front()) || text.front() == ',')) text.remove_prefix(1);
    if (!text.empty() && text.front() == '"') TakeFacts("{" + std::string(text));
  }

  // ---- events ----
  // False: there is no more.
  bool ParseWindow() {
    if (size_ - 1 < window_) More(window_ - (size_ - 1));
    std::string_view text = Unread();
    size_t skip = 0;
    while (skip < text.size() && (IsSpace(text[skip]) || text[skip] == ',')) ++skip;
    text.remove_prefix(skip);
    Drop(skip);
    text = Unread();
    if (text.empty()) {
      if (!at_end_) return true;
      return false;
    }
    if (text.front() == ']') {
      Drop(1);
      array_ended_ = true;
      return true;
    }
    size_t cut = text.size();
    if (!at_end_) {
      cut = LastBoundary(text, text.size());
      if (cut == std::string_view::npos) return Grow();
    }
    return ParseUpTo(cut);
  }

  // A window holds less than two events.
  bool Grow() {
    if (size_ > kMostEvent) {
      reading_.cut_off = "an event of more than " + std::to_string(kMostEvent >> 20) + " MiB";
      return false;
    }
    window_ = std::max(window_, size_) * 2;
    return true;
  }

  // Parses the unread text up to `cut`, a boundary or the end, and drops what was understood.
  bool ParseUpTo(size_t cut) {
    size_t done = 0;
    switch (ParsePart(cut, &done)) {
      case Outcome::kAll:
        Drop(cut);
        window_ = std::min(window_ * 2, most_window_);
        return true;
      case Outcome::kArrayEnded:
        Drop(done);
        array_ended_ = true;
        return true;
      case Outcome::kDamaged: return Recover(done);
      case Outcome::kUnreadable: return Narrow(cut);
    }
    return false;
  }

  enum class Outcome : uint8_t {
    kAll,         // to our own bracket
    kArrayEnded,  // the text's own bracket ends before `done`
    kDamaged,     // the event at `done` cannot be read
    kUnreadable   // the window as a whole cannot be
  };

  // As an array of its own. `*done`: bytes of unread text that are dealt with.
  Outcome ParsePart(size_t cut, size_t* done) {
    char* begin = buffer_.data();
    begin[0] = '[';
    // At a boundary the ',' before it stays: what stands behind it is our own bracket then.
    size_t length = cut;
    while (length > 0 && (IsSpace(begin[length]) || begin[length] == ',')) --length;
    // The parser looks at what stands behind the end, too.
    const char saved[2] = {begin[length + 1], begin[length + 2]};
    begin[length + 1] = ']';
    begin[length + 2] = '\0';
    const Outcome outcome = ParseArray({begin, length + 2}, done);
    begin[length + 1] = saved[0];
    begin[length + 2] = saved[1];
    return outcome;
  }

  Outcome ParseArray(std::string_view text, size_t* done) {
    ondemand::document document;
    ondemand::array array;
    if (parser_.iterate(text.data(), text.size(), text.size() + simdjson::SIMDJSON_PADDING)
            .get(document) ||
        document.get_array().get(array)) {
      return Outcome::kUnreadable;
    }
    for (auto element : array) {
      const char* at = nullptr;
      ondemand::object object;
      ondemand::value value;
      if (element.get(value) || value.current_location().get(at)) return Outcome::kDamaged;
      *done = static_cast<size_t>(at - text.data()) - 1;
      if (value.get_object().get(object) || !TakeEvent(object)) return Outcome::kDamaged;
    }
    const char* at = nullptr;
    if (document.current_location().get(at)) return Outcome::kAll;
    *done = static_cast<size_t>(at - text.data()) - 1;
    return Outcome::kArrayEnded;
  }

  bool TakeEvent(ondemand::object object) {
    event_.ph = 0;
    event_.cat = event_.name = {};
    event_.id = event_.pid = event_.tid = {};
    event_.ts_ns = event_.dur_ns = JsonEvent::kNoTime;
    event_.args.clear();
    for (auto field : object) {
      ondemand::raw_json_string key;
      ondemand::value value;
      if (field.key().get(key) || field.value().get(value)) return false;
      if (!TakeField(KeyOf(key), value)) return false;
    }
    if (event_.ph == 0) return false;
    if (dry_) return true;
    ++reading_.events;
    events_->OnEvent(event_);
    return true;
  }

  bool TakeField(std::string_view key, ondemand::value value) {
    if (key == "args") return TakeArgs(value);
    JsonValue taken;
    if (Take(value, &taken)) return false;
    switch (key.size()) {
      case 2: TakeShort(key, taken); break;
      case 3: TakeMiddle(key, taken); break;
      case 4:
        if (key == "name") event_.name = taken.text;
        break;
      default: break;
    }
    return true;
  }

  void TakeShort(std::string_view key, const JsonValue& value) {
    if (key == "ph") {
      const bool phase = value.kind == JsonValue::Kind::kText && value.text.size() == 1;
      event_.ph = phase ? value.text[0] : '?';
    } else if (key == "ts") {
      event_.ts_ns = MicrosecondsToNs(value.text);
      if (event_.ts_ns < -kLongestNs) event_.ts_ns = JsonEvent::kNoTime;
    } else if (key == "id") {
      event_.id = value;
    }
  }

  void TakeMiddle(std::string_view key, const JsonValue& value) {
    if (key == "pid") {
      event_.pid = value;
    } else if (key == "tid") {
      event_.tid = value;
    } else if (key == "cat") {
      event_.cat = value.text;
    } else if (key == "dur") {
      event_.dur_ns = MicrosecondsToNs(value.text);
      if (event_.dur_ns > kLongestNs) event_.dur_ns = JsonEvent::kNoTime;
    }
  }

  bool TakeArgs(ondemand::value value) {
    ondemand::object object;
    if (value.get_object().get(object)) {
      JsonValue other;  // null, as some write
      return !Take(value, &other);
    }
    for (auto field : object) {
      ondemand::raw_json_string key;
      ondemand::value of;
      JsonArg arg;
      if (field.key().get(key) || field.value().get(of)) return false;
      arg.key = KeyOf(key);
      if (Take(of, &arg.value)) return false;
      event_.args.push_back(arg);
    }
    return true;
  }

  // ---- damage ----
  void Damaged(size_t at) {
    if (reading_.damaged++ == 0) reading_.first_damage_at = dropped_ + at;
  }

  // The event at `done` cannot be read, or the window ends inside it.
  bool Recover(size_t done) {
    if (done < size_ - 1 && Unread()[done] == ']') {  // behind a comma too many
      Drop(done + 1);
      array_ended_ = true;
      return true;
    }
    if (done == 0) return ResolveFirst();
    Drop(done);
    return true;
  }

  // Something in the window hides where its texts begin and end, or the window ends inside a text:
  // narrows it down.
  bool Narrow(size_t cut) {
    const size_t half = LastBoundary(Unread(), cut / 2);
    return half != std::string_view::npos ? ParseUpTo(half) : ResolveFirst();
  }

  // The unread text begins with an event that ends at one of the next boundaries, or is damaged.
  bool ResolveFirst() {
    window_ = std::max(most_window_ / 32, kLeastWindow);
    std::vector<size_t> boundaries;
    while (boundaries.size() < kMostTries && NextInto(&boundaries)) {
      if (HoldsEvents(0, boundaries.back())) return ParseUpTo(boundaries.back());
    }
    const bool to_the_end = boundaries.size() < kMostTries && at_end_;
    if (to_the_end && ParsesToItsEnd()) return true;
    // It is damaged: on with the next that is whole.
    for (size_t i = 0; i < boundaries.size(); ++i) {
      const size_t end = i + 1 < boundaries.size() ? boundaries[i + 1] : size_ - 1;
      if (!HoldsEvents(boundaries[i], end)) continue;
      Damaged(0);
      Drop(boundaries[i]);
      return true;
    }
    if (!to_the_end && !boundaries.empty()) {
      Damaged(0);
      Drop(boundaries.back());
      return true;
    }
    reading_.cut_off = at_end_
                           ? "the text ends inside the event at byte " + std::to_string(dropped_)
                           : "an event of more than " + std::to_string(kMostEvent >> 20) + " MiB";
    return false;
  }

  // The boundary behind the last of `boundaries`; reads on where there is none. False: there is
  // none.
  bool NextInto(std::vector<size_t>* boundaries) {
    const size_t from = boundaries->empty() ? 1 : boundaries->back() + 1;
    size_t next = NextBoundary(Unread(), from);
    while (next == std::string_view::npos && !at_end_ && size_ < kMostEvent) {
      More(std::max(window_, size_));
      next = NextBoundary(Unread(), from);
    }
    if (next == std::string_view::npos) return false;
    boundaries->push_back(next);
    return true;
  }

  // Whether a part of the unread text, between boundaries, is whole events; without telling them.
  bool HoldsEvents(size_t from, size_t to) {
    std::string_view part = Unread().substr(from, to - from);
    while (!part.empty() && (IsSpace(part.back()) || part.back() == ',')) part.remove_suffix(1);
    const simdjson::padded_string text("[" + std::string(part) + "]");
    ondemand::document document;
    ondemand::array array;
    if (scratch_.iterate(text).get(document) || document.get_array().get(array)) return false;
    dry_ = true;
    bool good = true;
    size_t events = 0;
    for (auto element : array) {
      ondemand::object object;
      good = !element.get_object().get(object) && TakeEvent(object);
      if (!good) break;
      ++events;
    }
    dry_ = false;
    return good && events > 0;
  }

  // The last events, with what stands behind them.
  bool ParsesToItsEnd() {
    if (!at_end_) return false;
    size_t done = 0;
    const Outcome outcome = ParsePart(size_ - 1, &done);
    if (outcome == Outcome::kAll) done = size_ - 1;
    if (outcome == Outcome::kArrayEnded) array_ended_ = true;
    Drop(done);
    return done > 0;
  }

  TextStream* text_;
  JsonEvents* events_;
  JsonReading reading_;
  ondemand::parser parser_, scratch_;
  JsonEvent event_;
  bool dry_ = false;  // events are only looked at
  std::vector<char> buffer_;
  size_t size_ = 1;
  uint64_t dropped_ = 0;  // bytes of the text before buffer_[1]
  const size_t most_window_;
  size_t window_;  // smaller for a while where something was damaged
  bool at_end_ = false, array_ended_ = false;
  std::string stream_error_;
};

}  // namespace

Result<JsonReading> ReadJsonEvents(TextStream* text, JsonEvents* events, size_t window) {
  return Reader(text, events, window).Run();
}

std::string_view WithoutEscapes(std::string_view text, std::string* space) {
  if (text.empty() || memchr(text.data(), '\\', text.size()) == nullptr) return text;
  simdjson::dom::parser parser;
  std::string_view clean;
  const std::string quoted = "\"" + std::string(text) + "\"";
  if (parser.parse(quoted).get(clean)) return text;
  *space = clean;
  return *space;
}

int64_t MicrosecondsToNs(std::string_view number) {
  constexpr int64_t kFar = int64_t{4'000'000'000'000'000};  // the year 2096
  const char* at = number.data();
  const char* const end = at + number.size();
  int64_t whole = 0;
  const bool negative = at != end && *at == '-';
  const auto [point, error] = std::from_chars(at + (negative ? 1 : 0), end, whole);
  if (error != std::errc() || whole > kFar) return JsonEvent::kNoTime;
  int64_t ns = whole * 1000;
  at = point;
  if (at != end && *at == '.') {
    int64_t unit = 100;
    for (++at; at != end && *at >= '0' && *at <= '9'; ++at, unit /= 10) {
      if (unit > 0) {
        ns += (*at - '0') * unit;
      } else if (at == point + 4 && *at >= '5') {
        ++ns;  // the fourth decimal rounds
      }
    }
  }
  if (at == end) return negative ? -ns : ns;
  double real = 0;  // with an exponent
  const auto [rest, trouble] = std::from_chars(number.data(), end, real);
  if (trouble != std::errc() || rest != end || !(std::fabs(real) < 4e15)) return JsonEvent::kNoTime;
  return std::llround(real * 1000);
}

}  // namespace crosscut::import
