#include "src/format/setting_names.h"

#include <algorithm>
#include <span>

#include "src/base/lists.h"
#include "src/base/nearest.h"

namespace crosscut::format {
namespace {

std::string ProblemOf(std::string_view what, std::string_view name,
                      std::span<const std::string_view> known) {
  if (std::find(known.begin(), known.end(), name) != known.end()) return "";
  return base::UnknownName(what, name, {known.begin(), known.end()});
}

}  // namespace

std::string ProblemOfSources(std::string_view list) {
  for (const std::string_view part : base::Split(list, ',')) {
    const std::string_view name = base::Trimmed(part);
    std::string problem = name.empty() ? "" : ProblemOf("source", name, kSources);
    if (!problem.empty()) return problem;
  }
  return "";
}

std::string ProblemOfPython(std::string_view level) {
  return level.empty() ? "" : ProblemOf("level", level, kPythonLevels);
}

}  // namespace crosscut::format
