#include "src/export/left_out.h"

#include <map>
#include <utility>

#include "src/base/counted.h"
#include "src/base/json_text.h"
#include "src/base/lists.h"
#include "src/export/launches.h"
#include "src/export/passed_profiles.h"
#include "src/trace/gaps.h"
#include "src/trace/memory_marks.h"
#include "src/trace/whole_spans.h"

namespace crosscut::exporting {
namespace {

using trace::Track;

constexpr std::pair<Part, const char*> kWords[] = {
    {kSpans, "{span|spans} of threads"},
    {kWork, "{span|spans} of devices"},
    {kTimes, "{span's time|spans' times} (there are sums)"},
    {kArguments, "{argument|arguments}"},
    {kFields, "{field|fields} of spans beside their arguments"},
    {kSteps, "{step|steps}"},
    {kMemory, "{change|changes} of memory"},
    {kSamples, "{sample|samples}"},
    {kMarks, "{mark|marks}"},
    {kCounters, "{value|values} of counters"},
    {kLaunches, "{arrow|arrows} to devices"},
    {kArrows, "{arrow|arrows} between threads"},
    {kLoose, "{arrow|arrows} with an end in no span"},
    {kPhases, "{phase|phases}"},
    {kPauses, "{pause|pauses}"},
    {kLayers, "{layer|layers} outside spans"},
    {kLosses, "{place|places} where events are missing"},
    {kProbes, "{figure|figures} of what Crosscut's probes cost, so that no time is corrected"},
    {kGaps, "{sentence|sentences} about what is missing"},
};

class Counter {
 public:
  Counter(const trace::Trace& trace, uint32_t holds, const PassedProfiles* passed)
      : trace_(trace), holds_(holds) {
    const auto is_passed = [&](const Track& track) { return passed && passed->Has(track); };
    for (const Track& track : trace.tracks) {
      if (!is_passed(track)) CountTrack(track);
    }
    for (const trace::CounterSeries& series : trace.counters) Count(kCounters, series.at_ns.size());
    const Launches launches(trace);
    for (size_t i = 0; i < trace.flows.size(); ++i) {
      if (is_passed(trace.tracks[trace.flows[i].from_track.value])) continue;
      const bool loose = !Launches::HasEnds(trace.flows[i]);
      Count(loose ? kLoose : launches.Is(i) ? kLaunches : kArrows, 1);
    }
    for (const trace::Process& process : trace.processes) {
      Count(kSteps, process.steps.size());
      Count(kPhases, process.phases.size());
      Count(kPauses, process.paused.size());
      Count(kProbes, process.probes.size());
    }
  }
  void Count(Part part, uint64_t number) {
    if ((holds_ & part) == 0) lost_[part] += number;
  }
  std::string Words() const {
    std::string words;
    for (const auto& [part, what] : kWords) {
      const auto at = lost_.find(part);
      if (at == lost_.end() || at->second == 0) continue;
      words += (words.empty() ? "" : ", ") + base::Counted(at->second, what);
    }
    return words;
  }

 private:
  void CountTrack(const Track& track) {
    const bool device = track.kind == trace::TrackKind::kDevice;
    const Part part = device ? kWork : kSpans;
    const trace::WholeSpans wholes(track.spans);
    uint64_t spans = 0;
    for (trace::SpanIndex s = 0; s < track.spans.size(); ++s) spans += wholes.first(s) == s ? 1 : 0;
    Count(part, spans);
    if ((holds_ & part) != 0) {
      Count(kTimes, spans);
      for (trace::SpanIndex s = 0; track.args.size() > 0 && s < track.spans.size(); ++s) {
        CountArguments(track.args.of(s));
      }
    }
    for (uint32_t i = 0; i < track.instants.at_ns.size(); ++i) {
      const trace::NameId name = track.instants.name[i];
      const bool memory = marks_.IsChange(name) || marks_.IsUnseen(name);
      const bool sample = sample_.valid() && trace_.name(name).text == sample_;
      Count(memory ? kMemory : sample ? kSamples : kMarks, 1);
    }
    for (const trace::Layer layer : track.base)
      Count(kLayers, layer == trace::Layer::kNone ? 0 : 1);
    Count(kLosses, track.losses.size());
  }

  void CountArguments(const trace::Args::Range& args) {
    for (const trace::Arg& arg : args) Count(arg.beside ? kFields : kArguments, 1);
  }

  const trace::Trace& trace_;
  const uint32_t holds_;
  const trace::MemoryMarks marks_{trace_};
  const trace::StringId sample_ = trace_.strings.Find("[sample]");
  std::map<Part, uint64_t> lost_;
};

}  // namespace

std::vector<std::string> Gaps::all() const {
  std::vector<std::string> all = of_recording;
  all.insert(all.end(), of_file.begin(), of_file.end());
  return all;
}

void Gaps::AppendJson(std::string* out) const {
  *out += "[" + base::Joined(all(), ", ", base::JsonText) + "]";
}

Gaps GapsOf(const trace::Trace& trace, uint32_t holds, const Identities* ids,
            const PassedProfiles* passed) {
  Gaps gaps{trace::Gaps(trace), {}};
  Counter counter(trace, holds, passed);
  counter.Count(kGaps, gaps.of_recording.size());
  const std::string words = counter.Words();
  if (!words.empty()) gaps.of_file.push_back("The exported file has no room for " + words + ".");
  if (ids != nullptr) {
    gaps.of_file.insert(gaps.of_file.end(), ids->gaps().begin(), ids->gaps().end());
  }
  return gaps;
}

}  // namespace crosscut::exporting
