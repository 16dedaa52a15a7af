#include "src/verbs/record.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <random>
#include <system_error>
#include <thread>

#include "src/base/descriptors.h"
#include "src/base/file.h"
#include "src/base/json_text.h"
#include "src/base/limits.h"
#include "src/base/lists.h"
#include "src/base/nearest.h"
#include "src/base/process.h"
#include "src/base/shell_word.h"
#include "src/base/time.h"
#include "src/format/notes.h"
#include "src/format/reap.h"
#include "src/format/setting_names.h"
#include "src/format/step_shares.h"
#include "src/verbs/check_plugin.h"
#include "src/verbs/probe_plugins.h"
#include "src/verbs/recording/machine.h"
#include "src/verbs/recording/program_name.h"
#include "src/verbs/recording/record_environment.h"
#include "src/verbs/recording/record_process.h"
#include "src/verbs/recording/ring_guard.h"
#include "src/verbs/recording/ring_watch.h"
#include "src/verbs/recording/run_name.h"
#include "src/verbs/recording/start_problem.h"

extern char** environ;

namespace crosscut::verbs {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxLines = 10;
constexpr int kLockWaitMs = 10'000;  // for another reader of the run, which the job waits for
constexpr int kStrayWaitMs[] = {5, 15, 30, 50};  // at most 100 ms for children that still end

// Keeps the promise of at most kMaxLines.
class Talk {
 public:
  explicit Talk(const std::function<void(std::string_view)>& say) : say_(say) {}
  void operator()(const std::string& line) {
    if (say_ && ++lines_ <= kMaxLines) say_(line);
  }

 private:
  const std::function<void(std::string_view)>& say_;
  int lines_ = 0;
};

std::string WithoutPy(const std::string& script) {
  return script.ends_with(".py") ? script.substr(0, script.size() - 3) : script;
}

std::string SafeFileName(std::string text) {
  for (char& c : text) {
    const bool plain = isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
    if (!plain) c = '_';
  }
  while (text.starts_with(".") || text.starts_with("-")) text.erase(0, 1);
  return text.empty() ? "run" : text.substr(0, 64);
}

std::string DefaultRunDir(const std::vector<std::string>& command) {
  const time_t now = time(nullptr);
  struct tm local;
  localtime_r(&now, &local);
  char date[32];
  strftime(date, sizeof date, "%Y%m%d-%H%M%S", &local);
  return "crosscut-runs/" + SafeFileName(WithoutPy(ProgramName(command))) + "-" + date + "-" +
         std::to_string(getpid());
}

// Whatever the umask, nobody else may put another folder in a run's place.
Status MakeFolders(const std::string& path) {
  for (size_t at = path.find('/', 1);; at = path.find('/', at + 1)) {
    const std::string part = path.substr(0, at);
    const mode_t mode = at == std::string::npos ? 0700 : 0755;
    if (mkdir(part.c_str(), mode) != 0 && errno != EEXIST) {
      return Status::Io("cannot make the folder " + part + ": " + strerror(errno));
    }
    if (at == std::string::npos) return {};
  }
}

// Also of one that cannot be read.
bool IsEmpty(const std::string& path) {
  std::error_code error;
  return fs::directory_iterator(path, error) == fs::directory_iterator();
}

// Held while a run is recorded, by its folder; the kernel gives it back however we end.
class RunLock {
 public:
  RunLock() = default;
  ~RunLock() {
    if (fd_ >= 0) close(fd_);
  }
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

