#include "src/import/chrome/chrome_categories.h"

#include <string>

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

constexpr Category kOperator = {Place::kThread, Layer::kFramework, Kind::kSpan, false};
constexpr Category kPython = {Place::kThread, Layer::kPython, Kind::kSpan, false};
constexpr Category kAnnotation = {Place::kThread, Layer::kNone, Kind::kOperation, false};
constexpr Category kFound = {Place::kThread, Layer::kNone, Kind::kOperation, false, true};

// Kineto's activity types (libkineto/include/ActivityType.h), as it writes them now and as PyTorch
// 1.8 to 1.11 wrote them ("Operator", "Kernel"); and VizTracer's one. In lower case.
constexpr Entry kEntries[] = {
    {"cpu_op", kOperator},
    {"user_annotation", kAnnotation},
    {"python_function", kPython},
    {"operator", kOperator},
    {"runtime", kRuntime},
    {"memcpy", kWork},
    {"memset", kWork},
    {"pythonfunction", kPython},
    {"python", kPython},
    {"userannotation", kAnnotation},
    {"gpuuserannotation", kShadow},
    {"cpu_instant_event", Category()},
    {"memory", Category()},
    // Crosscut's own: what Kineto has no word for.
    {"operation", kFound},
    {"request", {Place::kThread, Layer::kNone, Kind::kSpan, false}},
    {"framework", {Place::kThread, Layer::kFramework, Kind::kSpan, false}},
    {"simulator", {Place::kThread, Layer::kSimulator, Kind::kSpan, false}},
    {"data", {Place::kThread, Layer::kData, Kind::kSpan, false}},
    {"comm", {Place::kThread, Layer::kComm, Kind::kSpan, false}},
    {"native", {Place::kThread, Layer::kNative, Kind::kSpan, false}},
    {"idle", {Place::kThread, Layer::kIdle, Kind::kSpan, false}},
    {"fee", kPython},
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
    {"trace", kNone},
};

}  // namespace

const Category* FindCategory(std::string_view name) {
  std::string folded(name);
  for (char& c : folded) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  for (const Entry& entry : kEntries) {
    if (entry.name == folded) return &entry.category;
  }
  return nullptr;
}

}  // namespace crosscut::import
