// start, stop and snapshot.
#include "src/verbs/control.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>

#include "src/base/shell_word.h"
#include "src/base/shown_text.h"
#include "src/cli/commands.h"
#include "src/cli/values.h"

namespace crosscut::cli {
namespace {

using verbs::ControlledProcess;
using verbs::ControlOptions;
using Action = ControlOptions::Action;

std::string Describe(Action action, const ControlledProcess& process) {
  std::string line = base::ShownText(process.title) + ": ";
  if (!process.followed) return line + "did not follow the request: " + process.words + "\n";
  if (!process.words.empty()) return line + process.words + "\n";
  if (action == Action::kSnapshot) return line + "written\n";
  line += "window " + std::to_string(process.window);
  if (!process.ended) {
    line += " has begun";
    if (process.counts_steps) line += " at step " + std::to_string(process.first_step);
  } else if (process.counts_steps) {
    line += ", steps " + std::to_string(process.first_step) + " to " +
            std::to_string(std::max(process.end_step, process.first_step + 1) - 1) +
            ", is complete";
  } else {
    line += " is complete";
  }
  return line + "\n";
}

int RunControl(const ControlOptions& options) {
  const auto outcome = verbs::Control(options);
  if (!outcome.ok()) return Fail(outcome.status());
  std::string text;
  bool all = true;
  for (const ControlledProcess& process : outcome->processes) {
    text += Describe(options.action, process);
    all = all && process.followed;
  }
  const bool readable =
      options.action != Action::kStart || options.steps > 0 || options.seconds > 0;
  if (readable && !outcome->run_dir.empty()) {
    Talk("next: crosscut report " + base::ShellWord(outcome->run_dir));
  }
  const int printed = Print(text, false);
  return printed != kGood ? printed : all ? kGood : kFinding;
}

CLI::App* Add(CLI::App* app, Run* run, const std::shared_ptr<ControlOptions>& options,
              const char* name, const char* description) {
  CLI::App* verb = app->add_subcommand(name, description);
  verb->add_option("target", options->target,
                   "a process id, or a run directory: all of its processes")
      ->required()
      ->option_text("PID|RUN");
  verb->add_option("--timeout", options->timeout,
                   "how long to wait for processes that begin no step (default 30s)")
      ->transform(Seconds(0.1, 1e6))
      ->option_text("TIME");
  verb->callback([=] { *run = [=] { return RunControl(*options); }; });
  return verb;
}

void AddSteps(CLI::App* verb, const std::shared_ptr<ControlOptions>& options) {
  auto* at_step = verb->add_option("--at-step", options->at_step,
                                   "before this step begins, in every process; default: the\n"
                                   "first that all of them can still reach")
                      ->check(WholeNumber(1, uint64_t{1} << 62))
                      ->option_text("N");
  verb->add_flag("--now", options->at_once, "do not wait for a step")->excludes(at_step);
}

}  // namespace

void AddControl(CLI::App* app, Run* run) {
  auto options = std::make_shared<ControlOptions>();
  options->action = Action::kStart;
  CLI::App* start =
      Add(app, run, options, "start", "Record in processes that wait for it (record --dormant)");
  AddSteps(start, options);
  auto* steps = start->add_option("--steps", options->steps, "end after K steps, and wait for that")
                    ->check(WholeNumber(1, uint64_t{1} << 40))
                    ->option_text("K");
  start
      ->add_option("--seconds", options->seconds,
                   "end after that time, and wait for it: 10, 10s, 2m")
      ->transform(Seconds(0.001, 1e6))
      ->option_text("TIME")
      ->excludes(steps);
  start->footer("Without --steps and --seconds the window lasts until `crosscut stop`.");

  options = std::make_shared<ControlOptions>();
  options->action = Action::kStop;
  AddSteps(Add(app, run, options, "stop", "End what start began"), options);

  options = std::make_shared<ControlOptions>();
  options->action = Action::kSnapshot;
  Add(app, run, options, "snapshot", "Write what a flight recorder holds (record --keep TIME)");
}

}  // namespace crosscut::cli
