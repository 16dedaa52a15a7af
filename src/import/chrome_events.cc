#include "src/import/chrome_events.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <functional>

namespace crosscut::import {
namespace {

using trace::Kind;
using trace::Layer;
using trace::StringId;

constexpr int64_t kLatestBase = 4'000'000'000'000'000'000;
constexpr int64_t kYear2000 = 946'684'800'000'000'000;

bool Integer(std::string_view text, int64_t* out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size();
}

int64_t NumberOf(const JsonValue& value, int64_t otherwise) {
  int64_t number = otherwise;
  return Integer(value.text, &number) ? number : otherwise;
}

const JsonArg* Find(const JsonEvent& event, std::string_view key) {
  for (const JsonArg& arg : event.args) {
    if (arg.key == key) return &arg;
  }
  return nullptr;
}

// Of all bytes of a short text and of every other of a long one.
uint64_t QuickHash(std::string_view text) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  const size_t step = std::max<size_t>(8, text.size() / 8);
  uint64_t hash = text.size();
  for (size_t at = 0; at < text.size(); at += step) {
    uint64_t bytes = 0;
    memcpy(&bytes, text.data() + at, std::min<size_t>(text.size() - at, 8));
    hash = (hash ^ bytes) * kOdd;
    hash ^= hash >> 32;
  }
  return hash * kOdd;
}

// What communicates, by the names of PyTorch's process groups.
bool IsCollective(std::string_view name) {
  return name.starts_with("nccl:") || name.starts_with("gloo:") || name.starts_with("c10d::") ||
         name.starts_with("mpi:") || name == "record_param_comms";
}

}  // namespace

// ---- taking events ------------------------------------------------------------------------------

void ChromeEvents::OnEvent(const JsonEvent& event) {
  switch (event.ph) {
    case 'X': return TakeSpan(event);
    case 'B':
    case 'E': return TakeBeginEnd(event);
    case 'i':
    case 'I':
    case 'R': return TakeInstant(event);
    case 'C': return TakeCounter(event);
    case 'M': return TakeMetadata(event);
    case 's':
    case 't':
    case 'f': return TakeFlow(event);
    default: ++others_;
  }
}

void ChromeEvents::OnFact(std::string_view key, const JsonValue& value) {
  if (key == "baseTimeNanoseconds") {
    base_ns_ = std::clamp<int64_t>(NumberOf(value, 0), 0, kLatestBase);
  }
  std::string space;
  const bool text = value.kind == JsonValue::Kind::kText;
  facts_.emplace_back(key, text ? WithoutEscapes(value.text, &space) : value.text);
}

uint32_t ChromeEvents::PidOf(const JsonValue& pid) {
  const auto [at, fresh] =
      pid_index_.try_emplace(std::string(pid.text), static_cast<uint32_t>(pids_.size()));
  if (!fresh) return at->second;
  pids_.push_back({std::string(pid.text), NumberOf(pid, -1), {}, false, false, 0, {}});
  return at->second;
}

ChromeRow* ChromeEvents::RowOf(const JsonEvent& event, Place place) {
  JsonValue tid = event.tid;
  if (place != Place::kThread) {
    const JsonArg* stream = Find(event, "stream");
    if (stream != nullptr && stream->value.kind == JsonValue::Kind::kNumber) tid = stream->value;
  }
  LastRow& last = last_rows_[static_cast<size_t>(place)];
  if (last.row != nullptr && last.pid == event.pid.text && last.tid == tid.text) return last.row;
  row_id_.assign(1, static_cast<char>('0' + static_cast<int>(place)));
  row_id_.append(event.pid.text).append(1, '\n').append(tid.text);
  ChromeRow*& row = rows_by_id_[row_id_];
  if (row == nullptr) {
    row = &rows_.emplace_back();
    row->pid = PidOf(event.pid);
    row->place = place;
    row->os_id = NumberOf(tid, 0);
    if (tid.kind == JsonValue::Kind::kText) row->name = TextOf(tid.text);
    (place == Place::kThread ? pids_[row->pid].host : pids_[row->pid].device) = true;
  }
  last.pid = event.pid.text;
  last.tid = tid.text;
  last.row = row;
  return row;
}

