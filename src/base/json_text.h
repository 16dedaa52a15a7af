// Writes text of unknown origin as JSON.
#pragma once

#include <string>
#include <string_view>

namespace crosscut::base {

// Appends `text` as a JSON string with its quotes. Quotes, backslashes and control characters (C0
// and DEL) are escaped; every maximal stretch that is no UTF-8 (surrogates and overlong forms
// included) becomes U+FFFD. The result is valid UTF-8 for any `text`.
void AppendJsonString(std::string_view text, std::string* out);

inline std::string JsonText(std::string_view text) {
  std::string out;
  AppendJsonString(text, &out);
  return out;
}

}  // namespace crosscut::base
