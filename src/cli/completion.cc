#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "src/base/lists.h"
#include "src/cli/texts.h"

namespace crosscut::cli {
namespace {

using Visit = std::function<void(const Verb&)>;

void ForEachVerb(const std::vector<Verb>& verbs, const Visit& visit) {
  for (const Verb& verb : verbs) {
    visit(verb);
    ForEachVerb(verb.verbs, visit);
  }
}

std::string Joined(const std::vector<std::string>& words) { return base::Joined(words, " "); }

std::vector<std::string> Names(const Argument& option) {
  std::vector<std::string> out;
  if (!option.short_name.empty()) out.push_back(option.short_name);
  if (!option.long_name.empty()) out.push_back(option.long_name);
  return out;
}

std::string Replaced(std::string text, std::string_view what, std::string_view by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
  return text;
}

// In single quotes, for every shell.
std::string Quoted(const std::string& text) { return "'" + Replaced(text, "'", "’") + "'"; }

// The lines of a bash `case` on VERB:WHAT; what stands for an option, or a positional's number.
class BashCases {
 public:
  void Add(const std::string& verb, const std::vector<std::string>& whats,
           const std::string& body) {
    const auto pattern = [&](const std::string& what) { return "'" + verb + "':" + what; };
    text_ += "    " + base::Joined(whats, "|", pattern) + ") " + body + " ;;\n";
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

constexpr std::string_view kBash =
    R"sh(# bash completion for crosscut: eval "$(crosscut completion bash)"

# Prints what a value may be: that of an option, or of the word of that number.
_crosscut_words() { # VERB WHAT
  case $1:$2 in
@WORDS@  esac
}

_crosscut_takes_value() { # VERB OPTION
  case $1:$2 in
@TAKES@  esac
  return 1
}

_crosscut_options() { # VERB
  case $1 in
@OPTIONS@  esac
}

_crosscut_runs_command() { # VERB
  case $1 in
  @COMMANDS@) return 0 ;;
  esac
  return 1
}

_crosscut() {
  local cur=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]} at=2 number=1 command=0
  local word option=
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W '@VERBS@ --help --version' -- "$cur"))
    return
  fi
  case $verb in
@INNER@  esac
  while ((at < COMP_CWORD)); do
    word=${COMP_WORDS[at]} option=
    ((at++))
    case $word in
    -?*)
      if [[ $word == -- ]]; then
        _crosscut_runs_command "$verb" && command=$at && break
      elif [[ ${COMP_WORDS[at]} == = ]]; then # bash takes --name=value apart
        option=$word
        ((at == COMP_CWORD)) && cur=
        ((at += 2))
      elif _crosscut_takes_value "$verb" "$word"; then
        option=$word
        ((at++))
      fi
      ;;
    *)
      _crosscut_runs_command "$verb" && command=$((at - 1)) && break
      ((number++))
      ;;
    esac
  done
  if ((command == 0 && at > COMP_CWORD)); then
    COMPREPLY=($(compgen -W "$(_crosscut_words "$verb" "$option")" -- "$cur"))
  elif ((command == 0)) && [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$(_crosscut_options "$verb")" -- "$cur"))
  elif _crosscut_runs_command "$verb"; then
    ((command == 0)) && command=$COMP_CWORD
    if declare -F _command_offset >/dev/null; then
      _command_offset "$command"
    elif ((command == COMP_CWORD)); then
      COMPREPLY=($(compgen -c -- "$cur"))
    fi
  else
    COMPREPLY=($(compgen -W "$(_crosscut_words "$verb" "$number")" -- "$cur"))
  fi
}

complete -o bashdefault -o default -F _crosscut crosscut
)sh";

constexpr std::string_view kZsh = R"sh(#compdef crosscut
# zsh completion for crosscut: a file _crosscut in a folder of $fpath

_crosscut() {
  local context state line curcontext=$curcontext
  local -a verbs
  verbs=(
@VERBS@  )
  _arguments -C '(- *)--help[explain all verbs]' '(- *)--version[print the version]' \
    '1:verb:->verb' '*::argument:->arguments'
  case $state in
  verb) _describe -t verbs verb verbs ;;
  arguments)
    case $words[1] in