ChromeEvents::KnownCategory* ChromeEvents::KnownOf(std::string_view category) {
  for (KnownCategory& known : categories_) {
    if (known.text == category) return &known;
  }
  const Category* found = FindCategory(category);
  if (found == nullptr) return &others_alike_;
  categories_.push_back({std::string(category), *found, {}});
  return &categories_.back();
}

trace::NameId ChromeEvents::NameOf(KnownCategory* category, std::string_view text) {
  const StringId id = TextOf(text);
  if (id.value >= category->names.size()) category->names.resize(id.value + 1);
  trace::NameId& name = category->names[id.value];
  if (!name.valid()) {
    Layer layer = category->category.layer;
    Kind kind = category->category.kind;
    const bool host = category->category.place == Place::kThread;
    if (host && IsCollective(text)) layer = Layer::kComm, kind = Kind::kSpan;
    if (text.starts_with(kChromeStep)) kind = Kind::kSpan;
    name = builder_.AddName({id, kind, layer, /*waits=*/false, {}});
  }
  return name;
}

StringId ChromeEvents::TextOf(std::string_view text, bool escapes) {
  KnownText& known = known_texts_[QuickHash(text) >> (64 - kKnownTextBits)];
  if (known.text == text && known.id.valid()) return known.id;
  if (!text.empty() && memchr(text.data(), '\\', text.size()) != nullptr) {
    return builder_.Text(escapes ? WithoutEscapes(text, &space_) : text);
  }
  const StringId id = builder_.Text(text);
  known = {builder_.trace().text(id), id};
  return id;
}

void ChromeEvents::TakeSpan(const JsonEvent& event) {
  KnownCategory* known = KnownOf(event.cat);
  if (known->category.place == Place::kNowhere) return TakeWindow(event);
  if (event.ts_ns == JsonEvent::kNoTime || event.dur_ns == JsonEvent::kNoTime) {
    ++timeless_;
    return;
  }
  ChromeRow* row = RowOf(event, known->category.place);
  if (known->category.layer == Layer::kFramework) ++pids_[row->pid].operators;
  const int64_t end = event.ts_ns + std::max<int64_t>(event.dur_ns, 0);
  const bool step = known->category.place == Place::kThread && event.name.starts_with(kChromeStep);
  const ChromeSpan taken = {event.ts_ns, end, NameOf(known, event.name), TakeArgs(event, row)};
  if (step) {
    row->steps.push_back(taken);
  } else {
    row->spans.push_back(taken);
  }
  first_ns_ = std::min(first_ns_, event.ts_ns);
  last_ns_ = std::max(last_ns_, end);
}

void ChromeEvents::TakeBeginEnd(const JsonEvent& event) {
  if (event.ts_ns == JsonEvent::kNoTime) {
    ++timeless_;
    return;
  }
  KnownCategory* known = KnownOf(event.cat);
  ChromeRow* row = RowOf(event, Place::kThread);
  first_ns_ = std::min(first_ns_, event.ts_ns);
  last_ns_ = std::max(last_ns_, event.ts_ns);
  if (event.ph == 'B') {
    row->open.push_back(
        {event.ts_ns, event.ts_ns, NameOf(known, event.name), TakeArgs(event, row)});
    return;
  }
  if (row->open.empty()) {
    ++unmatched_;
    return;
  }
  row->open.back().end_ns = std::max(event.ts_ns, row->open.back().begin_ns);
  row->spans.push_back(row->open.back());
  row->open.pop_back();
}

