// The sentences that stand above every number.
#include "src/analyze/gaps.h"

#include <algorithm>
#include <map>
#include <set>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/collectives/matches.h"
#include "src/analyze/columns.h"
#include "src/analyze/context.h"
#include "src/analyze/devices/graph_launches.h"
#include "src/analyze/devices/kernel_metrics.h"
#include "src/base/counted.h"
#include "src/trace/ranks.h"

namespace crosscut::analyze {
namespace {

// To the millisecond: "2.050 s".
std::string Seconds(int64_t ns) {
  const std::string ms = std::to_string(1000 + (ns + 500'000) / 1'000'000 % 1000);
  return std::to_string((ns + 500'000) / 1'000'000'000) + "." + ms.substr(1) + " s";
}

void TellIncomplete(const trace::Trace& trace, const Context& context,
                    std::vector<std::string>& out) {
  for (uint32_t i = 0; i < trace.processes.size(); ++i) {
    const trace::Process& p = trace.processes[i];
    if (p.complete) continue;
    std::string text = "Process " + context.process_title({i}) + " is incomplete";
    if (const std::string_view why = trace.text(p.why_incomplete); !why.empty()) {
      text += ": " + std::string(why);
    }
    out.push_back(text + ".");
  }
}

// Sources that a process asked for and did not have, or not whole, and those that it could have had
// and no process has: each with what it says of it.
void TellSources(const trace::Trace& trace, const Context& context, std::vector<std::string>& out) {
  struct Told {
    uint32_t first = 0;
    int64_t processes = 0;
  };
  std::map<std::string, Told> sentences;
  std::set<uint32_t> on;
  for (const trace::Process& process : trace.processes) {
    for (const trace::Source& source : process.sources) {
      if (trace.text(source.state) == "on") on.insert(source.name.value);
    }
  }
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    for (const trace::Source& source : trace.processes[p].sources) {
      const std::string_view state = trace.text(source.state), why = trace.text(source.message);
      if (state.empty() || state == "on" || state == "off") continue;
      if (state == "not asked for" && on.contains(source.name.value)) continue;
      std::string text(trace.text(source.name));
      text += state == "conflict" ? ": a conflict in " : " " + std::string(state) + " in ";
      Told& told = sentences[text + "|" + std::string(why)];
      if (told.processes++ == 0) told.first = p;
    }
  }
  for (const auto& [key, told] : sentences) {
    const size_t bar = key.find('|');
    const std::string where = told.processes == 1 ? context.process_title({told.first})
                                                  : std::to_string(told.processes) + " processes";
    const std::string why = key.substr(bar + 1);
    out.push_back("Source " + key.substr(0, bar) + where + (why.empty() ? "." : ": " + why + "."));
  }
}

// Whether the process has something of devices, or called what gives them work.
bool UsesDevices(const trace::Trace& trace, const trace::Track& track) {
  if (track.kind == trace::TrackKind::kDevice) return track.spans.size() != 0;
  for (size_t i = 0; i < track.spans.size(); ++i) {
    if (trace.name(track.spans.name[i]).layer == trace::Layer::kRuntime) return true;
  }
  return false;
}

// Plugins that were recording when their process ended: what they had not handed over went with it.
void TellHeld(const trace::Trace& trace, const Context& context, std::vector<std::string>& out) {
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const trace::Process& process = trace.processes[p];
    if (std::none_of(process.sources.begin(), process.sources.end(),
                     [](const trace::Source& source) { return source.holds; })) {
      continue;
    }
    int64_t last = process.start_ns;
    bool given = false;
    for (const uint32_t t : context.tracks().of({p})) {
      const trace::Track& track = trace.tracks[t];
      given = given || UsesDevices(trace, track);
      if (track.kind != trace::TrackKind::kDevice) continue;
      for (size_t i = 0; i < track.spans.size(); ++i) last = std::max(last, track.spans.end_ns[i]);
    }
    for (const trace::Source& source : process.sources) {
      const bool on = trace.text(source.state) == "on" && !trace.text(source.message).empty();
      if (!source.holds || !on || !given) continue;  // one with nothing to tell met no device
      out.push_back(context.process_title({p}) + " ended (by _exit, a signal or exec) while " +
                    std::string(trace.text(source.name)) +
                    " was recording: what its devices did in the last " +
                    Seconds(std::max<int64_t>(0, process.end_ns - last)) + " may be missing.");
    }
  }
}

struct LossSum {
  int64_t count = 0, begin_ns = INT64_MAX, end_ns = INT64_MIN;
};

// "3 events": of what kind is missing for that reason.
std::string Missing(int64_t count, std::string_view reason) {
  const char* what = reason == "value" ? " value" : reason == "names" ? " new name" : " event";
  return std::to_string(count) + what + (count == 1 ? "" : "s");
}

std::string Fate(int64_t count, std::string_view reason) {
  const std::string is = count == 1 ? " is" : " are";
  if (reason == "names") {
    return " found no room under the memory cap (what they mark stands under \"(unnamed)\")";
  }
  // Of the program's, not ours to lose.
  if (reason == "value") return is + " missing (not a number that can be kept)";
  return is + " missing (" + std::string(reason) + ")";
}

void TellLosses(const trace::Trace& trace, const Context& context, std::vector<std::string>& out) {
  std::map<std::pair<uint32_t, std::string_view>, LossSum> sums;
  for (const trace::Track& track : trace.tracks) {
    for (const trace::Loss& loss : track.losses) {
      LossSum& s = sums[{track.process.value, trace.text(loss.reason)}];
      s.count += loss.count;
      s.begin_ns = std::min(s.begin_ns, loss.begin_ns);
      s.end_ns = std::max(s.end_ns, loss.end_ns);
    }
  }
  for (const auto& [key, s] : sums) {
    const auto& [process, reason] = key;
    if (process >= trace.processes.size()) continue;
    const int64_t start = trace.processes[process].start_ns;
    out.push_back(Missing(s.count, reason) + " of " + context.process_title({process}) +
                  Fate(s.count, reason) + ", between " +
                  Seconds(std::max<int64_t>(0, s.begin_ns - start)) + " and " +
                  Seconds(std::max<int64_t>(0, s.end_ns - start)) + " after its start.");
  }
}

void TellLeads(const trace::Trace& trace, const Context& context, std::vector<std::string>& out) {
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const trace::Process& process = trace.processes[p];
    const auto others = std::count_if(
        process.steps.begin(), process.steps.end(),
        [&](const trace::Step& step) { return step.track.valid() && step.track != process.lead; });
    if (others == 0) continue;
    out.push_back(std::to_string(others) + " of " + std::to_string(process.steps.size()) +
                  " steps of " + context.process_title({p}) +
                  (others == 1 ? " was made by a thread other than the lead ("
                               : " were made by threads other than the lead (") +
                  context.track_label(process.lead) + "); " + (others == 1 ? "its" : "their") +
                  " time is split by the lead's operations.");
  }
}

// Of one rank it is known that it stands for itself.
void TellRanks(const trace::Trace& trace, std::vector<std::string>& out) {
  constexpr size_t kMostNamed = 8;
  for (const trace::Job& job : trace::JobsOf(trace)) {
    const auto here = static_cast<int64_t>(job.ranks.size());
    const int64_t missing = job.world_size - here;
    if (here < 2 || missing <= 0) continue;
    std::string names;
    size_t named = 0;
    for (int64_t rank = 0; rank < job.world_size && named < kMostNamed; ++rank) {
      if (job.ranks.contains(rank)) continue;
      names += (named++ == 0 ? "" : ", ") + std::to_string(rank);
    }
    names += missing > static_cast<int64_t>(named) ? ", ..." : ".";
    out.push_back(std::to_string(missing) + " of the " + std::to_string(job.world_size) +
                  " ranks of the job " + (missing == 1 ? "is" : "are") + " not here: " + names);
  }
}

// Nobody expects a rank that is alone to be compared, nor a send with a collective.
void TellUnmatched(const Context& context, std::vector<std::string>& out) {
  std::map<NotMatched, int64_t> counts;
  std::set<uint32_t> processes;
  int64_t all = 0;
  for (const Unmatched& u : context.Shared<Collectives>().unmatched) {
    if (u.why == NotMatched::kPair) continue;
    counts[u.why] += u.count;
    all += u.count;
  }
  for (const CollectiveCall& call : context.Shared<CollectiveCalls>().calls) {
    processes.insert(call.process.value);
  }
  if (all == 0 || processes.size() < 2) return;
  std::string reasons;
  for (const auto& [why, count] : counts) {
    reasons += (reasons.empty() ? "" : ", ") + std::string(NotMatchedName(why)) + " (" +
               std::to_string(count) + ")";
  }
  out.push_back(std::to_string(all) + (all == 1 ? " call" : " calls") +
                " of collectives could not be compared between ranks: " + reasons +
                ". What was waited in them is not told (table unmatched_collectives).");
}

void TellRepairs(const trace::Trace& trace, std::vector<std::string>& out) {
  int64_t clamped = 0, unbalanced = 0, unfinished = 0, guessed = 0;
  for (const trace::Track& track : trace.tracks) {
    clamped += track.clamped;
    unbalanced += track.unbalanced;
    guessed += track.guessed;
    // That a program ends while a thread is inside a call is no gap.
    const bool whole = track.process.valid() && trace.processes[track.process.value].complete &&
                       track.end_ns >= trace.processes[track.process.value].end_ns;
    if (!whole) unfinished += track.unfinished;
  }
  const auto tell = [&](int64_t n, const char* words) {
    if (n > 0) out.push_back(base::Counted(static_cast<uint64_t>(n), words));
  };
  tell(clamped,
       "{time stamp was|time stamps were} out of order and moved to the {one before it|ones before "
       "them}.");
  tell(unbalanced, "{span|spans} had an end but no begin and {is|are} left out.");
  tell(unfinished,
       "{span was still open when its thread's|spans were still open when their threads'} "
       "recording ended; {it counts|they count} until then.");
  tell(guessed,
       "{part|parts} of spans that were suspended may go on with several of that name, and nothing "
       "tells which: {it counts|they count} for the one that had waited longest.");
}

// Tables of time count what lies in the window of a process: clocks differ by less than kNear, and
// what is told farther out is wrong somewhere.
void TellOutside(const trace::Trace& trace, const Context& context, std::vector<std::string>& out) {
  constexpr int64_t kNear = 1'000'000;
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const trace::Process& process = trace.processes[p];
    int64_t count = 0, before = 0, after = 0;
    for (const uint32_t t : context.tracks().of({p})) {
      if (trace.tracks[t].ours) continue;
      const trace::Spans& spans = trace.tracks[t].spans;
      for (size_t i = 0; i < spans.size(); ++i) {
        const int64_t early = process.start_ns - spans.begin_ns[i];
        const int64_t late = spans.end_ns[i] - process.end_ns;
        if (early <= kNear && late <= kNear) continue;
        ++count;
        before = std::max(before, early);
        after = std::max(after, late);
      }
    }
    if (count == 0) continue;
    std::string where;
    if (before > 0) where = "up to " + Seconds(before) + " before it began";
    if (after > 0)
      where += (where.empty() ? "up to " : ", up to ") + Seconds(after) + " after it ended";
    out.push_back(
        std::to_string(count) + (count == 1 ? " span of " : " spans of ") +
        context.process_title({p}) +
        (count == 1 ? " reaches beyond what was recorded (" : " reach beyond what was recorded (") +
        where + "): the time outside is not counted.");
  }
}

// Whether a scope of PyTorch's that was seen begins in one step of its process and ends in another.
bool ScopesCrossSteps(const trace::Trace& trace, const trace::Track& track,
                      const std::vector<trace::Step>& steps) {
  for (size_t i = 0; i < track.spans.size(); ++i) {
    if (trace.text(trace.names[track.spans.name[i].value].probe) != "scope") continue;
    const auto next =
        std::upper_bound(steps.begin(), steps.end(), track.spans.begin_ns[i],
                         [](int64_t at, const trace::Step& step) { return at < step.begin_ns; });
    if (next != steps.end() && next->begin_ns < track.spans.end_ns[i]) return true;
  }
  return false;
}

// Sentences that differ only in their process become one, with the number of processes.
class ByProcess {
 public:
  explicit ByProcess(const Context& context) : context_(context) {}
  // `before` and `after` the process that the sentence is about. `after` begins with a space.
  void Add(uint32_t process, const std::string& before, const std::string& after) {
    const auto same = std::find_if(sentences_.begin(), sentences_.end(), [&](const Sentence& s) {
      return s.before == before && s.after == after;
    });
    if (same != sentences_.end()) ++same->processes;
    if (same == sentences_.end()) sentences_.push_back({before, after, process, 1});
  }
  void Tell(std::vector<std::string>& out) const {
    for (const Sentence& s : sentences_) {
      const std::string title = context_.process_title({s.first});
      const std::string many = std::to_string(s.processes) + " processes, such as " + title + ",";
      out.push_back(s.before + (s.processes == 1 ? title : many) + s.after);
    }
  }

