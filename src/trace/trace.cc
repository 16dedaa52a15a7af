#include "src/trace/trace.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <numeric>

#include "src/base/utf8.h"

namespace crosscut::trace {
namespace {

constexpr std::string_view kLayerNames[kLayerCount] = {
    "",     "python", "framework", "runtime",  "simulator", "data",
    "comm", "native", "idle",      "overhead", "device",    "control"};

}  // namespace

std::string_view StepLevelName(uint8_t level) {
  constexpr std::string_view kNames[] = {"control", "boundary", "operators", "everything", "marks"};
  return level < std::size(kNames) ? kNames[level] : "everything";
}

bool HasStepPlan(const Process& process) {
  return std::any_of(process.steps.begin(), process.steps.end(),
                     [&](const Step& step) { return step.level != process.steps.front().level; });
}

std::string_view LayerName(Layer layer) {
  const auto index = static_cast<size_t>(layer);
  return index < kLayerCount ? kLayerNames[index] : std::string_view();
}

bool ParseLayer(std::string_view name, Layer* layer) {
  if (name == "none") name = "";
  for (int i = 0; i < kLayerCount; ++i) {
    if (kLayerNames[i] != name) continue;
    *layer = static_cast<Layer>(i);
    return true;
  }
  return false;
}

std::string Trace::title(ProcessId process) const {
  const Process& p = processes[process.value];
  const std::string out(text(text(p.name).empty() ? p.key : p.name));
  if (out.empty()) return "p" + std::to_string(p.pid);
  return p.pid > 0 ? out + " (pid " + std::to_string(p.pid) + ")" : out;
}

int64_t Spans::StatedEnd(SpanIndex span) const {
  const auto at = std::lower_bound(stated_ends.begin(), stated_ends.end(), span,
                                   [](const auto& one, SpanIndex of) { return one.first < of; });
  return at != stated_ends.end() && at->first == span ? at->second : end_ns[span];
}

bool Trace::RealOf(const Arg& arg, double* real) const {
  if (!arg.is_json) return false;
  const std::string_view number = text(arg.text());
  const char* const end = number.data() + number.size();
  const auto [rest, error] = std::from_chars(number.data(), end, *real);
  return error == std::errc() && rest == end && std::isfinite(*real);
}

StringId Strings::Intern(std::string_view text) {
  if (auto found = index_.find(text); found != index_.end()) return {found->second};
  if (!base::IsUtf8(text)) {
    ++cleaned_;
    const StringId clean = Intern(base::CleanUtf8(text));
    index_.emplace(text, clean.value);
    return clean;
  }
  const auto id = static_cast<uint32_t>(texts_.size());
  const auto at = index_.emplace(std::string(text), id).first;
  texts_.push_back(at->first);
  return {id};
}

StringId Strings::Find(std::string_view text) const {
  const auto found = index_.find(text);
  return found == index_.end() ? StringId::None() : StringId{found->second};
}

std::string MemoryDeviceName(int64_t type, int64_t index) {
  constexpr std::string_view kDevices[] = {
      "cpu",  "cuda", "mkldnn", "opengl", "opencl", "ideep", "hip",
      "fpga", "maia", "xla",    "vulkan", "metal",  "xpu",   "mps",
      "meta", "hpu",  "ve",     "lazy",   "ipu",    "mtia",  "privateuseone"};
  std::string text = type >= 0 && type < static_cast<int64_t>(std::size(kDevices))
                         ? std::string(kDevices[type])
                         : "device type " + std::to_string(type);
  if (index >= 0) text += ":" + std::to_string(index);
  return text;
}

TracksByProcess::TracksByProcess(const Trace& trace) : first_(trace.processes.size() + 1) {
  const auto counts = [&](const Track& track) {
    return track.process.valid() && track.process.value < trace.processes.size();
  };
  for (const Track& track : trace.tracks) {
    if (counts(track)) ++first_[track.process.value + 1];
  }
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  tracks_.resize(first_.back());
  std::vector<uint32_t> next(first_.begin(), first_.end() - 1);
  for (uint32_t t = 0; t < trace.tracks.size(); ++t) {
    const Track& track = trace.tracks[t];
    if (counts(track)) tracks_[next[track.process.value]++] = t;
  }
}

}  // namespace crosscut::trace