void ChromeEvents::TakeInstant(const JsonEvent& event) {
  if (event.cat.empty() && event.tid.kind != JsonValue::Kind::kNumber) return;  // of the trace
  if (event.ts_ns == JsonEvent::kNoTime) {
    ++timeless_;
    return;
  }
  ChromeRow* row = RowOf(event, Place::kThread);
  row->instants.push_back(
      {event.ts_ns, event.ts_ns, NameOf(KnownOf(event.cat), event.name), TakeArgs(event, row)});
  first_ns_ = std::min(first_ns_, event.ts_ns);
  last_ns_ = std::max(last_ns_, event.ts_ns);
}

void ChromeEvents::TakeCounter(const JsonEvent& event) {
  if (event.ts_ns == JsonEvent::kNoTime) {
    ++timeless_;
    return;
  }
  for (const JsonArg& arg : event.args) {
    double value = 0;
    const std::string_view text = arg.value.text;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc()) continue;
    std::string name(event.name);
    if (!arg.key.empty() && event.args.size() > 1) name += "." + std::string(arg.key);
    const StringId id = TextOf(name);
    counts_.push_back({PidOf(event.pid),
                       builder_.AddName({id, Kind::kSpan, Layer::kNone, false, {}}), event.ts_ns,
                       std::llround(value)});
  }
}

void ChromeEvents::TakeMetadata(const JsonEvent& event) {
  const JsonArg* name = Find(event, "name");
  if (name == nullptr) return;
  std::string_view text = name->value.text;
  while (text.ends_with(' ')) text.remove_suffix(1);  // "stream 7 "
  if (event.name == "process_name") pids_[PidOf(event.pid)].name = TextOf(text);
  if (event.name == "thread_name") {
    thread_names_[std::string(event.pid.text) + "\n" + std::string(event.tid.text)] = TextOf(text);
  }
}

void ChromeEvents::TakeFlow(const JsonEvent& event) {
  // Kineto's arrows from launches to their work: their correlations say the same, and these have
  // ends without a begin for every call that launches nothing.
  if (event.cat == "ac2g") return;
  if (event.ts_ns == JsonEvent::kNoTime) {
    ++timeless_;
    return;
  }
  const std::hash<std::string_view> hash;
  const uint64_t id = hash(event.id.text) * 31 + hash(event.cat) * 7 + hash(event.name);
  RowOf(event, Place::kThread)
      ->flows.push_back({event.ts_ns, (id & ~kCorrelationFlows) | kDeclaredFlows, event.ph == 's'});
}

uint32_t ChromeEvents::TakeArgs(const JsonEvent& event, ChromeRow* row) {
  if (event.args.empty()) return UINT32_MAX;
  const uint32_t owner = row->owners++;
  for (const auto& [key, value] : event.args) {
    trace::Arg arg = {TextOf(key)};
    arg.is_text = value.kind != JsonValue::Kind::kNumber || !Integer(value.text, &arg.value);
    if (arg.is_text) arg.value = TextOf(value.text, value.kind == JsonValue::Kind::kText).value;
    row->args.Add(owner, arg);
  }
  return owner;
}

void ChromeEvents::TakeWindow(const JsonEvent& event) {
  if (event.ts_ns == JsonEvent::kNoTime || event.dur_ns == JsonEvent::kNoTime) return;
  window_begin_ns_ = std::min(window_begin_ns_, event.ts_ns);
  window_end_ns_ = std::max(window_end_ns_, event.ts_ns + std::max<int64_t>(event.dur_ns, 0));
}

// ---- making the trace ---------------------------------------------------------------------------

trace::Trace ChromeEvents::Finish(const JsonReading& reading) {
  for (ChromeRow& row : rows_) {
    unmatched_ += row.open.size();
    for (ChromeSpan& open : row.open) {
      open.end_ns = last_ns_;
      row.spans.push_back(open);
    }
  }
  MakeProcesses();
  MakeTracks();
  for (const CountedAt& count : counts_) {
    builder_.Count(pids_[count.pid].process, count.name, count.at_ns, count.value);
  }
  TellFacts();
  trace::Trace trace = builder_.Finish();
  TellReading(reading, &trace);
  return trace;
}

