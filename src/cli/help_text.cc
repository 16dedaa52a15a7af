#include <algorithm>

#include "src/cli/texts.h"

namespace crosscut::cli {
namespace {

constexpr size_t kColumn = 34;  // where descriptions begin

// A name and what is said of it, whose lines stand as they are, in two columns.
std::string Row(const std::string& name, const std::string& text) {
  std::string row = "  " + name, indent(kColumn, ' ');
  if (row.size() >= kColumn) {
    row += "\n" + indent;
  } else {
    row.resize(kColumn, ' ');
  }
  for (size_t i = 0; i < text.size(); ++i) {
    if (i > 0 && text[i - 1] == '\n' && text[i] != '\n') row += indent;
    row += text[i];
  }
  return row + "\n";
}

// What an option cannot be beside; the other one need not say it, too.
std::string Excluded(const Verb& verb, const Argument& option) {
  std::string names;
  if (*option.rules.excludes != '\0') names += std::string(" ") + option.rules.excludes;
  for (const Argument& other : verb.options) {
    if (option.name == other.rules.excludes) names += " " + other.name;
  }
  return names.empty() ? "" : " Excludes:" + names;
}

std::string Head(const Verb& verb, const Argument& argument) {
  if (!argument.shown.empty()) return argument.name + " " + argument.shown;
  return argument.name + (argument.positional() ? "" : Excluded(verb, argument));
}

std::string Usage(const Verb& verb) {
  std::string line = "Usage: " + verb.called();
  if (!verb.options.empty()) line += " [OPTIONS]";
  for (const Argument& positional : verb.positionals) {
    const std::string name = positional.name + (positional.repeated ? "..." : "");
    line += positional.rules.required ? " " + name : " [" + name + "]";
  }
  return line + (verb.verbs.empty() ? "" : " SUBCOMMAND") + "\n";
}

std::string Section(const Verb& verb, const char* heading, const std::vector<Argument>& arguments) {
  std::string out;
  for (const Argument& argument : arguments) out += Row(Head(verb, argument), argument.description);
  return out.empty() ? "" : std::string(heading) + ":\n" + out + "\n";
}

std::string Verbs(const Verb& above) {
  std::string out, group;
  for (const Verb& verb : above.verbs) {
    const std::string heading = verb.group.empty() ? "Subcommands" : verb.group;
    if (heading != group) out += (out.empty() ? "" : "\n") + heading + ":\n";
    group = heading;
    out += Row(verb.last_name(), verb.description);
  }
  return out.empty() ? "" : out + "\n";
}

}  // namespace

std::string HelpText(const Verb& verb) {
  const std::string footer = verb.footer();
  return verb.description + (verb.description.ends_with('\n') ? "" : "\n") + Usage(verb) + "\n" +
         Section(verb, "Positionals", verb.positionals) + Section(verb, "Options", verb.options) +
         Verbs(verb) + footer + (footer.empty() ? "" : "\n");
}

std::string Overview(const Verb& program) {
  size_t width = 0;
  for (const Verb& verb : program.verbs) width = std::max(width, verb.example.size());
  std::string out = "Crosscut shows where a machine-learning program's wall time goes.\n", group;
  for (const Verb& verb : program.verbs) {
    if (group != verb.group) out += "\n" + (group = verb.group) + "\n";
    std::string example = verb.example;
    example.resize(width, ' ');
    out += "  " + example + "  " + verb.description + "\n";
  }
  return out +
         "\nVerbs that read take the newest run where none is named. crosscut help VERB explains "
         "one.\n";
}

}  // namespace crosscut::cli
