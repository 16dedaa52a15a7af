#include "src/analyze/collectives/calls.h"

#include <algorithm>
#include <array>
#include <utility>

#include "src/analyze/devices/device_work.h"
#include "src/analyze/table.h"
#include "src/trace/ranks.h"

namespace crosscut::analyze {
namespace {

using trace::SpanIndex;
using trace::StringId;

// How far above a launch the operator may stand that says what is launched.
constexpr int kFarthestParent = 8;

bool IsPair(std::string_view name) {
  for (const std::string_view word : {":send", ":recv", "SendRecv", "isend", "irecv"}) {
    if (name.find(word) != std::string_view::npos) return true;
  }
  return name == "send" || name.starts_with("recv");
}

bool IsRooted(std::string_view name) {
  for (const std::string_view word : {"educe_scatter", "educeScatter"}) {
    if (name.find(word) != std::string_view::npos) return false;
  }
  for (const std::string_view word :
       {"broadcast", "Broadcast", "Bcast", "bcast", ":reduce", "_Reduce_", ".Reduce", ".reduce",
        ":gather", ".gather", ".Gather", ":scatter", ".scatter", ".Scatter"}) {
    if (name.find(word) != std::string_view::npos) return true;
  }
  return false;
}

int64_t BytesOf(std::string_view type) {
  constexpr std::pair<std::string_view, int64_t> kTypes[] = {
      {"Float", 4}, {"Half", 2}, {"BFloat16", 2}, {"Double", 8}, {"Int", 4},
      {"Long", 8},  {"Byte", 1}, {"Char", 1},     {"Bool", 1},   {"Short", 2}};
  for (const auto& [name, bytes] : kTypes) {
    if (type == name) return bytes;
  }
  return type.starts_with("Float8") ? 1 : -1;
}

// The keys by which PyTorch states what a collective is about.
class Stated {
 public:
  explicit Stated(const trace::Trace& trace)
      : trace_(trace),
        name_(trace.strings.Find("Collective name")),
        type_(trace.strings.Find("dtype")),
        elements_(trace.strings.Find("In msg nelems")),
        group_(trace.strings.Find("Process Group Name")),
        group_size_(trace.strings.Find("Group size")),
        sequence_(trace.strings.Find("Seq")),
        peer_(trace.strings.Find("Peer")) {}

  bool any() const { return name_.valid(); }
  bool Has(const trace::Track& track, SpanIndex span) const {
    return track.args.Find(span, name_).key.valid();
  }
  void Take(const trace::Track& track, SpanIndex span, CollectiveCall* call) const {
    const std::string_view name = TextArg(trace_, track, span, name_);
    call->pair |= IsPair(name);
    call->group = TextOf(track, span, group_);
    call->group_size = NumberOf(track, span, group_size_);
    call->sequence = NumberOf(track, span, sequence_);
    call->peer = NumberOf(track, span, peer_);
    const int64_t elements = NumberOf(track, span, elements_);
    const int64_t size = BytesOf(TextArg(trace_, track, span, type_));
    int64_t bytes = 0;
    const bool fits = !__builtin_mul_overflow(elements, size, &bytes);
    if (elements >= 0 && size > 0 && fits) call->bytes = bytes;
  }

 private:
  StringId TextOf(const trace::Track& track, SpanIndex span, StringId key) const {
    if (!key.valid()) return {};
    const trace::Arg arg = track.args.Find(span, key);
    return arg.key.valid() ? arg.text() : StringId{};
  }
  static int64_t NumberOf(const trace::Track& track, SpanIndex span, StringId key) {
    if (!key.valid()) return -1;
    const int64_t number = NumberArg(track, span, key);
    return number == kMissing ? -1 : number;
  }

  const trace::Trace& trace_;
  StringId name_, type_, elements_, group_, group_size_, sequence_, peer_;
};

class Calls {
 public:
  Calls(const Context& context, std::vector<CollectiveCall>* out)
      : trace_(context.trace()), context_(context), stated_(trace_), out_(out) {
    for (const trace::Name& name : trace_.names) {
      host_.push_back(name.kind == trace::Kind::kSpan && IsHostCollective(trace_.text(name.text)));
      any_host_ |= host_.back();
    }
  }
  void Make() {
    for (uint32_t p = 0; p < trace_.processes.size(); ++p) {
      const size_t first = out_->size();
      AddHost({p});
      for (const DeviceEvent& event : context_.Shared<DeviceWork>().events({p})) AddDevice(event);
      const auto of_process = out_->begin() + static_cast<ptrdiff_t>(first);
      std::stable_sort(of_process, out_->end(),
                       [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; });
      AddOnlyGroup(trace_.processes[p], first);
      AddPlaces(trace_.processes[p], first);
    }
  }

