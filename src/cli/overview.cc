#include "src/cli/overview.h"

#include <algorithm>

namespace crosscut::cli {
namespace {

struct Place {
  const char *verb, *group, *example;
};
constexpr Place kPlaces[] = {
    {"record", "Record", "crosscut record python train.py"},
    {"start", "Record", "crosscut start RUN --steps 50"},
    {"stop", "Record", "crosscut stop RUN"},
    {"snapshot", "Record", "crosscut snapshot RUN"},
    {"report", "Look", "crosscut report"},
    {"open", "Look", "crosscut open"},
    {"runs", "Look", "crosscut runs"},
    {"table", "Look", "crosscut table operators"},
    {"diff", "Look", "crosscut diff OLD_RUN NEW_RUN"},
    {"baseline", "Look", "crosscut baseline save main"},
    {"info", "Look", "crosscut info"},
    {"plot", "Look", "crosscut plot -o plots"},
    {"map", "Many ranks", "crosscut map RUN -o PARTS"},
    {"reduce", "Many ranks", "crosscut reduce PARTS -o CLUSTER"},
    {"export", "Exchange", "crosscut export -o trace.json.gz"},
    {"import", "Exchange", "crosscut import trace.json -o RUN"},
    {"doctor", "Check", "crosscut doctor"},
    {"validate", "Check", "crosscut validate python train.py"},
    {"check-plugin", "Check", "crosscut check-plugin libmychip.so"},
    {"tensorflow", "Set up", "crosscut tensorflow install"},
    {"completion", "Set up", "crosscut completion bash"},
    {"help", "Set up", "crosscut help record"},
};

}  // namespace

CLI::App* FindVerb(CLI::App* app, std::string_view name) {
  const auto found = app->get_subcommands([&](CLI::App* verb) { return verb->get_name() == name; });
  return found.empty() ? nullptr : found.front();
}

void PlaceVerbs(CLI::App* app) {
  for (const Place& place : kPlaces) {
    CLI::App* verb = FindVerb(app, place.verb);
    if (verb == nullptr) continue;
    verb->group(place.group);
    const std::string footer = verb->get_footer();
    verb->footer("Example: " + std::string(place.example) + (footer.empty() ? "" : "\n" + footer));
  }
}

std::string ExampleOf(const CLI::App& verb) {
  for (const Place& place : kPlaces) {
    if (verb.get_name() == place.verb) return place.example;
  }
  return "";
}

std::string Overview(CLI::App* app) {
  size_t width = 0;
  for (const Place& place : kPlaces) {
    width = std::max(width, std::string_view(place.example).size());
  }
  std::string out = "Crosscut shows where a machine-learning program's wall time goes.\n", group;
  for (const Place& place : kPlaces) {
    const CLI::App* verb = FindVerb(app, place.verb);
    if (verb == nullptr) continue;
    if (group != place.group) out += "\n" + (group = place.group) + "\n";
    std::string example = place.example;
    example.resize(width, ' ');
    out += "  " + example + "  " + verb->get_description() + "\n";
  }
  return out +
         "\nVerbs that read take the newest run where none is named. crosscut help VERB explains "
         "one.\n";
}

}  // namespace crosscut::cli
