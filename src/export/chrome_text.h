// The text of a trace in Chrome's JSON format, as it is being written.
#pragma once

#include <simdjson.h>

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/json_text.h"
#include "src/base/status.h"
#include "src/export/left_out.h"
#include "src/export/sink.h"
#include "src/trace/trace.h"

namespace crosscut::exporting {

class ChromeText {
 public:
  // `trace` and `sink` must outlive this object.
  ChromeText(const trace::Trace& trace, Sink* sink) : trace_(trace), sink_(sink) {}

  void Raw(std::string_view text) { buffer_ += text; }
  void String(std::string_view text) { base::AppendJsonString(text, &buffer_); }
  void Number(int64_t value) {
    char text[24];
    buffer_.append(text, std::to_chars(text, text + sizeof text, value).ptr);
  }
  // Parts of one event after the other: JSON as it is, integers, times and texts.
  struct Micros {  // as Us
    int64_t ns;
  };
  struct Text {  // as String
    std::string_view text;
  };
  template <class... Parts>
  void Put(const Parts&... parts) {
    (PutOne(parts), ...);
  }
  // Writes ns as microseconds with three decimals.
  void Us(int64_t ns);
  // The same without zeros at the end.
  void ShortUs(int64_t ns);
  // Begins the next event: writes a comma, except before the first.
  void Begin() {
    if (any_) buffer_ += ",\n";
    any_ = true;
  }
  void Value(const trace::Arg& arg);
  // Writes "key": value.
  void Field(const trace::Arg& arg) {
    String(trace_.text(arg.key));
    Raw(": ");
    Value(arg);
  }
  // JSON, of text that is JSON except for words such as NaN: they become texts.
  std::string AsJson(std::string_view text);
  void Json(std::string_view text) { Raw(AsJson(text)); }
  // Writes "crosscutGaps": [gap, ...].
  void PutGaps(const Gaps& gaps) {
    Raw("\"crosscutGaps\": ");
    gaps.AppendJson(&buffer_);
  }

  // Passes what is written so far to the sink if it is long, or in any case with `all`. False after
  // an error, which status() then has.
  bool Flush(bool all = false);
  const Status& status() const { return status_; }

 private:
  void PutOne(std::string_view json) { Raw(json); }
  void PutOne(int64_t number) { Number(number); }
  void PutOne(Micros time) { Us(time.ns); }
  void PutOne(Text text) { String(text.text); }

  const trace::Trace& trace_;
  Sink* sink_;
  std::string buffer_;
  bool any_ = false;
  Status status_;
  simdjson::dom::parser parser_;
  enum class Valid : uint8_t { kUnknown, kYes, kNo };
  std::vector<Valid> valid_;  // by string: whether it is JSON
};

}  // namespace crosscut::exporting
