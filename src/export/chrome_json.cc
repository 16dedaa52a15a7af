#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "src/base/counted.h"
#include "src/base/json_text.h"
#include "src/export/arrow_times.h"
#include "src/export/chrome_file.h"
#include "src/export/chrome_names.h"
#include "src/export/chrome_numbers.h"
#include "src/export/chrome_text.h"
#include "src/export/distributed_info.h"
#include "src/export/exporter.h"
#include "src/export/identities.h"
#include "src/export/kernel_shape.h"
#include "src/export/left_out.h"
#include "src/export/pytorch_words.h"
#include "src/export/told_args.h"
#include "src/trace/gaps.h"
#include "src/trace/spans_around.h"
#include "src/trace/stacks.h"

namespace crosscut::exporting {
namespace {

using trace::SpanIndex;
using trace::Track;
using trace::TrackKind;

constexpr int64_t kBaseGridNs = 7889238 * int64_t{1'000'000'000};  // Kineto's: ranks share a base
constexpr int64_t kStepsTid = 1'000'000'000;     // no thread has it: pid_max is below
constexpr int64_t kMoreDevices = 1'000'000'000;  // pid of devices that another process also has

constexpr int64_t kMostBytes = INT64_MAX / 1000;
constexpr std::string_view kStep = "ProfilerStep#";
constexpr std::string_view kJsonFact = "json:";  // a fact whose value is JSON; others are texts
constexpr std::string_view kNamedInputs = "kwinputs";
constexpr std::string_view kBandwidth = "memory bandwidth (GB/s)";

constexpr auto Quoted = base::JsonText;

class ChromeWriter : public ChromeText {
 public:
  // `cuda_names`: calls that launch work are called as CUDA calls them.
  ChromeWriter(const trace::Trace& trace, Sink* sink, bool cuda_names)
      : ChromeText(trace, sink), trace_(trace), cuda_names_(cuda_names) {}
  Result<Gaps> Write();

 private:
  void Head();
  void Facts();
  void Prepare();
  void ProcessRows(uint32_t process);
  void TrackRows(uint32_t track);
  void Steps(const trace::Process& process, uint32_t index);
  void SpanRows(uint32_t track);
  void SpanArgs(const Track& track, uint32_t index, SpanIndex span);
  void ShapeArgs(trace::Args::Range args);
  void NumberArgs(uint32_t index, SpanIndex span, const ChromeNumbers::Launch* launch);
  void SequenceArgs(const Track& track, SpanIndex span);
  std::string_view CudaNameOf(uint32_t track, SpanIndex span) const;
  void InstantRows(uint32_t track);
  void FlowRows();
  void FlowRow(bool start, int64_t id, const char* kind, uint32_t track, int64_t at);
  void CounterRows();
  void WindowRows();
  int64_t BeginOf(const trace::Spans& spans, const trace::WholeSpans& wholes, SpanIndex span) const;
  void Metadata(int64_t pid, int64_t tid, std::string_view what, std::string_view args);

  void Place(int64_t pid, int64_t tid) { Put(", \"pid\": ", pid, ", \"tid\": ", tid); }
  // One more argument of the event at hand.
  void Key(std::string_view key) {
    Raw(any_arg_ ? ", " : ", \"args\": {");
    any_arg_ = true;
    Put(Text{key}, ": ");
  }
  void Add(std::string_view key, int64_t value) {
    Key(key);
    Number(value);
  }

  const trace::Trace& trace_;
  const bool cuda_names_;
  int64_t base_ns_ = 0, first_ns_ = 0;  // of the times that are written; the earliest
  int64_t next_index_ = 0;              // the "Ev Idx" of the next instant, behind those of spans
  bool any_arg_ = false;
  std::vector<std::pair<int64_t, int64_t>> places_;  // pid, tid by track
  std::set<std::pair<int64_t, int64_t>> named_;      // rows
  // Scopes of torch.profiler's in a recorded program: their number is an argument.
  const trace::StringId own_steps_ = trace_.strings.Find(kStep),
                        step_key_ = trace_.strings.Find("step");
  std::vector<bool> has_own_steps_;  // by process
  const trace::StringId bandwidth_ = trace_.strings.Find(kBandwidth);
  const ChromeNames names_{trace_};
  const AutogradFrames frames_{trace_};
  std::unordered_map<SpanIndex, SpanIndex> nodes_;  // of the track at hand, by autograd's frame
  const trace::StringId sequence_ = trace_.strings.Find("Sequence number"),
                        forward_thread_ = trace_.strings.Find("Fwd thread id");
  const Identities identities_{trace_};
  std::optional<ChromeNumbers> numbers_;
  ArrowTimes arrow_times_{trace_};
};

void ChromeWriter::Prepare() {
  numbers_.emplace(trace_, names_.categories());
  next_index_ = numbers_->spans();
  has_own_steps_.assign(trace_.processes.size(), false);
  for (const Track& track : trace_.tracks) {
    if (!own_steps_.valid() || has_own_steps_[track.process.value]) continue;
    has_own_steps_[track.process.value] =
        std::any_of(track.spans.name.begin(), track.spans.name.end(),
                    [&](trace::NameId name) { return trace_.name(name).text == own_steps_; });
  }
  std::set<int64_t> hosts;
  for (uint32_t i = 0; i < trace_.processes.size(); ++i) hosts.insert(identities_.pid(i));
  std::map<int64_t, uint32_t> device_owner;
  std::map<std::pair<uint32_t, int64_t>, int64_t> device_pids;
  for (uint32_t i = 0; i < trace_.tracks.size(); ++i) {
    const Track& track = trace_.tracks[i];
    const uint32_t process = track.process.value;
    if (track.kind != TrackKind::kDevice) {
      places_.emplace_back(identities_.pid(process), identities_.tid(i));
      continue;
    }
    const int64_t device = std::max<int64_t>(0, track.device);
    const bool owner = device_owner.try_emplace(device, process).first->second == process &&
                       !hosts.contains(device);  // a container's first process is 1
    const auto more = static_cast<int64_t>(device_pids.size());
    const auto at =
        device_pids.try_emplace({process, device}, owner ? device : 2 * kMoreDevices + more).first;
    places_.emplace_back(at->second, identities_.tid(i));
  }
}

void ChromeWriter::Head() {
  first_ns_ = INT64_MAX;
  for (const trace::Process& process : trace_.processes) {
    first_ns_ = std::min(first_ns_, process.start_ns);
  }
  for (const Track& track : trace_.tracks) first_ns_ = std::min(first_ns_, track.begin_ns);
  if (first_ns_ == INT64_MAX) first_ns_ = 0;
  int64_t realtime = first_ns_ + trace_.realtime_offset_ns;
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
    Put(some ? ", {\"id\": " : "{\"id\": ", device);
    if (!name.empty()) Raw(", \"name\": " + Quoted(name));
    Raw("}");
    some = true;
  }
  Put("],\n\"distributedInfo\": ", DistributedInfo(trace_),
      ",\n\"producer\": \"crosscut\",\n\"displayTimeUnit\": \"ms\",\n\"baseTimeNanoseconds\": ",
      realtime);
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
    simdjson::dom::parser parser;
    simdjson::dom::element json;
    const bool parsed = is_json && !parser.parse(text).get(json);
    Raw(",\n" + Quoted(name) + ": " + (parsed ? simdjson::minify(json) : Quoted(text)));
  }
}

void ChromeWriter::Metadata(int64_t pid, int64_t tid, std::string_view what,
                            std::string_view args) {
  Begin();
  Put("{\"ph\": \"M\", \"name\": \"", what, "\", \"ts\": ", Micros{first_ns_ - base_ns_});
  Place(pid, tid);
  Put(", \"args\": {", args, "}}");
}

void ChromeWriter::ProcessRows(uint32_t index) {
  const trace::Process& process = trace_.processes[index];
  const int64_t pid = identities_.pid(index);
  Metadata(pid, 0, "process_name", "\"name\": " + Quoted(trace_.text(process.name)));
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
    Raw(has_own_steps_[index] ? "step " : kStep);  // the program's own keep their name
    Put(step.number, "\", \"ts\": ", Micros{step.begin_ns - base_ns_},
        ", \"dur\": ", Micros{step.end_ns - step.begin_ns});
    Place(identities_.pid(index), kStepsTid);
    Put(", \"args\": {\"stream\": -1, \"correlation\": -1, \"kind\": ",
        Quoted(trace_.text(step.kind)));
    if (planned) {
      Put(", \"level\": ", Quoted(trace::StepLevelName(step.level)));
    }
    if (step.after_switch) Raw(", \"after_switch\": 1");
    if (step.open) Raw(", \"open\": 1");
    if (step.track.valid()) {  // who makes it
      Put(", \"thread\": ", places_[step.track.value].second);
    }
    Raw(step.control() ? ", \"control\": 1}}" : "}}");
  }
}

