#include "src/export/device_kind.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace crosscut::exporting {
namespace {

// Kineto's categories of what runs on CUDA's, HIP's and SYCL's devices, new and old.
constexpr std::array<std::string_view, 6> kGpuCategories = {"kernel", "gpu_memcpy", "gpu_memset",
                                                            "Kernel", "Memcpy",     "Memset"};
constexpr std::array<std::string_view, 8> kGpuNames = {"NVIDIA", "GeForce", "Radeon",   "Instinct",
                                                       "Adreno", "Mali",    "Graphics", " GPU"};

struct Named {
  std::string_view theirs, ours;
};
constexpr std::array kNumbers = {
    Named{"totalGlobalMem", "memory_size"}, Named{"computeMajor", "compute_cap_major"},
    Named{"computeMinor", "compute_cap_minor"}, Named{"numSms", "core_count"}};

}  // namespace

bool IsGpuWork(const trace::Trace& trace, const trace::Track& track) {
  if (track.spans.size() == 0) return false;
  const trace::Name& name = trace.name(track.spans.name.front());
  if (name.layer != trace::Layer::kDevice) return false;
  const auto is = [text = trace.text(name.category)](std::string_view one) { return text == one; };
  if (std::any_of(kGpuCategories.begin(), kGpuCategories.end(), is)) return true;
  const std::string_view device = trace.text(track.device_name);
  return std::any_of(kGpuNames.begin(), kGpuNames.end(), [device](std::string_view part) {
    return device.find(part) != std::string_view::npos;
  });
}

std::vector<DeviceProperty> PropertiesOf(const trace::Trace& trace, const trace::Process& process,
                                         int64_t device) {
  std::vector<DeviceProperty> found;
  simdjson::dom::parser parser;
  for (const auto& [key, value] : process.meta) {
    simdjson::dom::array devices;
    if (trace.text(key) != "deviceProperties") continue;
    if (parser.parse(trace.text(value)).get(devices)) continue;
    for (const simdjson::dom::element one : devices) {
      int64_t number = 0;
      std::string_view name;
      if (one["id"].get(number) || number != device) continue;
      for (const auto& [theirs, ours] : kNumbers) {
        if (!one[theirs].get(number)) found.push_back({std::string(ours), "", number});
      }
      if (one["name"].get(name)) continue;
      const std::string_view vendor = name.substr(0, name.find(' '));
      if (vendor == "NVIDIA" || vendor == "AMD") {
        found.push_back({"device_vendor", std::string(vendor), 0});
      }
    }
  }
  return found;
}

}  // namespace crosscut::exporting
