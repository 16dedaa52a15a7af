#include "src/export/exporter.h"

#include <sstream>
#include <string>

namespace crosscut::exporting {
namespace {

constexpr Exporter kExporters[] = {
    {"chrome", ".json", "JSON for Perfetto, chrome://tracing and HolisticTraceAnalysis",
     WriteChromeJson},
    {"chrome-cuda", "", "the same, launching calls named as CUDA's: for readers that know those",
     WriteChromeJsonForCuda},
    {"perfetto", ".pftrace .perfetto-trace .perfetto",
     "Perfetto's own format: exact, smaller, and opens faster", WritePerfetto},
    {"speedscope", ".speedscope.json", "flame graphs of every thread, for speedscope.app",
     WriteSpeedscope},
    {"collapsed", ".collapsed .folded",
     "a line per stack with its own ns, for flamegraph.pl and its like", WriteCollapsed},
    {"collapsed-device", "", "the same with the ns of the device work that it launched",
     WriteCollapsedDevice},
    {"collapsed-samples", "", "the same from samples: Python lines and native functions",
     WriteCollapsedSamples},
    {"pprof", ".pprof .pprof.pb",
     "samples, or call paths of spans, for pprof and what reads its format", WritePprof},
    {"pprof-spans", "", "the same of spans, whether there are samples or not", WritePprofSpans},
    {"xspace", ".xplane.pb .xspace.pb .pb",
     "TensorFlow's profile format, for TensorBoard and XProf", WriteXSpace},
    {"xspace-beside", "", "the same, to be merged into a profile of TensorFlow's own",
     WriteXSpaceBeside},
};

}  // namespace

std::span<const Exporter> Exporters() { return kExporters; }

const Exporter* FindExporter(std::string_view name) {
  for (const Exporter& exporter : kExporters) {
    if (name == exporter.name) return &exporter;
  }
  return nullptr;
}

const Exporter* ExporterOfFile(std::string_view path) {
  if (path.ends_with(".gz")) path.remove_suffix(3);
  const Exporter* found = nullptr;
  size_t longest = 0;
  for (const Exporter& exporter : kExporters) {
    std::istringstream ends(exporter.extensions);
    for (std::string end; ends >> end;) {
      if (end.size() <= longest || !path.ends_with(end)) continue;
      found = &exporter;
      longest = end.size();
    }
  }
  return found;
}

}  // namespace crosscut::exporting
