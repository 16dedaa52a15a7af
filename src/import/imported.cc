// A run directory that `crosscut import` made: the files that others wrote, as they were, and a
// run.json that lists them.
#include <simdjson.h>

#include <string>
#include <vector>

#include "src/base/file.h"
#include "src/import/importer.h"
#include "src/trace/merge.h"

namespace crosscut::import {
namespace {

constexpr size_t kMostBytes = 16 << 20;  // of run.json

// The files that run.json lists; false where it lists none.
bool Listed(const std::string& dir, std::vector<std::string>* files) {
  const auto text = base::ReadSmallFile(dir + "/run.json", kMostBytes);
  simdjson::dom::parser parser;
  simdjson::dom::object run;
  simdjson::dom::array listed;
  if (!text.ok() || parser.parse(*text).get(run) != simdjson::SUCCESS ||
      run["imported"].get(listed) != simdjson::SUCCESS) {
    return false;
  }
  for (simdjson::dom::element element : listed) {
    std::string_view name;
    if (element.get(name) == simdjson::SUCCESS) files->emplace_back(name);
  }
  return true;
}

}  // namespace

bool SniffImported(const Input& input) {
  std::vector<std::string> files;
  return input.directory && Listed(input.path, &files);
}

Result<trace::Trace> MakeImported(const Input& input) {
  std::vector<std::string> files;
  if (!Listed(input.path, &files) || files.empty()) {
    return Status::Corrupt(input.path + "/run.json: lists no file");
  }
  trace::Trace whole;
  for (size_t i = 0; i < files.size(); ++i) {
    if (files[i].empty() || files[i][0] == '.' || files[i].find('/') != std::string::npos) {
      return Status::Corrupt(input.path + "/run.json: '" + files[i] + "' is no file of this run");
    }
    auto trace = Import(input.path + "/" + files[i]);
    if (!trace.ok()) return trace.status();
    if (i == 0) {
      whole = std::move(*trace);
    } else {
      trace::Append(std::move(*trace), &whole);
    }
  }
  return whole;
}

}  // namespace crosscut::import
