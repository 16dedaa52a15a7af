#include "src/runtime/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>

#include "src/base/descriptors.h"
#include "src/base/quantity.h"
#include "src/collect/clock.h"
#include "src/format/setting_names.h"
#include "src/runtime/error.h"

namespace crosscut::record {
namespace {

constexpr size_t kDefaultMemoryMiB = 64;
constexpr size_t kLeastMemory = 2 << 20;
constexpr size_t kMostMemory = size_t{64} << 30;

uint64_t RandomNumber() {
  uint64_t number = 0;
  if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number) number = ClockNow();
  return number == 0 ? 1 : number;
}

// The run's description, cut at the buffer's end; the number of bytes read.
size_t ReadRunJson(const Settings& settings, char* text, size_t room) {
  const int fd = RunFolder(settings.run_dir, settings.run).Open("run.json", O_RDONLY);
  if (fd < 0) return 0;
  const ssize_t got = read(fd, text, room - 1);
  close(fd);
  const size_t n = got > 0 ? static_cast<size_t>(got) : 0;
  text[n] = '\0';
  return n;
}

// Where the value of a top-level-looking member begins, or null. run.json is ours: its keys do
// not appear inside values with a quote before and a colon behind them.
const char* MemberValue(const char* json, const char* key) {
  char quoted[64];
  snprintf(quoted, sizeof quoted, "\"%s\"", key);
  for (const char* at = strstr(json, quoted); at != nullptr; at = strstr(at + 1, quoted)) {
    const char* value = at + strlen(quoted);
    value += strspn(value, " \t\n");
    if (*value != ':') continue;
    return value + 1 + strspn(value + 1, " \t\n");
  }
  return nullptr;
}

// `chosen`: by the program itself or by nobody; what `crosscut record` names, it has looked at.
int MakeRunDirectory(bool chosen, Settings* settings) {
  char given[kPathBytes];
  memcpy(given, settings->run_dir, sizeof given);
  if (!chosen && ReadIdentity(given, &settings->run)) {
    if (RunFolder(given, settings->run).fd() >= 0) return CROSSCUT_OK;
    return Fail(CROSSCUT_EIO, "%.120s is not the run directory that crosscut record made", given);
  }
  struct stat info;
  if (mkdir(given, 0700) != 0) {
    if (errno != EEXIST) {
      return Fail(CROSSCUT_EIO, "cannot make the run directory %.120s: %s", given, strerror(errno));
    }
    if (chosen && stat(given, &info) == 0 && info.st_uid != geteuid()) {
      return Fail(CROSSCUT_EINVAL, "%.120s is another user's folder: name one of your own", given);
    }
  }
  if (realpath(given, settings->run_dir) == nullptr) {
    return Fail(CROSSCUT_EIO, "run directory %.120s: %s", given, strerror(errno));
  }
  return IdentifyRun(settings->run_dir, &settings->run);
}

void WriteRunJson(const Settings& settings) {
  const RunFolder run(settings.run_dir, settings.run);
  const int fd = run.Open("run.json", O_WRONLY | O_CREAT | O_EXCL);
  if (fd < 0) return;
  const base::NoSignal no_signal(SIGXFSZ);
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  char text[512];
  const int n =
      snprintf(text, sizeof text, "{\"format\":1,\"seed\":%llu,\"started_realtime_ns\":%lld}\n",
               static_cast<unsigned long long>(settings.seed),
               static_cast<long long>(now.tv_sec) * 1'000'000'000 + now.tv_nsec);
  const ssize_t written = write(fd, text, static_cast<size_t>(n));
  (void)written;
  close(fd);
}

template <class T>
T Option(const crosscut_options* options, T crosscut_options::*member, T otherwise) {
  if (options == nullptr) return otherwise;
  const auto offset =
      reinterpret_cast<const char*>(&(options->*member)) - reinterpret_cast<const char*>(options);
  if (options->struct_size < static_cast<size_t>(offset) + sizeof(T)) return otherwise;
  return options->*member;
}

// Numbers from `least` to `most`, and how they are written.
struct Numbers {
  double least, most;
  const char* unit;
  bool (*parse)(const char* text, double* number);
};

bool ParsePlain(const char* text, double* number) {
  const char* end = nullptr;
  *number = base::ReadNumber(text, &end);
  return end != text && *end == '\0';
}

// Takes the number that an environment variable holds; one that is not set or empty leaves
// *number. An error where it holds anything else.
int TakeNumber(const char* variable, const Numbers& numbers, double* number) {
  const char* text = secure_getenv(variable);
  if (text == nullptr || *text == '\0') return CROSSCUT_OK;
  double value = 0;
  if (!numbers.parse(text, &value) || !(value >= numbers.least && value <= numbers.most)) {
    return Fail(CROSSCUT_EINVAL, "%s is %.60s: not a number of %s from %.12g to %.12g", variable,
                text, numbers.unit, numbers.least, numbers.most);
  }
  *number = value;
  return CROSSCUT_OK;
}

int ChooseMemory(const crosscut_options* options, Settings* settings) {
  size_t bytes = Option(options, &crosscut_options::memory_bytes, size_t{0});
  if (bytes == 0) {
    double mib = kDefaultMemoryMiB;
    const int error =
        TakeNumber("CROSSCUT_MEMORY", {1, 1 << 20, "MiB", base::ParseMebibytes}, &mib);
    if (error != CROSSCUT_OK) return error;
    bytes = static_cast<size_t>(mib * (1 << 20));
  }
  if (bytes < kLeastMemory) bytes = kLeastMemory;
  if (bytes > kMostMemory) bytes = kMostMemory;
  settings->memory_bytes = bytes;
  return CROSSCUT_OK;
}

int ChooseKept(const crosscut_options* options, Settings* settings) {
  settings->flight_recorder =
      Option(options, &crosscut_options::policy, CROSSCUT_DROP_NEWEST) == CROSSCUT_FLIGHT_RECORDER;
  settings->keep_seconds = Option(options, &crosscut_options::keep_seconds, 0.0);
  if (settings->flight_recorder) return CROSSCUT_OK;
  double seconds = 0;
  const int error = TakeNumber("CROSSCUT_KEEP", {0, 1e6, "seconds", base::ParseSeconds}, &seconds);
  if (error != CROSSCUT_OK || seconds == 0) return error;
  settings->flight_recorder = true;
  settings->keep_seconds = seconds;
  return CROSSCUT_OK;
}

int ChooseSeed(const crosscut_options* options, Settings* settings) {
  settings->seed = Option(options, &crosscut_options::seed, uint64_t{0});
  const char* text = secure_getenv("CROSSCUT_SEED");
  if (settings->seed != 0 || text == nullptr || *text == '\0') return CROSSCUT_OK;
  char* end = nullptr;
  settings->seed = strtoull(text, &end, 0);
  if (*end == '\0') return CROSSCUT_OK;
  return Fail(CROSSCUT_EINVAL, "CROSSCUT_SEED is %.60s: not a whole number", text);
}

// Which sources there are and what of Python is recorded is up to those who bring them in; whether
// the environment names them right is said here, where a session begins.
int CheckNames() {
  using Check = std::string (*)(std::string_view);
  constexpr std::pair<const char*, Check> kChecked[] = {
      {"CROSSCUT_SOURCES", format::ProblemOfSources}, {"CROSSCUT_PYTHON", format::ProblemOfPython}};
  for (const auto& [variable, check] : kChecked) {
    const char* text = secure_getenv(variable);
    const std::string problem = text == nullptr ? "" : check(text);
    if (!problem.empty()) return Fail(CROSSCUT_EINVAL, "%s: %.280s", variable, problem.c_str());
  }
  return CROSSCUT_OK;
}

const char* TextOr(const char* text, const char* variable, const char* otherwise) {
  if (text == nullptr || *text == '\0') text = secure_getenv(variable);
  return text != nullptr && *text != '\0' ? text : otherwise;
}

// Who named a plan, or wants no control steps, has them as they are unless a budget is named, too.
int ChooseBudget(const crosscut_options* options, bool usual, Settings* settings) {
  double percent = Option(options, &crosscut_options::budget_percent, 0.0);
  const char* text = percent == 0 ? TextOr(nullptr, "CROSSCUT_BUDGET", nullptr) : nullptr;
  if (text != nullptr && !format::ParseBudget(text, &percent)) {
    return Fail(CROSSCUT_EINVAL, "budget %.60s: neither a share in per cent nor off", text);
  }
  if (percent == 0 && usual) percent = kBudgetOfRuns;
  settings->budget = percent > 0 ? percent / 100 : 0;
  return CROSSCUT_OK;
}

int ChoosePlan(const crosscut_options* options, const char* otherwise, Settings* settings) {
  double percent = Option(options, &crosscut_options::control_percent, -1.0);
  if (percent < 0) {
    const int error =
        TakeNumber("CROSSCUT_CONTROL_STEPS", {0, 50, "per cent", ParsePlain}, &percent);
    if (error != CROSSCUT_OK) return error;
  }
  if (!(percent >= 0 && percent <= 100)) percent = -1;
  const char* asked =
      TextOr(Option(options, &crosscut_options::plan, static_cast<const char*>(nullptr)),
             "CROSSCUT_PLAN", nullptr);
  const char* plan = asked != nullptr ? asked : otherwise;
  const bool usual = strcmp(otherwise, kPlanOfRuns) == 0;
  char why[240];
  if (format::ParseStepShares(plan, percent, &settings->shares, why, sizeof why)) {
    return ChooseBudget(options, asked == nullptr && usual && percent != 0, settings);
  }
  return Fail(CROSSCUT_EINVAL, "step plan %.60s: %s", plan, why);
}

}  // namespace

int FillSettings(const crosscut_options* options, const char* plan, Settings* settings) {
  const char* dir = Option(options, &crosscut_options::run_dir, static_cast<const char*>(nullptr));
  const char* recorded = secure_getenv("CROSSCUT_RUN");
  const bool chosen = (dir != nullptr && *dir != '\0') || recorded == nullptr;
  if (dir == nullptr || *dir == '\0') dir = recorded;
  int n = 0;
  if (dir != nullptr && *dir != '\0') {
    n = snprintf(settings->run_dir, kPathBytes, "%s", dir);
  } else {
    n = snprintf(settings->run_dir, kPathBytes, "./crosscut-%d", static_cast<int>(getpid()));
  }
  if (n < 0 || static_cast<size_t>(n) >= kPathBytes - 512) {
    return Fail(CROSSCUT_EINVAL, "the run directory's path is too long");
  }
  int error = CheckNames();
  if (error == CROSSCUT_OK) error = ChooseMemory(options, settings);
  if (error == CROSSCUT_OK) error = ChoosePlan(options, plan, settings);
  if (error == CROSSCUT_OK) error = ChooseKept(options, settings);
  if (error == CROSSCUT_OK) error = ChooseSeed(options, settings);
  if (error == CROSSCUT_OK) error = MakeRunDirectory(chosen, settings);
  if (error != CROSSCUT_OK) return error;
  char json[4096];
  if (ReadRunJson(*settings, json, sizeof json) == 0) {
    if (settings->seed == 0) settings->seed = RandomNumber();
    WriteRunJson(*settings);
    (void)ReadRunJson(*settings, json, sizeof json);  // another process may have been first
  }
  const char* value = MemberValue(json, "seed");
  if (settings->seed == 0 && value != nullptr) settings->seed = strtoull(value, nullptr, 10);
  if (settings->seed == 0) settings->seed = RandomNumber();
  return CROSSCUT_OK;
}

void RingDirectory(const Settings& settings, char (&dir)[kPathBytes]) {
  char json[4096];
  dir[0] = '\0';
  if (ReadRunJson(settings, json, sizeof json) != 0) {
    const char* value = MemberValue(json, "ring_dir");
    const char* end = value != nullptr && *value == '"' ? strchr(value + 1, '"') : nullptr;
    if (end != nullptr && end > value + 1 && memchr(value, '\\', end - value) == nullptr) {
      snprintf(dir, kPathBytes, "%.*s", static_cast<int>(end - value - 1), value + 1);
    }
  }
  if (dir[0] == '\0') snprintf(dir, kPathBytes, "/dev/shm");
  if (access(dir, W_OK | X_OK) != 0) dir[0] = '\0';
}

}  // namespace crosscut::record
