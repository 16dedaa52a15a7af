#include "src/import/chrome/json_events.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include "src/import/chrome/json_scan.h"

namespace crosscut::import {
namespace {

constexpr size_t kMostHead = size_t{256} << 20;  // what may stand before the events
constexpr size_t kMostEvent = size_t{256} << 20;
constexpr int kMostTries = 32;  // boundaries at which an event may end that has some inside
constexpr size_t kLeastWindow = 64;
constexpr std::string_view kArrayKey = "\"traceEvents\"";
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// Finds the key of the events among the fields of an object whose text comes bit by bit.
class ArrayKey {
 public:
  // Behind what it was shown before, of the same text: where the key stands that is a field of the
  // object itself; npos: not yet.
  size_t Find(std::string_view text) {
    for (; at_ < text.size(); ++at_) {
      const char c = text[at_];
      if (in_text_) {
        if (escaped_) {
          escaped_ = false;
        } else if (c == '\\') {
          escaped_ = true;
        } else if (c == '"') {
          in_text_ = false;
        }
      } else if (c == '"') {
        if (depth_ == 1 && text.size() - at_ < kArrayKey.size()) return npos;
        if (depth_ == 1 && text.substr(at_).starts_with(kArrayKey)) return at_++;
        in_text_ = true;
      } else {
        depth_ += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
      }
    }
    return npos;
  }
  static constexpr size_t npos = std::string_view::npos;

