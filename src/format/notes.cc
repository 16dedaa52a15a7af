#include "src/format/notes.h"

#include <dirent.h>

#include <algorithm>
#include <string_view>

#include "src/base/file.h"

namespace crosscut::format {
namespace {

constexpr size_t kLongest = 1 << 20;  // bytes of a file

std::string Sentence(const std::string& path, bool of_children) {
  const Result<std::string> text = base::ReadSmallFile(path, kLongest);
  if (!text.ok()) return "";
  std::string line = text->substr(0, text->find('\n'));
  const auto lines = std::count(text->begin(), text->end(), '\n');
  if (!of_children || lines < 2) return line;
  const char* const least = text->size() >= kLongest ? "at least " : "";
  return line + " (nor are " + least + std::to_string(lines - 1) + " more like it)";
}

}  // namespace

std::vector<std::string> ReadNotes(const std::string& run_dir) {
  DIR* folder = opendir(run_dir.c_str());
  if (folder == nullptr) return {};
  std::vector<std::string> files, notes;
  while (const dirent* entry = readdir(folder)) {
    const std::string_view name = entry->d_name;
    if (name.starts_with("note-") && name.ends_with(".txt")) files.emplace_back(name);
  }
  closedir(folder);
  std::sort(files.begin(), files.end());
  std::stable_partition(files.begin(), files.end(),
                        [](const std::string& file) { return file == kEndNote; });
  for (const std::string& file : files) {
    std::string note = Sentence(run_dir + "/" + file, file.starts_with("note-children-"));
    if (!note.empty()) notes.push_back(std::move(note));
  }
  return notes;
}

}  // namespace crosscut::format
