#include "settings.h"

#include <charconv>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <variant>

namespace dqn {
namespace {

using Field = std::variant<std::string*, int64_t*, double*>;

std::vector<std::pair<std::string_view, Field>> Fields(Settings* s) {
  return {{"environment", &s->environment},
          {"rom", &s->rom},
          {"checkpoint", &s->checkpoint},
          {"curve", &s->curve},
          {"seed", &s->seed},
          {"steps", &s->steps},
          {"stop_at", &s->stop_at},
          {"hidden", &s->hidden},
          {"learning_rate", &s->learning_rate},
          {"discount", &s->discount},
          {"gradient_norm", &s->gradient_norm},
          {"batch", &s->batch},
          {"replay", &s->replay},
          {"learn_start", &s->learn_start},
          {"learn_period", &s->learn_period},
          {"target_period", &s->target_period},
          {"epsilon_first", &s->epsilon.first},
          {"epsilon_last", &s->epsilon.last},
          {"epsilon_steps", &s->epsilon.steps},
          {"evaluate_period", &s->evaluate_period},
          {"evaluate_episodes", &s->evaluate_episodes},
          {"final_episodes", &s->final_episodes}};
}

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// "" or what is wrong with `value`.
std::string Set(const Field& field, std::string_view value) {
  if (auto* const text = std::get_if<std::string*>(&field)) {
    **text = value;
    return "";
  }
  std::from_chars_result read;
  bool negative = false;
  if (auto* const number = std::get_if<double*>(&field)) {
    read = std::from_chars(value.begin(), value.end(), **number);
  } else {
    int64_t* const count = std::get<int64_t*>(field);
    read = std::from_chars(value.begin(), value.end(), *count);
    negative = *count < 0;
  }
  if (read.ec != std::errc() || read.ptr != value.end()) {
    return "is not a number: \"" + std::string(value) + "\"";
  }
  return negative ? "is negative" : "";
}

// One `name = value`; `place` is where it stands.
void Apply(std::string_view line, const std::string& place, Settings* settings) {
  const size_t equals = line.find('=');
  if (equals == std::string_view::npos) {
    throw std::runtime_error(place + ": no \"name = value\": " + std::string(line));
  }
  const std::string_view name = Trimmed(line.substr(0, equals));
  for (const auto& [known, field] : Fields(settings)) {
    if (known != name) continue;
    const std::string wrong = Set(field, Trimmed(line.substr(equals + 1)));
    if (!wrong.empty()) throw std::runtime_error(place + ": " + std::string(name) + " " + wrong);
    return;
  }
  throw std::runtime_error(place + ": no setting is called \"" + std::string(name) + "\"");
}

// What would make the training divide by zero or never end.
void Check(const Settings& settings) {
  const std::pair<const char*, int64_t> at_least_one[] = {
      {"steps", settings.steps},
      {"hidden", settings.hidden},
      {"batch", settings.batch},
      {"replay", settings.replay},
      {"learn_period", settings.learn_period},
      {"target_period", settings.target_period},
      {"epsilon_steps", settings.epsilon.steps},
      {"evaluate_period", settings.evaluate_period},
      {"evaluate_episodes", settings.evaluate_episodes},
      {"final_episodes", settings.final_episodes}};
  for (const auto& [name, value] : at_least_one) {
    if (value < 1) throw std::runtime_error(std::string(name) + " must be at least 1");
  }
}

}  // namespace

Settings ReadSettings(const std::vector<std::string>& arguments) {
  if (arguments.empty()) throw std::runtime_error("no file of settings is named");
  std::ifstream file(arguments[0]);
  if (!file) throw std::runtime_error("cannot read " + arguments[0]);
  Settings settings;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const std::string_view content = Trimmed(std::string_view(line).substr(0, line.find('#')));
    if (content.empty()) continue;
    Apply(content, arguments[0] + ":" + std::to_string(number), &settings);
  }
  for (size_t i = 1; i < arguments.size(); ++i) Apply(arguments[i], arguments[i], &settings);
  Check(settings);
  return settings;
}

}  // namespace dqn
