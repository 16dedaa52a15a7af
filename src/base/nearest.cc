#include "src/base/nearest.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "src/base/file.h"

namespace crosscut::base {
namespace {

constexpr size_t kMostNear = 3, kMostListed = 12;
constexpr size_t kMostLetters = 100;  // of what is compared: a longer text is no name
constexpr size_t kLeastPrefix = 3;

std::string Folded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    out += c == '_' ? '-' : static_cast<char>(tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

// How many letters must be added, taken away, changed or swapped with the next one to make one text
// of the other.
size_t Distance(const std::string& a, const std::string& b) {
  std::vector<size_t> before, last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string Joined(const std::vector<std::string>& names, const char* last) {
  std::string out;
  for (size_t i = 0; i < names.size(); ++i) {
    out += (i == 0 ? "" : i + 1 == names.size() ? last : ", ") + names[i];
  }
  return out;
}

}  // namespace

std::vector<std::string> Nearest(std::string_view wrong, const std::vector<std::string>& names) {
  std::vector<std::pair<size_t, const std::string*>> near;
  if (wrong.empty() || wrong.size() > kMostLetters) return {};
  const std::string asked = Folded(wrong);
  for (const std::string& name : names) {
    if (name.size() > kMostLetters) continue;
    const std::string folded = Folded(name);
    const size_t most = std::max<size_t>(1, std::min(asked.size(), folded.size()) / 3);
    const size_t distance = Distance(asked, folded);
    const bool begins = asked.size() >= kLeastPrefix && folded.starts_with(asked);
    if (distance <= most || begins) near.emplace_back(distance, &name);
  }
  std::stable_sort(near.begin(), near.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> out;
  for (const auto& [distance, name] : near) {
    if (out.size() < kMostNear) out.push_back(*name);
  }
  return out;
}

std::string DidYouMean(std::string_view wrong, const std::vector<std::string>& names) {
  const std::vector<std::string> near = Nearest(wrong, names);
  return near.empty() ? "" : "; did you mean " + Joined(near, " or ") + "?";
}

std::string DidYouMeanFile(const std::string& path) {
  constexpr size_t kMostFiles = 10'000;
  const size_t slash = path.rfind('/', path.find_last_not_of('/'));
  const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  std::string name = path.substr(folder.size());
  while (name.ends_with('/')) name.pop_back();
  const auto files = NamesIn(folder.empty() ? "." : folder, kMostFiles);
  if (!files.ok()) return "";
  std::vector<std::string> near = Nearest(name, *files);
  for (std::string& file : near) file.insert(0, folder);
  return near.empty() ? "" : "; did you mean " + Joined(near, " or ") + "?";
}

std::string UnknownName(std::string_view what, std::string_view wrong,
                        const std::vector<std::string>& names) {
  const bool plain = !wrong.empty() && wrong.find(' ') == std::string_view::npos;
  const std::string quote = plain ? "" : "\"";
  std::string out = "unknown " + std::string(what) + " " + quote + std::string(wrong) + quote;
  const std::string near = DidYouMean(wrong, names);
  out += near;
  if (names.size() > kMostListed) return out;
  return out + (near.empty() ? "; the " : " The ") + std::string(what) + "s are " +
         Joined(names, ", ");
}

}  // namespace crosscut::base
