#include "src/verbs/input.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "src/analyze/gaps.h"
#include "src/analyze/timeline/make_timeline.h"
#include "src/import/importer.h"
#include "src/report/document.h"
#include "src/report/views.h"
#include "src/verbs/recording/ring_watch.h"

namespace crosscut::verbs {
namespace {

std::string BaseName(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return std::string(path.substr(path.rfind('/') + 1));
}

// "2026-11-21 11:40:02 UTC"
std::string UtcTime(int64_t realtime_ns) {
  const time_t seconds = realtime_ns / 1'000'000'000;
  tm parts{};
  gmtime_r(&seconds, &parts);
  char text[40];
  return {text, strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts)};
}

// The process that began it all: the first one without a parent in this run.
const trace::Process* First(const trace::Trace& trace) {
  for (const trace::Process& process : trace.processes) {
    if (!process.parent.valid()) return &process;
  }
  return trace.processes.empty() ? nullptr : &trace.processes.front();
}

bool Shows(Scope scope, std::string_view table) {
  if (scope == Scope::kTables || scope == Scope::kPage) return true;
  const auto shown = scope == Scope::kSummary ? report::SummaryTables() : report::DocumentTables();
  return std::find(shown.begin(), shown.end(), table) != shown.end();
}

}  // namespace

Result<std::unique_ptr<Input>> ReadInput(const std::string& path, import::Purpose purpose) {
  // Where nobody was left to do it: a killed `crosscut record`, a program that recorded itself.
  if (access((path + "/run.json").c_str(), W_OK) == 0) RingWatch(path).Look();
  auto trace = import::Import(path, purpose);
  if (!trace.ok()) return trace.status();
  auto input = std::make_unique<Input>();
  input->path = path;
  input->trace = std::move(*trace);
  input->context = std::make_unique<analyze::Context>(input->trace);
  return input;
}

report::ReportData MakeReportData(const Input& input, Scope scope, const TakeTable& take,
                                  const std::vector<int64_t>& steps) {
  const trace::Trace& trace = input.trace;
  report::ReportData data;
  const trace::Process* first = First(trace);
  data.title = first == nullptr ? "" : std::string(trace.text(first->name));
  if (data.title.empty()) data.title = BaseName(input.path);
  if (!trace.command.empty()) data.facts.emplace_back("Command", trace.command);
  int64_t started = trace.started_realtime_ns;
  if (started == 0 && first != nullptr && trace.realtime_offset_ns != 0) {
    started = first->start_ns + trace.realtime_offset_ns;
  }
  if (started != 0) data.facts.emplace_back("Recorded", UtcTime(started));
  data.facts.emplace_back("Run", input.path);
  data.gaps = analyze::Gaps(trace, *input.context);
  for (const analyze::TableEntry& entry : analyze::TableList()) {
    if (entry.long_one || !Shows(scope, entry.name)) continue;
    analyze::Table table = entry.Make(trace, *input.context);
    if (take) {
      take(table);
    } else {
      data.tables.push_back(std::move(table));
    }
  }
  if (scope == Scope::kPage) {
    analyze::TimelineOptions options;
    options.steps = steps;
    data.timeline = analyze::MakeTimeline(trace, *input.context, options);
  }
  return data;
}

}  // namespace crosscut::verbs
