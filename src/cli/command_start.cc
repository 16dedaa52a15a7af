#include "src/cli/command_start.h"

#include <algorithm>
#include <string_view>

namespace crosscut::cli {
namespace {

// Whether `word` is an option whose value is the next word.
bool TakesNext(std::span<const Verb* const> verbs, std::string_view word) {
  const bool has_value =
      word.starts_with("--") ? word.find('=') != std::string_view::npos : word.size() > 2;
  if (has_value) return false;
  for (const Verb* verb : verbs) {
    for (const Argument& option : verb->options) {
      if (word == option.short_name || word == option.long_name) return option.takes_value();
    }
  }
  return false;
}

}  // namespace

CommandWords SplitAtCommand(std::span<const Verb* const> verbs, std::span<char* const> words) {
  CommandWords out;
  size_t at = 0;
  while (at < words.size()) {
    const std::string_view word = words[at];
    if (word == "--") {
      ++at;
      break;
    }
    if (!word.starts_with('-') || word == "-") break;
    const size_t count = TakesNext(verbs, word) ? 2 : 1;
    for (size_t end = std::min(at + count, words.size()); at < end; ++at) {
      out.options.emplace_back(words[at]);
    }
  }
  out.command.assign(words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
  return out;
}

}  // namespace crosscut::cli
