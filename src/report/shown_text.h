// Text to show, on a terminal, on a page or in JSON. Names come from the recorded program, so none
// of them is trusted.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace crosscut::report {

// Pages cut longer texts and state their length.
inline constexpr size_t kMaxPageText = 300;       // bytes; names
inline constexpr size_t kMaxPageSentence = 2000;  // bytes; gaps, notes

// Valid UTF-8 in which everything that could hide or reorder text is visible: control characters as
// their pictures, bidirectional controls and line separators as <U+202E>, bytes that are no UTF-8
// as U+FFFD. Longer than about `max_bytes`, it ends in an ellipsis and the full length.
std::string CleanText(std::string_view text, size_t max_bytes = kMaxPageText);

// CleanText, with & < > " ' as entities: safe between tags and inside a quoted attribute.
std::string EscapeHtml(std::string_view text, size_t max_bytes = kMaxPageText);

// CleanText as a JSON string with its quotes, safe inside <script>: no < > & and no U+2028/9.
std::string JsonString(std::string_view text, size_t max_bytes = kMaxPageText);

}  // namespace crosscut::report
