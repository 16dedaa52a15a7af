#include "src/import/xspace_layers.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace crosscut::import {
namespace {

using trace::Layer;

// Ids that XProf gives to lines of its own making.
constexpr int64_t kFirstDerivedId = 0xdeadbeef, kLastDerivedId = kFirstDerivedId + 388;

struct Prefix {
  std::string_view text;
  Layer layer;
};
// In this order. What begins otherwise is the framework's.
constexpr Prefix kPrefixes[] = {
    {"$", Layer::kPython},       // the Python tracer: "$file.py:12 function"
    {"Iterator", Layer::kData},  // tf.data
    {"tf_data", Layer::kData},   {"PrefetchedH2D", Layer::kData}, {"InfeedEnqueue", Layer::kData},
    {"cuda", Layer::kRuntime},   {"hip", Layer::kRuntime},        {"hsa_", Layer::kRuntime},
    {"AllReduce", Layer::kComm}, {"AllGather", Layer::kComm},     {"ReduceScatter", Layer::kComm},
    {"nccl", Layer::kComm},
};

// "cuLaunchKernel", "zeCommandListAppend": a prefix and a capital.
bool IsCall(std::string_view name, std::string_view prefix) {
  return name.size() > prefix.size() && name.starts_with(prefix) &&
         std::isupper(static_cast<unsigned char>(name[prefix.size()])) != 0;
}

}  // namespace

bool IsDevicePlane(std::string_view name) {
  return name.starts_with("/device:") || name.starts_with("#Chip");
}

bool IsDerivedLine(const xspace::Line& line, bool has_streams) {
  static constexpr std::array kDerived = {
      std::string_view("Steps"),
      std::string_view("XLA Modules"),
      std::string_view("XLA TraceMe"),
      std::string_view("Framework Ops"),
      std::string_view("Framework Name Scope"),
      std::string_view("Source code"),
      std::string_view("Launch Stats"),
      std::string_view("Host Offload Ops"),
  };
  if (line.id >= kFirstDerivedId && line.id <= kLastDerivedId) return true;
  if (std::find(kDerived.begin(), kDerived.end(), line.name) != kDerived.end()) return true;
  return has_streams && !line.name.starts_with("Stream #");
}

Layer HostLayer(std::string_view event) {
  if (IsCall(event, "cu") || IsCall(event, "ze") || IsCall(event, "cl")) return Layer::kRuntime;
  for (const Prefix& prefix : kPrefixes) {
    if (event.starts_with(prefix.text)) return prefix.layer;
  }
  return Layer::kFramework;
}

}  // namespace crosscut::import