void ChromeWriter::TrackRows(uint32_t index) {
  const Track& track = trace_.tracks[index];
  const auto [pid, tid] = places_[index];
  const std::string number = std::to_string(tid), name(trace_.text(track.name));
  if (!named_.insert({pid, tid}).second) return;  // further tracks of a stream have its row
  if (track.kind == TrackKind::kDevice) {
    Metadata(pid, 0, "process_name",
             "\"name\": " + Quoted(trace_.text(trace_.processes[track.process.value].name)));
    Metadata(pid, 0, "process_labels",
             "\"labels\": \"GPU " + std::to_string(std::max<int64_t>(0, track.device)) + "\"");
    Metadata(pid, 0, "process_sort_index",
             "\"sort_index\": " + std::to_string(5'000'000 + std::max<int64_t>(0, track.device)));
    // "Stream 7 (default)" has its number already.
    const bool numbered = (name + " ").starts_with("Stream " + number + " ");
    const std::string label = numbered ? "s" + name.substr(1) : "stream " + number + " " + name;
    Metadata(pid, tid, "thread_name", "\"name\": " + Quoted(label));
  } else {
    Metadata(pid, tid, "thread_name",
             "\"name\": " + Quoted("thread " + number + (name.empty() ? "" : " (" + name + ")")));
  }
  Metadata(pid, tid, "thread_sort_index", "\"sort_index\": " + number);
}

