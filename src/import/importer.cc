#include "src/import/importer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "src/base/counted.h"
#include "src/base/utf8.h"
#include "src/import/foreign.h"
#include "src/trace/text.h"

namespace crosscut::import {
namespace {

namespace fs = std::filesystem;

constexpr Importer kImporters[] = {
    {"imported", "", "a run directory, as `crosscut import` makes it", SniffImported, MakeImported},
    {"native", "", "a run directory, as `crosscut record` makes it", SniffNative, MakeNative},
    {"xspace", ".xplane.pb", "a profile of TensorFlow, JAX or XProf (XSpace)", SniffXSpace,
     MakeXSpace},
    {"chrome_json", ".json", "a trace in Chrome's JSON format, as PyTorch (Kineto) writes it",
     SniffChromeJson, MakeChromeJson},
    {"text", ".txt", "the text form of a trace, as Crosscut's tests write it", SniffText, MakeText},
};

constexpr std::string_view kTextHead = "# crosscut trace";

const char* KindOf(fs::file_type type) {
  switch (type) {
    case fs::file_type::fifo: return "pipe";
    case fs::file_type::socket: return "socket";
    case fs::file_type::block:
    case fs::file_type::character: return "device";
    default: return "special file";
  }
}

// An errno where the system refuses.
int ReadHead(Input* input) {
  const int fd = open(input->path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  input->head.resize(input->directory ? 0 : kHeadBytes);
  const ssize_t got = input->directory ? 0 : read(fd, input->head.data(), input->head.size());
  const int error = got < 0 ? errno : 0;
  close(fd);
  input->head.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  return error;
}

// The texts of the trace that are not among its strings.
void CleanTexts(trace::Trace* trace) {
  for (std::string* text : {&trace->command, &trace->machine, &trace->clock}) {
    *text = base::CleanUtf8(*text);
  }
  for (std::string& gap : trace->gaps) gap = base::CleanUtf8(gap);
  if (const size_t cleaned = trace->strings.TakeCleaned(); cleaned > 0) {
    trace->gaps.push_back(base::Counted(
        cleaned, "{text holds|texts hold} bytes that are no UTF-8: U+FFFD stands for them."));
  }
}

}  // namespace

std::span<const Importer> Importers() { return kImporters; }

bool SniffText(const Input& input) { return !input.directory && input.head.starts_with(kTextHead); }

Result<trace::Trace> MakeText(const Input& input) {
  std::ifstream file(input.path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return Status::Io(input.path + ": cannot be read");
  auto trace = trace::ParseText(text.view());
  if (!trace.ok()) return trace.status().At(input.path);
  return trace;
}

Result<Recognized> Recognize(const std::string& path) {
  Recognized found;
  Input& input = found.input;
  input.path = path;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return Missing(path);
  input.directory = fs::is_directory(status);
  // A pipe may wait for ever, and a device never ends.
  if (!input.directory && status.type() != fs::file_type::unknown && error.value() == 0 &&
      !fs::is_regular_file(status)) {
    return Status::Invalid(path + ": a " + KindOf(status.type()) +
                           ", not a file or directory; copy its output to a file and name that");
  }
  if (const int failed = ReadHead(&input); failed != 0) return Unreadable(path, failed);
  for (const Importer& importer : kImporters) {
    if (IsPartOfRun(path) || !importer.sniff(input)) continue;
    found.importer = &importer;
    return found;
  }
  if (input.directory) return ForeignFolder(path);
  std::string known = "the folder of a run";
  for (const Importer& importer : kImporters) {
    if (*importer.extension != '\0') known += std::string("; ") + importer.description;
  }
  return ForeignFile(path, input.head, known);
}

Result<trace::Trace> Import(const std::string& path, Purpose purpose) {
  Result<Recognized> found = Recognize(path);
  if (!found.ok()) return found.status();
  found->input.purpose = purpose;
  Result<trace::Trace> trace = found->importer->make(found->input);
  if (trace.ok()) CleanTexts(&*trace);
  return trace;
}

}  // namespace crosscut::import
