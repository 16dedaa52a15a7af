// The options of the verb `record`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace crosscut::verbs {

// As a plugin, it stands for every file in the program's site-packages/tensorflow-plugins.
inline constexpr std::string_view kTensorFlowPlugins = "tensorflow-plugins";

struct RecordOptions {
  std::vector<std::string> command;  // argv; [0] is looked up in PATH like a shell does
  std::string run_dir;               // a template (run_name.h); "": crosscut-runs/<program>-<date>-
                                     // <time>-<pid> under the cwd
  std::string sources;               // CROSSCUT_SOURCES: names joined by ','; "": the default
  std::string python;                // off, boundary, samples or calls; "": the default
  int sample_rate = 0;               // per second; 0: the default
  bool allocations = false;          // records those of tensors
  int64_t memory_mib = 0;            // cap per process; 0: the recorder's default
  double control_percent = -1;       // share of steps that are control steps; < 0: the default
  bool shapes = false;               // records operators' inputs: shapes, types and strides
  bool scalars = false;              // the same, with the values of scalars
  bool dormant = false;              // hooks nothing until the verb `start` asks
  double keep_seconds = 0;           // > 0: a flight recorder, for the verb `snapshot`
  // When recording ends although the command goes on; 0: with the command. Steps are those of each
  // process that counts them; seconds count from now, for all processes. Not with `dormant`.
  uint64_t stop_after_steps = 0;
  double stop_after_seconds = 0;
  // light, balanced, full or shares (src/format/step_shares.h); "": the default.
  std::string plan;
  // How much steps may cost more, in per cent, or off; "": 2 where no plan is named, else off.
  std::string budget;
  // What the job is called of which this is a part, perhaps one of many on other hosts; "": as the
  // batch scheduler calls it, else nothing. It is written to run.json.
  std::string job;
  // The seed of the step plan; 0: CROSSCUT_SEED, else made of the job, so that all its parts have
  // control steps at once, else chosen. It is written to run.json.
  uint64_t seed = 0;
  std::vector<std::string> wrap;  // MODULE:LAYER[:NAMES]: more boundaries to record
  // Files, each with settings behind commas, or kTensorFlowPlugins.
  std::vector<std::string> plugins;
  bool probe_plugins = false;   // tries sessions of plugins, too, in processes of their own
  std::string device_type;      // "": plugins of all types
  int device_tracer_level = 1;  // 0: no plugin is started
  // More variables for the command ("CROSSCUT_..."), for options that only a source knows.
  std::vector<std::pair<std::string, std::string>> environment;
  // Receives each line for the user, without a newline: ten at most. May be empty.
  std::function<void(std::string_view line)> say;
};

}  // namespace crosscut::verbs
