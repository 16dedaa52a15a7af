#include "src/import/chrome_categories.h"

namespace crosscut::import {
namespace {

using trace::Kind;
using trace::Layer;

struct Entry {
  std::string_view name;
  Category category;
};
constexpr Category kRuntime = {Place::kThread, Layer::kRuntime, Kind::kSpan, true};
constexpr Category kWork = {Place::kDevice, Layer::kDevice, Kind::kSpan, false};
constexpr Category kShadow = {Place::kAnnotation, Layer::kIdle, Kind::kSpan, false};
constexpr Category kWait = {Place::kSync, Layer::kIdle, Kind::kSpan, false};
constexpr Category kNone = {Place::kNowhere, Layer::kNone, Kind::kSpan, false};

// Kineto's activity types (libkineto/include/ActivityType.h), and VizTracer's one.
constexpr Entry kEntries[] = {
    {"cpu_op", {Place::kThread, Layer::kFramework, Kind::kSpan, false}},
    {"user_annotation", {Place::kThread, Layer::kNone, Kind::kOperation, false}},
    {"python_function", {Place::kThread, Layer::kPython, Kind::kSpan, false}},
    // Crosscut's own: what Kineto has no word for.
    {"framework", {Place::kThread, Layer::kFramework, Kind::kSpan, false}},
    {"simulator", {Place::kThread, Layer::kSimulator, Kind::kSpan, false}},
    {"data", {Place::kThread, Layer::kData, Kind::kSpan, false}},
    {"comm", {Place::kThread, Layer::kComm, Kind::kSpan, false}},
    {"native", {Place::kThread, Layer::kNative, Kind::kSpan, false}},
    {"idle", {Place::kThread, Layer::kIdle, Kind::kSpan, false}},
    {"FEE", {Place::kThread, Layer::kPython, Kind::kSpan, false}},
    {"overhead", {Place::kThread, Layer::kOverhead, Kind::kSpan, false}},
    {"collective_comm", {Place::kThread, Layer::kComm, Kind::kSpan, false}},
    {"cuda_runtime", kRuntime},
    {"cuda_driver", kRuntime},
    {"mtia_runtime", kRuntime},
    {"glow_runtime", kRuntime},
    {"xpu_runtime", kRuntime},
    {"xpu_driver", kRuntime},
    {"hpu_op", kRuntime},
    {"privateuse1_runtime", kRuntime},
    {"privateuse1_driver", kRuntime},
    {"kernel", kWork},
    {"gpu_memcpy", kWork},
    {"gpu_memset", kWork},
    {"mtia_ccp_events", kWork},
    {"gpu_user_annotation", kShadow},
    {"cuda_profiler_range", kShadow},
    {"cuda_sync", kWait},
    {"xpu_sync", kWait},
    {"cuda_event", kWait},
    {"Trace", kNone},
};

}  // namespace

const Category* FindCategory(std::string_view name) {
  for (const Entry& entry : kEntries) {
    if (entry.name == name) return &entry.category;
  }
  return nullptr;
}

}  // namespace crosscut::import
