#include "src/verbs/import.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "src/base/json_text.h"
#include "src/import/importer.h"
#include "src/verbs/input.h"

namespace crosscut::verbs {
namespace {

namespace fs = std::filesystem;

// The directory goes again unless Keep() was called.
class NewDirectory {
 public:
  explicit NewDirectory(std::string path) : path_(std::move(path)) {}
  ~NewDirectory() {
    std::error_code error;
    if (made_ && !kept_) fs::remove_all(path_, error);
  }
  Status Make() {
    if (mkdir(path_.c_str(), 0700) != 0) return Status::Io(path_ + ": " + std::strerror(errno));
    made_ = true;
    return {};
  }
  void Keep() { kept_ = true; }

 private:
  std::string path_;
  bool made_ = false, kept_ = false;
};

void Count(const trace::Trace& trace, Imported* counts) {
  counts->processes = trace.processes.size();
  counts->tracks = trace.tracks.size();
  for (const trace::Track& track : trace.tracks) counts->spans += track.spans.size();
  counts->incomplete = trace.damaged;
}

}  // namespace

Result<Imported> ImportFiles(const std::vector<std::string>& files, const std::string& run_dir) {
  if (files.empty()) return Status::Invalid("no file to import");
  NewDirectory directory(run_dir);
  if (Status status = directory.Make(); !status.ok()) return status;
  std::string list;
  for (size_t i = 0; i < files.size(); ++i) {
    std::error_code error;
    if (fs::is_directory(files[i], error)) {
      return Status::Invalid(files[i] + ": a directory; name the files in it");
    }
    if (fs::exists(files[i], error) && !fs::is_regular_file(files[i], error)) {
      return Status::Invalid(files[i] + ": a pipe or device; copy its output to a file");
    }
    const std::string name = std::to_string(i) + "-" + fs::path(files[i]).filename().string();
    fs::copy_file(files[i], fs::path(run_dir) / name, error);
    if (error) return Status::Io(files[i] + ": " + error.message());
    list += list.empty() ? "" : ", ";
    base::AppendJsonString(name, &list);
  }
  const std::string run_json = "{\"format\": 1,\n \"imported\": [" + list + "]}\n";
  if (Status status = WriteWholeFile(run_dir + "/run.json", run_json); !status.ok()) return status;
  const auto trace = import::Import(run_dir);
  if (!trace.ok()) return trace.status();
  directory.Keep();
  Imported counts;
  Count(*trace, &counts);
  return counts;
}

}  // namespace crosscut::verbs
