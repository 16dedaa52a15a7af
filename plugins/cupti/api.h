// CUPTI as a table of function pointers: filled from a libcupti at run time (library.h), or by a
// fake that simulates it in tests. Nothing here links to CUDA.
#pragma once

#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_version.h>

#include <cstddef>
#include <cstdint>

namespace crosscut::cupti {

// Without one of these the plugin does not record.
#define CROSSCUT_CUPTI_NEEDED(X) \
  X(GetVersion)                  \
  X(GetTimestamp)                \
  X(Subscribe)                   \
  X(Unsubscribe)                 \
  X(EnableCallback)              \
  X(EnableDomain)                \
  X(ActivityRegisterCallbacks)   \
  X(ActivityEnable)              \
  X(ActivityDisable)             \
  X(ActivityFlushAll)            \
  X(ActivityGetNextRecord)       \
  X(ActivityGetNumDroppedRecords)

// May be null: newer than the oldest CUPTI that is supported, or than the newest.
#define CROSSCUT_CUPTI_OPTIONAL(X) \
  X(Subscribe_v2)                  \
  X(ActivityRegisterTimestampCallback)

struct Api {
#define CROSSCUT_CUPTI_MEMBER(name) decltype(&cupti##name) name = nullptr;
  CROSSCUT_CUPTI_NEEDED(CROSSCUT_CUPTI_MEMBER)
  CROSSCUT_CUPTI_OPTIONAL(CROSSCUT_CUPTI_MEMBER)
#undef CROSSCUT_CUPTI_MEMBER
  // Optional, and newer than the oldest headers this builds with.
  CUptiResult (*ActivityGetStructSize)(CUpti_ActivityKind, uint32_t version, size_t*) = nullptr;
};

// CUDA 11.6: the first whose records all have the layout that is read here.
inline constexpr uint32_t kOldestVersion = 17;

}  // namespace crosscut::cupti
