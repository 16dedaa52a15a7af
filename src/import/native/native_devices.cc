#include "src/import/native/native_devices.h"

#include <algorithm>
#include <string>

namespace crosscut::import {
namespace {

// No clock shows more: sums and differences of two still fit.
constexpr uint64_t kFarthest = uint64_t{1} << 62;

}  // namespace

NativeDevices::NativeDevices(trace::Builder* builder, trace::ProcessId process,
                             const NativeSession* session, const NativeClock* clock,
                             NativeArguments* arguments)
    : builder_(builder),
      process_(process),
      session_(session),
      clock_(clock),
      arguments_(arguments) {
  AddClocks();
  AddTracks();
}

void NativeDevices::AddClocks() {
  std::vector<Anchor> realtime;
  for (const Anchor& anchor : session_->realtime) {
    realtime.push_back(
        {static_cast<uint64_t>(anchor.ns), clock_->ToNs(anchor.tick), anchor.error_ns});
  }
  clocks_.emplace(format::kClockRealtime, NativeClock(std::move(realtime), {}));
  for (const auto& [id, anchors] : session_->plugin_clocks) {
    const NativeClock& added = clocks_.emplace(id, NativeClock(anchors, {})).first->second;
    const std::string_view name = session_->Meta("clock:" + std::to_string(id));
    builder_->process(process_).clocks.push_back(
        {builder_->Text(name.empty() ? "clock of a plugin" : name), added.anchors(),
         added.error_ns()});
  }
}

void NativeDevices::AddTracks() {
  for (const NativeSession::DeviceTrack& declared : session_->device_tracks) {
    if (devices_.contains(declared.id)) continue;
    trace::TrackBuilder& builder = builder_->AddTrack(process_, trace::TrackKind::kDevice);
    trace::Track& track = builder.track();
    track.name = session_->name(declared.name).text;
    track.device_name = session_->name(declared.device_name).text;
    track.device = declared.device;
    track.os_id = static_cast<int64_t>(declared.queue);
    const auto clock = clocks_.find(declared.clock);
    devices_[declared.id] = {&builder, clock == clocks_.end() ? nullptr : &clock->second};
  }
}

int64_t NativeDevices::ToNs(const Device& device, uint64_t time) const {
  time = std::min(time, kFarthest);
  return device.clock == nullptr ? static_cast<int64_t>(time) : device.clock->ToNs(time);
}

trace::NameId NativeDevices::NameOf(uint64_t id) {
  const NativeName& known = session_->name(id);
  if (known.name.valid()) return known.name;
  ++unknown_;
  return builder_->AddName({builder_->Text("(unknown name " + std::to_string(id) + ")"),
                            trace::Kind::kSpan,
                            trace::Layer::kDevice,
                            false,
                            {}});
}

void NativeDevices::Take(uint16_t code, std::span<const uint64_t> payload) {
  const auto found = devices_.find(payload[0]);
  if (found == devices_.end()) {
    ++unknown_;
    return;
  }
  const Device& device = found->second;
  trace::TrackBuilder& track = *device.track;
  switch (code) {
    case format::kSpanOn:
      return track.SpanAt(ToNs(device, payload[2]), ToNs(device, payload[3]), NameOf(payload[1]));
    case format::kInstantOn: return track.Instant(ToNs(device, payload[2]), NameOf(payload[1]));
    case format::kCounterOn:
      return builder_->Count(process_, NameOf(payload[1]), ToNs(device, payload[2]),
                             static_cast<int64_t>(payload[3]));
    case format::kArgOn:
      return track.Arg(session_->name(payload[1]).text, static_cast<int64_t>(payload[2]));
    case format::kArgNameOn: return arguments_->Add(payload[1], payload[2], &track);
    case format::kFlowOn: return track.FlowIntoLast(payload[1]);
    default: return Lose(device, payload);
  }
}

void NativeDevices::Finish() {
  for (const auto& [id, device] : devices_) {
    const trace::Track& first = device.track->track();
    size_t lanes = 1;
    device.track->Spread([&] {
      trace::TrackBuilder& beside = builder_->AddTrack(process_, trace::TrackKind::kDevice);
      trace::Track& track = beside.track();
      track.name = builder_->Text(std::string(builder_->trace().text(first.name)) + " (" +
                                  std::to_string(++lanes) + ")");
      track.device_name = first.device_name;
      track.device = first.device;
      track.os_id = first.os_id;
      return &beside;
    });
  }
}

void NativeDevices::Lose(const Device& device, std::span<const uint64_t> payload) {
  trace::Loss loss;
  loss.reason = builder_->Text("plugin");
  loss.count = static_cast<int64_t>(std::min(payload[1], kFarthest));
  loss.begin_ns = ToNs(device, payload[2]);
  loss.end_ns = std::max(loss.begin_ns, ToNs(device, payload[3]));
  device.track->Lose(loss);
}

}  // namespace crosscut::import
