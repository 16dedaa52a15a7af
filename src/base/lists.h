// Texts that are lists.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace crosscut::base {

// What stands between the separators, which may be nothing; it points into `text`. At least one.
inline std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t end; (end = text.find(separator)) != text.npos; text.remove_prefix(end + 1)) {
    parts.push_back(text.substr(0, end));
  }
  parts.push_back(text);
  return parts;
}

// The text of each, with `between` between them; in front of the first that is not "" there is
// none.
template <class Items, class Text = std::identity>
std::string Joined(const Items& items, std::string_view between, Text text = {}) {
  std::string out;
  for (const auto& item : items) {
    if (!out.empty()) out += between;
    out += text(item);
  }
  return out;
}

// Without the spaces at both ends.
inline std::string_view Trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

}  // namespace crosscut::base
