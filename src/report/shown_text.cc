#include "src/report/shown_text.h"

#include <cstdio>

#include "src/base/json_text.h"
#include "src/base/shown_text.h"
#include "src/report/numbers.h"

namespace crosscut::report {
namespace {

std::string_view Entity(char c) {
  switch (c) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    default: return {};
  }
}

}  // namespace

std::string CleanText(std::string_view text, size_t max_bytes) {
  size_t used;
  std::string out = base::ShownText(text, max_bytes, &used);
  if (used < text.size()) {
    out += "… (" + FormatCount(text.size()) + " bytes)";
  }
  return out;
}

std::string EscapeHtml(std::string_view text, size_t max_bytes) {
  const std::string clean = CleanText(text, max_bytes);
  std::string out;
  out.reserve(clean.size() + 16);
  for (const char c : clean) {
    const std::string_view entity = Entity(c);
    if (entity.empty()) {
      out.push_back(c);
    } else {
      out += entity;
    }
  }
  return out;
}

std::string JsonString(std::string_view text, size_t max_bytes) {
  std::string out;
  for (const char c : base::JsonText(CleanText(text, max_bytes))) {
    char code[8];
    std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
    c == '<' || c == '>' || c == '&' ? out += code : out += c;
  }
  return out;
}

}  // namespace crosscut::report
