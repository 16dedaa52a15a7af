// Making the trace of the events that were taken.
#include <simdjson.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "src/base/counted.h"
#include "src/import/chrome/chrome_events.h"
#include "src/import/chrome/chrome_times.h"

namespace crosscut::import {
namespace {

using trace::StringId;

constexpr int64_t kNear = int64_t{3600} * 1'000'000'000;  // ns: in less nothing is out of place
constexpr int64_t kYear2000 = 946'684'800'000'000'000;

// Gives ends of arrows to rows that are one in the file: each to that of the innermost span that is
// open then, or to the first.
void Share(std::vector<ChromeFlow>* flows, const std::vector<ChromeRow*>& rows) {
  struct Span {
    int64_t begin, end;
    ChromeRow* row;
  };
  std::vector<Span> spans, open;
  for (ChromeRow* row : rows) {
    for (size_t i = 0; rows.size() > 1 && i < row->spans.size(); ++i) {
      spans.push_back({row->spans[i].begin_ns, row->spans[i].end_ns, row});
    }
  }
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  std::stable_sort(flows->begin(), flows->end(),
                   [](const ChromeFlow& a, const ChromeFlow& b) { return a.at_ns < b.at_ns; });
  auto next = spans.begin();
  for (const ChromeFlow& flow : *flows) {
    for (; next != spans.end() && next->begin <= flow.at_ns; ++next) {
      while (!open.empty() && open.back().end <= next->begin) open.pop_back();
      open.push_back(*next);
    }
    while (!open.empty() && open.back().end < flow.at_ns) open.pop_back();
    // An arrow may leave at the very end of what nothing is around.
    const auto around = std::find_if(open.rbegin(), open.rend(),
                                     [&](const Span& span) { return span.end > flow.at_ns; });
    ChromeRow* const row = around != open.rend() ? around->row
                           : open.empty()        ? rows.front()
                                                 : open.back().row;
    row->flows.push_back(flow);
  }
  flows->clear();
}

}  // namespace

trace::Trace ChromeEvents::Finish(const JsonReading& reading) {
  edges_.Pair();
  TakeAsides();
  DropFar();
  TakePlanes();
  MakeProcesses();
  PlaceLoose();
  PlaceArrows();
  MakeTracks();
  PutCounts();
  TellFacts();
  if (keep_) builder_.trace().kept.format = "chrome";
  trace::Trace trace = builder_.Finish();
  TellReading(reading, &trace);
  return trace;
}

void ChromeEvents::DropFar() {
  ChromeTimes times;
  SpreadOver(times);
  if (first_ns_ <= last_ns_ && last_ns_ - first_ns_ >= kNear) {
    times = TimesOf(rows_);
    DropFar(times);
    SpreadOver(times);
  }
  for (const trace::Interval& window : windows_) Spread(window.begin_ns, window.end_ns);
  told_.far += edges_.PutEndless(times, last_ns_);
  TakeAsides();
}

// The window is as long as what is in the trace: `times` are those that are possible.
void ChromeEvents::SpreadOver(const ChromeTimes& times) {
  first_ns_ = INT64_MAX;
  last_ns_ = INT64_MIN;
  for (const ChromeRow& row : rows_) {
    for (size_t i = 0; i < row.spans.size(); ++i) {
      Spread(row.spans[i].begin_ns, row.spans[i].end_ns);
    }
    for (const ChromeSpan& instant : row.instants) Spread(instant.begin_ns, instant.begin_ns);
  }
  for (const auto& [step, row] : steps_) Spread(step.begin_ns, step.end_ns);
  for (const Loose& loose : loose_) Spread(loose.instant.begin_ns, loose.instant.begin_ns);
  edges_.ForEachEndless([&](int64_t at_ns) {
    if (times.Has(at_ns)) Spread(at_ns, at_ns);
  });
}

void ChromeEvents::Spread(int64_t begin_ns, int64_t end_ns) {
  first_ns_ = std::min(first_ns_, begin_ns);
  last_ns_ = std::max(last_ns_, end_ns);
}

void ChromeEvents::DropFar(const ChromeTimes& times) {
  for (ChromeRow& row : rows_) told_.far += LeaveOutFar(times, &row);
  told_.far +=
      std::erase_if(loose_, [&](const Loose& loose) { return !times.Has(loose.instant.begin_ns); });
  told_.far +=
      std::erase_if(counts_, [&](const CountedAt& count) { return !times.Has(count.at_ns); });
  told_.far += std::erase_if(steps_, [&](const std::pair<FileStep, ChromeRow*>& step) {
    return !times.Has(step.first.begin_ns) || !times.Has(step.first.end_ns);
  });
  told_.far += std::erase_if(windows_, [&](const trace::Interval& window) {
    return !times.Has(window.begin_ns) || !times.Has(window.end_ns);
  });
}

// Instants of no thread stand on the first of their process.
void ChromeEvents::PlaceLoose() {
  if (loose_.empty()) return;
  std::unordered_map<uint32_t, ChromeRow*> first;  // by pid of the process
  for (ChromeRow& row : rows_) {
    if (row.place == Place::kThread) first.try_emplace(pids_[row.pid].owner, &row);
  }
  for (const Loose& loose : loose_) {
    ChromeRow*& row = first[pids_[loose.pid].owner];
    if (row == nullptr) {
      row = &rows_.emplace_back();
      row->pid = loose.pid;
      row->file_row = static_cast<uint32_t>(rows_.size());
    }
    row->instants.push_back(loose.instant);
    KeepPlace(loose.instant.name, /*instant=*/true, row);
    if (loose.args.empty()) continue;
    row->instants.back().owner = row->owners++;
    for (const trace::Arg& arg : loose.args) row->args.Add(row->instants.back().owner, arg);
  }
}

// Arrows end on the thread's row, or on those of the device.
void ChromeEvents::PlaceArrows() {
  std::unordered_map<std::string, std::vector<ChromeRow*>> rows;
  const auto id = [](const ChromeRow& row) {
    return std::to_string(row.pid) + "\n" + row.event_tid;
  };
  for (const Place place : {Place::kThread, Place::kDevice, Place::kAnnotation, Place::kSync}) {
    for (ChromeRow& row : rows_) {
      if (row.place == place) rows[id(row)].push_back(&row);
    }
  }
  SeparateArrows();
  for (ChromeRow& arrows : rows_) {
    if (arrows.place != Place::kArrows) continue;
    const auto row = rows.find(id(arrows));
    if (row == rows.end()) {
      told_.dangling += arrows.flows.size();
    } else {
      Share(&arrows.flows, row->second);
    }
    arrows.flows.clear();
  }
}

// An id that arrows of several processes begin with is each one's own, as where the traces of
// several ranks were joined.
void ChromeEvents::SeparateArrows() {
  constexpr uint32_t kMany = UINT32_MAX;
  std::unordered_map<uint64_t, uint32_t> begun_by;
  bool any = false;
  for (const ChromeRow& row : rows_) {
    const uint32_t owner = pids_[row.pid].owner;
    for (const ChromeFlow& flow : row.flows) {
      if (!flow.out) continue;
      uint32_t& by = begun_by.try_emplace(flow.id, owner).first->second;
      if (by != owner) by = kMany, any = true;
    }
  }
  if (!any) return;
  for (ChromeRow& row : rows_) {
    for (ChromeFlow& flow : row.flows) {
      const auto by = begun_by.find(flow.id);
      if (by != begun_by.end() && by->second == kMany)
        flow.id = (flow.id & ~kFlowBits) | kInnerFlows;
    }
  }
}

void ChromeEvents::MakeProcesses() {
  processes_ = std::make_unique<ChromeProcesses>(&pids_, rows_, correlation_);
  processes_->Decide();
  const auto rank = std::find_if(facts_.begin(), facts_.end(),
                                 [](const auto& fact) { return fact.first == "distributedInfo"; });
  std::string key;
  simdjson::dom::parser parser;
  int64_t number = 0;
  const bool joined = processes_->launching() > 1;
  if (!joined && rank != facts_.end() && !parser.parse(rank->second).at_key("rank").get(number)) {
    key = "rank" + std::to_string(number);
  }
  const auto own = [&](uint32_t i) { return pids_[i].owner == i; };
  const uint32_t main = processes_->main();
  if (main != UINT32_MAX && !joined) {
    AddProcess(key.empty() ? "p" + pids_[main].text : key, &pids_[main]);
  }
  for (uint32_t i = 0; i < pids_.size(); ++i) {
    ChromePid& pid = pids_[i];
    if (!own(i) || pid.process.valid()) continue;
    const bool alone = main == UINT32_MAX && pid.label.empty() && pid.rank < 0;
    AddProcess(alone && !key.empty()     ? key
               : alone                   ? "device"
               : joined && pid.rank >= 0 ? "rank" + std::to_string(pid.rank)
                                         : (key.empty() ? "p" : key + ".p") + pid.text,
               &pid);
  }
  if (builder_.trace().processes.empty()) AddProcess(key.empty() ? "device" : key, nullptr);
  for (ChromePid& pid : pids_) pid.process = pids_[pid.owner].process;
}

void ChromeEvents::AddProcess(const std::string& key, ChromePid* pid) {
  const trace::ProcessId id = builder_.AddProcess(key);
  trace::Process& process = builder_.process(id);
  const bool none = first_ns_ > last_ns_;
  process.start_ns = none ? 0 : first_ns_;
  process.end_ns = none ? 0 : last_ns_;
  process.name = builder_.Text(key);
  if (pid == nullptr) return;
  pid->process = id;
  process.pid = pid->host ? std::max<int64_t>(pid->number, 0) : 0;
  if (pid->name.valid()) process.name = pid->name;
  if (processes_->launching() > 1 && pid->rank >= 0) {
    process.meta.emplace_back(builder_.Text("rank"), builder_.Text(std::to_string(pid->rank)));
  }
}

void ChromeEvents::MakeTracks() {
  std::unordered_map<const ChromeRow*, trace::TrackId> tracks;
  for (ChromeRow& row : rows_) {
    if (row.place == Place::kArrows || row.left_out) continue;
    const ChromePid& pid = pids_[row.pid];
    row.name = NameOfRow(row);
    ChromeOwner owner = {pid.process, pids_[pid.owner].number, nullptr};
    if (processes_->Shared(row)) {
      told_.unsure += processes_->Unsure(row);
      owner.of_span = [this, &row](const ChromeSpan& span) {
        return pids_[processes_->OwnerOf(row, span)].process;
      };
    }
    const ChromeRepairs repairs = MakeTracksOf(&builder_, owner, &row);
    tracks[&row] = repairs.track;
    told_.outlive += repairs.outlive;
    told_.beside += repairs.beside;
    told_.cut_off += repairs.cut_off;
    told_.end_rounded += repairs.rounded;
  }
  MakeSteps(tracks);
}

void ChromeEvents::MakeSteps(const std::unordered_map<const ChromeRow*, trace::TrackId>& tracks) {
  std::map<uint32_t, std::vector<FileStep>> steps;  // by process
  for (auto& [step, row] : steps_) {
    const trace::TrackId track = tracks.at(row);
    step.track = track;
    steps[builder_.track(track).track().process.value].push_back(step);
  }
  for (const auto& [process, all] : steps) told_.cut_steps += PutSteps(&builder_, all);
}

// A process has those of its devices, too: what several pids count by one name is each one's own.
void ChromeEvents::PutCounts() {
  constexpr uint32_t kMany = UINT32_MAX;
  const auto key = [&](const CountedAt& count) {
    return uint64_t{pids_[count.pid].process.value} << 32 | count.name.value;
  };
  std::unordered_map<uint64_t, uint32_t> pid_of;
  for (const CountedAt& count : counts_) {
    uint32_t& pid = pid_of.try_emplace(key(count), count.pid).first->second;
    if (pid != count.pid) pid = kMany;
  }
  for (const CountedAt& count : counts_) {
    trace::NameId name = count.name;
    if (pid_of.at(key(count)) == kMany && pids_[count.pid].kind != "CPU") {
      trace::Name own = builder_.trace().name(name);
      own.text = builder_.Text(std::string(builder_.trace().text(own.text)) + " (pid " +
                               pids_[count.pid].text + ")");
      name = builder_.AddName(own);
    }
    builder_.Count(pids_[count.pid].process, name, count.at_ns, count.value);
  }
}

void ChromeEvents::TellFacts() {
  trace::Trace& trace = builder_.trace();
  trace.realtime_offset_ns = base_ns_;
  trace.clock = base_ns_ > 0 ? "since baseTimeNanoseconds" : "not known";
  if (trace.processes.empty()) return;
  trace::Process& process = trace.processes.front();
  const int64_t started = process.start_ns + base_ns_;
  if (started > kYear2000) {
    trace.started_realtime_ns = started;
    if (base_ns_ == 0) trace.clock = "CLOCK_REALTIME";  // no other is so late
  }
  for (const auto& [key, value] : facts_) {
    process.meta.emplace_back(builder_.Text(key), builder_.Text(value));
  }
  NameDevices();
}

// {"deviceProperties": [{"id": 0, "name": "Tesla V100", ...}]}
void ChromeEvents::NameDevices() {
  simdjson::dom::parser parser;
  std::unordered_map<int64_t, StringId> names;
  for (const auto& [key, value] : facts_) {
    simdjson::dom::array devices;
    if (key != "deviceProperties" || parser.parse(value).get(devices)) continue;
    for (const simdjson::dom::element device : devices) {
      int64_t id = 0;
      std::string_view name;
      if (device["id"].get(id) || device["name"].get(name)) continue;
      names[id] = builder_.Text(name);
    }
  }
  for (size_t i = 0; i < builder_.tracks(); ++i) {
    trace::Track& track = builder_.track({static_cast<uint32_t>(i)}).track();
    const auto name = names.find(track.device);
    if (name != names.end()) track.device_name = name->second;
  }
}

void ChromeEvents::TellReading(const JsonReading& reading, trace::Trace* trace) {
  const auto say = [trace](uint64_t count, const std::string& what) {
    if (count > 0) trace->gaps.push_back(base::Counted(count, what));
  };
  // From when Crosscut wrote the file; counts may differ, as what was repaired is not repaired
  // twice.
  const auto known = [gaps = trace->gaps](const ChromeTold::Sentence& sentence) {
    const auto words = [](std::string_view text) {
      return std::string(text.substr(std::min(text.size(), text.find_first_not_of("0123456789"))));
    };
    const std::string one = words(base::Counted(1, sentence.words)),
                      many = words(base::Counted(2, sentence.words));
    return std::any_of(gaps.begin(), gaps.end(), [&](const std::string& gap) {
      return gap == sentence.words || words(gap) == one || words(gap) == many;
    });
  };
  if (!reading.cut_off.empty()) {
    trace->gaps.push_back("The file is incomplete: " + reading.cut_off +
                          "; what comes before that is here.");
  }
  say(reading.damaged,
      "{event|events} of the file cannot be read and {is|are} left out, the first at byte " +
          std::to_string(reading.first_damage_at) + ".");
  if (reading.beside_damaged) {
    trace->gaps.emplace_back("The part of the file beside the events is damaged or cut off.");
  }
  told_.endless = edges_.endless();
  told_.lone_ends = edges_.lone_ends();
  told_.lost_args = edges_.lost_args();
  told_.dangling += builder_.DanglingFlows(kOuterFlows >> 62) + builder_.DanglingFlows(0);
  told_.same_launch = builder_.RepeatedFlows(kLaunchFlows >> 62);
  const bool any_known = std::any_of(categories_.begin(), categories_.end(),
                                     [](const KnownCategory& known) { return known.known; });
  told_.strange = strange_.Text(/*bare=*/any_known);
  for (const ChromeTold::Sentence& sentence : told_.Sentences()) {
    if (known(sentence)) continue;
    trace->gaps.push_back(sentence.count == 0 ? sentence.words
                                              : base::Counted(sentence.count, sentence.words));
  }
  trace->damaged = reading.damaged > 0 || !reading.cut_off.empty() || reading.beside_damaged;
}

}  // namespace crosscut::import
