// Text of unknown origin, made fit to be shown: on a terminal, in a message, on a page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace crosscut::base {

// Valid UTF-8 in which everything that could hide or reorder text is visible: control characters as
// their pictures (a newline, too), bidirectional controls and line separators as <U+202E>, bytes
// that are no UTF-8 as U+FFFD. Stops at the first character behind `max_bytes`; `used`, which may
// be null, is how many bytes of `text` it took.
std::string ShownText(std::string_view text, size_t max_bytes = SIZE_MAX, size_t* used = nullptr);

// The same of whole lines: each newline stays one.
std::string ShownLines(std::string_view lines);

}  // namespace crosscut::base