 private:
  struct Sentence {
    std::string before, after;
    uint32_t first;
    int64_t processes;
  };
  const Context& context_;
  std::vector<Sentence> sentences_;
};

void TellGraphs(const trace::Trace& trace, const Context& context, std::vector<std::string>& out) {
  const GraphLaunches& launches = context.Shared<GraphLaunches>();
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const auto& [all, without_work] = launches.processes[p];
    if (without_work == 0) continue;
    out.push_back(
        base::Counted(static_cast<uint64_t>(without_work),
                      "{launch of a graph has|launches of graphs have} no recorded work") +
        ", of " + std::to_string(all) + " in " + context.process_title({p}) +
        ": its devices may work where they seem to do nothing, so no finding speaks of "
        "that.");
  }
}

void TellMetrics(const trace::Trace& trace, const Context& context, std::vector<std::string>& out) {
  ByProcess sentences(context);
  const std::vector<Measured> measured = MeasuredIn(trace);
  for (uint32_t p = 0; p < measured.size(); ++p) {
    if (measured[p].kernels + measured[p].windows == 0) continue;
    std::string how;
    if (measured[p].kernels != 0) how = ", for which each kernel ran alone";
    if (measured[p].passes > 1)
      how += " and up to " + std::to_string(measured[p].passes) + " times";
    sentences.Add(p, "Hardware metrics were read in ",
                  how + ": times of this run are not comparable with those of others.");
  }
  sentences.Tell(out);
}

