#include "src/analyze/accounting/process_sweep.h"

namespace crosscut::analyze {
namespace {

std::array<LayerSet, kLayerIndices> MakeLayerSets() {
  std::array<LayerSet, kLayerIndices> sets{};
  for (uint32_t i = 0; i < kControlIndex; ++i) {
    for (int a = 0; a < kActive; ++a) {
      if (i >> a & 1) sets[i] |= Bit(ActiveLayer(a));
    }
    if (i & kBlockedIndex) sets[i] |= kIdleBit;
    if (i & kDeviceIndex) sets[i] |= kDeviceBit;
  }
  sets[kControlIndex] = kControlBit;
  return sets;
}

}  // namespace

const std::array<LayerSet, kLayerIndices> kLayerSets = MakeLayerSets();

std::vector<ProcessTracks> TracksByProcess(const trace::Trace& trace) {
  std::vector<ProcessTracks> out(trace.processes.size());
  for (uint32_t t = 0; t < trace.tracks.size(); ++t) {
    const trace::Track& track = trace.tracks[t];
    if (!track.process.valid() || track.process.value >= out.size()) continue;
    ProcessTracks& p = out[track.process.value];
    (track.ours                                ? p.ours
     : track.kind == trace::TrackKind::kDevice ? p.device
     : track.kind == trace::TrackKind::kAsync  ? p.async
                                               : p.host)
        .push_back(t);
  }
  return out;
}

ProcessSource SourceOf(const trace::Trace& trace, const NameCodes& names,
                       const ProcessTracks& tracks, const ProcessEvents& events,
                       trace::ProcessId process) {
  const trace::Process& p = trace.processes[process.value];
  const trace::Interval window = {p.start_ns, p.end_ns};
  ProcessSource source = {{}, EventCursor(events, window.begin_ns)};
  for (const uint32_t t : tracks.host) {
    const Role role = p.lead.value == t ? Role::kLead : Role::kThread;
    source.tracks.emplace_back(trace.tracks[t], names, role, window);
  }
  for (const uint32_t t : tracks.async) {
    source.tracks.emplace_back(trace.tracks[t], names, Role::kAsync, window);
  }
  for (const uint32_t t : tracks.device) {
    source.tracks.emplace_back(trace.tracks[t], names, Role::kDevice, window);
  }
  return source;
}

}  // namespace crosscut::analyze
