#include "src/import/native/native_facts.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <unordered_map>

namespace crosscut::import {
namespace {

int64_t ToInt(std::string_view text) {
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string_view BaseName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// What began longer before the window was not for its sake.
constexpr int64_t kLongestStart = 10'000'000'000;

// "source:<name>:<field>" states one field of one source.
constexpr std::string_view kSourcePrefix = "source:";

void TakeSource(trace::Builder* builder, std::string_view key, std::string_view value,
                trace::Process* process) {
  key.remove_prefix(kSourcePrefix.size());
  const size_t colon = key.rfind(':');
  if (colon == std::string_view::npos) return;
  const trace::StringId name = builder->Text(key.substr(0, colon));
  const std::string_view field = key.substr(colon + 1);
  auto at = std::find_if(process->sources.begin(), process->sources.end(),
                         [&](const trace::Source& s) { return s.name == name; });
  if (at == process->sources.end()) at = process->sources.insert(at, {name, {}, {}, {}, false});
  const trace::StringId text = builder->Text(value);
  if (field == "version") at->version = text;
  if (field == "state") at->state = text;
  if (field == "message") at->message = text;
  if (field == "holds") at->holds = value == "1";
}

constexpr const char* kUnexplained =
    "it ended without stopping (killed, aborted, or replaced by exec)";
constexpr const char* kInPlugin = "it ended inside a plugin (";

// Armed, and nobody asked it to record.
bool NeverStarted(const NativeSession& session) {
  return !session.Meta("armed").empty() &&
         std::none_of(session.edges.begin(), session.edges.end(),
                      [](const auto& edge) { return edge.code == format::kStart; });
}

std::string WhyIncomplete(const format::ProcessInfo& info, const NativeSession& session) {
  if (!info.problem.empty()) return info.problem;
  for (auto edge = session.edges.rbegin(); edge != session.edges.rend(); ++edge) {
    if (edge->code == format::kStart) break;
    if (edge->code != format::kStop) continue;
    switch (edge->reason) {
      case format::kStopDisk: return "its log could not be written";
      case format::kStopError: return "recording stopped by an error";
      case format::kStopLimit: return "recording stopped at its limit";
      default: return "";
    }
  }
  if (info.complete() || NeverStarted(session)) return "";
  if (info.liveness == base::Liveness::kAlive) return "it is still running";
  std::string_view plugin = session.Meta("in_plugin");
  if (plugin.empty() && info.has_ring) plugin = info.ring.last_plugin;
  if (!plugin.empty()) return std::string(kInPlugin) + std::string(plugin) + ")";
  return kUnexplained;
}

}  // namespace

bool EndedWithoutStopping(const trace::Trace& trace, const trace::Process& process) {
  const std::string_view why = trace.text(process.why_incomplete);
  return why == kUnexplained || why.starts_with(kInPlugin);
}

// The cost of a probe, or what it costs that no control step shows (docs/format.md).
void TakeCost(trace::Builder* builder, trace::StringId probe, const NativeSession::Cost& cost,
              trace::Process* process) {
  constexpr std::string_view kUnswitched = ", also in control steps";
  std::string text(builder->trace().text(probe));
  const bool unswitched = text.ends_with(kUnswitched);
  if (unswitched) probe = builder->Text(text.substr(0, text.size() - kUnswitched.size()));
  auto at = std::find_if(process->probes.begin(), process->probes.end(),
                         [&](const trace::ProbeCost& p) { return p.probe == probe; });
  if (at == process->probes.end()) {
    at = process->probes.insert(at, trace::ProbeCost{});
    at->probe = probe;
  }
  if (unswitched) {
    at->unswitched_ps = cost.inside;
    at->unswitched_low_ps = cost.low;
    at->unswitched_high_ps = cost.high;
  } else {
    *at = {probe,
           cost.inside,
           cost.outside,
           cost.low,
           cost.high,
           cost.samples,
           at->unswitched_ps,
           at->unswitched_low_ps,
           at->unswitched_high_ps};
  }
}

void FillProcess(trace::Builder* builder, const format::ProcessInfo& info,
                 const NativeSession& session, trace::Process* process) {
  process->pid = ToInt(session.Meta("pid"));
  if (process->pid == 0) process->pid = info.identity.pid;
  process->parent_pid = ToInt(session.Meta("parent_pid"));
  process->start_method = builder->Text(session.Meta("start_method"));
  std::string_view name = session.Meta("process_name");
  if (name.empty()) name = BaseName(session.Meta("script"));
  const std::string code = "python " + std::string(session.Meta("code"));
  if (name.empty() && !session.Meta("code").empty()) name = code;
  if (!name.empty()) process->name = builder->Text(name);
  const std::string why = WhyIncomplete(info, session);
  process->complete = why.empty();
  process->alive = info.liveness == base::Liveness::kAlive && !info.finished;
  process->why_incomplete = builder->Text(why);
  std::unordered_map<uint32_t, size_t> place;  // of each fact, by its key
  for (const auto& [key, value] : session.meta) {
    if (key.starts_with(kSourcePrefix)) {
      TakeSource(builder, key, value, process);
      continue;
    }
    const trace::StringId id = builder->Text(key), text = builder->Text(value);
    const auto [at, fresh] = place.try_emplace(id.value, process->meta.size());
    if (fresh) process->meta.emplace_back(id, text);
    process->meta[at->second].second = text;
  }
  if (info.liveness == base::Liveness::kAlive) {  // it will hand over what it holds
    for (trace::Source& source : process->sources) source.holds = false;
  }
  for (const NativeSession::Cost& cost : session.costs) {
    TakeCost(builder, session.name(cost.probe).text, cost, process);
  }
}

// What was still open ends with the process.
void FillWindows(const NativeSession& session, const NativeClock& clock, trace::Process* process) {
  bool open = false;
  for (const NativeSession::Edge& edge : session.edges) {
    const int64_t at = clock.ToNs(edge.tick);
    if (edge.code == format::kStart) {
      const int64_t last = process->windows.empty() ? 0 : process->windows.back().number;
      const int64_t number = edge.window != 0 ? edge.window : last + 1;
      process->windows.push_back({number, at, process->end_ns, false});
      open = true;
    } else if (edge.code == format::kStop && open) {
      process->windows.back().end_ns = at;
      process->windows.back().complete =
          edge.reason == format::kStopAsked || edge.reason == format::kStopExit;
      open = false;
    }
  }
}

void FillWindow(const format::ProcessInfo& info, const NativeSession& session,
                const NativeClock& clock, TickRange events, trace::Process* process) {
  uint64_t last = std::max(events.last, session.last_tick);
  if (info.has_ring) last = std::max(last, info.ring.drain_tick);  // nobody has reaped it
  uint64_t first =
      std::min(events.first, session.first_tick == 0 ? UINT64_MAX : session.first_tick);
  if (info.identity.start_tick != 0) first = std::min(first, info.identity.start_tick);
  if (first == UINT64_MAX) first = last;
  int64_t begin = clock.ToNs(first), end = clock.ToNs(std::max(first, last));
  int64_t off_since = INT64_MIN, paused_since = INT64_MIN;
  bool started = false;
  for (const NativeSession::Edge& edge : session.edges) {
    const int64_t at = clock.ToNs(edge.tick);
    switch (edge.code) {
      case format::kStart:
        if (!started) begin = at;
        if (off_since != INT64_MIN) process->paused.push_back({off_since, at});
        started = true;
        off_since = INT64_MIN;
        break;
      case format::kStop:
        if (paused_since != INT64_MIN) process->paused.push_back({paused_since, at});
        off_since = at;
        paused_since = INT64_MIN;
        break;
      case format::kPause: paused_since = at; break;
      default:
        if (paused_since != INT64_MIN) process->paused.push_back({paused_since, at});
        paused_since = INT64_MIN;
    }
  }
  if (off_since != INT64_MIN) end = off_since;
  if (NeverStarted(session)) end = begin;
  end = std::max(begin, end);
  if (paused_since != INT64_MIN) process->paused.push_back({paused_since, end});
  process->start_ns = begin;
  const int64_t brought_in = ToInt(session.Meta("brought_in_ns"));
  if (brought_in > 0 && brought_in < begin && begin - brought_in < kLongestStart) {
    process->starting_ns = begin - brought_in;
  }
  process->end_ns = end;
  FillWindows(session, clock, process);
}

}  // namespace crosscut::import
