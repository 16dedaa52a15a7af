// record.

#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/nearest.h"
#include "src/cli/command_start.h"
#include "src/cli/commands.h"
#include "src/cli/values.h"
#include "src/verbs/record.h"
#include "src/verbs/recording/record_process.h"

namespace crosscut::cli {
namespace {

int RunRecord(verbs::RecordOptions options) {
  if (options.command.empty()) {
    Talk("no command is given; type for example: crosscut record python train.py");
    return kUsage;
  }
  options.say = [](std::string_view line) { Talk(line); };
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

// The environment variable whose value is an option's default. None inside a recorded program: its
// settings there are those of the outer recording.
std::string Setting(const char* variable) {
  return getenv("CROSSCUT_RUN") == nullptr ? variable : "";
}

// What is recorded.
void AddWhat(CLI::App* verb, verbs::RecordOptions* options) {
  verb->add_option("--sources", options->sources,
                   "which sources of spans to record: names joined by commas; default all.\n"
                   "pytorch: operators and autograd. operations: data, forward, backward,\n"
                   "optimizer and the steps, without an edit; any list includes them.\n"
                   "opencl, cupti (NVIDIA): their calls, and kernels and copies on their devices.\n"
                   "none: only what the program marks (and Python: see --python)")
      ->check(Suggest({"none", "operations", "pytorch", "opencl", "cupti"}))
      ->envname(Setting("CROSSCUT_SOURCES"))
      ->option_text("LIST");
  verb->add_option(
          "--python", options->python,
          "how much of Python: off, boundary (where it calls native code), samples (default;\n"
          "also what every thread does, Python and native, sampled now and then) or\n"
          "calls (every Python function)")
      ->check(OneOf("level", {"off", "boundary", "samples", "calls"}))
      ->envname(Setting("CROSSCUT_PYTHON"))
      ->option_text("LEVEL");
  verb->add_option("--sample-rate", options->sample_rate,
                   "samples per second, 1 to 1000 (default 20; 100 with --python=samples)")
      ->check(WholeNumber(1, 1000))
      ->envname(Setting("CROSSCUT_SAMPLE_RATE"))
      ->option_text("HZ");
  verb->add_flag("--shapes", options->shapes,
                 "record what operators are called with: shapes, types, strides, scalars")
      ->envname(Setting("CROSSCUT_SHAPES"))
      ->option_text(" ");
  verb->add_flag("--allocations", options->allocations,
                 "record every allocation and free of PyTorch's tensors: tables memory,\n"
                 "memory_peak, memory_operators, memory_leaks")
      ->envname(Setting("CROSSCUT_ALLOCATIONS"))
      ->option_text(" ");
  verb->add_option("--wrap", options->wrap,
                   "record what Python calls in one more native module, or in a shared library\n"
                   "that it loads (libsim.so), as LAYER (simulator, native, data, comm, ...);\n"
                   "NAMES: only functions that this regular expression matches; may be repeated")
      ->option_text("MODULE:LAYER[:NAMES]")
      ->check(CLI::Validator(WrapProblem, ""))
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

// Devices.
void AddPlugins(CLI::App* verb, verbs::RecordOptions* options) {
  verb->add_option("--plugin", options->plugins,
                   "load a profiler plugin of a device (TensorFlow's C ABI), with settings for\n"
                   "it after commas: FILE.so,key=value; may be repeated. tensorflow-plugins:\n"
                   "those that are installed for TensorFlow")
      ->option_text("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  verb->add_flag("--probe-plugins", options->probe_plugins,
                 "try each plugin in a process of its own first, and leave out one that crashes,\n"
                 "hangs or fails there; the result is remembered until its file changes");
  verb->add_option("--device-type", options->device_type,
                   "only plugins of this device type; no plugin has cpu, gpu or tpu")
      ->option_text("T");
  verb->add_option("--device-tracer-level", options->device_tracer_level,
                   "0: no plugin is started (default 1)")
      ->check(WholeNumber(0, 3))
      ->option_text("N");
}

// Which steps, and when.
void AddWhen(CLI::App* verb, verbs::RecordOptions* options) {
  verb->add_option(
          "--plan", options->plan,
          "how much is recorded of each step. balanced (default): most at the boundary,\n"
          "some with operators, a few with everything. light: fewer of both. full (with\n"
          "--dormant the default): all except control steps with everything. Or shares in\n"
          "per cent of operators, everything, boundary, control: operators=10,everything=2\n"
          "(rest: boundary)")
      ->check(Suggest({"light", "balanced", "full"}))
      ->envname(Setting("CROSSCUT_PLAN"))
      ->option_text("PLAN");
  verb->add_option(
          "--budget", options->budget,
          "how much longer steps may take, in per cent: if the plan costs more, fewer are\n"
          "recorded; or off (default 2; off if a --plan is named)")
      ->envname(Setting("CROSSCUT_BUDGET"))
      ->option_text("PERCENT");
  verb->add_option("--control-steps", options->control_percent,
                   "share of steps that run with the probes off, to check the correction")
      ->check(CLI::Range(0.0, 50.0).description(""))
      ->envname(Setting("CROSSCUT_CONTROL_STEPS"))
      ->option_text("PERCENT");
  CLI::Option* dormant =
      verb->add_flag("--dormant", options->dormant,
                     "hook nothing until `crosscut start` asks for it, from outside");
  verb->add_option("--keep", options->keep_seconds,
                   "flight recorder: hold the newest TIME in memory, for `crosscut snapshot`")
      ->transform(Seconds(0.001, 1e6))
      ->envname(Setting("CROSSCUT_KEEP"))
      ->option_text("TIME");
  verb->add_option("--stop-after-steps", options->stop_after_steps,
                   "end the recording of a process after N of its steps; the command goes on")
      ->check(WholeNumber(1, uint64_t{1} << 60))
      ->option_text("N")
      ->excludes(dormant);
  verb->add_option("--stop-after-seconds", options->stop_after_seconds,
                   "end the recording so long from now, in all processes; the command goes on.\n"
                   "A plain number is seconds; units are ms, s, m, h, d, here and for --keep")
      ->transform(Seconds(0.001, 1e9))
      ->option_text("TIME")
      ->excludes(dormant);
}

}  // namespace

void AddRecord(CLI::App* app, Run* run, const CommandWords* words) {
  auto options = std::make_shared<verbs::RecordOptions>();
  CLI::App* verb = app->add_subcommand("record", "Run a command and record it");
  verb->add_option("COMMAND", options->command,
                   "what to run: the first word that is no option of record, and all behind it")
      ->option_text("...");
  verb->add_option("-o", options->run_dir,
                   "run directory to make; default crosscut-runs/PROGRAM-DATE-TIME-PID.\n"
                   "%p stands for the process id, %h for the host, %r for the rank, %j for the\n"
                   "batch job, %q{NAME} for an environment variable, %% for %")
      ->option_text("DIR");
  verb->add_option("--job", options->job,
                   "what the job is called of which this is a part, on this host or others: its\n"
                   "parts have control steps at once; default the batch job's id")
      ->option_text("ID");
  AddWhat(verb, options.get());
  AddPlugins(verb, options.get());
  AddWhen(verb, options.get());
  verb->add_option("--memory", options->memory_mib,
                   "cap on Crosscut's memory, per process; a plain number is MiB")
      ->transform(Mebibytes(1, 1 << 20))
      ->envname(Setting("CROSSCUT_MEMORY"))
      ->option_text("SIZE");
  verb->footer("-- may stand in front of the command. Crosscut exits as the command does.");
  verb->callback([=] {
    RefuseWrongSettings(verb);
    *run = [=] {
      options->command = words->command;
      return RunRecord(*options);
    };
  });
}

}  // namespace crosscut::cli
