#include "src/cli/command_start.h"

#include <string_view>

namespace crosscut::cli {
namespace {

// Whether `word` is an option whose value is the next word.
bool TakesNext(std::span<CLI::App* const> verbs, std::string_view word) {
  const bool has_value =
      word.starts_with("--") ? word.find('=') != std::string_view::npos : word.size() > 2;
  if (has_value) return false;
  for (CLI::App* verb : verbs) {
    const CLI::Option* option = verb->get_option_no_throw(std::string(word));
    if (option != nullptr) return option->get_items_expected_min() > 0;
  }
  return false;
}

}  // namespace

CommandWords SplitAtCommand(std::span<CLI::App* const> verbs, std::span<char* const> words) {
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
