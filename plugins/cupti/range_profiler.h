// CUPTI's range profiler on one CUDA context: what the device's performance counters say of a
// kernel, or of all that runs for a while.
//
// Threads: one at a time. CUPTI may call back on the thread while a function is called.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "api.h"

namespace crosscut::cupti {

class RangeProfiler {
 public:
  static constexpr size_t kMostMetrics = 64;
  struct Asked {
    const char* const* names = nullptr;  // alive as long as this
    size_t count = 0;                    // at most kMostMetrics
    bool per_kernel = true;
    bool replay = false;
  };

  RangeProfiler() = default;
  RangeProfiler(const RangeProfiler&) = delete;
  RangeProfiler& operator=(const RangeProfiler&) = delete;

  // Switches it on; metrics that the device does not have are left out, and named by unknown().
  // `api` must have all of CROSSCUT_CUPTI_METRICS. False, with words for the user in why(), where
  // it cannot: nothing is on then.
  bool Open(const Api* api, CUcontext context, const Asked& asked);
  bool is_open() const { return object_ != nullptr; }
  // From here on, each kernel that is launched is a range, or all that runs is one. False as
  // Open().
  bool Start();
  // Ends that. `ranges`: how many there were. False as Open().
  bool Stop(size_t* ranges);
  // Of the first range, of what Stop() ended: a value for each of names(). Null as Open().
  const double* Values();
  // Switches it off, whatever state it is in.
  void Close();

  size_t count() const { return count_; }
  const char* name(size_t i) const { return names_[i]; }
  const char* unit(size_t i) const { return units_[i]; }  // in CUPTI's words, perhaps ""
  // How often each kernel runs.
  size_t passes() const { return passes_; }
  const char* why() const { return why_; }
  const char* unknown() const { return unknown_; }  // names, or ""

 private:
  bool Did(const char* function, CUptiResult result);
  bool OpenHost(CUcontext context);
  bool FindMetrics(const Asked& asked);
  bool Configure();
  bool Affordable(const Asked& asked);
  bool MakeImage(CUcontext context);

  const Api* api_ = nullptr;
  bool per_kernel_ = true;
  CUpti_Profiler_Host_Object* host_ = nullptr;
  CUpti_RangeProfiler_Object* object_ = nullptr;
  const char* names_[kMostMetrics] = {};
  char units_[kMostMetrics][32] = {};
  double values_[kMostMetrics] = {};
  size_t count_ = 0, passes_ = 0, config_bytes_ = 0, image_bytes_ = 0;
  std::unique_ptr<uint8_t[]> config_, image_;
  char why_[300] = {}, unknown_[200] = {};
};

}  // namespace crosscut::cupti