 private:
  CollectiveCall CallOf(trace::TrackId track, SpanIndex span, trace::Interval when) const {
    CollectiveCall call = {};
    call.process = trace_.tracks[track.value].process;
    call.track = track;
    call.span = span;
    call.begin_ns = when.begin_ns;
    call.end_ns = when.end_ns;
    call.name = trace_.name(trace_.tracks[track.value].spans.name[span]).text;
    call.pair = IsPair(trace_.text(call.name));
    call.rooted = IsRooted(trace_.text(call.name));
    return call;
  }
  void AddHost(trace::ProcessId process) {
    if (!any_host_) return;
    for (const uint32_t t : context_.tracks().of(process)) {
      const trace::Track& track = trace_.tracks[t];
      if (track.kind == trace::TrackKind::kDevice) continue;
      for (SpanIndex span = 0; span < track.spans.size(); ++span) {
        if (!host_[track.spans.name[span].value]) continue;
        CollectiveCall call = CallOf({t}, span, IntervalOf(trace_, {t}, span));
        if (stated_.any()) stated_.Take(track, span, &call);
        out_->push_back(call);
      }
    }
  }
  void AddDevice(const DeviceEvent& event) {
    if (event.type != WorkType::kCommunication) return;
    CollectiveCall call = CallOf(event.track, event.span, {event.begin_ns, event.end_ns});
    call.device = true;
    if (stated_.any()) TakeDevice(event, &call);
    out_->push_back(call);
  }
  // A kernel states it itself, or what it was launched by does.
  void TakeDevice(const DeviceEvent& event, CollectiveCall* call) const {
    const trace::Track& track = trace_.tracks[event.track.value];
    if (stated_.Has(track, event.span)) return stated_.Take(track, event.span, call);
    if (!event.launched()) return;
    const trace::Track& launching = trace_.tracks[event.launch_track.value];
    SpanIndex span = event.launch;
    for (int i = 0; i < kFarthestParent && span != trace::kNoSpan; ++i) {
      if (stated_.Has(launching, span)) return stated_.Take(launching, span, call);
      span = launching.spans.parent[span];
    }
  }
  // A process that states that it has one group alone says by that which one its calls are of.
  void AddOnlyGroup(const trace::Process& process, size_t first) {
    if (first == out_->size()) return;
    const trace::Rank rank = trace::RankOf(trace_, process);
    if (rank.groups != 1 || rank.world_size <= 0) return;
    for (size_t i = first; i < out_->size(); ++i) {
      CollectiveCall& call = (*out_)[i];
      if (!call.group.valid() && call.group_size < 0) call.group_size = rank.world_size;
    }
  }
  // The step and the lead's operation in which each call of the process begins. Calls are in order.
  void AddPlaces(const trace::Process& process, size_t first) {
    size_t step = 0;
    std::vector<std::pair<int64_t, StringId>> open;  // operations, by end
    const trace::Track* const lead =
        process.lead.value < trace_.tracks.size() ? &trace_.tracks[process.lead.value] : nullptr;
    SpanIndex span = 0;
    for (size_t i = first; i < out_->size(); ++i) {
      CollectiveCall& call = (*out_)[i];
      while (step < process.steps.size() && process.steps[step].end_ns <= call.begin_ns) ++step;
      if (step < process.steps.size() && process.steps[step].begin_ns <= call.begin_ns) {
        call.step = process.steps[step].number;
      }
      if (lead == nullptr) continue;
      for (; span < lead->spans.size() && lead->spans.begin_ns[span] <= call.begin_ns; ++span) {
        const trace::Name& name = trace_.name(lead->spans.name[span]);
        if (name.kind != trace::Kind::kOperation) continue;
        while (!open.empty() && open.back().first <= lead->spans.begin_ns[span]) open.pop_back();
        open.emplace_back(lead->spans.end_ns[span], name.text);
      }
      while (!open.empty() && open.back().first <= call.begin_ns) open.pop_back();
      if (!open.empty()) call.operation = open.back().second;
    }
  }

  const trace::Trace& trace_;
  const Context& context_;
  const Stated stated_;
  std::vector<CollectiveCall>* out_;
  std::vector<bool> host_;  // by NameId
  bool any_host_ = false;
};

}  // namespace

bool IsHostCollective(std::string_view name) {
  for (const std::string_view backend : {"gloo:", "mpi:", "ucc:"}) {
    if (name.starts_with(backend)) return true;
  }
  constexpr std::string_view kMpi = "mpi4py.Comm.";
  if (!name.starts_with(kMpi)) return false;
  for (const std::string_view call :
       {"arrier", "cast", "ather", "atherv", "catter", "catterv", "lltoall", "lltoallv", "educe",
        "llreduce", "educe_scatter", "educe_scatter_block"}) {
    const std::string_view rest = name.substr(kMpi.size());
    if (rest.ends_with(call) && rest[0] != 'I') return true;  // "I": only begins it
  }
  return false;
}

CollectiveCalls::CollectiveCalls(const Context& context) { Calls(context, &calls).Make(); }

}  // namespace crosscut::analyze
