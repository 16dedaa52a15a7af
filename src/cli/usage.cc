// What is wrong with a command line, in words.
#include <filesystem>

#include "src/base/nearest.h"
#include "src/base/shell_word.h"
#include "src/cli/commands.h"

namespace crosscut::cli {
namespace {

constexpr size_t kColumns = 100;

std::vector<std::string> OptionNames(const Verb& verb) {
  std::vector<std::string> names;
  for (const Argument& option : verb.options) {
    if (!option.long_name.empty()) names.push_back(option.long_name);
  }
  return names;
}

}  // namespace

std::string Unexpected(const Verb& verb, const std::string& word) {
  if (!verb.verbs.empty()) return base::UnknownName("verb", word, VerbNames(verb));
  if (word.size() < 2 || word[0] != '-') return "unexpected argument " + word;
  const std::string option = word.substr(0, word.find('='));
  return "unknown option " + option + base::DidYouMean(option, OptionNames(verb));
}

std::string UnknownVerb(const Verb& above, const std::string& word) {
  std::error_code error;
  const std::vector<std::string> names = VerbNames(above);
  const std::string out = base::UnknownName("verb", word, names);
  if (!base::Nearest(word, names).empty()) return out;
  if (std::filesystem::is_directory(word, error)) {
    return out + "; to look at a run: crosscut report " + base::ShellWord(word);
  }
  if (std::filesystem::path(word).extension() == ".py") {
    return out + "; to record a script: crosscut record python " + base::ShellWord(word);
  }
  return out;
}

int FailUsage(const Verb& verb, std::string_view problem) {
  Talk(problem);
  Talk("see " + verb.called() + " --help");
  return kUsage;
}

void TalkNames(const std::string& head, const std::vector<std::string>& names) {
  std::string line = head;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string word = names[i] + (i + 1 < names.size() ? "," : "");
    if (line.size() + 1 + word.size() > kColumns - 10) {  // behind "crosscut: "
      Talk(line);
      line = " ";
    }
    line += " " + word;
  }
  Talk(line);
}

}  // namespace crosscut::cli
