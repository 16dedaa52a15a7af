#include "src/trace/merge.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace crosscut::trace {
namespace {

constexpr std::string_view kNoCommonClock =
    "Of the inputs not all know the time of day: they do not stand on one clock.";

bool Has(const std::vector<std::string>& sentences, std::string_view sentence) {
  return std::find(sentences.begin(), sentences.end(), sentence) != sentences.end();
}

class Appending {
 public:
  Appending(Trace* other, Trace* into) : other_(*other), into_(*into) {
    for (uint32_t i = 0; i < other->strings.size(); ++i) {
      strings_.push_back(into->strings.Intern(other->strings.Get({i})));
    }
    if (other->KnowsTimeOfDay() && into->KnowsTimeOfDay()) {
      shift_ = other->realtime_offset_ns - into->realtime_offset_ns;
    } else if (!into->processes.empty() && !Has(into->gaps, kNoCommonClock)) {
      into->gaps.emplace_back(kNoCommonClock);
    }
  }

  void Run() {
    // What two files number may clash.
    into_.kept = {};
    into_.profiles.clear();
    for (Track& track : into_.tracks) Forget(&track);
    for (Name& name : other_.names) {
      Map(&name.text);
      Map(&name.probe);
      Map(&name.overload);
      Map(&name.category);
      into_.names.push_back(name);
    }
    for (Process& process : other_.processes) MapProcess(&process);
    for (Track& track : other_.tracks) MapTrack(&track);
    for (Flow& flow : other_.flows) {
      flow.from_track.value += tracks_;
      flow.to_track.value += tracks_;
      Shift(&flow.from_ns);
      Shift(&flow.to_ns);
      into_.flows.push_back(flow);
    }
    for (CounterSeries& series : other_.counters) {
      series.process.value += processes_;
      series.name.value += names_;
      Shift(&series.at_ns);
      into_.counters.push_back(std::move(series));
    }
    into_.gaps.insert(into_.gaps.end(), other_.gaps.begin(), other_.gaps.end());
    into_.damaged = into_.damaged || other_.damaged;
  }

 private:
  void Map(StringId* id) const {
    if (id->valid()) *id = strings_[id->value];
  }
  template <class Allocator>
  void Map(std::vector<NameId, Allocator>* ids) const {
    for (NameId& id : *ids) id.value += names_;
  }
  void Shift(int64_t* ns) const { *ns += shift_; }
  template <class Allocator>
  void Shift(std::vector<int64_t, Allocator>* ns) const {
    for (int64_t& at : *ns) at += shift_;
  }

  void MapProcess(Process* process) {
    for (StringId* id :
         {&process->key, &process->name, &process->start_method, &process->why_incomplete}) {
      Map(id);
    }
    KeepKeyApart(process);
    if (process->parent.valid()) process->parent.value += processes_;
    if (process->lead.valid()) process->lead.value += tracks_;
    Shift(&process->start_ns);
    Shift(&process->end_ns);
    for (Interval& pause : process->paused) Shift(&pause.begin_ns), Shift(&pause.end_ns);
    for (Window& window : process->windows) Shift(&window.begin_ns), Shift(&window.end_ns);
    for (Step& step : process->steps) {
      Shift(&step.begin_ns);
      Shift(&step.end_ns);
      Map(&step.kind);
      if (step.track.valid()) step.track.value += tracks_;
    }
    for (Phase& phase : process->phases) {
      Shift(&phase.begin_ns);
      Shift(&phase.end_ns);
      Map(&phase.name);
    }
    for (ProbeCost& cost : process->probes) Map(&cost.probe);
    for (Source& source : process->sources) {
      for (StringId* id : {&source.name, &source.version, &source.state, &source.message}) Map(id);
    }
    for (Clock& clock : process->clocks) Map(&clock.name);
    for (auto& [key, value] : process->meta) Map(&key), Map(&value);
    into_.processes.push_back(std::move(*process));
  }

  void KeepKeyApart(Process* process) {
    const std::string key(into_.text(process->key));
    const auto taken = [&](StringId id) {
      return std::any_of(into_.processes.begin(), into_.processes.end(),
                         [&](const Process& other) { return other.key == id; });
    };
    for (int number = 2; taken(process->key); ++number) {
      process->key = into_.strings.Intern(key + " (" + std::to_string(number) + ")");
    }
  }

  static void Forget(Track* track) {
    track->file_pid = track->file_tid = StringId::None();
    track->profile = -1;
  }

  void MapTrack(Track* track) {
    track->process.value += processes_;
    Map(&track->name);
    Map(&track->device_name);
    Forget(track);
    Shift(&track->begin_ns);
    Shift(&track->end_ns);
    Shift(&track->base_at_ns);
    Shift(&track->spans.begin_ns);
    Shift(&track->spans.end_ns);
    for (auto& [span, end_ns] : track->spans.stated_ends) Shift(&end_ns);
    Map(&track->spans.name);
    for (Args* args : {&track->args, &track->instant_args}) {
      args->MapStrings([this](StringId id) {
        Map(&id);
        return id;
      });
    }
    Shift(&track->instants.at_ns);
    Map(&track->instants.name);
    for (Loss& loss : track->losses) {
      Shift(&loss.begin_ns);
      Shift(&loss.end_ns);
      Map(&loss.reason);
    }
    into_.tracks.push_back(std::move(*track));
  }

  Trace& other_;
  Trace& into_;
  std::vector<StringId> strings_;
  int64_t shift_ = 0;
  const uint32_t names_ = static_cast<uint32_t>(into_.names.size());
  const uint32_t processes_ = static_cast<uint32_t>(into_.processes.size());
  const uint32_t tracks_ = static_cast<uint32_t>(into_.tracks.size());
};

}  // namespace

void Append(Trace other, Trace* into) { Appending(&other, into).Run(); }

}  // namespace crosscut::trace
