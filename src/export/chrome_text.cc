#include "src/export/chrome_text.h"

#include <cctype>

namespace crosscut::exporting {
namespace {

constexpr size_t kFlushBytes = 1 << 20;

size_t DigitsAt(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  return end - at;
}

// A number of any size, which parsers refuse that keep but 64 bits, or one of JSON's words.
bool IsJsonWord(std::string_view text) {
  if (text == "true" || text == "false" || text == "null") return true;
  size_t at = text.starts_with('-') ? 1 : 0;
  const size_t whole = DigitsAt(text, at);
  if (whole == 0 || (whole > 1 && text[at] == '0')) return false;
  at += whole;
  if (at < text.size() && text[at] == '.') {
    const size_t decimals = DigitsAt(text, at + 1);
    if (decimals == 0) return false;
    at += 1 + decimals;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    const size_t exponent = DigitsAt(text, at);
    if (exponent == 0) return false;
    at += exponent;
  }
  return at == text.size();
}

bool IsOfWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("_.-+").find(c) != std::string_view::npos;
}

// Puts quotes around the words outside texts that JSON does not have.
std::string WordsAsTexts(std::string_view text) {
  std::string out;
  bool quoted = false;
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    if (quoted || text[i] == '"') {
      if (text[i] == '\\' && end < text.size()) ++end;
      if (text[i] == '"') quoted = !quoted;
    } else if (IsOfWord(text[i])) {
      while (end < text.size() && IsOfWord(text[end])) ++end;
      if (!IsJsonWord(text.substr(i, end - i))) {
        base::AppendJsonString(text.substr(i, end - i), &out);
        i = end;
        continue;
      }
    }
    out += text.substr(i, end - i);
    i = end;
  }
  return out;
}

}  // namespace

void ChromeText::Us(int64_t ns) {
  uint64_t left = static_cast<uint64_t>(ns);
  if (ns < 0) {
    left = -left;
    buffer_ += '-';
  }
  Number(static_cast<int64_t>(left / 1000));
  const auto rest = static_cast<int>(left % 1000);
  const char decimals[] = {'.', static_cast<char>('0' + rest / 100),
                           static_cast<char>('0' + rest / 10 % 10),
                           static_cast<char>('0' + rest % 10)};
  buffer_.append(decimals, sizeof decimals);
}

void ChromeText::ShortUs(int64_t ns) {
  Us(ns);
  while (buffer_.back() == '0') buffer_.pop_back();
  if (buffer_.back() == '.') buffer_.pop_back();
}

void ChromeText::Value(const trace::Arg& arg) {
  if (!arg.is_text) return Number(arg.value);
  const trace::StringId id = arg.text();
  const std::string_view text = trace_.text(id);
  if (!arg.is_json) return String(text);
  if (id.value >= valid_.size()) valid_.resize(trace_.strings.size());
  Valid& valid = valid_[id.value];
  if (valid == Valid::kUnknown) {
    valid = parser_.parse(text).error() == simdjson::SUCCESS ? Valid::kYes : Valid::kNo;
  }
  Raw(valid == Valid::kYes ? text : std::string_view(WordsAsTexts(text)));
}

std::string ChromeText::AsJson(std::string_view text) {
  const bool valid = parser_.parse(text).error() == simdjson::SUCCESS;
  return valid ? std::string(text) : WordsAsTexts(text);
}

bool ChromeText::Flush(bool all) {
  if ((!all && buffer_.size() < kFlushBytes) || !status_.ok()) return status_.ok();
  status_ = sink_->Write(buffer_);
  buffer_.clear();
  return status_.ok();
}

}  // namespace crosscut::exporting