  // False where another command has it. A file system without locks has none to take.
  bool Take(const std::string& dir) {
    fd_ = open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    return fd_ < 0 || flock(fd_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
  }
  int fd() const { return fd_; }

 private:
  int fd_ = -1;
};

Status CheckIsNotInUse(const std::string& dir, const struct stat& facts) {
  if (!S_ISDIR(facts.st_mode)) return Status::Invalid(dir + " is not a folder");
  if (facts.st_uid != geteuid()) {
    return Status::Invalid(dir + " is another user's folder: name one of your own (-o)");
  }
  if (!RunLock().Take(dir)) {
    return Status::Invalid(dir + " is being recorded right now: name another folder (-o)");
  }
  return {};
}

// An earlier run of that name steps aside to the first free "<dir>.<n>".
Status MoveAside(const std::string& dir, Talk& talk) {
  for (int n = 1; n < 10000; ++n) {
    const std::string other = dir + "." + std::to_string(n);
    if (access(other.c_str(), F_OK) == 0) continue;
    if (rename(dir.c_str(), other.c_str()) != 0) {
      return Status::Io("cannot rename the earlier run " + dir + ": " + strerror(errno));
    }
    talk("the earlier run is now " + other);
    return {};
  }
  return Status::Limit(dir + " and 9999 earlier runs exist: name another folder (-o)");
}

// `option`, or the variable where it is what holds the value.
std::string Origin(const char* option, const char* variable, const std::string& value) {
  const char* held = getenv(variable);
  return held != nullptr && held == value ? variable : option;
}

Status CheckNames(const RecordOptions& options) {
  std::string problem = format::ProblemOfSources(options.sources);
  if (!problem.empty()) {
    return Status::Invalid(problem).At(Origin("--sources", "CROSSCUT_SOURCES", options.sources));
  }
  problem = format::ProblemOfPython(options.python);
  if (problem.empty()) return {};
  return Status::Invalid(problem).At(Origin("--python", "CROSSCUT_PYTHON", options.python));
}

Status CheckPlan(const RecordOptions& options) {
  double budget = 0;
  if (!options.budget.empty() && !format::ParseBudget(options.budget.c_str(), &budget)) {
    return Status::Invalid("--budget: \"" + options.budget +
                           "\" is neither a share in per cent, like 2, nor off");
  }
  if (options.plan.empty()) return {};
  format::StepShares shares;
  char why[240];
  if (format::ParseStepShares(options.plan.c_str(), options.control_percent, &shares, why,
                              sizeof why)) {
    return {};
  }
  return Status::Invalid("--plan: " + std::string(why));
}

// Where a link leads, so that what is made and moved lies there and the link stays. A stranger's
// link, as one may lie in /tmp, is not followed.
std::string BehindLinks(std::string path) {
  struct stat link;
  for (int links = 0; links < 40; ++links) {
    if (lstat(path.c_str(), &link) != 0 || (link.st_uid != geteuid() && link.st_uid != 0)) break;
    std::error_code error;
    const std::string found = fs::read_symlink(path, error);
    if (error || found.empty()) break;
    path = found[0] == '/' ? found : path.substr(0, path.rfind('/') + 1) + found;
  }
  return path;
}

// FNV-1a; never 0.
uint64_t SeedOf(const std::string& job) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char letter : job) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3u;
  }
  return hash == 0 ? 1 : hash;
}

// From the environment, where no option names one.
Status TakeSeed(RecordOptions* options) {
  const char* seed = getenv("CROSSCUT_SEED");
  if (options->seed != 0 || seed == nullptr || *seed == '\0') return {};
  char* end = nullptr;
  options->seed = strtoull(seed, &end, 0);
  if (*end == '\0') return {};
  return Status::Invalid("CROSSCUT_SEED is " + std::string(seed) + ": not a whole number");
}

Result<std::string> MakeRunDir(const RecordOptions& options, Talk& talk) {
  std::string dir = DefaultRunDir(options.command);
  if (!options.run_dir.empty()) {
    Result<std::string> named = ExpandRunName(options.run_dir);
    if (!named.ok()) return named.status();
    dir = *named;
  }
  while (dir.size() > 1 && dir.ends_with("/")) dir.pop_back();
  dir = BehindLinks(dir);
  struct stat facts;
  if (lstat(dir.c_str(), &facts) == 0) {
    if (const Status free = CheckIsNotInUse(dir, facts); !free.ok()) return free;
    if (!IsEmpty(dir)) {
      if (access((dir + "/run.json").c_str(), F_OK) != 0) {
        return Status::Invalid(dir + " is not empty and holds no run: name another folder");
      }
      if (const Status moved = MoveAside(dir, talk); !moved.ok()) return moved;
    }
  }
  if (const Status made = MakeFolders(dir); !made.ok()) return made;
  std::error_code error;
  const fs::path absolute = fs::canonical(dir, error);
  if (error) return Status::Io(dir + ": " + error.message());
  return absolute.string();
}

constexpr rlim_t kSmallestRun = 64 << 10;  // bytes of a file; below, not even run.json is sure

