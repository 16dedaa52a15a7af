#include "src/verbs/runs.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>
#include <system_error>

#include "src/base/file.h"
#include "src/base/shell_word.h"
#include "src/base/time.h"
#include "src/format/run_json.h"
#include "src/import/importer.h"
#include "src/import/native/native_facts.h"
#include "src/report/numbers.h"
#include "src/report/shown_text.h"

namespace crosscut::verbs {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostRunJson = 1 << 20;
constexpr std::string_view kRunsFolder = "crosscut-runs";

// False where there is no run.
bool Describe(const std::string& path, FoundRun* run) {
  const std::string file = path + "/run.json";
  struct stat facts;
  if (stat(file.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return false;
  const auto json = base::ReadSmallFile(file, kMostRunJson);
  if (!json.ok() || format::JsonIntegerMember(*json, "format") == 0) return false;
  run->path = path;
  run->imported = json->find("\"imported\"") != std::string::npos;
  run->started_ns = format::JsonIntegerMember(*json, "started_realtime_ns");
  if (run->started_ns == 0) {
    run->started_ns = int64_t{facts.st_mtim.tv_sec} * 1'000'000'000 + facts.st_mtim.tv_nsec;
  }
  return true;
}

void AddRuns(const std::string& folder, const std::string& prefix, std::vector<FoundRun>* runs) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    FoundRun run;
    if (Describe(prefix + at->path().filename().string(), &run)) runs->push_back(std::move(run));
  }
}

constexpr size_t kColumns = 6;
using Row = std::array<std::string, kColumns>;

// What the run's processes say, in the columns "took", "processes" and "state".
void AddProcesses(const FoundRun& run, const trace::Trace& trace, Row* row) {
  int64_t begin = INT64_MAX, end = INT64_MIN;
  size_t killed = 0;
  bool alive = false, recording = false;
  for (const trace::Process& process : trace.processes) {
    begin = std::min(begin, process.start_ns);
    end = std::max(end, process.end_ns);
    alive = alive || process.alive;
    // A session that was stopped may be over for good, or the next window may begin.
    const bool stopped = !process.windows.empty() && process.windows.back().complete;
    recording = recording || (process.alive && !stopped);
    if (!process.alive && import::EndedWithoutStopping(trace, process)) ++killed;
  }
  const size_t count = trace.processes.size();
  if (recording) {
    (*row)[1] = report::FormatNs(std::max(int64_t{0}, base::RealtimeNs() - run.started_ns));
  } else if (count > 0) {
    (*row)[1] = report::FormatNs(end - begin);
  }
  (*row)[2] = std::to_string(count);
  (*row)[3] = recording        ? "recording"
              : alive          ? "stopped"
              : count == 0     ? "empty"
              : killed == 0    ? "ended"
              : killed < count ? "ended, " + std::to_string(killed) + " killed"
                               : "killed";
}

Row RowOf(const FoundRun& run) {
  Row row = {LocalTime(run.started_ns), "-", "-", "imported", base::ShellWord(run.path), ""};
  if (!run.imported) {
    const auto trace = import::Import(run.path, import::Purpose::kFacts);
    if (trace.ok()) {
      AddProcesses(run, *trace, &row);
      row[5] = trace->command;
    } else {
      row[3] = "unreadable";
      row[5] = trace.status().message();
    }
  }
  for (std::string& cell : row) cell = report::CleanText(cell, report::kMaxPageSentence);
  return row;
}

size_t Columns(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

// The first `width` columns of a line; 0: all of them.
std::string Cut(std::string line, size_t width) {
  if (width == 0 || Columns(line) <= width) return line;
  size_t at = 0;
  for (size_t columns = 0; at < line.size(); ++at) {
    if ((line[at] & 0xc0) != 0x80 && columns++ == width - 1) break;
  }
  return line.substr(0, at) + "…";
}

}  // namespace

std::string LocalTime(int64_t realtime_ns) {
  const time_t seconds = realtime_ns / 1'000'000'000;
  tm parts{};
  localtime_r(&seconds, &parts);
  char text[40];
  return {text, strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts)};
}

bool IsRun(const std::string& path) {
  FoundRun run;
  return Describe(path, &run);
}

Result<std::vector<FoundRun>> FindRuns(const std::string& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    return Status::NotFound(folder + ": there is no folder of that name");
  }
  const std::string prefix = folder == "." ? "" : folder + (folder.ends_with('/') ? "" : "/");
  std::vector<FoundRun> runs;
  AddRuns(folder, prefix, &runs);
  const std::string inner = prefix + std::string(kRunsFolder);
  AddRuns(inner, inner + "/", &runs);
  std::sort(runs.begin(), runs.end(), [](const FoundRun& a, const FoundRun& b) {
    return a.started_ns != b.started_ns ? a.started_ns > b.started_ns : a.path < b.path;
  });
  return runs;
}

Result<Output> Runs(const std::string& folder, int width) {
  const auto runs = FindRuns(folder);
  if (!runs.ok()) return runs.status();
  std::vector<Row> rows = {{"began", "took", "processes", "state", "run", "command"}};
  for (const FoundRun& run : *runs) rows.push_back(RowOf(run));
  Output output;
  if (runs->empty()) return output;
  std::array<size_t, kColumns> widths{};
  for (const Row& row : rows) {
    for (size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], Columns(row[i]));
  }
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i < kColumns; ++i) {
      const std::string space(widths[i] - Columns(row[i]), ' ');
      const bool number = i == 1 || i == 2;
      if (i > 0) line += "  ";
      line += number ? space + row[i] : row[i] + (i + 1 < kColumns ? space : "");
    }
    output.text += Cut(line, static_cast<size_t>(width)) + "\n";
  }
  return output;
}

}  // namespace crosscut::verbs