// Devices belong to the process that uses them: the one with the most operators.
void ChromeEvents::MakeProcesses() {
  Pid* main = nullptr;
  for (Pid& pid : pids_) {
    if (pid.host && (main == nullptr || pid.operators > main->operators)) main = &pid;
  }
  const auto rank = std::find_if(facts_.begin(), facts_.end(),
                                 [](const auto& fact) { return fact.first == "distributedInfo"; });
  std::string key;
  simdjson::dom::parser parser;
  int64_t number = 0;
  if (rank != facts_.end() && !parser.parse(rank->second).at_key("rank").get(number)) {
    key = "rank" + std::to_string(number);
  }
  const bool none = first_ns_ > last_ns_;
  const int64_t begin = std::min(window_begin_ns_, none ? INT64_MAX : first_ns_);
  const int64_t end = std::max(window_end_ns_, none ? INT64_MIN : last_ns_);
  const auto add = [&](std::string_view its_key, const Pid* pid) {
    const trace::ProcessId id = builder_.AddProcess(its_key);
    trace::Process& process = builder_.process(id);
    process.pid = pid == nullptr ? 0 : std::max<int64_t>(pid->number, 0);
    process.start_ns = begin > end ? 0 : begin;
    process.end_ns = begin > end ? 0 : end;
    process.name = pid != nullptr && pid->name.valid() ? pid->name : builder_.Text(its_key);
    return id;
  };
  const std::string prefix = key.empty() ? "p" : key + ".p";
  const trace::ProcessId first = add(!key.empty()      ? key
                                     : main == nullptr ? "device"
                                                       : "p" + main->text,
                                     main);
  for (Pid& pid : pids_) {
    // Some releases of PyTorch write Python's functions under pid 0.
    const bool lost = pid.text == "0" && pid.operators == 0 && main != nullptr;
    const bool own = pid.host && &pid != main && !lost;
    pid.process = own ? add(prefix + pid.text, &pid) : first;
  }
}

void ChromeEvents::MakeTracks() {
  for (ChromeRow& row : rows_) {
    const Pid& pid = pids_[row.pid];
    const auto named = thread_names_.find(pid.text + "\n" + std::to_string(row.os_id));
    if (named != thread_names_.end()) row.name = named->second;
    MakeTracksOf(&builder_, pid.process, pid.number, &row);
  }
}

void ChromeEvents::TellFacts() {
  trace::Trace& trace = builder_.trace();
  trace.clock = base_ns_ > 0 ? "since baseTimeNanoseconds" : "CLOCK_REALTIME";
  trace.realtime_offset_ns = base_ns_;
  if (trace.processes.empty()) return;
  trace::Process& process = trace.processes.front();
  const int64_t started = process.start_ns + base_ns_;
  trace.started_realtime_ns = started > kYear2000 ? started : 0;
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
    if (count > 0) trace->gaps.push_back(std::to_string(count) + what);
  };
  if (!reading.cut_off.empty()) {
    trace->gaps.push_back("The file is not whole: " + reading.cut_off +
                          "; what stands before is here.");
  }
  say(reading.damaged, " events of the file cannot be read and are left out, the first at byte " +
                           std::to_string(reading.first_damage_at) + ".");
  if (reading.beside_damaged) {
    trace->gaps.emplace_back("What stands beside the events of the file is damaged or cut off.");
  }
  say(timeless_, " events of the file state no time, or none that a clock shows: left out.");
  say(unmatched_, " begins or ends of spans in the file have no other half.");
  say(builder_.DanglingFlows(kDeclaredFlows >> 62),
      " ends of arrows in the file have no other half: left out.");
  say(others_,
      " events of the file are of kinds that are not read (asynchronous, objects, "
      "samples): left out.");
  trace->damaged = reading.damaged > 0 || !reading.cut_off.empty() || reading.beside_damaged;
}

}  // namespace crosscut::import