// Writes a file of that name, which must not be there, in the folder; 0, or why not: an errno.
int WriteNew(int folder, const char* name, const std::string& text) {
  const base::NoSignal no_signal(SIGXFSZ);
  const int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return errno;
  const ssize_t written = write(fd, text.data(), text.size());
  const int error = written < 0 ? errno : ENOSPC;
  close(fd);
  return written == static_cast<ssize_t>(text.size()) ? 0 : error;
}

Status WriteRunJson(const RecordOptions& options, int folder) {
  const std::string text =
      "{\"format\": 1,\n \"seed\": " + std::to_string(options.seed) +
      (options.job.empty() ? "" : ",\n \"job\": " + base::JsonText(options.job)) +
      ",\n \"started_realtime_ns\": " + std::to_string(base::RealtimeNs()) +
      ",\n \"machine\": " + base::JsonText(DescribeMachine()) + ",\n \"command\": [" +
      base::Joined(options.command, ", ", base::JsonText) + "]}\n";
  const int error = WriteNew(folder, "run.json", text);
  return error == 0 ? Status() : Status::Io(options.run_dir + "/run.json: " + strerror(error));
}

// By which processes know the run directory again (src/runtime/run_folder.cc). Path last.
std::string RunId(const std::string& dir, int folder) {
  struct stat info;
  if (fstat(folder, &info) != 0) return "";
  char numbers[96];
  snprintf(numbers, sizeof numbers,
           "%llx:%llx:%llx:%llx:", static_cast<unsigned long long>(base::ThisProcess().boot),
           static_cast<unsigned long long>(info.st_dev),
           static_cast<unsigned long long>(info.st_ino),
           static_cast<unsigned long long>(base::MadeNs(folder)));
  return numbers + dir;
}

bool FilesMayHaveNothing() {
  struct rlimit limit;
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < kSmallestRun;
}

std::string SearchPath() {
  const char* path = getenv("PATH");
  return path != nullptr ? path : "/bin:/usr/bin";
}

void SayNotes(const std::string& dir, Talk& talk) {
  const std::vector<std::string> notes = format::ReadNotes(dir);
  constexpr size_t kMost = 3;
  for (size_t i = 0; i < std::min(notes.size(), kMost); ++i) talk(notes[i]);
  if (notes.size() > kMost) {
    talk(std::to_string(notes.size() - kMost) + " more such notes are in " + dir);
  }
}

int64_t CountLogs(const std::string& dir) {
  const auto names = base::NamesIn(dir);
  return !names.ok() ? 0 : std::count_if(names->begin(), names->end(), [](const auto& name) {
    return name.ends_with(".crosscut");
  });
}

// Takes what the ended processes left, and gives children that are just ending a moment.
void Reap(const std::string& dir, Talk& talk) {
  int64_t alive = 0;
  for (int wait : kStrayWaitMs) {
    Result<format::ReapReport> report = format::ReapRun(dir, kLockWaitMs);
    if (!report.ok()) {
      talk("the rings of ended processes could not be emptied (" +
           std::string(report.status().message()) + "); reading the run will do it");
      return;
    }
    alive = 0;
    for (const format::ReapReport::Process& process : report->processes) {
      if (process.alive) ++alive;
      if (!process.problem.empty()) talk(process.key + ": " + process.problem);
    }
    if (alive == 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(wait));
  }
  talk(std::to_string(alive) + " process(es) of the run are still alive and go on recording");
}

// Why a plugin cannot be loaded from `file`; "" where it may.
std::string ProblemOfPlugin(const PackageLayout& package, const std::string& file) {
  if (file.find(':') != std::string::npos) {
    return file + ": plugins are listed with ':' between them, so no path may have one";
  }
  if (access(file.c_str(), R_OK) == 0) return "";
  const std::string problem = file + ": " + strerror(errno);
  if (errno != ENOENT) return problem;
  if (file == BaseName(package.cupti)) {
    return file + ": this Crosscut was built without it, where CUPTI's headers were missing";
  }
  std::vector<std::string> known = {std::string(kTensorFlowPlugins)};
  for (const std::string& own : {package.cupti, package.opencl}) {
    if (!OwnPlugin(package, BaseName(own)).empty()) known.push_back(BaseName(own));
  }
  const std::string near = base::DidYouMean(file, known);
  return problem + (near.empty() ? base::DidYouMeanFile(file) : near);
}

