#include "src/format/run_reader.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

#include "src/format/process_state.h"
#include "src/format/ring_search.h"
#include "src/format/run_json.h"

namespace crosscut::format {
namespace {

constexpr std::string_view kLogSuffix = ".crosscut";

Result<std::vector<std::string>> FindLogs(const std::string& dir) {
  auto names = base::NamesIn(dir);
  if (!names.ok()) return names.status();
  std::erase_if(*names, [](const std::string& name) {
    return !name.ends_with(kLogSuffix) || name == kLogSuffix;
  });
  return names;
}

}  // namespace

struct RunReader::State {
  RunFolder folder;
  std::vector<std::string> refused_rings;
  std::vector<std::unique_ptr<ProcessReader>> processes;
};

namespace {

// Rings first, logs second: what leaves a ring in between is in its log by then.
std::vector<RingSnapshot> ReadRings(const RunRings& found) {
  std::vector<RingSnapshot> rings;
  for (const RunRing& one : found.rings) {
    Result<RingSnapshot> ring = RingSnapshot::Read(one.path, one.trust);
    if (ring.ok()) rings.push_back(std::move(*ring));
  }
  return rings;
}

// The process of a log, with its ring if that is among `rings`, from which it is taken.
std::unique_ptr<ProcessReader::State> OfLog(const std::string& dir, const std::string& name,
                                            std::vector<RingSnapshot>* rings) {
  auto process = std::make_unique<ProcessReader::State>();
  process->info.key = name.substr(0, name.size() - kLogSuffix.size());
  process->info.log_path = dir + "/" + name;
  process->OpenLog();
  const auto ring = std::find_if(rings->begin(), rings->end(), [&](const RingSnapshot& one) {
    return process->Matches(one, name);
  });
  if (ring != rings->end()) {
    std::swap(*ring, rings->back());
    process->TakeRing(std::move(rings->back()));
    rings->pop_back();
  }
  process->Judge();
  return process;
}

bool IsDeadWithoutRing(const ProcessReader::State& process) {
  return !process.info.finished && !process.has_ring &&
         process.info.liveness == base::Liveness::kDead;
}

// A process that was not known to be dead before the look at the rings may have made one since, and
// ended: it is looked for again, until it was. Whose log has no header yet is nobody that is known.
void LookAgain(const RunFolder& folder, const std::vector<std::string>& logs,
               std::vector<std::unique_ptr<ProcessReader::State>>* processes) {
  std::vector<size_t> unseen(logs.size());
  std::iota(unseen.begin(), unseen.end(), size_t{0});
  const auto seen = [&](size_t i) { return !IsDeadWithoutRing(*(*processes)[i]); };
  for (std::erase_if(unseen, seen); !unseen.empty(); std::erase_if(unseen, seen)) {
    std::vector<RingSnapshot> rings = ReadRings(FindRings(folder));
    std::erase_if(unseen, [&](size_t i) {
      const bool known = (*processes)[i]->log != nullptr;
      (*processes)[i] = OfLog(folder.dir, logs[i], &rings);
      return known || (*processes)[i]->log == nullptr;
    });
  }
}

// When the run began, as far as run.json and the file system tell; 0: neither does.
int64_t RealtimeOfRun(const RunFolder& run) {
  return std::max(static_cast<int64_t>(run.made_ns),
                  JsonIntegerMember(run.run_json, "started_realtime_ns"));
}

// A ring with no log of its nonce is left over from a run that was in this directory before, where
// it is older than this run or its log's name stands for another.
bool IsStale(const RingSnapshot& ring, const std::string& dir, int64_t run_began) {
  const int64_t ring_began = ring.header.anchor_realtime_ns;
  if (run_began != 0 && ring_began != 0 && ring_began < run_began) return true;
  const std::string name = ring.header.log_name;
  if (name.empty() || name.find('/') != std::string::npos) return false;  // said as its problem
  Result<std::unique_ptr<LogReader>> log = LogReader::Open(dir + "/" + name);
  return log.ok() && (*log)->identity().nonce != ring.header.nonce;
}

}  // namespace

RunReader::RunReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
RunReader::~RunReader() = default;

Result<std::unique_ptr<RunReader>> RunReader::Open(const std::string& dir) {
  Result<RunFolder> folder = RunFolder::Of(dir);
  if (!folder.ok()) return folder.status();
  if (!folder->unread.ok()) return folder->unread;
  if (const std::string problem = ProblemOfRun(folder->run_json); !problem.empty()) {
    return Status::Invalid(dir + "/run.json: " + problem);
  }
  auto state = std::make_unique<State>();
  state->folder = std::move(*folder);
  RunRings found = FindRings(state->folder);
  state->refused_rings = std::move(found.refused);
  std::vector<RingSnapshot> rings = ReadRings(found);
  const auto found_logs = FindLogs(dir);
  if (!found_logs.ok()) return found_logs.status();
  const std::vector<std::string>& logs = *found_logs;
  if (state->folder.run_json.empty() && logs.empty() && rings.empty()) {
    return Status::Invalid(dir + ": not a run directory");
  }
  std::vector<std::unique_ptr<ProcessReader::State>> of_logs;
  for (const std::string& name : logs) of_logs.push_back(OfLog(dir, name, &rings));
  LookAgain(state->folder, logs, &of_logs);
  for (auto& process : of_logs) {
    state->processes.emplace_back(new ProcessReader(std::move(process)));
  }
  const int64_t run_began = RealtimeOfRun(state->folder);
  for (RingSnapshot& ring : rings) {
    if (IsStale(ring, dir, run_began)) continue;
    auto process = std::make_unique<ProcessReader::State>();
    process->TakeRing(std::move(ring));
    process->Judge();
    state->processes.emplace_back(new ProcessReader(std::move(process)));
  }
  std::stable_sort(
      state->processes.begin(), state->processes.end(), [](const auto& a, const auto& b) {
        const ProcessInfo &x = a->info(), &y = b->info();
        return std::tie(x.identity.start_tick, x.key) < std::tie(y.identity.start_tick, y.key);
      });
  return std::unique_ptr<RunReader>(new RunReader(std::move(state)));
}

const RunFolder& RunReader::folder() const { return state_->folder; }
const std::string& RunReader::dir() const { return state_->folder.dir; }
const std::string& RunReader::run_json() const { return state_->folder.run_json; }
const std::vector<std::string>& RunReader::refused_rings() const { return state_->refused_rings; }

std::vector<ProcessReader*> RunReader::processes() {
  std::vector<ProcessReader*> all;
  for (const auto& process : state_->processes) all.push_back(process.get());
  return all;
}

}  // namespace crosscut::format
