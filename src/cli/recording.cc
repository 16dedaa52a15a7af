// record.

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/nearest.h"
#include "src/cli/commands.h"
#include "src/cli/values.h"
#include "src/verbs/record.h"
#include "src/verbs/recording/record_process.h"

namespace crosscut::cli {
namespace {

// Where nobody reads what the command has written there, it ends nevertheless, and so must we.
bool StandardErrorTakesText() {
  constexpr int kWaitMs = 2000;
  static bool takes = true;
  pollfd ready = {STDERR_FILENO, POLLOUT, 0};
  takes = takes && poll(&ready, 1, kWaitMs) == 1;
  return takes;
}

int RunRecord(verbs::RecordOptions options) {
  if (options.command.empty()) {
    Talk("no command is given; type for example: crosscut record python train.py");
    return kUsage;
  }
  options.say = [](std::string_view line) {
    if (StandardErrorTakesText()) Talk(line);
  };
  const auto outcome = verbs::Record(options);
  if (!outcome.ok()) {
    Talk(outcome.status().message());
    return kUsage;
  }
  verbs::EndAs(outcome->wait_status);
}

// Why --wrap cannot be carried out; "" where it can.
std::string WrapProblem(const std::string& text) {
  static const std::vector<std::string> kLayers = {"python", "framework", "runtime", "simulator",
                                                   "data",   "comm",      "native",  "idle"};
  const size_t colon = std::min(text.find(':'), text.size());
  if (colon == 0) return text + " names no module: it is MODULE:LAYER[:NAMES]";
  if (colon == text.size()) return "";
  const std::string layer = text.substr(colon + 1, text.find(':', colon + 1) - colon - 1);
  if (std::find(kLayers.begin(), kLayers.end(), layer) != kLayers.end()) return "";
  return text + ": " + base::UnknownName("layer", layer, kLayers);
}

// What is recorded.
std::vector<Argument> What(verbs::RecordOptions* options) {
  return {{"--sources LIST", &options->sources,
           "which sources of spans to record: names joined by commas; default all.\n"
           "pytorch: operators and autograd. operations: data, forward, backward,\n"
           "optimizer and the steps, without an edit; any list includes them.\n"
           "opencl, cupti (NVIDIA): their calls, and kernels and copies on their devices.\n"
           "none: only what the program marks (and Python: see --python)",
           Rules{.words = {"none", "operations", "pytorch", "opencl", "cupti"},
                 .environment = "CROSSCUT_SOURCES"}},
          {"--python LEVEL", &options->python,
           "how much of Python: off, boundary (where it calls native code), samples (default;\n"
           "also what every thread does, Python and native, sampled now and then) or\n"
           "calls (every Python function)",
           Rules{.words = {"off", "boundary", "samples", "calls"},
                 .only = "level",
                 .environment = "CROSSCUT_PYTHON"}},
          {"--sample-rate HZ", &options->sample_rate,
           "samples per second, 1 to 1000 (default 20; 100 with --python=samples)",
           Rules{.check = WholeNumber(1, 1000), .environment = "CROSSCUT_SAMPLE_RATE"}},
          {"--shapes", &options->shapes,
           "record what operators are called with: shapes, types, strides",
           Rules{.environment = "CROSSCUT_SHAPES"}},
          {"--scalars", &options->scalars,
           "the same, and the values of numbers among it: data of the program",
           Rules{.environment = "CROSSCUT_SCALARS"}},
          {"--allocations", &options->allocations,
           "record every allocation and free of PyTorch's tensors: tables memory,\n"
           "memory_peak, memory_operators, memory_leaks",
           Rules{.environment = "CROSSCUT_ALLOCATIONS"}},
          {"--wrap MODULE:LAYER[:NAMES]", &options->wrap,
           "record what Python calls in one more native module, or in a shared library\n"
           "that it loads (libsim.so), as LAYER (simulator, native, data, comm, ...);\n"
           "NAMES: only functions that this regular expression matches; may be repeated",
           Rules{.check = WrapProblem}}};
}

// Devices.
std::vector<Argument> Plugins(verbs::RecordOptions* options) {
  return {{"--plugin FILE", &options->plugins,
           "load a profiler plugin of a device (TensorFlow's C ABI), with settings for\n"
           "it after commas: FILE.so,key=value; may be repeated. tensorflow-plugins:\n"
           "those that are installed for TensorFlow"},
          {"--probe-plugins", &options->probe_plugins,
           "try three sessions of each plugin in a process of its own first, and leave out\n"
           "one that crashes, hangs or fails there (without it: one whose registration ends\n"
           "the process); the result is remembered until its file changes"},
          {"--device-type T", &options->device_type,
           "only plugins of this device type: gpu (CUDA among them), tpu, pluggable_device,\n"
           "cpu (none), or what a plugin calls itself"},
          {"--device-tracer-level N", &options->device_tracer_level,
           "0: no plugin is started (default 1)", Rules{.check = WholeNumber(0, 3)}}};
}

// Which steps, and when.
std::vector<Argument> When(verbs::RecordOptions* options) {
  return {{"--plan PLAN", &options->plan,
           "how much is recorded of each step. balanced (default): most at the boundary,\n"
           "some with operators, a few with everything. light: fewer of both. full (with\n"
           "--dormant the default): all except control steps with everything. Or shares in\n"
           "per cent of operators, everything, boundary, control: operators=10,everything=2\n"
           "(rest: boundary)",
           Rules{.words = {"light", "balanced", "full"}, .environment = "CROSSCUT_PLAN"}},
          {"--budget PERCENT", &options->budget,
           "how much longer steps may take, in per cent: if the plan costs more, fewer are\n"
           "recorded; or off (default 2; off if a --plan is named)",
           Rules{.environment = "CROSSCUT_BUDGET"}},
          {"--control-steps PERCENT", &options->control_percent,
           "share of steps that run with the probes off, to check the correction",
           Rules{.check = Percent(50), .environment = "CROSSCUT_CONTROL_STEPS"}},
          {"--dormant", &options->dormant,
           "hook nothing until `crosscut start` asks for it, from outside"},
          {"--keep TIME", &options->keep_seconds,
           "flight recorder: hold the newest TIME in memory, for `crosscut snapshot`",
           Rules{.check = Seconds(0.001, 1e6), .environment = "CROSSCUT_KEEP"}},
          {"--stop-after-steps N", &options->stop_after_steps,
           "end the recording of a process after N of its steps; the command goes on",
           Rules{.check = WholeNumber(1, uint64_t{1} << 60), .excludes = "--dormant"}},
          {"--stop-after-seconds TIME", &options->stop_after_seconds,
           "end the recording so long from now, in all processes; the command goes on.\n"
           "A plain number is seconds; units are ms, s, m, h, d, here and for --keep",
           Rules{.check = Seconds(0.001, 1e9), .excludes = "--dormant"}}};
}

}  // namespace

Verb RecordVerb() {
  const auto options = std::make_shared<verbs::RecordOptions>();
  Verb verb("record", "Record", "crosscut record python train.py", "Run a command and record it");
  verb.Take({
      {"COMMAND ...", &options->command,
       "what to run: the first word that is no option of record, and all behind it"},
      {"-o DIR", &options->run_dir,
       "run directory to make; default crosscut-runs/PROGRAM-DATE-TIME-PID.\n"
       "%p stands for the process id, %h for the host, %r for the rank, %j for the\n"
       "batch job, %q{NAME} for an environment variable, %% for %"},
      {"--job ID", &options->job,
       "what the job is called of which this is a part, on this host or others: its\n"
       "parts have control steps at once; default the batch job's id"},
  });
  verb.Take(What(options.get()));
  verb.Take(Plugins(options.get()));
  verb.Take(When(options.get()));
  verb.Take({
      {"--memory SIZE", &options->memory_mib,
       "cap on Crosscut's memory, per process; a plain number is MiB",
       Rules{.check = Mebibytes(1, 1 << 20), .environment = "CROSSCUT_MEMORY"}},
  });
  verb.notes = "-- may stand in front of the command. Crosscut exits as the command does.";
  verb.run = [=] { return RunRecord(*options); };
  return verb;
}

}  // namespace crosscut::cli