void ChromeWriter::SpanArgs(const Track& track, uint32_t index, SpanIndex span) {
  const bool device = track.kind == TrackKind::kDevice;
  any_arg_ = false;
  if (device) {
    Add("device", std::max<int64_t>(0, track.device));
    Add("stream", track.os_id);
  }
  const ChromeNumbers::Launch* launch = numbers_->FindLaunch(index, span);
  const bool correlated = device || launch != nullptr;
  if (correlated) Add("correlation", launch != nullptr ? launch->correlation : 0);
  if (!CudaNameOf(index, span).empty()) {
    Key("call");
    String(trace_.name_text(track.spans.name[span]));
  }
  const bool of_file = trace_.name(track.spans.name[span]).category.valid();
  if (!of_file) {
    NumberArgs(index, span, launch);
    SequenceArgs(track, span);
  }
  const bool tells_bandwidth = bandwidth_.valid() && track.args.Find(span, bandwidth_).key.valid();
  ForEachTold(track.args.of(span), [&](const trace::Arg& arg) {
    const std::string_view name = trace_.text(arg.key);
    if (device && (name == "device" || name == "stream")) return;
    if (correlated && name == "correlation") return;
    if (name == kNamedInputs && !of_file) {
      for (const auto& [key, json] : NamedInputs(trace_.text(arg.text()))) {
        Key(key);
        Raw(json);
      }
      return;
    }
    Key(name);
    Value(arg);
    const int64_t length = track.spans.end_ns[span] - track.spans.begin_ns[span];
    const int64_t bytes = device && name == "bytes" && !arg.is_text ? arg.value : 0;
    if (bytes > 0 && bytes <= kMostBytes && length > 0 && !tells_bandwidth) {
      Key(kBandwidth);
      Us(bytes * 1000 / length);  // bytes per ns, three decimals
    }
  });
  if (device && !of_file) ShapeArgs(track.args.of(span));
  Raw(any_arg_ ? "}}" : "}");
}

