#include "clock.h"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

namespace crosscut::cupti {
namespace {

constexpr int kTries = 5;
// Clocks that are slewed drift by at most 500 ppm.
constexpr int64_t kMostDriftPpm = 1000;
// How far CUPTI's own conversion from the device's clock was found to be off at most, beside
// %globaltimer on an H200 (docs/cupti.md).
constexpr int64_t kConversionNs = 1'000;
constexpr int64_t kLeastJumpNs = 1'000'000;

// CUPTI keeps the function for ever, so that outside our sessions it has to return what CUPTI
// would have taken.
std::atomic<bool> ours{false};

uint64_t Stamp() {
  timespec now;
  clock_gettime(ours.load(std::memory_order_relaxed) ? CLOCK_MONOTONIC : CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

CUptiResult Clock::Start(const crosscut_host* host, const Api* api, bool own) {
  *this = Clock();
  host_ = host;
  api_ = api;
  id_ = host->clock(host->host, "CUPTI");
  if (own && api->ActivityRegisterTimestampCallback != nullptr) {
    ours.store(true, std::memory_order_relaxed);
    ours_ = api->ActivityRegisterTimestampCallback(&Stamp) == CUPTI_SUCCESS;
  }
  Reading reading;
  CUptiResult result = Take(&reading);
  if (result != CUPTI_SUCCESS) {
    Stop();
    return result;
  }
  // A CUPTI that stamps by our clock answers with a time between two of ours.
  if (ours_ && std::llabs(reading.cupti_ns - reading.host_ns) > reading.error_ns) ours_ = false;
  if (!ours_) {
    Stop();
    result = Take(&reading);
    if (result != CUPTI_SUCCESS) return result;
  }
  offset_ns_ = reading.cupti_ns - reading.host_ns;
  last_host_ns_ = reading.host_ns;
  error_ns_ = reading.error_ns;
  Tell(reading);
  return CUPTI_SUCCESS;
}

CUptiResult Clock::Restart(const crosscut_host* host, const Api* api, bool own) {
  const Clock before = *this;
  const CUptiResult result = Start(host, api, own);
  error_ns_ = std::max(error_ns_, before.error_ns_);
  jump_ns_ = std::max(jump_ns_, before.jump_ns_);
  return result;
}

CUptiResult Clock::Read() {
  Reading reading;
  const CUptiResult result = Take(&reading);
  if (result != CUPTI_SUCCESS) return result;
  const int64_t offset = reading.cupti_ns - reading.host_ns;
  const int64_t moved = std::llabs(offset - offset_ns_);
  const int64_t drift = (reading.host_ns - last_host_ns_) / 1'000'000 * kMostDriftPpm;
  if (moved > kLeastJumpNs + drift) jump_ns_ = std::max(jump_ns_, moved);
  offset_ns_ = offset;
  last_host_ns_ = reading.host_ns;
  error_ns_ = std::max(error_ns_, reading.error_ns);
  Tell(reading);
  return CUPTI_SUCCESS;
}

void Clock::Tell(const Reading& reading) const {
  host_->reading(host_->host, id_, reading.host_ns, reading.cupti_ns,
                 reading.error_ns + kConversionNs);
}

void Clock::Stop() { ours.store(false, std::memory_order_relaxed); }

CUptiResult Clock::Take(Reading* best) const {
  best->error_ns = INT64_MAX;
  for (int i = 0; i < kTries; ++i) {
    uint64_t cupti = 0;
    const int64_t before = host_->now_ns(host_->host);
    const CUptiResult result = api_->GetTimestamp(&cupti);
    const int64_t after = host_->now_ns(host_->host);
    if (result != CUPTI_SUCCESS) return result;
    const int64_t error = (after - before) / 2 + 1;
    if (error >= best->error_ns) continue;
    *best = {before + (after - before) / 2, static_cast<int64_t>(cupti), error};
  }
  return CUPTI_SUCCESS;
}

}  // namespace crosscut::cupti
