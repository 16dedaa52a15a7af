#include "src/base/counted.h"

namespace crosscut::base {

std::string Counted(uint64_t count, std::string_view words) {
  return std::to_string(count) + " " + WordsFor(count, words);
}

std::string WordsFor(uint64_t count, std::string_view words) {
  std::string out;
  while (!words.empty()) {
    const size_t open = words.find('{');
    const size_t bar = words.find('|', open), close = words.find('}', bar);
    if (close == std::string_view::npos) return out.append(words);
    out += words.substr(0, open);
    out += count == 1 ? words.substr(open + 1, bar - open - 1)
                      : words.substr(bar + 1, close - bar - 1);
    words.remove_prefix(close + 1);
  }
  return out;
}

}  // namespace crosscut::base