// As Kineto writes it.
void ChromeWriter::ShapeArgs(trace::Args::Range args) {
  const KernelShape shape = KernelShapeOf(trace_, args);
  if (!shape.known || shape.in_arrays) return;
  for (const auto& [key, three] : {std::pair("grid", shape.grid), {"block", shape.block}}) {
    Key(key);
    for (size_t i = 0; i < three.size(); ++i) {
      Put(i == 0 ? "[" : ", ", three[i]);
    }
    Raw("]");
  }
}

// By which readers of Kineto's files join operators, calls and work.
void ChromeWriter::NumberArgs(uint32_t index, SpanIndex span, const ChromeNumbers::Launch* launch) {
  const trace::NameId name = trace_.tracks[index].spans.name[span];
  const int64_t own = numbers_->Of(index, span);
  const bool work = trace_.tracks[index].kind == TrackKind::kDevice;
  if (!work && numbers_->IsOperator(name)) {
    Add("External id", own);
    Add("Record function id", own);
    Add("Ev Idx", own - 1);
  } else if (!work && numbers_->IsPython(name)) {
    const int64_t parent = numbers_->PythonAround(index, span);
    Add("Python id", own);
    if (names_.modules().IsModule(name)) {
      Add("Python module id", names_.modules().Of(trace_.tracks[index].process, name));
    }
    Key("Python parent id");
    parent > 0 ? Number(parent) : Raw("null");
    Add("Ev Idx", own - 1);
  } else if (launch != nullptr) {
    if (launch->external > 0) Add("External id", launch->external);
  } else if (!work && numbers_->IsCall(name)) {
    const int64_t around = numbers_->OperatorAround(index, span);
    if (around > 0) Add("External id", around);
  }
}

// Kineto tells the number of a node of its frame, too, and of a forward operator, whose own number
// it is, that no thread was before it.
void ChromeWriter::SequenceArgs(const Track& track, SpanIndex span) {
  const auto node = nodes_.find(span);
  const SpanIndex numbered = node == nodes_.end() ? span : node->second;
  const trace::Arg sequence = track.args.Find(numbered, sequence_);
  const trace::Arg forward = track.args.Find(numbered, forward_thread_);
  if (!sequence.key.valid()) return;
  if (numbered != span) Add("Sequence number", sequence.value);
  if (numbered != span || !forward.key.valid()) Add("Fwd thread id", forward.value);
}

// "": the span's own name stays.
std::string_view ChromeWriter::CudaNameOf(uint32_t track, SpanIndex span) const {
  const trace::NameId name = trace_.tracks[track].spans.name[span];
  if (!cuda_names_ || !numbers_->IsCall(name)) return "";
  const ChromeNumbers::Launch* launch = numbers_->FindLaunch(track, span);
  if (launch == nullptr || trace_.name_text(name).starts_with("cu")) return "";
  const std::string_view work = names_.WorkCategory(launch->work);
  if (work == "gpu_memcpy") return "cudaMemcpyAsync";
  return work == "gpu_memset" ? "cudaMemsetAsync" : "cudaLaunchKernel";
}

