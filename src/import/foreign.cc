#include "src/import/foreign.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "src/base/nearest.h"
#include "src/base/shell_word.h"

namespace crosscut::import {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostEntries = 10'000;  // of a folder that is looked through
constexpr int kMostDepth = 4;            // TensorBoard's: plugins/profile/<date>/<host>.xplane.pb

// How files begin that people take for recordings, and what they are.
struct Kind {
  std::string_view begin;
  const char* words;
};
constexpr Kind kKinds[] = {
    {"PK\3\4", "a zip archive: unpack it, and name what is in it"},
    {"(\xb5/\xfd", "compressed by zstd: unpack it"},
    {"BZh", "compressed by bzip2: unpack it"},
    {"\xfd"
     "7zXZ",
     "compressed by xz: unpack it"},
    {"\x1f\x8b", "compressed by gzip, but no trace is in it"},
    {"SQLite format 3", "an SQLite database, as Nsight Systems exports it: Crosscut reads none"},
    {"PERFILE2", "a recording of perf: Crosscut reads none"},
    {"<!doctype html", "a page, for a browser: name the run that it was made of"},
};

// The folder that `path` lies in, as its user would write it.
std::string FolderOf(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

bool IsTrace(const fs::path& path) {
  std::string name = path.filename().string();
  if (name == "run.json") return false;
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  return name.ends_with(".json") || name.ends_with(".xplane.pb");
}

// What lies in a folder and below, the newest of each kind first.
struct Found {
  bool empty = true;
  std::vector<std::string> runs, traces;
};

void NewestFirst(std::vector<std::string>* paths, const char* dated) {
  const auto when = [dated](const std::string& path) {
    std::error_code error;
    return fs::last_write_time(path + dated, error);
  };
  std::sort(paths->begin(), paths->end(), [&](const std::string& a, const std::string& b) {
    const auto x = when(a), y = when(b);
    return x != y ? x > y : a < b;
  });
}

Found LookInto(const std::string& folder) {
  Found found;
  std::error_code error;
  constexpr auto kOptions = fs::directory_options::skip_permission_denied;
  size_t seen = 0;
  for (fs::recursive_directory_iterator at(folder, kOptions, error), end; at != end && !error;
       at.increment(error)) {
    found.empty = false;
    if (++seen > kMostEntries) break;
    std::error_code none;
    if (at->is_directory(none)) {
      const bool run = fs::exists(at->path() / "run.json", none);
      if (run) found.runs.push_back(at->path().string());
      if (run || at.depth() >= kMostDepth) at.disable_recursion_pending();
    } else if (IsTrace(at->path())) {
      found.traces.push_back(at->path().string());
    }
  }
  NewestFirst(&found.runs, "/run.json");
  NewestFirst(&found.traces, "");
  return found;
}

std::string OneOf(size_t count, const char* what, const std::string& newest) {
  const std::string such = base::ShellWord(newest);
  if (count == 1) return std::string("a folder with a ") + what + " in it: name " + such;
  return "a folder of " + std::to_string(count) + " " + what + "s: name one of them, such as " +
         such + ", the newest";
}

std::string Folder(const std::string& path) {
  const Found found = LookInto(path);
  if (found.empty) return "an empty folder; crosscut record makes runs";
  if (!found.runs.empty()) return OneOf(found.runs.size(), "run", found.runs.front());
  if (found.traces.empty()) return "a folder without a run or a trace in it";
  std::string out = OneOf(found.traces.size(), "trace", found.traces.front());
  if (found.traces.size() > 1) out += "; crosscut import FILE... -o RUN makes one run of several";
  return out;
}

std::string Printable(std::string_view head) {
  const std::string_view line = head.substr(0, std::min(head.find('\n'), size_t{24}));
  const bool plain = std::all_of(line.begin(), line.end(), [](char c) { return c >= ' '; });
  return plain && !line.empty() ? " (it begins with \"" + std::string(line) + "\")" : "";
}

// "" for what only its first bytes can tell.
std::string File(const std::string& path, std::string_view head) {
  const std::string word = base::ShellWord(path);
  if (head.empty()) return "an empty file: was it written to its end?";
  if (IsPartOfRun(path) || head.starts_with("CCUTLOG")) {
    return "a part of a run: name the run's folder, " + base::ShellWord(FolderOf(path));
  }
  if (path.ends_with(".py") || (head.starts_with("#!") && head.find("python") < head.find('\n'))) {
    return "a Python script, not a recording of it: crosscut record -- python " + word;
  }
  const std::string run = path.find('/') == std::string::npos ? "./" + word : word;
  if (head.starts_with("#!")) return "a script, not a recording of it: crosscut record -- " + run;
  if (head.starts_with("\x7f"
                       "ELF")) {
    return "a program, not a recording of it: crosscut record -- " + run;
  }
  for (const Kind& kind : kKinds) {
    if (head.starts_with(kind.begin)) return kind.words;
  }
  if (head == "[]" || head == "[]\n") return "a trace without any event";
  return "";
}

}  // namespace

Status Missing(const std::string& path) {
  std::string near = base::DidYouMeanFile(path);
  if (near.empty()) near = "; name a run, the folder that crosscut record made, or a trace";
  return Status::NotFound(path + ": no such file or directory" + near);
}

Status Unreadable(const std::string& path, int error) {
  struct stat facts;
  std::string owner;
  if (error == EACCES && stat(path.c_str(), &facts) == 0 && facts.st_uid != geteuid()) {
    owner = " (it belongs to user " + std::to_string(facts.st_uid) + ", this is user " +
            std::to_string(geteuid()) + ")";
  }
  return Status::Io(path + ": " + std::strerror(error) + owner +
                    (error == EACCES ? "; it must be readable for you: chmod, or sudo" : ""));
}

Status ForeignFolder(const std::string& path) {
  return Status::Invalid(path + ": " + Folder(path));
}

bool IsPartOfRun(const std::string& path) {
  return path.ends_with(".crosscut") || fs::path(path).filename() == "run.json";
}

Status ForeignFile(const std::string& path, std::string_view head, const std::string& known) {
  std::string words = File(path, head);
  if (words.empty()) {
    words = "no format that Crosscut reads" + Printable(head) + "; it reads " + known;
  }
  return Status::Invalid(path + ": " + words);
}

}  // namespace crosscut::import
