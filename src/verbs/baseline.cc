#include "src/verbs/baseline.h"

#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "src/base/descriptors.h"
#include "src/base/nearest.h"
#include "src/base/shown_text.h"
#include "src/verbs/runs.h"

namespace crosscut::verbs {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolder = ".crosscut/baselines";
constexpr std::string_view kPrefix = "baseline:";

std::string PathOf(const std::string& name) { return std::string(kFolder) + "/" + name; }

// Letters, digits, "-", "_", ".", not first a point or a dash: a name is never a path or an option.
bool CanBeName(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  return !name.empty() && name[0] != '.' && name[0] != '-' && name.size() <= 100 &&
         std::all_of(name.begin(), name.end(), fits);
}

Status NoName(const std::string& name) {
  return Status::Unsupported(base::ShownText(name) +
                             " cannot be the name of a baseline; use letters, digits, - _ and .");
}

bool IsThere(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

std::vector<std::string> Sorted(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with('.')) out.push_back(name);
  }
  std::sort(out.begin(), out.end());
  return out;
}

uint64_t BytesIn(const std::string& folder) {
  uint64_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code no_file;
    const uint64_t size = at->is_regular_file(no_file) ? at->file_size(no_file) : 0;
    if (!no_file) bytes += size;
  }
  return bytes;
}

// Reads it, which takes what the rings of a run still hold into its logs.
Status CheckInput(const std::string& path) {
  const auto input = ReadInput(path);
  if (!input.ok()) return input.status();
  for (const trace::Process& process : (*input)->trace.processes) {
    if (process.alive) return Status::Invalid(path + ": it is still being recorded; save it later");
  }
  if ((*input)->trace.damaged) {
    return Status::Corrupt(path + ": a part of it cannot be read; crosscut info says which");
  }
  return {};
}

// Whether `inner` is `outer` or lies in it; neither has links.
bool IsWithin(const fs::path& outer, const fs::path& inner) {
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

Status CopyInto(const std::string& folder, const std::vector<std::string>& inputs) {
  const base::NoSignal no_limit(SIGXFSZ);
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::error_code error;
    const fs::path from = fs::canonical(inputs[i], error);  // a copy of a link would lead nowhere
    if (!error && IsWithin(from, fs::canonical(folder, error))) {
      return Status::Invalid(inputs[i] +
                             ": the baseline would lie in it; save it from another folder");
    }
    // Numbered, so they keep their order and no two have one name.
    char number[32];
    snprintf(number, sizeof number, "%03zu-", i + 1);
    if (!error) {
      fs::copy(from, folder + "/" + NameOfCopy(number, inputs[i]),
               fs::copy_options::recursive | fs::copy_options::copy_symlinks, error);
    }
    if (error) return Status::Io(inputs[i] + ": it cannot be copied: " + error.message());
  }
  return {};
}

Status NoSuch(const std::string& name) {
  const std::vector<std::string> names = Sorted(kFolder);
  if (names.empty()) {
    return Status::Unsupported("there is no baseline " + base::ShownText(name) + " in " + kFolder +
                               "; crosscut baseline save NAME RUN makes one");
  }
  return Status::Unsupported(base::UnknownName("baseline", name, names));
}

}  // namespace

Result<SavedBaseline> SaveBaseline(const std::string& name,
                                   const std::vector<std::string>& inputs) {
  if (!CanBeName(name)) return NoName(name);
  for (const std::string& input : inputs) {
    if (Status status = CheckInput(input); !status.ok()) return status;
  }
  SavedBaseline out;
  out.path = PathOf(name);
  out.replaced = IsThere(out.path);
  std::error_code error;
  fs::create_directories(kFolder, error);
  auto folder = NewFolder::For(out.path, {.mode = 0777, .replace = true});
  if (!folder.ok()) return folder.status();
  Status status = CopyInto(folder->path(), inputs);
  if (status.ok()) status = folder->Place();
  if (!status.ok()) return status;
  out.bytes = BytesIn(out.path);
  return out;
}

Result<Output> ListBaselines() {
  const std::vector<std::string> names = Sorted(kFolder);
  size_t width = 0;
  for (const std::string& name : names) width = std::max(width, name.size());
  Output out;
  for (const std::string& name : names) {
    struct stat facts {};
    const bool there = stat(PathOf(name).c_str(), &facts) == 0;
    const size_t inputs = Sorted(PathOf(name)).size();
    std::string line = base::ShownText(name);
    line.resize(std::max(width, line.size()) + 2, ' ');
    out.text += line + (there ? LocalTime(int64_t{facts.st_mtime} * 1'000'000'000) : "") + "  " +
                std::to_string(inputs) + (inputs == 1 ? " run" : " runs") + "  " +
                KibiBytes(BytesIn(PathOf(name))) + "\n";
  }
  return out;
}

Status RemoveBaseline(const std::string& name) {
  if (!CanBeName(name)) return NoName(name);
  if (!IsThere(PathOf(name))) return NoSuch(name);
  std::error_code error;
  fs::remove_all(PathOf(name), error);
  if (error) return Status::Io(PathOf(name) + ": it cannot be removed: " + error.message());
  return {};
}

Result<std::vector<std::string>> ExpandBaseline(const std::string& input) {
  const bool named = input.starts_with(kPrefix);
  const std::string name = named ? input.substr(kPrefix.size()) : input;
  if (!named && (IsThere(input) || !CanBeName(name) || !IsThere(PathOf(name)))) {
    return std::vector<std::string>{input};
  }
  if (!CanBeName(name)) return NoName(name);
  if (!IsThere(PathOf(name))) return NoSuch(name);
  std::vector<std::string> out;
  for (const std::string& entry : Sorted(PathOf(name))) out.push_back(PathOf(name) + "/" + entry);
  if (out.empty())
    return Status::NotFound(PathOf(name) + ": the baseline holds no run; save it anew");
  return out;
}

}  // namespace crosscut::verbs
