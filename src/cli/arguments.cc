#include "src/cli/arguments.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace crosscut::cli {
namespace {

constexpr std::string_view kPaths[] = {"FILE", "DIR",     "RUN",    "INPUT",
                                       "PATH", "PID|RUN", "RUN...", "[LABEL=]RUN"};

std::string Upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

}  // namespace

Argument::Argument(std::string_view shape, Target to, std::string text, Rules more)
    : name(shape.substr(0, shape.find(' '))),
      shown(shape.substr(std::min(name.size() + 1, shape.size()))),
      value(shown),
      target(std::move(to)),
      description(std::move(text)),
      rules(std::move(more)),
      repeated(shown.ends_with("...") && !shown.ends_with(",...")) {
  const size_t comma = std::min(name.find(','), name.size());
  if (name.starts_with("--")) {
    long_name = name;
  } else if (name.starts_with('-')) {
    short_name = name.substr(0, comma);
    long_name = name.substr(std::min(comma + 1, name.size()));
  } else if (value.empty() || value == "...") {
    value = Upper(name);
  }
  is_file = std::find(std::begin(kPaths), std::end(kPaths), value) != std::end(kPaths);
}

Argument::Argument(const Argument& other) = default;
Argument::~Argument() = default;

Verb::Verb(std::string called, std::string heading, std::string line, std::string text)
    : name(std::move(called)),
      group(std::move(heading)),
      example(std::move(line)),
      description(std::move(text)) {
  Take({{"-h,--help", kNowhere, "Print this help message and exit"}});
}

void Verb::Take(const std::vector<Argument>& arguments) {
  for (const Argument& argument : arguments) {
    (argument.positional() ? positionals : options).push_back(argument);
  }
}

bool Verb::runs_command() const {
  return !positionals.empty() && positionals.front().name == "COMMAND";
}

std::string Verb::called() const { return name.empty() ? "crosscut" : "crosscut " + name; }

std::string Verb::last_name() const { return name.substr(name.rfind(' ') + 1); }

std::string Verb::footer() const {
  if (example.empty()) return notes;
  return "Example: " + example + (notes.empty() ? "" : "\n" + notes);
}

const Verb* FindVerb(const Verb& above, std::string_view name) {
  const auto found = std::find_if(above.verbs.begin(), above.verbs.end(),
                                  [&](const Verb& verb) { return verb.last_name() == name; });
  return found == above.verbs.end() ? nullptr : &*found;
}

std::vector<std::string> VerbNames(const Verb& above) {
  std::vector<std::string> names;
  for (const Verb& verb : above.verbs) names.push_back(verb.last_name());
  return names;
}

std::string OneLine(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string Brief(const std::string& description) {
  const std::string line = OneLine(description);
  size_t end = line.size();
  for (const std::string_view stop : {". ", "; ", ": ", " (default", "; default"}) {
    end = std::min(end, line.find(stop));
  }
  return line.substr(0, end);
}

}  // namespace crosscut::cli
