// The verbs of the command line and their arguments, as data. parser.cc parses by it; help,
// completion and the manual page are made of it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace crosscut::cli {

// Says why a value is wrong; "" where it is right. It may leave what is meant in its place: "120"
// for "2m".
using Check = std::function<std::string(std::string& value)>;
using Setter = std::function<void(const std::string& value)>;

// Where a value goes. A bool makes a flag; what goes nowhere is for help alone.
using Target = std::variant<std::monostate, bool*, int*, unsigned*, int64_t*, uint64_t*, double*,
                            std::optional<double>*, std::string*, std::vector<std::string>*,
                            std::vector<int64_t>*, Setter>;
inline constexpr std::monostate kNowhere;

// What few arguments have.
struct Rules {
  bool required = false;
  Check check = {};
  std::vector<std::string> words = {};  // what the value mostly is
  const char* only = "";                // "format": it is one of the words, which are so called
  const char* environment = "";         // the variable that has the default
  const char* excludes = "";            // an argument of the verb that cannot be there, too
};

struct Argument {
  // `shape`: the names, and the value as help shows it: "-o FILE", "-h,--help", "NAME". "..." at
  // the end: it takes all words that follow ("INPUT ..."), or one list ("N,..."). A vector without
  // takes a value each time the option is there, and of a positional one at most.
  Argument(std::string_view shape, Target target, std::string description, Rules rules = {});
  Argument(const Argument& other);
  ~Argument();

  std::string name;                   // as in the usage: "--plan", "-h,--help", "INPUT"
  std::string short_name, long_name;  // "-o", "--plan"; of a positional both are ""
  std::string shown;                  // what stands behind the name in help; mostly the value
  std::string value;                  // what its value is called; "" of a flag
  Target target;
  std::string description;
  Rules rules;
  bool repeated = false;  // it takes all words that follow
  bool is_file = false;   // the value is a path

  bool positional() const { return short_name.empty() && long_name.empty(); }
  bool takes_value() const { return !value.empty(); }
};

struct Verb {
  // `name`: "tensorflow install" of a verb in a verb; "" of the program itself. `example`: a line
  // to type. `group`: the heading above it in help.
  Verb(std::string name, std::string group, std::string example, std::string description);

  // Adds arguments in the order of help, in which positionals come first. --help is there.
  void Take(const std::vector<Argument>& arguments);

  std::string name, group, example, description;
  std::string notes;  // below its help
  std::vector<Argument> positionals, options;
  std::vector<Verb> verbs;   // one of which must follow
  std::function<int()> run;  // returns the exit code
  // Of a verb whose words another program reads: those in front of the command that it runs, or
  // else all. Among them may be options of the verb `options_of`.
  std::vector<std::string>* words = nullptr;
  std::string options_of;

  bool runs_command() const;  // what follows its options is a command of its own
  bool passes_all_on() const { return words != nullptr && !runs_command(); }
  std::string called() const;     // "crosscut tensorflow install"
  std::string last_name() const;  // "install"
  std::string footer() const;     // what stands below its help
};

// The verb in `above` of that name; null where there is none.
const Verb* FindVerb(const Verb& above, std::string_view name);
std::vector<std::string> VerbNames(const Verb& above);

// One line: breaks become spaces.
std::string OneLine(std::string text);
// The first clause of a description, as completion shows it.
std::string Brief(const std::string& description);

}  // namespace crosscut::cli
