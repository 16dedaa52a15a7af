// CUPTI's clock beside the host's.
//
// CUPTI converts the device's times into a clock of the host: CLOCK_REALTIME, or whatever a
// registered function returns. Where it takes ours (CUDA 11.6) that clock is CLOCK_MONOTONIC;
// either way the two are read against each other and the readings go to the host.
#pragma once

#include <crosscut/plugin.h>

#include <cstdint>

#include "api.h"

namespace crosscut::cupti {

// Not thread-safe but for what is said.
class Clock {
 public:
  // Registers our clock with CUPTI where `own` and possible, and takes the first reading.
  CUptiResult Start(const crosscut_host* host, const Api* api, bool own);
  // The same again in a session that goes on: errors and jumps of before stay told.
  CUptiResult Restart(const crosscut_host* host, const Api* api, bool own);
  // One more reading. Tells by Jump() if the clock moved against the host's.
  CUptiResult Read();
  // From now on CUPTI gets the clock that it would have without us.
  void Stop();

  // Of the times in records, as the host knows clocks.
  uint32_t id() const { return ours_ ? uint32_t{CROSSCUT_CLOCK_MONOTONIC} : id_; }
  bool is_ours() const { return ours_; }  // CUPTI's times are CLOCK_MONOTONIC
  int64_t error_ns() const { return error_ns_; }
  // The largest change between two readings that no drift explains; 0 where there was none.
  int64_t jump_ns() const { return jump_ns_; }
  // A host time on CUPTI's clock, by the last reading.
  int64_t ToCupti(int64_t host_ns) const { return host_ns + offset_ns_; }
  int64_t ToHost(int64_t cupti_ns) const { return cupti_ns - offset_ns_; }

 private:
  struct Reading {
    int64_t host_ns, cupti_ns, error_ns;
  };
  CUptiResult Take(Reading* best) const;
  // With the error of CUPTI's conversion added to that of the reading.
  void Tell(const Reading& reading) const;

  const crosscut_host* host_ = nullptr;
  const Api* api_ = nullptr;
  uint32_t id_ = 0;
  bool ours_ = false;
  int64_t offset_ns_ = 0;  // CUPTI's clock less the host's
  int64_t last_host_ns_ = 0;
  int64_t error_ns_ = 0;
  int64_t jump_ns_ = 0;
};

}  // namespace crosscut::cupti
