// What the parts of faults_program share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "crosscut/crosscut.h"

namespace crosscut::faults {

extern uint32_t seq_name;

inline void Record(uint64_t thread, uint64_t number) {
  crosscut_counter(seq_name, static_cast<int64_t>(thread << 40 | number));
}

// False, with the reason on stderr, where no session could be had. DIR "-": no session is asked.
bool Start(const char* dir, size_t memory = 16 << 20);
bool Start(const crosscut_options& options);

// Lines of a file; a number out of /proc/self/status, by its key with the colon.
long CountIn(const char* path);
long StatusOf(const char* key);

// faults_program_limits.cc: bursts, caps, exec, memory; then SessionModes.
int MoreModes(const std::string& mode, char** arguments);
// faults_program_sessions.cc: the edges of sessions; then SignalModes.
int SessionModes(const std::string& mode, char** arguments);
// faults_program_signals.cc: marks at the wrong time; 97 where `mode` is none of them.
int SignalModes(const std::string& mode, char** arguments);

}  // namespace crosscut::faults
