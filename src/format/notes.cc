#include "src/format/notes.h"

#include <algorithm>

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
  auto files = base::NamesIn(run_dir);
  if (!files.ok()) return {};
  std::erase_if(*files, [](const std::string& name) {
    return !name.starts_with("note-") || !name.ends_with(".txt");
  });
  std::stable_partition(files->begin(), files->end(),
                        [](const std::string& file) { return file == kEndNote; });
  std::vector<std::string> notes;
  for (const std::string& file : *files) {
    std::string note = Sentence(run_dir + "/" + file, file.starts_with("note-children-"));
    if (!note.empty()) notes.push_back(std::move(note));
  }
  return notes;
}

}  // namespace crosscut::format