void ChromeWriter::SpanRows(uint32_t index) {
  const Track& track = trace_.tracks[index];
  const trace::Spans& spans = track.spans;
  const auto [pid, tid] = places_[index];
  std::string place = ", \"pid\": " + std::to_string(pid) + ", \"tid\": " + std::to_string(tid);
  const trace::WholeSpans& wholes = numbers_->wholes(index);
  nodes_ = frames_.NodesOf(track);
  for (SpanIndex i = 0; i < spans.size(); ++i) {
    if (wholes.first(i) != i || names_.IsLeftOut(spans, i)) continue;
    Begin();
    const std::string_view cuda = CudaNameOf(index, i);
    const std::string_view head = names_.Head(track, i);
    if (!cuda.empty()) {
      Put("{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": ", Text{cuda});
    } else if (trace_.name(spans.name[i]).text != own_steps_) {
      Raw(head);
    } else {
      Raw(head.substr(0, head.size() - 1));  // without the quote
      Put(track.args.Find(i, step_key_).value, "\"");
    }
    const int64_t begin = BeginOf(spans, wholes, i);
    Put(", \"ts\": ", Micros{begin - base_ns_}, ", \"dur\": ", Micros{wholes.end_ns(i) - begin},
        place);
    SpanArgs(track, index, i);
    if (!Flush()) return;
  }
}

// As Kineto adjusts its steps: one begins with the first Python function that begins in it and in
// no other that runs when it does.
int64_t ChromeWriter::BeginOf(const trace::Spans& spans, const trace::WholeSpans& wholes,
                              SpanIndex span) const {
  const int64_t own = spans.begin_ns[span], end = wholes.end_ns(span);
  if (!names_.options().adjusts_steps || trace_.name(spans.name[span]).text != own_steps_)
    return own;
  std::optional<int64_t> begin;
  for (SpanIndex next = span + 1; next < spans.size() && spans.begin_ns[next] < end; ++next) {
    if (wholes.first(next) == span) {
      begin.reset();
    } else if (!begin && numbers_->IsPython(spans.name[next])) {
      begin = spans.begin_ns[next];
    }
  }
  return begin.value_or(own);
}

void ChromeWriter::InstantRows(uint32_t index) {
  const Track& track = trace_.tracks[index];
  const auto& place = places_[index];
  const auto instant = [&](int64_t at, std::string_view name, uint32_t args_of) {
    Begin();
    Put("{\"ph\": \"i\", \"s\": \"t\", \"cat\": \"cpu_instant_event\", \"name\": ", Text{name},
        ", \"ts\": ", Micros{at - base_ns_});
    Place(place.first, place.second);
    bool any = false;
    ForEachTold(track.instant_args.of(args_of), [&](const trace::Arg& arg) {
      Raw(any ? ", " : ", \"args\": {");
      any = true;
      Field(arg);
    });
    if (name == "[memory]") {
      Put(any ? ", " : ", \"args\": {", "\"finished\": false, \"Ev Idx\": ", next_index_++);
      any = true;
    }
    Raw(any ? "}}" : "}");
  };
  for (uint32_t i = 0; i < track.instants.at_ns.size(); ++i) {
    instant(track.instants.at_ns[i], trace_.name_text(track.instants.name[i]), i);
    if (!Flush()) return;
  }
  for (const trace::Loss& loss : track.losses) {
    instant(loss.begin_ns, trace::Missing(trace_, loss), trace::kNoSpan);
  }
}

// Both ends or none: an arrow that ends in the void confuses every reader. Its number is the
// correlation where it is the first from a launch: readers look for it by that.
void ChromeWriter::FlowRows() {
  int64_t next = numbers_->launches() + 1;
  std::vector<bool> taken(static_cast<size_t>(next));
  for (size_t i = 0; i < trace_.flows.size(); ++i) {
    const trace::Flow& flow = trace_.flows[i];
    if (!Launches::HasEnds(flow)) continue;
    const uint32_t from = flow.from_track.value, to = flow.to_track.value;
    const bool device = numbers_->IsLaunch(i);
    const auto first = device ? numbers_->FindLaunch(from, flow.from)->correlation : 0;
    const bool first_of_launch = device && !taken[static_cast<size_t>(first)];
    if (first_of_launch) taken[static_cast<size_t>(first)] = true;
    const int64_t id = first_of_launch ? first : next++;
    const auto [leaves, arrives] = arrow_times_.Of(flow);
    const bool remote = trace_.tracks[from].process != trace_.tracks[to].process;
    const char* kind = device ? "ac2g" : remote ? "remote" : "fwdbwd";
    FlowRow(true, id, kind, from, leaves);
    FlowRow(false, id, kind, to, arrives);
    if (!Flush()) return;
  }
}

void ChromeWriter::FlowRow(bool start, int64_t id, const char* kind, uint32_t track, int64_t at) {
  Begin();
  Put(start ? "{\"ph\": \"s\", \"id\": " : "{\"ph\": \"f\", \"bp\": \"e\", \"id\": ", id,
      ", \"cat\": \"", kind, "\", \"name\": \"", kind, "\", \"ts\": ", Micros{at - base_ns_});
  Place(places_[track].first, places_[track].second);
  Raw("}");
}

void ChromeWriter::CounterRows() {
  for (const trace::CounterSeries& series : trace_.counters) {
    const std::string name = Quoted(trace_.name_text(series.name));
    for (size_t i = 0; i < series.at_ns.size(); ++i) {
      Begin();
      Put("{\"ph\": \"C\", \"name\": ", name, ", \"ts\": ", Micros{series.at_ns[i] - base_ns_});
      Place(identities_.pid(series.process.value), 0);
      Put(", \"args\": {\"value\": ", series.value[i], "}}");
      if (!Flush()) return;
    }
  }
}

// What Kineto writes last.
void ChromeWriter::WindowRows() {
  if (!names_.options().is_profile) return;
  int64_t last = trace_.processes.front().end_ns;
  for (const Track& track : trace_.tracks) last = std::max(last, track.end_ns);
  const auto at = [&](std::string_view head, int64_t ns, std::string_view end) {
    Begin();
    Put(head, ", \"ts\": ", Micros{ns}, end);
  };
  const int64_t first = first_ns_ - base_ns_;
  at("{\"ph\": \"X\", \"cat\": \"Trace\", \"name\": \"PyTorch Profiler (0)\"", first,
     ", \"dur\": ");
  Put(Micros{last - first_ns_},
      R"(, "pid": "Spans", "tid": "PyTorch Profiler", "args": {"Op count": 0}})");
  at(R"({"ph": "M", "name": "process_sort_index")", first,
     R"(, "pid": "Spans", "tid": 0, "args": {"sort_index": 536870912}})");
  at(R"({"ph": "i", "s": "g", "name": "Iteration Start: PyTorch Profiler")", first,
     R"(, "pid": "Traces", "tid": "Trace PyTorch Profiler"})");
  at(R"({"ph": "i", "s": "g", "name": "Record Window End")", last - base_ns_,
     R"(, "pid": "", "tid": ""})");
}

Result<Gaps> ChromeWriter::Write() {
  Head();
  Prepare();
  for (uint32_t i = 0; i < trace_.processes.size(); ++i) ProcessRows(i);
  for (uint32_t i = 0; i < trace_.tracks.size() && status().ok(); ++i) {
    TrackRows(i);
    SpanRows(i);
    InstantRows(i);
  }
  FlowRows();
  CounterRows();
  WindowRows();
  Raw("\n],\n");
  Gaps gaps = GapsOf(trace_, kEvents, &identities_);
  arrow_times_.Tell(&gaps.of_file);
  PutGaps(gaps);
  Raw("}\n");
  Flush(/*all=*/true);
  if (!status().ok()) return status();
  return gaps;
}

}  // namespace

Result<Gaps> WriteChromeJson(const trace::Trace& trace, Sink* sink) {
  if (IsOfChromeFile(trace)) return WriteChromeFileAgain(trace, sink);
  return ChromeWriter(trace, sink, /*cuda_names=*/false).Write();
}

Result<Gaps> WriteChromeJsonForCuda(const trace::Trace& trace, Sink* sink) {
  if (IsOfChromeFile(trace)) return WriteChromeFileAgain(trace, sink);
  return ChromeWriter(trace, sink, /*cuda_names=*/true).Write();
}

}  // namespace crosscut::exporting
