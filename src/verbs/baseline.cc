#include "src/verbs/baseline.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <system_error>

#include "src/base/nearest.h"
#include "src/base/shown_text.h"

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

Status CopyInto(const std::string& folder, const std::vector<std::string>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const fs::path from = fs::path(inputs[i]).lexically_normal();
    const std::string base = (from.has_filename() ? from : from.parent_path()).filename().string();
    // Numbered, so they keep their order and no two have one name.
    char number[32];
    snprintf(number, sizeof number, "%03zu-", i + 1);
    std::error_code error;
    fs::copy(from, folder + "/" + number + base,
             fs::copy_options::recursive | fs::copy_options::copy_symlinks, error);
    if (error) return Status::Io(inputs[i] + ": it cannot be copied: " + error.message());
  }
  return {};
}

std::string LocalTime(time_t seconds) {
  tm parts{};
  localtime_r(&seconds, &parts);
  char text[40];
  return {text, strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts)};
}

Status NoSuch(const std::string& name) {
  const std::vector<std::string> names = BaselineNames();
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
  const std::string path = PathOf(name);
  const std::string fresh = std::string(kFolder) + "/.new-" + std::to_string(getpid());
  const std::string old = std::string(kFolder) + "/.old-" + std::to_string(getpid());
  std::error_code error;
  fs::create_directories(fresh, error);
  if (error) return Status::Io(fresh + ": the folder cannot be made: " + error.message());
  std::error_code ignored;
  if (Status status = CopyInto(fresh, inputs); !status.ok()) {
    fs::remove_all(fresh, ignored);
    return status;
  }
  SavedBaseline out;
  out.path = path;
  out.replaced = IsThere(path);
  if (out.replaced) fs::rename(path, old, error);
  if (!error) fs::rename(fresh, path, error);
  if (error) return Status::Io(path + ": it cannot be put in place: " + error.message());
  fs::remove_all(old, ignored);
  out.bytes = BytesIn(path);
  return out;
}

std::vector<std::string> BaselineNames() { return Sorted(kFolder); }

Result<Output> ListBaselines() {
  const std::vector<std::string> names = BaselineNames();
  size_t width = 0;
  for (const std::string& name : names) width = std::max(width, name.size());
  Output out;
  for (const std::string& name : names) {
    struct stat facts {};
    const bool there = stat(PathOf(name).c_str(), &facts) == 0;
    const size_t inputs = Sorted(PathOf(name)).size();
    std::string line = base::ShownText(name);
    line.resize(std::max(width, line.size()) + 2, ' ');
    out.text += line + (there ? LocalTime(facts.st_mtime) : "") + "  " + std::to_string(inputs) +
                (inputs == 1 ? " run" : " runs") + "  " +
                std::to_string((BytesIn(PathOf(name)) + 1023) / 1024) + " KiB\n";
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