// Names without a folder may be those of our own plugins.
Status FindPlugins(const PackageLayout& package, std::vector<std::string>* plugins) {
  for (std::string& plugin : *plugins) {
    if (plugin == kTensorFlowPlugins) continue;
    std::string file = plugin.substr(0, plugin.find(','));
    const std::string own = OwnPlugin(package, file);
    if (!own.empty() && access(file.c_str(), R_OK) != 0) {
      plugin.replace(0, file.size(), own);
      file = own;
    }
    const std::string problem = ProblemOfPlugin(package, file);
    if (!problem.empty()) return Status::Invalid("--plugin: " + problem);
  }
  return Status();
}

// Our own plugins are not tried: they came with this program.
void LeaveOutBadPlugins(const Probe& probe, const PackageLayout& package,
                        std::vector<std::string>* variables, Talk& talk) {
  constexpr std::string_view kName = "CROSSCUT_PLUGINS=";
  for (std::string& variable : *variables) {
    if (!variable.starts_with(kName)) continue;
    const std::string list = variable.substr(kName.size());
    if (list.empty()) return;
    std::vector<std::string> ours, others;
    for (const std::string_view plugin : base::Split(list, ':')) {
      const bool own = plugin == package.opencl || plugin == package.cupti;
      (own ? ours : others).emplace_back(plugin);
    }
    if (others.empty()) return;
    ProbedPlugins probed = ProbePlugins(others, probe);
    for (const std::string& sentence : probed.sentences) talk(sentence);
    probed.good.insert(probed.good.end(), ours.begin(), ours.end());
    variable = std::string(kName) + base::Joined(probed.good, ":");
  }
}

void SayResult(const RecordOptions& options, const std::string& obstacle, Talk& talk) {
  SayNotes(options.run_dir, talk);
  const int64_t logs = CountLogs(options.run_dir);
  if (logs > 0) {
    talk(std::to_string(logs) + (logs == 1 ? " process" : " processes") + " recorded in " +
         options.run_dir + "; next: crosscut report " + base::ShellWord(options.run_dir));
  } else if (options.dormant) {
    talk("nothing was recorded: nobody asked for it (crosscut start)");
  } else if (obstacle.empty()) {
    talk("nothing was recorded: Crosscut got into none of the command's processes (run directory " +
         options.run_dir + ")");
  }
}

// A run that nothing was recorded into. What else may be there stays.
void RemoveEmptyRun(const std::string& dir, int folder) {
  unlinkat(folder, "run.json", 0);
  rmdir(dir.c_str());
}

// A note is a sentence for whoever reads the run, and for `record`'s last lines where these are
// said behind it. This one: how the command ended, where it did not end well.
void NoteEnd(int wait_status, int folder) {
  std::string how;
  if (WIFSIGNALED(wait_status)) {
    const int number = WTERMSIG(wait_status);
    how = "was ended by signal " + std::to_string(number) + " (" + strsignal(number) + ")";
  } else if (WEXITSTATUS(wait_status) != 0) {
    how = "ended with exit status " + std::to_string(WEXITSTATUS(wait_status));
  }
  if (!how.empty()) (void)WriteNew(folder, format::kEndNote, "the command " + how + "\n");
}

// When the command has ended. `folder`: its run directory, which may have been moved or removed.
void Finish(const CommandEnd& end, const std::string& obstacle, int folder, RecordOptions* options,
            Talk& talk) {
  if (end.exec_errno != 0) {
    RemoveEmptyRun(options->run_dir, folder);
    return talk(StartProblem(options->command, end.exec_errno, SearchPath()));
  }
  if (RemoveRingsOfRemovedRun(folder)) {
    return talk("nothing is left of the recording: " + options->run_dir +
                " was removed in the meantime");
  }
  const std::string place = PlaceOfRun(options->run_dir, folder);
  if (place != options->run_dir) {
    (void)WriteNew(folder, "note-moved.txt",
                   options->run_dir + " was moved while it was recorded: processes that began " +
                       "later are not in the recording\n");
  }
  options->run_dir = place;
  Reap(options->run_dir, talk);
  SayResult(*options, obstacle, talk);
  NoteEnd(end.wait_status, folder);
}

// Once the command runs, its status is the one to end with, whatever becomes of us.
void WithoutHarm(const std::function<void()>& action, Talk& talk) {
  try {
    action();
  } catch (const std::exception& error) {
    talk(std::string("the recording is not finished: ") + error.what());
  }
}

