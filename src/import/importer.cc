#include "src/import/importer.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

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
    {"text", ".txt", "a few lines that make a trace (src/trace/text.h)", SniffText, MakeText},
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

Result<trace::Trace> Import(const std::string& path, Purpose purpose) {
  Input input;
  input.purpose = purpose;
  input.path = path;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) {
    return Status::NotFound(path + ": no such file or directory");
  }
  input.directory = fs::is_directory(status);
  // A pipe may wait for ever, and a device never ends.
  if (!input.directory && status.type() != fs::file_type::unknown && !fs::is_regular_file(status)) {
    return Status::Invalid(path + ": a " + KindOf(status.type()) +
                           ", not a file or directory; copy its output to a file and name that");
  }
  if (!input.directory) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return Status::Io(path + ": " + std::strerror(errno));
    input.head.resize(kHeadBytes);
    file.read(input.head.data(), static_cast<std::streamsize>(input.head.size()));
    input.head.resize(static_cast<size_t>(file.gcount()));
  }
  for (const Importer& importer : kImporters) {
    if (importer.sniff(input)) return importer.make(input);
  }
  std::string known;
  for (const Importer& importer : kImporters) {
    known += std::string(known.empty() ? "" : "; ") + importer.name + ": " + importer.description;
  }
  return Status::Invalid(path + ": unknown format (known: " + known + ")");
}

}  // namespace crosscut::import