@CASES@    esac
    ;;
  esac
}

if [[ $funcstack[1] == _crosscut ]]; then
  _crosscut "$@"
else
  compdef _crosscut crosscut
fi
)sh";

// What may end or begin a part of a specification of _arguments.
std::string ZshText(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string ZshAction(const Argument& argument) {
  if (!argument.rules.words.empty() && argument.is_file) {
    return "{_alternative \"words:word:(" + Joined(argument.rules.words) +
           ")\" \"files:file:_files\"}";
  }
  if (!argument.rules.words.empty()) return "(" + Joined(argument.rules.words) + ")";
  return argument.is_file ? "_files" : " ";
}

// The specification of one of the option's names; it may be repeated.
std::string ZshOption(const std::string& name, const Argument& option) {
  const std::string text = "[" + ZshText(Brief(option.description)) + "]";
  if (!option.takes_value()) return "*" + name + text;
  return "*" + name + (name.starts_with("--") ? "=" : "+") + text + ":" + ZshText(option.value) +
         ":" + ZshAction(option);
}

std::string ZshVerb(const Verb& verb, const std::string& indent) {
  std::string out = indent + "_arguments -s -S";
  const auto add = [&](const std::string& spec) { out += " \\\n" + indent + "  " + Quoted(spec); };
  std::set<std::string> options;  // those of the verbs in it are taken behind it, too
  ForEachVerb({verb}, [&](const Verb& each) {
    for (const Argument& option : each.options) {
      for (const std::string& name : Names(option)) {
        if (options.insert(name).second) add(ZshOption(name, option));
      }
    }
  });
  if (verb.runs_command()) {
    add("(-)1:command:_command_names -e");
    add("*::argument:_normal");
    return out + "\n";
  }
  if (!verb.verbs.empty()) add("1:verb:(" + Joined(VerbNames(verb)) + ")");
  for (size_t i = 0; i < verb.positionals.size(); ++i) {
    const Argument& positional = verb.positionals[i];
    add((positional.repeated ? "*" : std::to_string(i + 1)) + ":" + ZshText(positional.value) +
        ":" + ZshAction(positional));
  }
  if (verb.verbs.empty() && verb.positionals.empty() && verb.options.empty()) add("*:file:_files");
  return out + "\n";
}

constexpr std::string_view kFish =
    R"sh(# fish completion for crosscut: crosscut completion fish | source

# Whether the line has that verb, or that verb in a verb.
function __crosscut_verb
    set -l words (commandline -opc)
    set -l last (math 1 + (count $argv))
    test (count $words) -ge $last; and test "$words[2..$last]" = "$argv"
end

# Which word begins the command that a verb runs; 0 where none does yet.
function __crosscut_command
    set -l words (commandline -opc)
    set -l at 3
    while test $at -le (count $words)
        switch $words[$at]
            case '--'
                math $at + 1
                return
            case @VALUED@
                set at (math $at + 2)
            case '-*'
                set at (math $at + 1)
            case '*'
                echo $at
                return
        end
    end
    echo 0
end

function __crosscut_complete_command
    set -l words (commandline -opc)
    set -l at (__crosscut_command)
    set -l line (commandline -ct)
    if test $at -gt 0 -a $at -le (count $words)
        set line (string join ' ' -- (string escape -- $words[$at..-1]) $line)
    end
    complete "--do-complete=$line"
end

complete -c crosscut -n __fish_use_subcommand -f -l help -d 'explain all verbs'
complete -c crosscut -n __fish_use_subcommand -f -l version -d 'print the version'
)sh";

