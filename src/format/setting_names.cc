#include "src/format/setting_names.h"

#include <algorithm>
#include <span>

#include "src/base/nearest.h"

namespace crosscut::format {
namespace {

std::string ProblemOf(std::string_view what, std::string_view name,
                      std::span<const std::string_view> known) {
  if (std::find(known.begin(), known.end(), name) != known.end()) return "";
  return base::UnknownName(what, name, {known.begin(), known.end()});
}

std::string_view Trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

}  // namespace

std::string ProblemOfSources(std::string_view list) {
  for (size_t at = 0; at < list.size();) {
    const size_t end = std::min(list.find(',', at), list.size());
    const std::string_view name = Trimmed(list.substr(at, end - at));
    std::string problem = name.empty() ? "" : ProblemOf("source", name, kSources);
    if (!problem.empty()) return problem;
    at = end + 1;
  }
  return "";
}

std::string ProblemOfPython(std::string_view level) {
  return level.empty() ? "" : ProblemOf("level", level, kPythonLevels);
}

}  // namespace crosscut::format
