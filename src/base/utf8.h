// What is UTF-8 and what is not, said once.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace crosscut::base {

// The length of the valid UTF-8 character at the start of `text`; 0 where there is none: then
// `skip` is how many bytes one U+FFFD replaces, at least 1. Requires: text is not empty.
size_t Utf8Length(std::string_view text, size_t* skip);

// How much of `text` from its start is UTF-8.
size_t Utf8Bytes(std::string_view text);
inline bool IsUtf8(std::string_view text) { return Utf8Bytes(text) == text.size(); }

// `text` with U+FFFD for every maximal stretch that is no UTF-8 (surrogates and overlong forms
// included), as all of Unicode's decoders do it.
std::string CleanUtf8(std::string_view text);

}  // namespace crosscut::base
