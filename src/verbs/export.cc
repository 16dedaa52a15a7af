#include "src/verbs/export.h"

#include <filesystem>

#include "src/export/exporter.h"
#include "src/verbs/input.h"

namespace crosscut::verbs {

Result<Exported> Export(const std::string& path, const std::string& to, const std::string& file) {
  const exporting::Exporter* exporter = exporting::FindExporter(to);
  if (exporter == nullptr) {
    return Status::Unsupported("unknown format " + to + "; the formats are:\n" + ListFormats());
  }
  auto input = ReadInput(path, import::Purpose::kExport);
  if (!input.ok()) return input.status();
  auto sink = exporting::OpenSink(file);
  if (!sink.ok()) return sink.status();
  if (Status status = exporter->write((*input)->trace, sink->get()); !status.ok()) return status;
  if (Status status = (*sink)->Close(); !status.ok()) return status;
  std::error_code error;
  const auto bytes = std::filesystem::file_size(file, error);
  return Exported{error ? 0 : static_cast<uint64_t>(bytes), (*input)->trace.damaged};
}

std::string ListFormats() {
  std::string out;
  for (const exporting::Exporter& exporter : exporting::Exporters()) {
    out += std::string("  ") + exporter.name + "  " + exporter.description + "\n";
  }
  return out;
}

}  // namespace crosscut::verbs