// `folder`: the run directory, open and locked.
Result<RecordOutcome> RunRecorded(RecordOptions& options, const std::vector<std::string>& variables,
                                  const std::string& obstacle, int folder, Talk& talk) {
  RingWatch rings(options.run_dir, folder);
  RingGuard guard;
  Result<CommandEnd> end = RunCommand(
      options.command, variables,
      [&] {
        guard.Renew();
        // Whoever holds the lock must not hold up signals that are for the command.
        WithoutHarm([&] { rings.Look(/*wait_ms=*/0); }, talk);
      },
      [&](pid_t command) { guard.Begin(options.run_dir, folder, command); });
  if (!end.ok()) return end.status();
  WithoutHarm([&] { Finish(*end, obstacle, folder, &options, talk); }, talk);
  return RecordOutcome{options.run_dir, end->wait_status};
}

RecordOutcome RunUnrecorded(const std::vector<std::string>& command,
                            const std::vector<std::string>& variables, Talk& talk) {
  const CommandEnd end = BecomeCommand(command, variables);
  talk(StartProblem(command, end.exec_errno, SearchPath()));
  return {"", end.wait_status};
}

}  // namespace

Result<RecordOutcome> Record(const RecordOptions& given) {
  if (given.command.empty()) return Status::Invalid("no command to record");
  const std::string self = ThisProgram();
  const PackageLayout package = FindPackage(self);
  RecordOptions options = given;
  if (const Status found = FindPlugins(package, &options.plugins); !found.ok()) return found;
  if (const Status names = CheckNames(given); !names.ok()) return names;
  if (const Status plan = CheckPlan(given); !plan.ok()) return plan;
  std::erase(options.sources, ' ');
  Talk talk(given.say);
  const std::string folders = SearchPath();
  if (const int error = StartError(options.command[0], folders); error != 0) {
    talk(StartProblem(options.command, error, folders));
    return RecordOutcome{"", StatusWhereNotStarted(error)};
  }
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) variables.push_back(*variable);
  char tight[64];
  if (!base::LimitsLeaveRoom(tight, sizeof tight)) {
    talk(std::string("nothing is recorded: the limit of ") + tight + " leaves no room for it");
    return RunUnrecorded(options.command, variables, talk);
  }
  if (const Status seed = TakeSeed(&options); !seed.ok()) return seed;
  Result<std::string> dir = MakeRunDir(options, talk);
  if (!dir.ok()) return dir.status();
  options.run_dir = *dir;
  RunLock lock;
  if (!lock.Take(options.run_dir)) {
    return Status::Invalid(options.run_dir + " is being recorded right now: name another folder");
  }
  if (lock.fd() < 0) return Status::Io(options.run_dir + ": " + strerror(errno));
  if (options.job.empty()) options.job = BatchJob();
  if (options.seed == 0 && !options.job.empty()) options.seed = SeedOf(options.job);
  if (options.seed == 0) options.seed = std::random_device()() + uint64_t{1};
  if (const Status written = WriteRunJson(options, lock.fd()); !written.ok()) {
    if (!FilesMayHaveNothing()) return written;
    RemoveEmptyRun(options.run_dir, lock.fd());
    talk("nothing is recorded: the limit of file sizes (ulimit -f) is too low to write a run");
    return RunUnrecorded(options.command, variables, talk);
  }
  options.environment.emplace_back("CROSSCUT_RUN_ID", RunId(options.run_dir, lock.fd()));
  const std::string file = FindInPath(options.command[0], folders);
  const std::string obstacle = ObstacleOf(file);
  PreparedEnvironment prepared = PrepareEnvironment(variables, options, package, obstacle);
  LeaveOutBadPlugins({CheckerBeside(self), ProbeCacheFile(), options.probe_plugins}, package,
                     &prepared.variables, talk);
  for (const std::string& problem : prepared.problems) talk(problem);
  if (!obstacle.empty()) {
    talk(file + " " + obstacle + ": Crosscut cannot get into it and records only its children");
  }

  if (options.dormant) talk("ready: crosscut start " + base::ShellWord(options.run_dir));
  return RunRecorded(options, prepared.variables, obstacle, lock.fd(), talk);
}

}  // namespace crosscut::verbs
