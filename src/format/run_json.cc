#include "src/format/run_json.h"

#include <cstdlib>
#include <string_view>

#include "src/format/format.h"

namespace crosscut::format {
namespace {

uint32_t HexAt(const std::string& json, size_t at) {
  return static_cast<uint32_t>(strtoul(json.substr(at, 4).c_str(), nullptr, 16));
}

// Adds the text that the \uXXXX escape at json[*at] stands for, or a pair of them; *at becomes its
// last byte. False if it is none.
bool AddUnicode(const std::string& json, size_t* at, std::string* out) {
  if (*at + 5 > json.size()) return false;
  uint32_t c = HexAt(json, *at + 1);
  *at += 4;
  const bool pair = c >> 10 == 0xd800 >> 10 && json.compare(*at + 1, 2, "\\u") == 0 &&
                    *at + 7 <= json.size() && HexAt(json, *at + 3) >> 10 == 0xdc00 >> 10;
  if (pair) {
    c = 0x10000 + ((c & 0x3ff) << 10 | (HexAt(json, *at + 3) & 0x3ff));
    *at += 6;
  }
  if (c < 0x80) {
    out->push_back(static_cast<char>(c));
  } else if (c < 0x800) {
    out->push_back(static_cast<char>(0xc0 | c >> 6));
    out->push_back(static_cast<char>(0x80 | (c & 0x3f)));
  } else {
    if (c >= 0x10000) out->push_back(static_cast<char>(0xf0 | c >> 18));
    out->push_back(static_cast<char>(c >= 0x10000 ? 0x80 | (c >> 12 & 0x3f) : 0xe0 | c >> 12));
    out->push_back(static_cast<char>(0x80 | (c >> 6 & 0x3f)));
    out->push_back(static_cast<char>(0x80 | (c & 0x3f)));
  }
  return true;
}

// The string literal that begins at json[*at] (a quote); *at becomes the place behind it.
bool ReadString(const std::string& json, size_t* at, std::string* out) {
  out->clear();
  for (size_t i = *at + 1; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '"') {
      *at = i + 1;
      return true;
    }
    if (c != '\\') {
      out->push_back(c);
      continue;
    }
    if (++i == json.size()) return false;
    static constexpr std::string_view kEscapes = "bfnrt", kMeanings = "\b\f\n\r\t";
    if (json[i] == 'u') {
      if (!AddUnicode(json, &i, out)) return false;
    } else if (const size_t e = kEscapes.find(json[i]); e != std::string_view::npos) {
      out->push_back(kMeanings[e]);
    } else {
      out->push_back(json[i]);
    }
  }
  return false;
}

// Where the value of a top-level member begins; npos if there is none.
size_t MemberValue(const std::string& json, const std::string& key) {
  int depth = 0;
  std::string text;
  for (size_t i = 0; i < json.size();) {
    const char c = json[i];
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (c != '"') {
      ++i;
      continue;
    }
    if (!ReadString(json, &i, &text)) return std::string::npos;
    const size_t colon = json.find_first_not_of(" \t\r\n", i);
    if (colon == std::string::npos || json[colon] != ':') continue;
    i = colon + 1;
    if (depth == 1 && text == key) return json.find_first_not_of(" \t\r\n", i);
  }
  return std::string::npos;
}

}  // namespace

std::string JsonStringMember(const std::string& json, const std::string& key) {
  size_t at = MemberValue(json, key);
  std::string value;
  if (at == std::string::npos || json[at] != '"') return "";
  return ReadString(json, &at, &value) ? value : "";
}

int64_t JsonIntegerMember(const std::string& json, const std::string& key) {
  const size_t at = MemberValue(json, key);
  return at == std::string::npos ? 0 : strtoll(json.c_str() + at, nullptr, 10);
}

std::string NewerFormat(int64_t format) {
  return "a newer Crosscut wrote it (format " + std::to_string(format) + ", this one reads " +
         std::to_string(kFormatVersion) + "): pip install --upgrade crosscut";
}

std::string ProblemOfRun(const std::string& run_json) {
  const int64_t format = JsonIntegerMember(run_json, "format");
  return format > kFormatVersion ? NewerFormat(format) : "";
}

}  // namespace crosscut::format