// In control steps nothing sees a scope begin. That hides none but those steps' own, unless scopes
// last over steps.
void TellScopes(const trace::Trace& trace, const Context& context, std::vector<std::string>& out) {
  ByProcess sentences(context);
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const std::vector<trace::Step>& steps = trace.processes[p].steps;
    const auto control = std::count_if(steps.begin(), steps.end(),
                                       [](const trace::Step& step) { return step.level == 0; });
    const auto tracks = context.tracks().of({p});
    const bool crossed = control > 0 && std::any_of(tracks.begin(), tracks.end(), [&](uint32_t t) {
                           return ScopesCrossSteps(trace, trace.tracks[t], steps);
                         });
    if (!crossed) continue;
    sentences.Add(p, "Scopes of PyTorch that last over several steps of ",
                  " are not seen if they began in a control step (" + std::to_string(control) +
                      (control == 1 ? " step is a control step)." : " steps are control steps)."));
  }
  sentences.Tell(out);
}

// Probes that are off for the last step stay off: whatever the program does after its loop.
void TellAfterSteps(const trace::Trace& trace, const Context& context,
                    std::vector<std::string>& out) {
  constexpr int64_t kLeast = 100'000'000;
  constexpr double kLeastShare = 0.05;
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const std::vector<trace::Step>& steps = trace.processes[p].steps;
    if (steps.empty() || steps.back().profiled()) continue;
    int64_t ns = 0;
    const ProcessOverlap& overlap = context.Shared<Accounting>().processes[p].overlap;
    for (const Cell& cell : overlap.cells) {
      if (cell.part == WindowPart::kShutdown && (cell.layers & kControlBit) != 0) ns += cell.ns;
    }
    if (ns < kLeast || static_cast<double>(ns) < kLeastShare * overlap.window_ns) continue;
    out.push_back(Seconds(ns) + " of " + context.process_title({p}) +
                  " after its last step are not known by layer: " +
                  (steps.back().left_out()
                       ? "the budget left out that step, and all but marks stays off"
                       : "that was a control step, and all probes stay off") +
                  " until the next one.");
  }
}

