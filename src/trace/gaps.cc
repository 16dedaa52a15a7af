#include "src/trace/gaps.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "src/base/counted.h"
#include "src/trace/ranks.h"

namespace crosscut::trace {
namespace {

void TellIncomplete(const Trace& trace, std::vector<std::string>& out) {
  ByProcess sentences;
  for (uint32_t i = 0; i < trace.processes.size(); ++i) {
    const Process& p = trace.processes[i];
    if (p.complete) continue;
    const std::string why(trace.text(p.why_incomplete));
    const char* of_each = why.empty() ? "" : "{: |; of each: }";
    sentences.Add(trace.title({i}), "{Process |}", std::string(" {is|are} incomplete") + of_each,
                  why + ".");
  }
  sentences.Tell(&out);
}

// Sources that a process asked for and did not have, or not whole, and those that it could have had
// and no process has: each with what it says of it.
void TellSources(const Trace& trace, std::vector<std::string>& out) {
  struct Told {
    uint32_t first = 0;
    int64_t processes = 0;
  };
  std::map<std::string, Told> sentences;
  std::set<uint32_t> on;
  for (const Process& process : trace.processes) {
    for (const Source& source : process.sources) {
      if (trace.text(source.state) == "on") on.insert(source.name.value);
    }
  }
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    for (const Source& source : trace.processes[p].sources) {
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
    const std::string where = told.processes == 1 ? trace.title({told.first})
                                                  : std::to_string(told.processes) + " processes";
    const std::string why = key.substr(bar + 1);
    out.push_back("Source " + key.substr(0, bar) + where + (why.empty() ? "." : ": " + why + "."));
  }
}

// Whether the process has something of devices, or called what gives them work.
bool UsesDevices(const Trace& trace, const Track& track) {
  if (track.kind == TrackKind::kDevice) return track.spans.size() != 0;
  for (size_t i = 0; i < track.spans.size(); ++i) {
    if (trace.name(track.spans.name[i]).layer == Layer::kRuntime) return true;
  }
  return false;
}

// Plugins that were recording when their process ended: what they had not handed over went with it.
void TellHeld(const Trace& trace, const TracksByProcess& tracks, std::vector<std::string>& out) {
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const Process& process = trace.processes[p];
    if (std::none_of(process.sources.begin(), process.sources.end(),
                     [](const Source& source) { return source.holds; })) {
      continue;
    }
    int64_t last = process.start_ns;
    bool given = false;
    for (const uint32_t t : tracks.of({p})) {
      const Track& track = trace.tracks[t];
      given = given || UsesDevices(trace, track);
      if (track.kind != TrackKind::kDevice) continue;
      for (size_t i = 0; i < track.spans.size(); ++i) last = std::max(last, track.spans.end_ns[i]);
    }
    for (const Source& source : process.sources) {
      if (!source.holds || trace.text(source.state) != "on") continue;
      const bool tells = !trace.text(source.message).empty();
      // One that has only the RFC's functions hands over all at the end. Of others, one with
      // nothing to tell met no device.
      const bool at_end = !tells && trace.text(source.version).empty();
      if (!at_end && !(tells && given)) continue;
      out.push_back(trace.title({p}) + " ended (by _exit, a signal or exec) while " +
                    std::string(trace.text(source.name)) +
                    " was recording: what its devices did in the last " +
                    Seconds(std::max<int64_t>(0, process.end_ns - last)) + " may be missing.");
    }
  }
}

// Times are since the process began that they are of.
struct LossSum {
  int64_t count = 0, begin_ns = INT64_MAX, end_ns = 0;
  std::vector<uint32_t> processes;  // each once
};

// "3 events": of what kind is missing for that reason.
std::string Events(int64_t count, std::string_view reason) {
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

void TellLosses(const Trace& trace, const TracksByProcess& tracks, std::vector<std::string>& out) {
  std::map<std::string_view, LossSum> sums;  // by reason
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const int64_t start = trace.processes[p].start_ns;
    for (const uint32_t t : tracks.of({p})) {
      for (const Loss& loss : trace.tracks[t].losses) {
        LossSum& sum = sums[trace.text(loss.reason)];
        sum.count += loss.count;
        sum.begin_ns = std::min(sum.begin_ns, std::max<int64_t>(0, loss.begin_ns - start));
        sum.end_ns = std::max(sum.end_ns, loss.end_ns - start);
        if (sum.processes.empty() || sum.processes.back() != p) sum.processes.push_back(p);
      }
    }
  }
  for (const auto& [reason, s] : sums) {
    const size_t n = s.processes.size();
    out.push_back(Events(s.count, reason) + " of " + Whose(n, trace.title({s.processes[0]})) +
                  Fate(s.count, reason) + ", between " + Seconds(s.begin_ns) + " and " +
                  Seconds(s.end_ns) + base::WordsFor(n, " after {its start|their starts}."));
  }
}

// Of one rank it is known that it stands for itself.
void TellRanks(const Trace& trace, std::vector<std::string>& out) {
  constexpr size_t kMostNamed = 8;
  for (const Job& job : JobsOf(trace)) {
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

void TellRepairs(const Trace& trace, std::vector<std::string>& out) {
  int64_t clamped = 0, unbalanced = 0, unfinished = 0, guessed = 0;
  for (const Track& track : trace.tracks) {
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
void TellOutside(const Trace& trace, const TracksByProcess& tracks, std::vector<std::string>& out) {
  constexpr int64_t kNear = 1'000'000;
  uint64_t count = 0, processes = 0;
  uint32_t first = 0;
  int64_t before = 0, after = 0;
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const Process& process = trace.processes[p];
    const uint64_t others = count;
    for (const uint32_t t : tracks.of({p})) {
      if (trace.tracks[t].ours) continue;
      const Spans& spans = trace.tracks[t].spans;
      for (size_t i = 0; i < spans.size(); ++i) {
        const int64_t early = process.start_ns - spans.begin_ns[i];
        const int64_t late = spans.end_ns[i] - process.end_ns;
        if (early <= kNear && late <= kNear) continue;
        ++count;
        before = std::max(before, early);
        after = std::max(after, late);
      }
    }
    if (count != others && processes++ == 0) first = p;
  }
  if (count == 0) return;
  const auto far = [processes](int64_t ns, std::string_view words) {
    return "up to " + Seconds(ns) + base::WordsFor(processes, words);
  };
  std::string where;
  if (before > 0) where = far(before, " before {it|they} began");
  if (after > 0) where += (where.empty() ? "" : ", ") + far(after, " after {it|they} ended");
  out.push_back(base::Counted(count, "{span|spans} of ") + Whose(processes, trace.title({first})) +
                base::WordsFor(count, " {reaches|reach} beyond what was recorded (") + where +
                "): the time outside is not counted.");
}

}  // namespace

std::string Whose(uint64_t processes, const std::string& first) {
  return processes == 1 ? first : std::to_string(processes) + " processes, such as " + first + ",";
}

void ByProcess::Add(const std::string& title, std::string_view before, std::string_view after,
                    const std::string& told) {
  Sentence sentence = {title, std::string(before), std::string(after), told, 0};
  const auto [at, fresh] =
      index_.try_emplace({sentence.before, sentence.after, told}, sentences_.size());
  if (fresh) sentences_.push_back(std::move(sentence));
  ++sentences_[at->second].processes;
}

void ByProcess::Tell(std::vector<std::string>* out) const {
  for (const Sentence& s : sentences_) {
    std::string who = Whose(s.processes, s.first);
    if (s.after.empty() && s.processes != 1) who.pop_back();  // the comma
    out->push_back(base::WordsFor(s.processes, s.before) + who +
                   base::WordsFor(s.processes, s.after) + s.told);
  }
}

std::string Seconds(int64_t ns) {
  const std::string ms = std::to_string(1000 + (ns + 500'000) / 1'000'000 % 1000);
  return std::to_string((ns + 500'000) / 1'000'000'000) + "." + ms.substr(1) + " s";
}

std::string Missing(const Trace& trace, const Loss& loss) {
  const std::string_view reason = trace.text(loss.reason);
  return Events(loss.count, reason) + " missing (" + std::string(reason) + ")";
}

std::vector<std::string> Gaps(const Trace& trace) {
  const TracksByProcess tracks(trace);
  std::vector<std::string> out;
  TellIncomplete(trace, out);
  TellSources(trace, out);
  TellHeld(trace, tracks, out);
  TellLosses(trace, tracks, out);
  TellRanks(trace, out);
  TellRepairs(trace, out);
  TellOutside(trace, tracks, out);
  // A file that Crosscut wrote states what it found when it wrote it.
  const std::set<std::string_view> told(trace.gaps.begin(), trace.gaps.end());
  std::erase_if(out, [&](const std::string& gap) { return told.contains(gap); });
  out.insert(out.begin(), trace.gaps.begin(), trace.gaps.end());
  return out;
}

}  // namespace crosscut::trace
