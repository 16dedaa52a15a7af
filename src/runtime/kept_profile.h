// Profiles that sources collected by themselves: kept as bytes in the run directory, one file each,
// named by a fact in the log.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "src/runtime/settings.h"

namespace crosscut::record {

// When a collected profile began, and how right its times are.
struct ProfileTime {
  int64_t begin_realtime_ns, error_ns;
};

struct Profile {
  const char *source, *format;  // "xspace" is the one format
  const void* bytes;
  size_t size;
  ProfileTime time;
};

// As crosscut_collected(). Any thread, while a log takes facts. Returns CROSSCUT_OK or what Fail()
// said.
int KeepProfile(const Settings& settings, const char* process_key, const Profile& profile);

}  // namespace crosscut::record
