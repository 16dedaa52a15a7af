#include "src/verbs/export.h"

#include "src/base/lists.h"
#include "src/base/nearest.h"
#include "src/export/exporter.h"
#include "src/verbs/input.h"

namespace crosscut::verbs {

Result<Exported> Export(const std::string& path, const std::string& to, const std::string& file) {
  const exporting::Exporter* exporter =
      to.empty() ? exporting::ExporterOfFile(file) : exporting::FindExporter(to);
  if (exporter == nullptr && to.empty()) {
    return Status::Unsupported(file + ": no format's files end so; add --to= and one of " +
                               base::Joined(FormatNames(), ", "));
  }
  if (exporter == nullptr) {
    return Status::Unsupported(base::UnknownName("format", to, FormatNames()));
  }
  auto input = ReadInput(path, import::Purpose::kExport);
  if (!input.ok()) return input.status();
  auto sink = OpenOutput(file, {path});
  if (!sink.ok()) return sink.status();
  const auto gaps = exporter->write((*input)->trace, sink->get());
  if (!gaps.ok()) return gaps.status();
  if (Status status = (*sink)->Close(); !status.ok()) return status;
  return Exported{exporter->name, (*sink)->bytes(), (*input)->trace.damaged, gaps->of_file};
}

std::vector<std::string> FormatNames() {
  std::vector<std::string> names;
  for (const exporting::Exporter& exporter : exporting::Exporters()) {
    names.emplace_back(exporter.name);
  }
  return names;
}

std::string ListFormats() {
  std::string out;
  for (const exporting::Exporter& exporter : exporting::Exporters()) {
    const std::string ends = exporter.extensions;
    out += std::string("  ") + exporter.name + "  " + exporter.description +
           (ends.empty() ? "" : "\n    " + ends) + "\n";
  }
  return out;
}

}  // namespace crosscut::verbs
