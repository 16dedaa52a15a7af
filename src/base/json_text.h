// Text of unknown origin as JSON.
#pragma once

#include <string>
#include <string_view>

namespace crosscut::base {

// Appends `text` as a JSON string with its quotes: quotes, backslashes and control characters
// (C0 and DEL) escaped; every maximal stretch that is no UTF-8 (surrogates and overlong forms
// included) as U+FFFD. The result is valid UTF-8 whatever `text` holds.
void AppendJsonString(std::string_view text, std::string* out);

// The length of the valid UTF-8 character at the start of `text`, 0 where there is none;
// `skip` then is how many bytes one U+FFFD stands for, at least 1. Requires: text is not empty.
size_t Utf8Length(std::string_view text, size_t* skip);

}  // namespace crosscut::base
