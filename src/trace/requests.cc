#include "src/trace/requests.h"

#include <algorithm>
#include <unordered_map>

#include "src/trace/samples.h"

namespace crosscut::trace {
namespace {

constexpr int64_t kFewestSamples = 20;  // that tell what a process does
constexpr int64_t kTimesLonger = 10;

class Reader {
 public:
  explicit Reader(const Trace& trace)
      : trace_(trace),
        running_(trace.strings.Find("running_ns")),
        open_(trace.strings.Find("open")) {}

  void Read(const Track& track, std::vector<Request>* out) const {
    for (SpanIndex s = 0; s < track.spans.size(); ++s) {
      const Name& name = trace_.name(track.spans.name[s]);
      if (name.kind != Kind::kStep) continue;
      Request request = {track.spans.begin_ns[s], track.spans.end_ns[s], name.text};
      request.task = name.found;
      for (const Arg& arg : track.args.of(s)) {
        if (arg.key == running_) request.running_ns = arg.value;
        if (arg.key == open_) request.open = true;
      }
      out->push_back(request);
    }
  }

 private:
  const Trace& trace_;
  const StringId running_, open_;
};

void KeepWhatRepeats(bool steps, std::vector<Request>* requests) {
  const bool others = std::any_of(requests->begin(), requests->end(),
                                  [](const Request& request) { return !request.task; });
  std::unordered_map<uint32_t, int64_t> count;
  for (const Request& request : *requests) ++count[request.name.value];
  std::erase_if(*requests, [&](const Request& request) {
    return request.task && (steps || others || count[request.name.value] < kFewestTasks);
  });
}

struct Seen {
  int64_t ns = 0, samples = 0;
};

// How long samples see the process's lead run, and in no wait, from begin to end and outside of
// `but`, which is disjoint and in order. Nothing where samples do not know what threads wait for:
// they take idle ones for busy.
Seen SeenRunning(const Trace& trace, ProcessId process, int64_t begin_ns, int64_t end_ns,
                 const std::vector<Interval>& but) {
  Seen seen;
  const SampleReader reader(trace.strings);
  const TrackId lead = trace.processes[process.value].lead;
  if (!reader.any() || !lead.valid() || !trace.strings.Find("Waits for").valid()) return seen;
  auto next = but.begin();
  reader.ForEach(trace, trace.tracks[lead.value], [&](int64_t at_ns, const Sample& sample) {
    while (next != but.end() && next->end_ns <= at_ns) ++next;
    const bool inside = next != but.end() && next->begin_ns <= at_ns;
    if (inside || at_ns < begin_ns || at_ns >= end_ns) return;
    if (sample.thread != 0 || sample.waits.valid()) return;
    seen.ns += sample.covers_ns;
    ++seen.samples;
  });
  return seen;
}

}  // namespace

std::vector<std::vector<Request>> RequestsByProcess(const Trace& trace) {
  std::vector<std::vector<Request>> out(trace.processes.size());
  const Reader reader(trace);
  for (const Track& track : trace.tracks) {
    if (track.kind == TrackKind::kAsync) reader.Read(track, &out[track.process.value]);
  }
  for (size_t p = 0; p < out.size(); ++p) {
    KeepWhatRepeats(!trace.processes[p].steps.empty(), &out[p]);
    std::stable_sort(out[p].begin(), out[p].end(),
                     [](const Request& a, const Request& b) { return a.begin_ns < b.begin_ns; });
  }
  return out;
}

std::vector<Interval> Served(const std::vector<Request>& requests) {
  std::vector<Interval> out;
  for (const Request& request : requests) {
    if (out.empty() || out.back().end_ns < request.begin_ns) {
      out.push_back({request.begin_ns, request.end_ns});
    } else {
      out.back().end_ns = std::max(out.back().end_ns, request.end_ns);
    }
  }
  return out;
}

bool IsServer(const Trace& trace, ProcessId process, const std::vector<Interval>& served) {
  if (served.empty()) return false;
  const Seen seen = SeenRunning(trace, process, served[0].begin_ns, INT64_MAX, served);
  int64_t serves_ns = 0;
  for (const Interval& time : served) serves_ns += time.end_ns - time.begin_ns;
  return seen.samples < kFewestSamples || seen.ns / kTimesLonger < serves_ns;
}

bool RunsBeside(const Trace& trace, ProcessId process, Interval time) {
  const Seen seen = SeenRunning(trace, process, time.begin_ns, time.end_ns, {});
  return seen.samples >= kFewestSamples && seen.ns * kTimesLonger >= time.end_ns - time.begin_ns;
}

}  // namespace crosscut::trace
