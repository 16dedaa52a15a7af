// Text for a page: names come from the recorded program, so none of them is trusted. Also times and
// counts for people.
#pragma once

#include <cstddef>
#include <cstdint>
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
std::string JsonString(std::string_view text);

// "412 ns", "1.234 ms", "12.35 s": four significant digits, whole ns below 1 µs, whole seconds from
// 10,000 s on.
std::string FormatNs(int64_t ns);
std::string FormatCount(int64_t count);  // "1,234,567"
// "12.3 %"; "1.25 %" below 10 % unless `short_form`. "" where `whole` is 0 or one of them is NaN.
std::string FormatPercent(double part, double whole, bool short_form = false);

}  // namespace crosscut::report
