// start, stop and snapshot.
#include "src/verbs/control.h"

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

Verb Controlling(const std::shared_ptr<ControlOptions>& options, Action action, const char* name,
                 const char* example, const char* description) {
  options->action = action;
  Verb verb(name, "Record", example, description);
  verb.Take({
      {"target PID|RUN", &options->target, "a process id, or a run directory: all of its processes",
       Rules{.required = true}},
      {"--timeout TIME", &options->timeout,
       "how long to wait for processes that begin no step (default 30s)",
       Rules{.check = Seconds(0.1, 1e6)}},
  });
  verb.run = [=] { return RunControl(*options); };
  return verb;
}

std::vector<Argument> Steps(ControlOptions* options) {
  return {
      {"--at-step N", &options->at_step,
       "before this step begins, in every process; default: the\n"
       "first that all of them can still reach",
       Rules{.check = WholeNumber(1, uint64_t{1} << 62)}},
      {"--now", &options->at_once, "do not wait for a step", Rules{.excludes = "--at-step"}},
  };
}

}  // namespace

Verb StartVerb() {
  const auto options = std::make_shared<ControlOptions>();
  Verb verb = Controlling(options, Action::kStart, "start", "crosscut start RUN --steps 50",
                          "Record in processes that wait for it (record --dormant)");
  verb.Take(Steps(options.get()));
  verb.Take({
      {"--steps K", &options->steps, "end after K steps, and wait for that",
       Rules{.check = WholeNumber(1, uint64_t{1} << 40)}},
      {"--seconds TIME", &options->seconds, "end after that time, and wait for it: 10, 10s, 2m",
       Rules{.check = Seconds(0.001, 1e6), .excludes = "--steps"}},
  });
  verb.notes = "Without --steps and --seconds the window lasts until `crosscut stop`.";
  return verb;
}

Verb StopVerb() {
  const auto options = std::make_shared<ControlOptions>();
  Verb verb =
      Controlling(options, Action::kStop, "stop", "crosscut stop RUN", "End what start began");
  verb.Take(Steps(options.get()));
  return verb;
}

Verb SnapshotVerb() {
  return Controlling(std::make_shared<ControlOptions>(), Action::kSnapshot, "snapshot",
                     "crosscut snapshot RUN",
                     "Write what a flight recorder holds (record --keep TIME)");
}

}  // namespace crosscut::cli
