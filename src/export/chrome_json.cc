#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "src/base/json_text.h"
#include "src/export/distributed_info.h"
#include "src/export/exporter.h"
#include "src/trace/whole_spans.h"

namespace crosscut::exporting {
namespace {

using trace::Kind;
using trace::Layer;
using trace::SpanIndex;
using trace::Track;
using trace::TrackKind;

constexpr size_t kFlushBytes = 1 << 20;
constexpr int64_t kBaseGridNs = 7889238 * int64_t{1'000'000'000};  // Kineto's: ranks share a base
constexpr int64_t kStepsTid = 1'000'000'000;     // no thread has it: pid_max is below
constexpr int64_t kMoreDevices = 1'000'000'000;  // pid of devices that another process also has

constexpr int64_t kMostBytes = INT64_MAX / 1000;
constexpr std::string_view kStep = "ProfilerStep#";
constexpr std::string_view kJsonFact = "json:";  // a fact whose value is JSON; others are texts
constexpr std::string_view kBandwidth = "memory bandwidth (GB/s)";
constexpr std::string_view kArrays[] = {"Input Dims",         "Input type",    "Input Strides",
                                        "Concrete Inputs",    "In split size", "Out split size",
                                        "Process Group Ranks"};

std::string Json(std::string_view text) {
  std::string out;
  base::AppendJsonString(text, &out);
  return out;
}

// `probe`: what recorded it. Calls from Python into a framework are none of its operators.
std::string_view Category(const trace::Name& name, std::string_view text, std::string_view probe) {
  if (name.kind == Kind::kOperation) return "user_annotation";
  switch (name.layer) {
    case Layer::kNone: return "user_annotation";
    case Layer::kPython: return "python_function";
    case Layer::kFramework: return probe == "boundary" ? "framework" : "cpu_op";
    case Layer::kRuntime: return "cuda_runtime";
    case Layer::kDevice:
      if (text.starts_with("Memcpy")) return "gpu_memcpy";
      return text.starts_with("Memset") ? "gpu_memset" : "kernel";
    default: return trace::LayerName(name.layer);
  }
}

class ChromeWriter {
 public:
  ChromeWriter(const trace::Trace& trace, Sink* sink) : trace_(trace), sink_(sink) {}
  Status Write();

 private:
  void Head();
  void Facts();
  void Prepare();
  void ProcessRows(uint32_t process);
  void TrackRows(uint32_t track);
  void Steps(const trace::Process& process, uint32_t index);
  void SpanRows(uint32_t track);
  void SpanArgs(const Track& track, uint32_t index, SpanIndex span);
  void TextArg(std::string_view key, trace::StringId text);
  void ArgValue(const trace::Arg& arg);
  void InstantRows(uint32_t track);
  void FlowRows();
  void CounterRows();
  void Metadata(int64_t pid, int64_t tid, std::string_view what, std::string_view args);

  void Raw(std::string_view text) { buffer_ += text; }
  void Number(int64_t value) {
    char text[24];
    buffer_.append(text, std::to_chars(text, text + sizeof text, value).ptr);
  }
  // ns as microseconds with three decimals.
  void Us(int64_t ns) {
    if (ns < 0) ns = 0;
    Number(ns / 1000);
    const auto rest = static_cast<int>(ns % 1000);
    const char decimals[] = {'.', static_cast<char>('0' + rest / 100),
                             static_cast<char>('0' + rest / 10 % 10),
                             static_cast<char>('0' + rest % 10)};
    buffer_.append(decimals, sizeof decimals);
  }
  void Begin() {
    if (any_) buffer_ += ",\n";
    any_ = true;
  }
  void Place(int64_t pid, int64_t tid) {
    Raw(", \"pid\": ");
    Number(pid);
    Raw(", \"tid\": ");
    Number(tid);
  }
  // What may be written goes out; false after an error.
  bool Flush(size_t least) {
    if (buffer_.size() < least || !status_.ok()) return status_.ok();
    status_ = sink_->Write(buffer_);
    buffer_.clear();
    return status_.ok();
  }
  static uint64_t Key(uint32_t track, SpanIndex span) { return uint64_t{track} << 32 | span; }

  const trace::Trace& trace_;
  Sink* sink_;
  std::string buffer_;
  bool any_ = false;
  Status status_;
  int64_t base_ns_ = 0;
  std::vector<std::string> name_heads_;  // {"ph": "X", "cat": ..., "name": ... of each name
  std::vector<int64_t> pids_;            // by process
  std::vector<std::pair<int64_t, int64_t>> places_;  // pid, tid by track
  // Scopes of torch.profiler's in a recorded program: their number is an argument.
  const trace::StringId own_steps_ = trace_.strings.Find(kStep),
                        step_key_ = trace_.strings.Find("step");
  const bool tells_bandwidth_ = trace_.strings.Find(kBandwidth).valid();  // the trace itself does
  simdjson::dom::parser parser_;
  std::unordered_map<uint32_t, bool> is_array_;        // by string
  std::unordered_map<uint64_t, int64_t> correlation_;  // launches and what they launched
};

void ChromeWriter::Prepare() {
  for (const trace::Name& name : trace_.names) {
    const std::string_view text = trace_.text(name.text);
    name_heads_.push_back(
        "{\"ph\": \"X\", \"cat\": " + Json(Category(name, text, trace_.text(name.probe))) +
        ", \"name\": " + Json(text));
  }
  for (size_t i = 0; i < trace_.processes.size(); ++i) {
    const int64_t pid = trace_.processes[i].pid;
    pids_.push_back(pid > 0 ? pid : kMoreDevices + static_cast<int64_t>(i));
  }
  std::map<int64_t, uint32_t> device_owner;
  std::map<std::pair<uint32_t, int64_t>, int64_t> device_pids;
  for (uint32_t i = 0; i < trace_.tracks.size(); ++i) {
    const Track& track = trace_.tracks[i];
    const uint32_t process = track.process.value;
    if (track.kind != TrackKind::kDevice) {
      places_.emplace_back(pids_[process], track.os_id > 0 ? track.os_id : i + 1);
      continue;
    }
    const int64_t device = std::max<int64_t>(0, track.device);
    const bool owner = device_owner.try_emplace(device, process).first->second == process;
    const auto more = static_cast<int64_t>(device_pids.size());
    const auto at =
        device_pids.try_emplace({process, device}, owner ? device : 2 * kMoreDevices + more).first;
    places_.emplace_back(at->second, track.os_id);
  }
  int64_t next = 1;
  for (const trace::Flow& flow : trace_.flows) {
    if (trace_.tracks[flow.to_track.value].kind != TrackKind::kDevice) continue;
    if (flow.from == trace::kNoSpan || flow.to == trace::kNoSpan) continue;
    const auto at = correlation_.try_emplace(Key(flow.from_track.value, flow.from), next);
    if (at.second) ++next;
    correlation_[Key(flow.to_track.value, flow.to)] = at.first->second;
  }
}

void ChromeWriter::Head() {
  int64_t first = INT64_MAX;
  for (const trace::Process& process : trace_.processes) {
    first = std::min(first, process.start_ns);
  }
  for (const Track& track : trace_.tracks) first = std::min(first, track.begin_ns);
  if (first == INT64_MAX) first = 0;
  int64_t realtime = first + trace_.realtime_offset_ns;
  if (trace_.realtime_offset_ns != 0) realtime -= realtime % kBaseGridNs;
  base_ns_ = realtime - trace_.realtime_offset_ns;
  Raw("{\"schemaVersion\": 1,\n\"deviceProperties\": [");
  std::map<int64_t, std::string_view> devices;
  for (const Track& track : trace_.tracks) {
    if (track.kind != TrackKind::kDevice) continue;
    std::string_view& name = devices[std::max<int64_t>(0, track.device)];
    if (name.empty()) name = trace_.text(track.device_name);
  }
  bool some = false;
  for (const auto& [device, name] : devices) {
    Raw(some ? ", {\"id\": " : "{\"id\": ");
    Number(device);
    if (!name.empty()) Raw(", \"name\": " + Json(name));
    Raw("}");
    some = true;
  }
  Raw("],\n\"distributedInfo\": " + DistributedInfo(trace_) + ",\n");
  Raw("\"producer\": \"crosscut\",\n\"displayTimeUnit\": \"ms\",\n\"baseTimeNanoseconds\": ");
  Number(realtime);
  Facts();
  Raw(",\n\"traceEvents\": [\n");
}

// What the first process states of itself, each once, beside the events.
void ChromeWriter::Facts() {
  if (trace_.processes.empty()) return;
  std::set<std::string_view> taken = {
      "schemaVersion", "deviceProperties",    "distributedInfo", "producer",    "displayTimeUnit",
      "traceEvents",   "baseTimeNanoseconds", "traceName",       "crosscutGaps"};
  for (const auto& [key, value] : trace_.processes.front().meta) {
    std::string_view name = trace_.text(key);
    const std::string_view text = trace_.text(value);
    const bool is_json = name.starts_with(kJsonFact);
    if (is_json) name.remove_prefix(kJsonFact.size());
    if (!taken.insert(name).second) continue;
    simdjson::dom::element json;
    const bool parsed = is_json && !parser_.parse(text).get(json);
    Raw(",\n" + Json(name) + ": " + (parsed ? simdjson::minify(json) : Json(text)));
  }
}

void ChromeWriter::Metadata(int64_t pid, int64_t tid, std::string_view what,
                            std::string_view args) {
  Begin();
  Raw("{\"ph\": \"M\", \"name\": \"");
  Raw(what);
  Raw("\", \"ts\": 0.000");
  Place(pid, tid);
  Raw(", \"args\": {");
  Raw(args);
  Raw("}}");
}

void ChromeWriter::ProcessRows(uint32_t index) {
  const trace::Process& process = trace_.processes[index];
  const int64_t pid = pids_[index];
  Metadata(pid, 0, "process_name", "\"name\": " + Json(trace_.text(process.name)));
  Metadata(pid, 0, "process_labels", "\"labels\": \"CPU\"");
  Metadata(pid, 0, "process_sort_index", "\"sort_index\": " + std::to_string(index));
  if (process.steps.empty()) return;
  Metadata(pid, kStepsTid, "thread_name", "\"name\": \"steps\"");
  Metadata(pid, kStepsTid, "thread_sort_index", "\"sort_index\": -1");
  Steps(process, index);
}

// Steps do not nest with the spans of a thread, so they stand on a row of their own. stream and
// correlation are the values that readers assume where there are none; some need the columns.
void ChromeWriter::Steps(const trace::Process& process, uint32_t index) {
  const bool planned = trace::HasStepPlan(process);
  for (const trace::Step& step : process.steps) {
    Begin();
    Raw("{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"");
    Raw(own_steps_.valid() ? "step " : kStep);  // the program's own keep their name
    Number(step.number);
    Raw("\", \"ts\": ");
    Us(step.begin_ns - base_ns_);
    Raw(", \"dur\": ");
    Us(step.end_ns - step.begin_ns);
    Place(pids_[index], kStepsTid);
    Raw(", \"args\": {\"stream\": -1, \"correlation\": -1, \"kind\": ");
    Raw(Json(trace_.text(step.kind)));
    if (planned) {
      Raw(", \"level\": ");
      Raw(Json(trace::StepLevelName(step.level)));
    }
    Raw(step.level == 0 ? ", \"control\": 1}}" : "}}");
  }
}

void ChromeWriter::TrackRows(uint32_t index) {
  const Track& track = trace_.tracks[index];
  const auto [pid, tid] = places_[index];
  const std::string number = std::to_string(tid), name(trace_.text(track.name));
  if (track.kind == TrackKind::kDevice) {
    Metadata(pid, 0, "process_name",
             "\"name\": " + Json(trace_.text(trace_.processes[track.process.value].name)));
    Metadata(pid, 0, "process_labels",
             "\"labels\": \"GPU " + std::to_string(std::max<int64_t>(0, track.device)) + "\"");
    Metadata(pid, 0, "process_sort_index",
             "\"sort_index\": " + std::to_string(5'000'000 + std::max<int64_t>(0, track.device)));
    Metadata(pid, tid, "thread_name", "\"name\": " + Json("stream " + number + " " + name));
  } else {
    Metadata(pid, tid, "thread_name",
             "\"name\": " + Json("thread " + number + (name.empty() ? "" : " (" + name + ")")));
  }
  Metadata(pid, tid, "thread_sort_index", "\"sort_index\": " + number);
}

void ChromeWriter::SpanArgs(const Track& track, uint32_t index, SpanIndex span) {
  const bool device = track.kind == TrackKind::kDevice;
  bool any = false;
  const auto key = [&](std::string_view name) {
    Raw(any ? ", " : ", \"args\": {");
    any = true;
    base::AppendJsonString(name, &buffer_);
    Raw(": ");
  };
  const auto add = [&](std::string_view name, int64_t value) {
    key(name);
    Number(value);
  };
  if (device) {
    add("device", std::max<int64_t>(0, track.device));
    add("stream", track.os_id);
  }
  if (device || !correlation_.empty()) {
    const auto at = correlation_.find(Key(index, span));
    if (at != correlation_.end())
      add("correlation", at->second);
    else if (device)
      add("correlation", 0);
  }
  for (const trace::Arg& arg : track.args.of(span)) {
    const std::string_view name = trace_.text(arg.key);
    if (device && (name == "device" || name == "stream" || name == "correlation")) continue;
    if (arg.is_text) {
      key(name);
      TextArg(name, arg.text());
    } else {
      add(name, arg.value);
    }
    const int64_t length = track.spans.end_ns[span] - track.spans.begin_ns[span];
    const int64_t bytes = device && name == "bytes" && !arg.is_text ? arg.value : 0;
    if (bytes > 0 && bytes <= kMostBytes && length > 0 && !tells_bandwidth_) {
      key(kBandwidth);
      Us(bytes * 1000 / length);  // bytes per ns, three decimals
    }
  }
  Raw(any ? "}}" : "}");
}

// Some of Kineto's arguments are arrays, which a trace keeps as their text.
void ChromeWriter::TextArg(std::string_view key, trace::StringId id) {
  const std::string_view text = trace_.text(id);
  const bool may_be_array =
      text.starts_with('[') &&
      std::find(std::begin(kArrays), std::end(kArrays), key) != std::end(kArrays);
  if (may_be_array) {
    const auto [known, added] = is_array_.try_emplace(id.value);
    if (added) known->second = parser_.parse(text).is_array();
    if (known->second) return Raw(text);
  }
  base::AppendJsonString(text, &buffer_);
}

void ChromeWriter::SpanRows(uint32_t index) {
  const Track& track = trace_.tracks[index];
  const trace::Spans& spans = track.spans;
  const auto [pid, tid] = places_[index];
  std::string place = ", \"pid\": " + std::to_string(pid) + ", \"tid\": " + std::to_string(tid);
  const trace::WholeSpans wholes(spans);
  for (SpanIndex i = 0; i < spans.size(); ++i) {
    if (wholes.first(i) != i) continue;
    Begin();
    Raw(name_heads_[spans.name[i].value]);
    if (trace_.name(spans.name[i]).text == own_steps_) {
      buffer_.pop_back();  // the quote
      Number(track.args.Find(i, step_key_).value);
      Raw("\"");
    }
    Raw(", \"ts\": ");
    Us(spans.begin_ns[i] - base_ns_);
    Raw(", \"dur\": ");
    Us(wholes.end_ns(i) - spans.begin_ns[i]);
    Raw(place);
    SpanArgs(track, index, i);
    if (!Flush(kFlushBytes)) return;
  }
}

// "key": value
void ChromeWriter::ArgValue(const trace::Arg& arg) {
  base::AppendJsonString(trace_.text(arg.key), &buffer_);
  Raw(": ");
  if (arg.is_text) {
    TextArg(trace_.text(arg.key), arg.text());
  } else {
    Number(arg.value);
  }
}

void ChromeWriter::InstantRows(uint32_t index) {
  const Track& track = trace_.tracks[index];
  const auto& place = places_[index];
  const auto instant = [&](int64_t at, std::string_view name, uint32_t args_of) {
    Begin();
    Raw("{\"ph\": \"i\", \"s\": \"t\", \"cat\": \"cpu_instant_event\", \"name\": ");
    base::AppendJsonString(name, &buffer_);
    Raw(", \"ts\": ");
    Us(at - base_ns_);
    Place(place.first, place.second);
    bool any = false;
    for (const trace::Arg& arg : track.instant_args.of(args_of)) {
      Raw(any ? ", " : ", \"args\": {");
      any = true;
      ArgValue(arg);
    }
    Raw(any ? "}}" : "}");
  };
  for (uint32_t i = 0; i < track.instants.at_ns.size(); ++i) {
    instant(track.instants.at_ns[i], trace_.text(trace_.name(track.instants.name[i]).text), i);
    if (!Flush(kFlushBytes)) return;
  }
  for (const trace::Loss& loss : track.losses) {
    instant(loss.begin_ns,
            std::to_string(loss.count) + " events missing (" +
                std::string(trace_.text(loss.reason)) + ")",
            trace::kNoSpan);
  }
}

// Both ends or none: an arrow that ends in the void confuses every reader.
void ChromeWriter::FlowRows() {
  int64_t id = 0;
  for (const trace::Flow& flow : trace_.flows) {
    if (flow.from == trace::kNoSpan || flow.to == trace::kNoSpan) continue;
    const bool device = trace_.tracks[flow.to_track.value].kind == TrackKind::kDevice;
    const std::string_view kind = device ? "ac2g" : "fwdbwd";
    ++id;
    for (const bool start : {true, false}) {
      const uint32_t track = start ? flow.from_track.value : flow.to_track.value;
      Begin();
      Raw(start ? "{\"ph\": \"s\", \"id\": " : "{\"ph\": \"f\", \"bp\": \"e\", \"id\": ");
      Number(id);
      Raw(", \"cat\": \"");
      Raw(kind);
      Raw("\", \"name\": \"");
      Raw(kind);
      Raw("\", \"ts\": ");
      const int64_t at =
          start ? flow.from_ns : std::max(flow.to_ns, trace_.tracks[track].spans.begin_ns[flow.to]);
      Us(at - base_ns_);
      Place(places_[track].first, places_[track].second);
      Raw("}");
    }
    if (!Flush(kFlushBytes)) return;
  }
}

void ChromeWriter::CounterRows() {
  for (const trace::CounterSeries& series : trace_.counters) {
    const std::string name = Json(trace_.text(trace_.name(series.name).text));
    for (size_t i = 0; i < series.at_ns.size(); ++i) {
      Begin();
      Raw("{\"ph\": \"C\", \"name\": ");
      Raw(name);
      Raw(", \"ts\": ");
      Us(series.at_ns[i] - base_ns_);
      Place(pids_[series.process.value], 0);
      Raw(", \"args\": {\"value\": ");
      Number(series.value[i]);
      Raw("}}");
      if (!Flush(kFlushBytes)) return;
    }
  }
}

Status ChromeWriter::Write() {
  Head();
  Prepare();
  for (uint32_t i = 0; i < trace_.processes.size(); ++i) ProcessRows(i);
  for (uint32_t i = 0; i < trace_.tracks.size() && status_.ok(); ++i) {
    TrackRows(i);
    SpanRows(i);
    InstantRows(i);
  }
  FlowRows();
  CounterRows();
  Raw("\n],\n\"crosscutGaps\": [");
  for (size_t i = 0; i < trace_.gaps.size(); ++i) {
    if (i != 0) Raw(", ");
    base::AppendJsonString(trace_.gaps[i], &buffer_);
  }
  Raw("]}\n");
  Flush(0);
  return status_;
}

}  // namespace

Status WriteChromeJson(const trace::Trace& trace, Sink* sink) {
  return ChromeWriter(trace, sink).Write();
}

}  // namespace crosscut::exporting
