#include "src/import/xla_layers.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace crosscut::import {
namespace {

using trace::Layer;

// Ids that XProf gives to lines of its own making.
constexpr int64_t kFirstDerivedId = 0xdeadbeef, kLastDerivedId = kFirstDerivedId + 388;

struct Prefix {
  std::string_view text;
  Layer layer;
};
// In this order. What begins otherwise is the framework's: the eager and graph executors,
// compilation, and what PjRt runs on host threads where the host is the device.
constexpr Prefix kPrefixes[] = {
    {"Iterator", Layer::kData},  // tf.data
    {"MakeIterator", Layer::kData},
    {"PrefetchProduce", Layer::kData},
    {"PrefetchConsume", Layer::kData},
    {"tf_data", Layer::kData},
    {"PrefetchedH2D", Layer::kData},
    {"InfeedEnqueue", Layer::kData},
    {"cuda", Layer::kRuntime},
    {"hip", Layer::kRuntime},
    {"hsa_", Layer::kRuntime},
    {"AllReduce", Layer::kComm},
    {"AllGather", Layer::kComm},
    {"ReduceScatter", Layer::kComm},
    {"Collective", Layer::kComm},  // TensorFlow's operators
    {"Nccl", Layer::kComm},
    {"nccl", Layer::kComm},
};

// Instructions of XLA: "all-reduce.3", "all-reduce-start". Its passes are called otherwise
// ("all-reduce-promotion"), and are compilation.
constexpr std::string_view kCollectives[] = {
    "all-reduce",         "all-gather", "all-to-all", "reduce-scatter",
    "collective-permute", "send",       "recv"};
bool IsCollective(std::string_view name) {
  for (const std::string_view collective : kCollectives) {
    if (!name.starts_with(collective)) continue;
    const std::string_view rest = name.substr(collective.size());
    if (rest.empty() || rest[0] == '.' || rest.starts_with("-start") || rest.starts_with("-done")) {
      return true;
    }
  }
  return false;
}

// The operator's type where `name` is TensorFlow's "model/dense/Relu:_FusedMatMul", else `name`.
std::string_view OperatorType(std::string_view name) {
  const size_t colon = name.rfind(':');
  const bool typed = colon != std::string_view::npos && colon > 0 && colon + 1 < name.size() &&
                     name[colon - 1] != ':' && name[colon + 1] != ' ';
  return typed ? name.substr(colon + 1) : name;
}

// "cuLaunchKernel", "zeCommandListAppend": a prefix and a capital.
bool IsCall(std::string_view name, std::string_view prefix) {
  return name.size() > prefix.size() && name.starts_with(prefix) &&
         std::isupper(static_cast<unsigned char>(name[prefix.size()])) != 0;
}

}  // namespace

bool IsDevicePlane(std::string_view name) {
  return name.starts_with("/device:") || name.starts_with("#Chip");
}

bool IsHostPlane(std::string_view name) { return name.starts_with("/host:"); }

std::optional<int64_t> OrdinalOf(std::string_view plane) {
  const size_t colon = plane.rfind(':');
  int64_t ordinal = 0;
  if (colon == std::string_view::npos) return std::nullopt;
  const auto [end, error] =
      std::from_chars(plane.data() + colon + 1, plane.data() + plane.size(), ordinal);
  if (error != std::errc()) return std::nullopt;
  return ordinal;
}

bool IsStream(std::string_view line) { return line.starts_with("Stream #"); }

bool IsDerivedLine(int64_t id, std::string_view name, bool has_streams) {
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
  if (id >= kFirstDerivedId && id <= kLastDerivedId) return true;
  if (std::find(kDerived.begin(), kDerived.end(), name) != kDerived.end()) return true;
  // "XLA Ops", "Async XLA Ops", "_counters_": of a GPU they tell its streams' work again. Any other
  // line, such as a plugin's for its copies, is a queue like the streams.
  return has_streams && (name.find("XLA ") != std::string_view::npos || name.starts_with('_'));
}

bool IsBookkeeping(std::string_view event) {
  return event.starts_with("ThreadpoolListener::") || event.starts_with("end: ");
}

Layer HostLayer(std::string_view event) {
  if (event.starts_with("$")) return Layer::kPython;
  event = OperatorType(event);
  if (IsCall(event, "cu") || IsCall(event, "ze") || IsCall(event, "cl")) return Layer::kRuntime;
  for (const Prefix& prefix : kPrefixes) {
    if (event.starts_with(prefix.text)) return prefix.layer;
  }
  return IsCollective(event) ? Layer::kComm : Layer::kFramework;
}

}  // namespace crosscut::import
