// The help of a verb: what --help and `help` print.
#pragma once

#include <string>

#include "src/cli/arguments.h"

namespace crosscut::cli {

std::string HelpText(const Verb& verb);

// The example of each verb and what the verb does, by group: for who types no verb.
std::string Overview(const Verb& program);

}  // namespace crosscut::cli
