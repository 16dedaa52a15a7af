#include "src/import/chrome/chrome_ids.h"

namespace crosscut::import {

std::string_view IdText(std::string_view text) {
  const size_t point = text.find('.');
  if (point == std::string_view::npos || point == 0 || point + 1 == text.size()) return text;
  if (text.find_first_not_of('0', point + 1) != std::string_view::npos) return text;
  const size_t digits = text[0] == '-' ? 1 : 0;
  const bool whole =
      digits < point &&
      text.substr(digits, point - digits).find_first_not_of("0123456789") == std::string_view::npos;
  return whole ? text.substr(0, point) : text;
}

}  // namespace crosscut::import
