#include "src/verbs/import.h"

#include <filesystem>

#include "src/base/descriptors.h"
#include "src/base/json_text.h"
#include "src/base/utf8.h"
#include "src/import/importer.h"
#include "src/verbs/input.h"

namespace crosscut::verbs {
namespace {

namespace fs = std::filesystem;

void Count(const trace::Trace& trace, Imported* counts) {
  counts->processes = trace.processes.size();
  counts->tracks = trace.tracks.size();
  for (const trace::Track& track : trace.tracks) counts->spans += track.spans.size();
  counts->incomplete = trace.damaged;
}

// The copies in the run are gone when the message is read: it names what was copied.
Status WithNamesOf(const Status& status, const std::string& run_dir,
                   const std::vector<std::string>& names, const std::vector<std::string>& files) {
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string copy = run_dir + "/" + names[i];
    if (status.message().starts_with(copy)) {
      return Status::Corrupt(files[i] + std::string(status.message().substr(copy.size())));
    }
  }
  return status;
}

}  // namespace

Result<Imported> ImportFiles(const std::vector<std::string>& files, const std::string& run_dir) {
  if (files.empty()) return Status::Invalid("no file to import");
  if (Status status = RefuseInput(run_dir, files); !status.ok()) return status;
  for (const std::string& file : files) {
    const auto found = import::Recognize(file);
    if (!found.ok()) return found.status();
    if (found->input.directory) {
      return Status::Invalid(file + ": a run already; every verb reads it as it is");
    }
  }
  auto folder = NewFolder::For(run_dir, {.mode = 0700});
  if (!folder.ok()) return folder.status();
  const std::string made = folder->path();
  std::string list;
  std::vector<std::string> names;
  for (const std::string& file : files) {
    names.push_back(base::CleanUtf8(NameOfCopy(std::to_string(names.size()) + "-", file)));
    std::error_code error;
    const base::NoSignal no_limit(SIGXFSZ);
    fs::copy_file(file, fs::path(made) / names.back(), error);
    if (error) return Status::Io(file + ": " + error.message());
    list += (list.empty() ? "" : ", ") + base::JsonText(names.back());
  }
  const std::string run_json = "{\"format\": 1,\n \"imported\": [" + list + "]}\n";
  if (Status status = WriteWholeFile(made + "/run.json", run_json); !status.ok()) return status;
  const auto trace = import::Import(made);
  if (!trace.ok()) return WithNamesOf(trace.status(), made, names, files);
  if (Status status = folder->Place(); !status.ok()) return status;
  Imported counts;
  Count(*trace, &counts);
  return counts;
}

}  // namespace crosscut::verbs
