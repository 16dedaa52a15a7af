// The manual page. roff takes lines that begin with "." or "'" as requests, and "-" as a hyphen.
#include <string_view>

#include "src/cli/texts.h"

namespace crosscut::cli {
namespace {

std::string Escaped(std::string_view text) {
  std::string out;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    line_begins = c == '\n';
  }
  return out;
}

std::string Bold(const std::string& text) { return "\\fB" + Escaped(text) + "\\fR"; }
std::string Italic(const std::string& text) { return "\\fI" + Escaped(text) + "\\fR"; }

std::string Sentence(const std::string& text) {
  return Escaped(text) + (text.ends_with('?') ? "" : ".");
}

// Text as it is, with its line breaks.
std::string Lines(const std::string& text) { return ".nf\n" + Escaped(text) + "\n.fi\n"; }

std::string Synopsis(const Verb& verb) {
  std::string out = Bold(verb.called());
  if (!verb.options.empty()) out += " [\\fIoptions\\fR]";
  for (const Argument& positional : verb.positionals) {
    out += " [" + Italic(positional.value) + (positional.repeated ? "...]" : "]");
  }
  return out;
}

void AddArgument(const Argument& argument, std::string* out) {
  std::string head;
  if (argument.positional()) {
    head = Italic(argument.value);
  } else {
    for (const std::string& name : {argument.short_name, argument.long_name}) {
      if (name.empty()) continue;
      head += (head.empty() ? "" : ", ") + Bold(name);
    }
    if (argument.takes_value()) head += " " + Italic(argument.value);
  }
  // A description with a list in it keeps its lines.
  const bool list = argument.description.find("\n  ") != std::string::npos;
  *out += ".TP\n" + head + "\n" +
          (list ? Lines(argument.description) : Escaped(OneLine(argument.description)) + "\n");
}

void AddVerb(const Verb& verb, std::string* out) {
  *out += ".SS " + Bold(verb.name) + "\n" + Sentence(verb.description) + "\n.PP\n" +
          Synopsis(verb) + "\n";
  for (const Argument& positional : verb.positionals) AddArgument(positional, out);
  for (const Argument& option : verb.options) AddArgument(option, out);
  if (const auto footer = verb.footer(); !footer.empty()) *out += ".PP\n" + Lines(footer);
  for (const Verb& inner : verb.verbs) AddVerb(inner, out);
}

}  // namespace

std::string ManPage(const Verb& program) {
  std::string out = ".TH CROSSCUT 1 \"\" \"crosscut " CROSSCUT_VERSION "\" \"User Commands\"\n";
  out += ".SH NAME\ncrosscut \\- show where a machine\\-learning program's wall time goes\n";
  out += ".SH SYNOPSIS\n\\fBcrosscut\\fR \\fIVERB\\fR [\\fIoptions\\fR] [\\fIarguments\\fR]\n";
  out += ".SH DESCRIPTION\n" + Lines(program.description);
  out += ".SH EXAMPLES\n";
  for (const Verb& verb : program.verbs) {
    if (!verb.example.empty()) {
      out += ".TP\n" + Bold(verb.example) + "\n" + Sentence(verb.description) + "\n";
    }
  }
  std::string group;
  for (const Verb& verb : program.verbs) {
    if (verb.group != group) out += ".SH " + Escaped((group = verb.group)) + "\n";
    AddVerb(verb, &out);
  }
  out += ".SH EXIT STATUS\n" + Escaped(OneLine(program.notes)) + "\n";
  out +=
      ".SH FILES\n.TP\n\\fIcrosscut\\-runs/\\fR\nwhere \\fBrecord\\fR puts runs that \\fB\\-o\\fR "
      "does not name, and where verbs look for the newest run\n";
  return out;
}

}  // namespace crosscut::cli
