#include "src/analyze/verdict/lead_states.h"

#include <algorithm>

#include "src/trace/layers.h"

namespace crosscut::analyze {
namespace {

using trace::Layer;

struct Rule {
  Doing doing;
  Layer layer;  // kNone: any
  std::string_view text;
  enum Where : uint8_t { kWhole, kBegin, kAnywhere } where = kBegin;
};

// The first that fits holds. The boundary's names are those of Python's modules; a runtime's are
// those of CUDA, HIP and OpenCL.
constexpr Rule kRules[] = {
    {Doing::kCollecting, Layer::kNone, "garbage collection"},
    {Doing::kCollecting, Layer::kNone, kAskedCollection, Rule::kWhole},
    {Doing::kCompiling, Layer::kNone, "compile_fx"},
    {Doing::kCompiling, Layer::kNone, "jax.Client.compile"},
    {Doing::kCompiling, Layer::kNone, "backend_compile"},
    {Doing::kCompiling, Layer::kNone, "clBuildProgram"},
    {Doing::kPreempted, Layer::kIdle, "(no processor)", Rule::kWhole},
    {Doing::kSleeping, Layer::kIdle, "time.sleep", Rule::kWhole},
    {Doing::kAwaitingLock, Layer::kIdle, "threading.RLock."},
    {Doing::kLocking, Layer::kIdle, "threading."},
    {Doing::kAwaitingThread, Layer::kIdle, "queue."},
    {Doing::kAwaitingProcess, Layer::kIdle, "fcntl."},  // locks of files, which processes share
    {Doing::kAwaitingProcess, Layer::kIdle, "multiprocessing."},
    {Doing::kSelecting, Layer::kIdle, "select."},
    {Doing::kSelecting, Layer::kIdle, "socket._accept", Rule::kWhole},
    {Doing::kAwaitingProcess, Layer::kIdle, "socket."},
    {Doing::kAwaitingProcess, Layer::kIdle, "ssl."},
    {Doing::kAwaitingProcess, Layer::kIdle, "os."},
    {Doing::kAwaitingProcess, Layer::kIdle, "io.FileIO."},
    // Of multiprocessing and subprocess.
    {Doing::kSending, Layer::kNative, "os.write", Rule::kWhole},
    {Doing::kSending, Layer::kNative, "socket.send"},
    {Doing::kFiles, Layer::kNative, "io."},
    {Doing::kFiles, Layer::kNative, "os."},
    {Doing::kFiles, Layer::kNative, "mmap."},
    {Doing::kAwaitingDevice, Layer::kRuntime, "ynchronize", Rule::kAnywhere},
    {Doing::kAwaitingDevice, Layer::kRuntime, "clFinish"},
    {Doing::kAwaitingDevice, Layer::kRuntime, "clWaitForEvents"},
    {Doing::kAwaitingDevice, Layer::kRuntime, "cudaMemcpy", Rule::kWhole},
    {Doing::kAwaitingDevice, Layer::kRuntime, "hipMemcpy", Rule::kWhole},
    {Doing::kAwaitingDevice, Layer::kRuntime, "hipMemcpyWithStream", Rule::kWhole},
    {Doing::kCopying, Layer::kRuntime, "clEnqueueRead"},
    {Doing::kCopying, Layer::kRuntime, "clEnqueueWrite"},
    {Doing::kAllocating, Layer::kRuntime, "Malloc", Rule::kAnywhere},
    {Doing::kAllocating, Layer::kRuntime, "MemAlloc", Rule::kAnywhere},
    {Doing::kAllocating, Layer::kRuntime, "MemFree", Rule::kAnywhere},
    {Doing::kAllocating, Layer::kRuntime, "cudaFree"},
    {Doing::kAllocating, Layer::kRuntime, "hipFree"},
    {Doing::kAllocating, Layer::kRuntime, "clCreateBuffer"},
    {Doing::kAllocating, Layer::kRuntime, "clReleaseMemObject"},
};

bool Fits(const Rule& rule, std::string_view name, Layer layer) {
  if (rule.layer != Layer::kNone && rule.layer != layer) return false;
  if (rule.where == Rule::kWhole) return name == rule.text;
  if (rule.where == Rule::kBegin) return name.starts_with(rule.text);
  return name.find(rule.text) != std::string_view::npos;
}

// What the spans inside of such a one belong to, whatever they are.
bool Covers(Doing doing) { return doing == Doing::kCollecting || doing == Doing::kCompiling; }

}  // namespace

Doing DoingOf(std::string_view name, Layer layer) {
  for (const Rule& rule : kRules) {
    if (Fits(rule, name, layer)) return rule.doing;
  }
  return Doing::kNothing;
}

std::vector<Doing> DoingByName(const trace::Trace& trace) {
  std::vector<Doing> out;
  out.reserve(trace.names.size());
  for (const trace::Name& name : trace.names) {
    const bool compiles = name.scope() && trace.text(name.text) == "compile";
    const bool span = name.kind == trace::Kind::kSpan;
    out.push_back(compiles ? Doing::kCompiling
                  : span   ? DoingOf(trace.text(name.text), name.layer)
                           : Doing::kNothing);
  }
  return out;
}

LeadCursor::LeadCursor(const trace::Trace& trace, trace::TrackId track,
                       const std::vector<Doing>& doing, trace::Interval window)
    : trace_(trace),
      track_(track.value < trace.tracks.size() ? &trace.tracks[track.value] : nullptr),
      doing_(doing),
      end_ns_(window.end_ns),
      open_{{INT64_MAX, {}, Layer::kNone, Doing::kNothing, {}, {}}} {
  now_.begin_ns = now_.end_ns = window.begin_ns;
  if (track_ == nullptr) now_.end_ns = end_ns_;
}

const LeadStretch& LeadCursor::At(int64_t at_ns) {
  while (now_.end_ns <= at_ns && now_.end_ns < end_ns_) Advance();
  return now_;
}

void LeadCursor::Enter(Open* open, const Open& around) const {
  const trace::Name& name = trace_.name(open->span);
  open->layer = trace::LayerInside(name, around.layer);
  open->doing = around.doing;
  open->name = around.name;
  open->operation = name.kind == trace::Kind::kOperation ? open->span : around.operation;
  if (around.layer == Layer::kOverhead) return;
  const bool layered = trace::HasLayer(name);
  if (layered && around.doing != Doing::kCollecting) open->name = open->span;
  const Doing doing = doing_[open->span.value];
  if (!Covers(open->doing) && (layered || doing != Doing::kNothing)) open->doing = doing;
}

void LeadCursor::ChangeBases(int64_t until_ns) {
  const size_t before = next_base_;
  while (next_base_ < track_->base.size() && track_->base_at_ns[next_base_] <= until_ns) {
    open_[0].layer = track_->base[next_base_++];
  }
  if (next_base_ == before) return;
  for (size_t i = 1; i < open_.size(); ++i) Enter(&open_[i], open_[i - 1]);
}

void LeadCursor::Advance() {
  const int64_t from = now_.end_ns;
  const trace::Spans& spans = track_->spans;
  if (from < track_->begin_ns || from >= track_->end_ns) {
    now_ = LeadStretch();
    now_.begin_ns = from;
    now_.end_ns = from < track_->begin_ns ? std::min(end_ns_, track_->begin_ns) : end_ns_;
    return;
  }
  while (open_.back().end_ns <= from) open_.pop_back();
  ChangeBases(from);
  while (next_span_ < spans.size() && spans.begin_ns[next_span_] <= from) {
    const auto span = static_cast<trace::SpanIndex>(next_span_++);
    if (spans.end_ns[span] <= from) continue;
    Open& open = open_.emplace_back();
    const Open& around = open_[open_.size() - 2];
    open.end_ns = std::min(spans.end_ns[span], around.end_ns);
    open.span = spans.name[span];
    Enter(&open, around);
  }
  int64_t until = std::min({end_ns_, track_->end_ns, open_.back().end_ns});
  if (next_span_ < spans.size()) until = std::min(until, spans.begin_ns[next_span_]);
  if (next_base_ < track_->base.size()) until = std::min(until, track_->base_at_ns[next_base_]);
  const Open& in = open_.back();
  // One by one: a whole one would be put together in memory and read back before it is there.
  now_.begin_ns = from;
  now_.end_ns = until;
  now_.layer = in.layer;
  now_.doing = in.doing;
  now_.name = in.name;
  now_.operation = in.operation;
}

}  // namespace crosscut::analyze