void TellCorrection(const trace::Trace& trace, const Context& context,
                    std::vector<std::string>& out) {
  ByProcess sentences(context);
  for (uint32_t i = 0; i < trace.processes.size(); ++i) {
    if (trace.processes[i].steps.empty() || trace.processes[i].probes.empty()) continue;
    const Inflation& inflation = context.Shared<Accounting>().processes[i].inflation;
    if (inflation.checked) continue;
    sentences.Add(i, "What recording cost ",
                  " is estimated, not checked against control steps (" + inflation.why_not + ").");
  }
  sentences.Tell(out);
}

}  // namespace

std::vector<std::string> Gaps(const trace::Trace& trace, const Context& context) {
  std::vector<std::string> out = trace.gaps;
  TellIncomplete(trace, context, out);
  TellSources(trace, context, out);
  TellHeld(trace, context, out);
  TellLosses(trace, context, out);
  TellRanks(trace, out);
  TellUnmatched(context, out);
  TellLeads(trace, context, out);
  TellRepairs(trace, out);
  TellOutside(trace, context, out);
  TellGraphs(trace, context, out);
  TellMetrics(trace, context, out);
  TellScopes(trace, context, out);
  TellAfterSteps(trace, context, out);
  TellCorrection(trace, context, out);
  return out;
}

}  // namespace crosscut::analyze
