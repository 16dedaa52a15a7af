// What is made of the argument tables: help, completion for shells, and the manual page.
#pragma once

#include <string>

#include "src/cli/arguments.h"

namespace crosscut::cli {

// The help of a verb: what --help and `help` print.
std::string HelpText(const Verb& verb);

// The example of each verb and what the verb does, by group: for who types no verb.
std::string Overview(const Verb& program);

std::string BashCompletion(const Verb& program);
std::string ZshCompletion(const Verb& program);
std::string FishCompletion(const Verb& program);

// For man(1), section 1.
std::string ManPage(const Verb& program);

}  // namespace crosscut::cli
