// What people do with the command: its verbs in groups, each with a line to type.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

namespace crosscut::cli {

// The verb of that name; null where there is none.
CLI::App* FindVerb(CLI::App* app, std::string_view name);

// Puts each verb into its group, and its example under its help. Call it once all verbs are there.
void PlaceVerbs(CLI::App* app);

// The example of each verb and what the verb does, by group.
std::string Overview(CLI::App* app);

// The line to type; "" of a verb that has none.
std::string ExampleOf(const CLI::App& verb);

}  // namespace crosscut::cli