 private:
  size_t at_ = 0;
  int depth_ = 0;
  bool in_text_ = false, escaped_ = false;
};

// Where an event begins: a '{' before a '"', behind a '}' and a ','. Such a place may lie inside an
// event, too: what is cut there is seen to be no event.
bool IsBoundary(std::string_view text, size_t brace) {
  size_t after = brace + 1;
  while (after < text.size() && IsJsonSpace(text[after])) ++after;
  if (after == text.size() || text[after] != '"') return false;
  size_t before = brace;
  while (before > 0 && IsJsonSpace(text[before - 1])) --before;
  if (before == 0 || text[before - 1] != ',') return false;
  --before;
  while (before > 0 && IsJsonSpace(text[before - 1])) --before;
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

class Reader {
 public:
  Reader(TextStream* text, JsonEvents* events, size_t window)
      : text_(text), events_(events), most_window_(window), window_(window) {}

  Result<JsonReading> Run() {
    if (const Status status = FindArray(); !status.ok()) return status;
    while (!array_ended_) {
      if (!ParseWindow()) break;
    }
    if (array_ended_) {
      TakeTail();
    } else if (in_object_ && reading_.cut_off.empty()) {
      reading_.cut_off = "the text ends in the middle of the events";
    }
    if (!stream_error_.empty()) reading_.cut_off = stream_error_;
    return reading_;
  }

 private:
  using Outcome = JsonScan::Outcome;

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
    More(most_window_);
    if (Unread().starts_with(kByteOrderMark)) Drop(kByteOrderMark.size());
    size_t first = 0;
    while (first < Unread().size() && IsJsonSpace(Unread()[first])) ++first;
    Drop(first);
    if (Unread().starts_with('[')) {
      Drop(1);
      return {};
    }
    if (Unread().starts_with('{') && FindField()) return {};
    return Status::Invalid(
        "no trace events: a trace is an array, or an object that has an array "
        "called traceEvents" +
        (stream_error_.empty() ? "" : " (" + stream_error_ + ")"));
  }

  // The array that is a field of the object; where the text before it is damaged, the first array
  // of that name.
  bool FindField() {
    ArrayKey key;
    for (;;) {
      const size_t at = key.Find(Unread());
      if (at != ArrayKey::npos) {
        if (TakeHead(at)) return true;
      } else if (at_end_ || size_ > kMostHead) {
        break;
      } else {
        More(most_window_);
      }
    }
    const std::string_view text = Unread();
    for (size_t at = text.find(kArrayKey); at != std::string_view::npos;
         at = text.find(kArrayKey, at + 1)) {
      if (!TakeHead(at)) continue;
      reading_.beside_damaged = true;
      return true;
    }
    return false;
  }

  // What stands before the key at `at`. False: that is no array's.
  bool TakeHead(size_t at) {
    size_t after = at + kArrayKey.size();
    for (;; ++after) {
      if (after == Unread().size() && !at_end_) More(most_window_);
      if (after == Unread().size()) return false;
      if (!IsJsonSpace(Unread()[after]) && Unread()[after] != ':') break;
    }
    if (Unread()[after] != '[') return false;
    std::string_view facts = Unread().substr(0, at);
    while (IsJsonSpace(facts.back()) || facts.back() == ',') facts.remove_suffix(1);
    TakeFacts(std::string(facts) + "}");
    Drop(after + 1);
    in_object_ = true;
    return true;
  }

  void TakeFacts(const std::string& object) {
    if (!scan_.Facts(simdjson::padded_string(object), events_)) reading_.beside_damaged = true;
  }

  void TakeTail() {
    while (!at_end_ && size_ < kMostHead) More(most_window_);
    size_t skip = 0;
    while (skip < size_ - 1 && (IsJsonSpace(Unread()[skip]) || Unread()[skip] == ',')) ++skip;
    Drop(skip);
    if (!in_object_ && size_ == 1) return;
    buffer_[0] = '{';
    buffer_[size_] = '\0';
    if (!scan_.Facts({buffer_.data(), size_}, events_)) reading_.beside_damaged = true;
  }

  // ---- events ----
  // False: there is no more.
  bool ParseWindow() {
    if (size_ - 1 < window_) More(window_ - (size_ - 1));
    std::string_view text = Unread();
    size_t skip = 0;
    while (skip < text.size() && (IsJsonSpace(text[skip]) || text[skip] == ',')) ++skip;
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
      reading_.cut_off = "an event is larger than " + std::to_string(kMostEvent >> 20) + " MiB";
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

  // As an array of its own. `*done`: bytes of unread text that are dealt with.
  Outcome ParsePart(size_t cut, size_t* done) {
    char* begin = buffer_.data();
    begin[0] = '[';
    // At a boundary the ',' before it stays: what stands behind it is our own bracket then.
    size_t length = cut;
    while (length > 0 && (IsJsonSpace(begin[length]) || begin[length] == ',')) --length;
    // The parser looks at what stands behind the end, too.
    const char saved[2] = {begin[length + 1], begin[length + 2]};
    begin[length + 1] = ']';
    begin[length + 2] = '\0';
    const Outcome outcome = scan_.Events({begin, length + 2}, events_, done);
    reading_.events += scan_.found();
    begin[length + 1] = saved[0];
    begin[length + 2] = saved[1];
    return outcome;
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
                           : "an event is larger than " + std::to_string(kMostEvent >> 20) + " MiB";
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
    while (!part.empty() && (IsJsonSpace(part.back()) || part.back() == ',')) part.remove_suffix(1);
    const simdjson::padded_string text("[" + std::string(part) + "]");
    size_t done = 0;
    const Outcome outcome = scratch_.Events(text, nullptr, &done);
    return (outcome == Outcome::kAll || outcome == Outcome::kArrayEnded) && scratch_.found() > 0;
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
  JsonScan scan_, scratch_;
  std::vector<char> buffer_;
  size_t size_ = 1;
  uint64_t dropped_ = 0;  // bytes of the text before buffer_[1]
  const size_t most_window_;
  size_t window_;           // smaller for a while where something was damaged
  bool in_object_ = false;  // the array of events is a field of an object
  bool at_end_ = false, array_ended_ = false;
  std::string stream_error_;
};

}  // namespace

Result<JsonReading> ReadJsonEvents(TextStream* text, JsonEvents* events, size_t window) {
  return Reader(text, events, window).Run();
}

}  // namespace crosscut::import
