// Writes text of unknown origin as JSON.
#pragma once

#include <string>
#include <string_view>

namespace crosscut::base {

// Appends `text` as a JSON string with its quotes. Quotes, backslashes and control characters (C0
// and DEL) are escaped; every maximal stretch that is no UTF-8 (surrogates and overlong forms
// included) becomes U+FFFD. The result is valid UTF-8 for any `text`.
void AppendJsonString(std::string_view text, std::string* out);

// The length of the valid UTF-8 character at the start of `text`; 0 where there is none: then
// `skip` is how many bytes one U+FFFD replaces, at least 1. Requires: text is not empty.
size_t Utf8Length(std::string_view text, size_t* skip);

}  // namespace crosscut::base
