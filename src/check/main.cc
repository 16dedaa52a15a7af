// crosscut-check-plugin: checks whether a library keeps the rules of the plugin ABI. `crosscut
// check-plugin` starts it.
#include <limits.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "src/base/descriptors.h"
#include "src/base/quantity.h"
#include "src/check/child.h"
#include "src/check/harness/options.h"
#include "src/check/output.h"
#include "src/check/schedule.h"

namespace crosscut::check {
namespace {

enum ExitCode { kGood = 0, kFinding = 1, kUsage = 2, kUnreadable = 3 };

struct Raw {
  std::vector<std::string> environment, no_device, only, skip;
};

bool Split(const std::vector<std::string>& words,
           std::vector<std::pair<std::string, std::string>>* out) {
  for (const std::string& word : words) {
    const size_t at = word.find('=');
    if (at == std::string::npos || at == 0) return false;
    out->emplace_back(word.substr(0, at), word.substr(at + 1));
  }
  return true;
}

// Takes a time with or without a unit, and leaves it as a number of seconds.
CLI::Validator Seconds() {
  const auto check = [](std::string& text) -> std::string {
    double seconds = 0;
    if (!base::ParseSeconds(text.c_str(), &seconds)) {
      return text + " is no time; write 10, 10s, 500ms, 2m, 1h or 1d";
    }
    char plain[40];
    snprintf(plain, sizeof plain, "%.15g", seconds);
    text = plain;
    return "";
  };
  return {check, ""};
}

void AddOptions(CLI::App* app, Raw* raw) {
  Options& o = options();
  app->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app->add_option("FILE", o.plugin, "the plugin, a shared library")->required()->option_text(" ");
  app->add_option("--level", o.level, "tests up to this one; 5, the default, is the bar")
      ->check(CLI::Range(1, 10).description(""))
      ->option_text("1..10");
  app->add_option("--seed", o.seed, "of all random choices")->option_text("N");
  app->add_flag("--json", o.json, "print JSON");
  app->add_flag("--probe", o.probe, "no tests: only whether three sessions go well");
  app->add_flag("--registers", o.registers,
                "with --probe: only whether the process outlives the registration");
  app->add_option("--work", o.work,
                  "a library with int crosscut_work(uint64_t pieces), which makes the device work")
      ->option_text("LIB.so");
  app->add_option("--python", o.python,
                  "the Python whose TensorFlow is loaded before the plugin; default: that of "
                  "python3, and only where the plugin needs it")
      ->option_text("PATH");
  const auto several = [app](const char* name, std::vector<std::string>* to, const char* text) {
    return app->add_option(name, *to, text)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->allow_extra_args(false);
  };
  several("--env", &raw->environment, "a variable for the plugin; may be repeated")
      ->option_text("NAME=VALUE");
  several("--no-device", &raw->no_device,
          "a variable that hides the device, for C3; may be repeated")
      ->option_text("NAME=VALUE");
  several("--only", &raw->only, "these tests alone, of any level, beside C1 and C2: --only C5,C9")
      ->delimiter(',')
      ->option_text("IDS");
  several("--skip", &raw->skip, "not these")->delimiter(',')->option_text("IDS");
  app->add_option("--cycles", o.cycles, "sessions in C5 and C9; default 10000")
      ->check(CLI::Range(20, 100'000'000).description(""))
      ->option_text("N");
  app->add_option("--events", o.events, "pieces of work in C10; default 10000000")
      ->option_text("N");
  app->add_option("--deadline", o.deadline, "after how long a call counts as hung; default 5s")
      ->transform(Seconds())
      ->check(CLI::Range(0.1, 3600.0).description(""))
      ->option_text("TIME");
  app->add_option("--budget", o.budget,
                  "how long a slow plugin's sessions are repeated, per test; default 20s")
      ->transform(Seconds())
      ->check(CLI::Range(0.1, 3600.0).description(""))
      ->option_text("TIME");
  app->add_option("--fuzz-seconds", o.fuzz_seconds, "of C18; default 10m")
      ->transform(Seconds())
      ->option_text("TIME");
  app->add_option("--soak-seconds", o.soak_seconds, "of C19; default 2h")
      ->transform(Seconds())
      ->option_text("TIME");
  app->add_option("--jobs", o.jobs, "tests at once, where they do not measure; default 2")
      ->check(CLI::Range(1, 256).description(""))
      ->option_text("N");
}

int Fail(int code, const std::string& text) {
  fprintf(stderr, "crosscut: %s\n", text.c_str());
  return code;
}

// Relative paths mean nothing in the folder that a test runs in.
bool MakeAbsolute(std::string* path) {
  if (path->empty()) return true;
  char full[PATH_MAX];
  if (realpath(path->c_str(), full) == nullptr || access(full, R_OK) != 0) return false;
  *path = full;
  return true;
}

int Finish(const Raw& raw) {
  Options& o = options();
  if (!Split(raw.environment, &o.environment) || !Split(raw.no_device, &o.no_device)) {
    return Fail(kUsage, "a variable is NAME=VALUE");
  }
  for (const char* hidden : {"CUDA_VISIBLE_DEVICES=", "HIP_VISIBLE_DEVICES=",
                             "ONEAPI_DEVICE_SELECTOR=!*:*", "CROSSCUT_PLUGIN_MOCK_DEVICES=0"}) {
    Split({hidden}, &o.no_device);
  }
  o.only.insert(raw.only.begin(), raw.only.end());
  o.skip.insert(raw.skip.begin(), raw.skip.end());
  for (const auto* names : {&o.only, &o.skip}) {
    for (const std::string& name : *names) {
      if (FindTest(name) == nullptr)
        return Fail(kUsage, "no test " + name + "; there are C1 to C19");
    }
  }
  for (std::string* path : {&o.plugin, &o.work}) {
    if (!MakeAbsolute(path)) return Fail(kUnreadable, *path + ": cannot be read");
  }
  return kGood;
}

// Writes to stdout. Returns the exit code: `code`, or that of an output that cannot be written.
int Print(const std::string& text, int code) {
  if (base::WriteAll(STDOUT_FILENO, text) || errno == EPIPE) return code;
  return Fail(kUnreadable, std::string("stdout: ") + strerror(errno));
}

int Main(int argc, char** argv) {
  CLI::App app{"Checks whether a plugin keeps the rules of the plugin ABI (docs/check-plugin.md)."};
  app.name("crosscut check-plugin");
  app.get_formatter()->column_width(34);
#if CLI11_VERSION_MAJOR > 2 || CLI11_VERSION_MINOR >= 5  // it has the name alone
  app.usage("Usage: crosscut check-plugin [OPTIONS] FILE");
#endif
  app.footer(
      "Ends with 0 where no test failed, 1 where one did, 2 for a wrong command line, 3 for\n"
      "a file that cannot be read.");
  Raw raw;
  AddOptions(&app, &raw);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return Fail(kUsage, std::string(error.what()) + "; see crosscut check-plugin --help");
  }
  if (const int code = Finish(raw); code != kGood) return code;
  if (!options().python.empty()) {
    const Status status = GiveTensorFlow();
    if (!status.ok()) return Fail(kUsage, std::string(status.message()));
  }
  if (options().probe) {
    const Result<std::string> trouble = Probe();
    if (!trouble.ok()) {
      return Print(std::string(trouble.status().message()) + "\n", kUnreadable);
    }
    return Print((trouble->empty() ? "good" : *trouble) + "\n",
                 trouble->empty() ? kGood : kFinding);
  }
  const auto results = RunTests();
  if (!results.ok()) return Fail(kUnreadable, std::string(results.status().message()));
  return Print(options().json ? AsJson(*results) : AsText(*results),
               AnyFailed(*results) ? kFinding : kGood);
}

}  // namespace
}  // namespace crosscut::check

int main(int argc, char** argv) {
  crosscut::base::HoldStandardDescriptors();
  if (argc == 3 && std::strcmp(argv[1], crosscut::check::kChild) == 0) {
    crosscut::check::RunAsChild(argv[2]);
  }
  try {
    return crosscut::check::Main(argc, argv);
  } catch (const std::exception& error) {
    fprintf(stderr, "crosscut: %s\n", error.what());
  }
  return crosscut::check::kUnreadable;
}
