// Reads the few members of a run's description, run.json, that the recording half needs.
#pragma once

#include <cstdint>
#include <string>

namespace crosscut::format {

// The value of a top-level string member of a JSON object; "" if absent or malformed.
std::string JsonStringMember(const std::string& json, const std::string& key);
// The same for an integer; 0 if absent or malformed.
int64_t JsonIntegerMember(const std::string& json, const std::string& key);

// Why what has this format, above kFormatVersion, cannot be read, and what to do.
std::string NewerFormat(int64_t format);
// The same of a run with this run.json; "" where it can be read.
std::string ProblemOfRun(const std::string& run_json);

}  // namespace crosscut::format
