// Sentences about a count of things, for messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace crosscut::base {

// "1 event is lost", "2 events are lost": the count and `words`, "{event|events} {is|are} lost".
// Each pair of braces holds the words for one thing and those for none or several. No other braces
// stand in `words`: a program's names go behind the result, not into it.
std::string Counted(uint64_t count, std::string_view words);

// `words` for so many things, without the count.
std::string WordsFor(uint64_t count, std::string_view words);

}  // namespace crosscut::base