std::string FishVerb(const Verb& verb) {
  const std::string here = "__crosscut_verb " + verb.name;
  const std::string begin = "complete -c crosscut -n " + Quoted(here);
  const std::string options =
      verb.runs_command()
          ? "complete -c crosscut -n " + Quoted(here + "; and test (__crosscut_command) = 0")
          : begin;
  std::string out;
  for (const Argument& option : verb.options) {
    out += options;
    if (!option.short_name.empty()) out += " -s " + option.short_name.substr(1);
    if (!option.long_name.empty()) out += " -l " + option.long_name.substr(2);
    if (option.takes_value()) out += option.is_file || option.rules.words.empty() ? " -r" : " -x";
    if (!option.rules.words.empty()) out += " -a " + Quoted(Joined(option.rules.words));
    out += " -d " + Quoted(Brief(option.description)) + "\n";
  }
  if (verb.runs_command()) out += begin + " -x -a '(__crosscut_complete_command)'\n";
  if (!verb.verbs.empty()) out += begin + " -f -a " + Quoted(Joined(VerbNames(verb))) + "\n";
  for (const Argument& positional : verb.positionals) {
    if (positional.rules.words.empty()) continue;
    out += begin + (positional.is_file ? "" : " -f") + " -a " +
           Quoted(Joined(positional.rules.words)) + "\n";
  }
  return out;
}

}  // namespace

std::string BashCompletion(const Verb& program) {
  BashCases words, takes;
  std::string options, inner;
  std::vector<std::string> commands;
  ForEachVerb(program.verbs, [&](const Verb& verb) {
    std::vector<std::string> all, valued;
    std::vector<Argument> taken = verb.options;
    const Verb* other = FindVerb(program, verb.options_of);
    if (other != nullptr) taken.insert(taken.end(), other->options.begin(), other->options.end());
    for (const Argument& option : taken) {
      const auto names = Names(option);
      all.insert(all.end(), names.begin(), names.end());
      if (option.takes_value()) valued.insert(valued.end(), names.begin(), names.end());
      if (!option.rules.words.empty())
        words.Add(verb.name, names, "echo '" + Joined(option.rules.words) + "'");
    }
    for (size_t i = 0; i < verb.positionals.size(); ++i) {
      const Argument& positional = verb.positionals[i];
      if (positional.rules.words.empty()) continue;
      const std::string number = positional.repeated ? "*" : std::to_string(i + 1);
      words.Add(verb.name, {number}, "echo '" + Joined(positional.rules.words) + "'");
    }
    if (!valued.empty()) takes.Add(verb.name, valued, "return 0");
    options += "    '" + verb.name + "') echo '" + Joined(all) + "' ;;\n";
    if (verb.runs_command()) commands.push_back(verb.name);
    if (verb.verbs.empty()) return;
    inner +=
        "  " + verb.name + ")\n    if ((COMP_CWORD == 2)); then\n      COMPREPLY=($(compgen -W '" +
        Joined(VerbNames(verb)) +
        "' -- \"$cur\"))\n      return\n    fi\n    verb+=\" ${COMP_WORDS[2]}\" at=3\n    ;;\n";
  });
  std::string out(kBash);
  out = Replaced(out, "@WORDS@", words.text());
  out = Replaced(out, "@TAKES@", takes.text());
  out = Replaced(out, "@OPTIONS@", options);
  out = Replaced(out, "@INNER@", inner);
  out = Replaced(out, "@COMMANDS@", base::Joined(commands, " | "));
  return Replaced(out, "@VERBS@", Joined(VerbNames(program)));
}

std::string ZshCompletion(const Verb& program) {
  std::string verbs, cases;
  for (const Verb& verb : program.verbs) {
    verbs += "    " + Quoted(verb.name + ":" + verb.description) + "\n";
    cases += "      " + verb.name + ")\n" + ZshVerb(verb, "        ") + "        ;;\n";
  }
  std::string out(kZsh);
  out = Replaced(out, "@VERBS@", verbs);
  return Replaced(out, "@CASES@", cases);
}

std::string FishCompletion(const Verb& program) {
  std::set<std::string> valued;  // of those that run a command
  for (const Verb& verb : program.verbs) {
    if (!verb.runs_command()) continue;
    for (const Argument& option : verb.options) {
      if (option.takes_value())
        for (const std::string& name : Names(option)) valued.insert(name);
    }
  }
  std::string out =
      Replaced(std::string(kFish), "@VALUED@", Joined({valued.begin(), valued.end()}));
  for (const Verb& verb : program.verbs) {
    out += "complete -c crosscut -n __fish_use_subcommand -f -a " + verb.name + " -d " +
           Quoted(verb.description) + "\n";
  }
  ForEachVerb(program.verbs, [&](const Verb& verb) { out += FishVerb(verb); });
  return out;
}

}  // namespace crosscut::cli
