#include "src/export/exporter.h"

namespace crosscut::exporting {
namespace {

constexpr Exporter kExporters[] = {
    {"chrome", ".json", "JSON for Perfetto, chrome://tracing and HolisticTraceAnalysis",
     WriteChromeJson},
    {"chrome-cuda", ".json",
     "the same, launching calls named as CUDA's: for readers that know those",
     WriteChromeJsonForCuda},
    {"perfetto", ".pftrace", "Perfetto's own format: exact, smaller, and opens faster",
     WritePerfetto},
    {"speedscope", ".speedscope.json", "flame graphs of every thread, for speedscope.app",
     WriteSpeedscope},
    {"collapsed", ".collapsed", "a line per stack with its own ns, for flamegraph.pl and its like",
     WriteCollapsed},
    {"collapsed-device", ".collapsed", "the same with the ns of the device work that it launched",
     WriteCollapsedDevice},
    {"collapsed-samples", ".collapsed", "the same from samples: Python lines and native functions",
     WriteCollapsedSamples},
    {"xspace", ".xplane.pb", "TensorFlow's profile format, for TensorBoard and XProf", WriteXSpace},
    {"xspace-beside", ".xplane.pb", "the same, to be merged into a profile of TensorFlow's own",
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

}  // namespace crosscut::exporting
