#include "src/analyze/name_codes.h"

#include <unordered_map>

namespace crosscut::analyze {
namespace {

using trace::Kind;
using trace::Layer;

// Devices and control steps are no layers of a thread's work.
uint8_t HostLayer(Layer layer) {
  return layer == Layer::kDevice || layer == Layer::kControl ? 0 : static_cast<uint8_t>(layer);
}

uint32_t Number(trace::StringId text, std::unordered_map<uint32_t, uint32_t>& index,
                std::vector<trace::StringId>& list) {
  auto [at, fresh] = index.emplace(text.value, static_cast<uint32_t>(list.size()));
  if (fresh) list.push_back(text);
  return at->second;
}

}  // namespace

NameCodes::NameCodes(const trace::Trace& trace) : operations(1), probes(1) {
  std::unordered_map<uint32_t, uint32_t> operation_index, probe_index;
  codes.reserve(trace.names.size());
  for (const trace::Name& name : trace.names) {
    NameCode c;
    const bool work = name.kind == Kind::kSpan;
    c.code = static_cast<uint8_t>((work ? HostLayer(name.layer) | kCodeWork : 0) |
                                  (name.waits ? kCodeWaits : 0));
    if (name.scope()) {
      c.scope = Number(name.text, operation_index, operations);
      c.part = name.kind == Kind::kPart;
    }
    if (name.probe.valid()) {
      uint32_t probe = Number(name.probe, probe_index, probes);
      if (probe > kMaxProbes) {
        probe = kMaxProbes;
        probes.resize(kMaxProbes + 1);
      }
      c.probe = static_cast<uint8_t>(probe);
    }
    codes.push_back(c);
  }
}

}  // namespace crosscut::analyze
