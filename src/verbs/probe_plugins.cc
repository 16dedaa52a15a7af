#include "src/verbs/probe_plugins.h"

#include <elf.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <span>

#include "src/base/capture.h"
#include "src/base/lists.h"
#include "src/verbs/output.h"

namespace crosscut::verbs {
namespace {

namespace fs = std::filesystem;

constexpr const char* kGood = "good";
constexpr size_t kMaxNoteBytes = size_t{1} << 16;

// Its size and when it was written; "" where there is no such file.
std::string StateOf(const std::string& file) {
  struct stat facts;
  if (stat(file.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return "";
  const int64_t ns = int64_t{facts.st_mtim.tv_sec} * 1'000'000'000 + facts.st_mtim.tv_nsec;
  return std::to_string(facts.st_size) + " " + std::to_string(ns) + " ";
}

// What the answers of a probe hang on, in one line; "" where the file cannot be asked, or its name
// would break the line.
std::string KeyOf(const std::string& plugin, const Probe& probe) {
  const std::string file = plugin.substr(0, plugin.find(',')), state = StateOf(file);
  if (state.empty() || plugin.find_first_of("\t\n") != std::string::npos) return "";
  const char* what = probe.sessions ? "" : "registration ";
  return what + StateOf(probe.checker) + state + BuildId(file) + " " + plugin;
}

using Answers = std::map<std::string, std::string>;  // by key

// Whether `path` is this user's, and nobody else may write it.
bool IsOurs(const std::string& path) {
  struct stat facts;
  return lstat(path.c_str(), &facts) == 0 && !S_ISLNK(facts.st_mode) && facts.st_uid == geteuid() &&
         (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// Others' answers say nothing of a plugin.
Answers ReadAnswers(const std::string& cache) {
  Answers answers;
  if (!IsOurs(cache)) return answers;
  std::ifstream file(cache);
  for (std::string line; std::getline(file, line);) {
    const size_t tab = line.find('\t');
    if (tab != std::string::npos) answers[line.substr(0, tab)] = line.substr(tab + 1);
  }
  return answers;
}

// Whole or not at all; a cache that cannot be written is no trouble.
void WriteAnswers(const Answers& answers, const std::string& cache) {
  std::error_code error;
  const fs::path folder = fs::path(cache).parent_path();
  fs::create_directories(folder.parent_path(), error);
  if (mkdir(folder.c_str(), 0700) != 0 && errno == EEXIST && !IsOurs(folder)) return;
  std::string lines;
  for (const auto& [key, answer] : answers) lines += key + "\t" + answer + "\n";
  (void)WriteWholeFile(cache, lines);
}

// A setting reaches a plugin as CROSSCUT_PLUGIN_<KEY> too.
std::vector<std::string> CommandFor(const std::string& plugin, const Probe& probe) {
  std::vector<std::string> argv = {probe.checker, "--probe"};
  if (!probe.sessions) argv.insert(argv.end(), {"--registers", "--deadline=2"});
  const std::vector<std::string_view> parts = base::Split(plugin, ',');
  argv.emplace_back(parts.front());
  for (size_t i = 1; i < parts.size(); ++i) {
    std::string setting(parts[i]);
    const size_t equals = setting.find('=');
    if (equals == std::string::npos) continue;
    std::transform(setting.begin(), setting.begin() + static_cast<ptrdiff_t>(equals),
                   setting.begin(), [](unsigned char c) { return toupper(c); });
    argv.push_back("--env=CROSSCUT_PLUGIN_" + setting);
  }
  return argv;
}

bool InFile(std::ifstream& file, uint64_t offset, void* out, size_t bytes) {
  file.clear();
  file.seekg(static_cast<std::streamoff>(offset));
  return static_cast<bool>(file.read(static_cast<char*>(out), static_cast<std::streamsize>(bytes)));
}

// The first note of type NT_GNU_BUILD_ID in a segment of notes.
std::string BuildIdIn(std::span<const unsigned char> notes) {
  constexpr size_t kHeader = sizeof(Elf64_Nhdr);
  const auto padded = [](size_t bytes) { return (bytes + 3) / 4 * 4; };
  for (size_t at = 0; at + kHeader <= notes.size();) {
    Elf64_Nhdr note;
    memcpy(&note, &notes[at], kHeader);
    const size_t text = at + kHeader + padded(note.n_namesz);
    if (text > notes.size() || note.n_descsz > notes.size() - text) return "";
    if (note.n_type == NT_GNU_BUILD_ID && note.n_descsz > 0) {
      std::string id;
      for (const unsigned char byte : notes.subspan(text, note.n_descsz)) {
        id += "0123456789abcdef"[byte >> 4];
        id += "0123456789abcdef"[byte & 15];
      }
      return id;
    }
    at = text + padded(note.n_descsz);
  }
  return "";
}

}  // namespace

std::string BuildId(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr header;
  if (!InFile(file, 0, &header, sizeof header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr)) {
    return "-";
  }
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!InFile(file, header.e_phoff + i * sizeof segment, &segment, sizeof segment)) break;
    if (segment.p_type != PT_NOTE || segment.p_filesz > kMaxNoteBytes) continue;
    std::vector<unsigned char> notes(segment.p_filesz);
    if (!InFile(file, segment.p_offset, notes.data(), notes.size())) break;
    if (const std::string id = BuildIdIn(notes); !id.empty()) return id;
  }
  return "-";
}

std::string ProbeCacheFile() {
  constexpr const char* kFile = "/crosscut/probed-plugins";
  if (const char* cache = getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/') {
    return std::string(cache) + kFile;
  }
  const char* home = getenv("HOME");
  return home != nullptr && *home == '/' ? std::string(home) + "/.cache" + kFile : "";
}

ProbedPlugins ProbePlugins(const std::vector<std::string>& plugins, const Probe& probe) {
  ProbedPlugins probed;
  Answers answers = probe.cache.empty() ? Answers() : ReadAnswers(probe.cache);
  bool learned = false;
  for (const std::string& plugin : plugins) {
    const std::string key = KeyOf(plugin, probe);
    auto known = answers.find(key);
    if (!key.empty() && known == answers.end()) {
      const Result<base::Captured> ran = base::RunAndCapture(CommandFor(plugin, probe));
      // 0 and 1 are answers; all else is trouble of the checker's own.
      const int code = ran.ok() && WIFEXITED(ran->wait_status) ? WEXITSTATUS(ran->wait_status) : -1;
      if (code == 0 || code == 1) {
        known = answers.emplace(key, code == 0 ? kGood : base::LastLine(ran->text)).first;
        learned = true;
      } else if (probe.sessions) {
        probed.sentences.push_back(
            "plugin " + plugin + " could not be tried beforehand (" +
            (ran.ok() ? base::LastLine(ran->text) : std::string(ran.status().message())) +
            ") and is loaded all the same");
      }
    }
    if (known == answers.end() || known->second == kGood) {
      probed.good.push_back(plugin);
    } else {
      probed.sentences.push_back("plugin " + plugin +
                                 " is left out: tried in a process of its own, " + known->second);
    }
  }
  if (learned && !probe.cache.empty()) WriteAnswers(answers, probe.cache);
  return probed;
}

}  // namespace crosscut::verbs
