#include "src/analyze/span_table.h"

#include "src/analyze/columns.h"
#include "src/analyze/span_flops.h"

namespace crosscut::analyze {
namespace {

struct Columns {
  Texts process, thread, kind, layer, name, overload, dims;
  Integers span, parent, begin, end, sequence, forward, flops;
};

// The arguments that have columns.
struct Keys {
  trace::StringId sequence, forward, dims;
};

void TakeArg(const trace::Trace& trace, const trace::Arg& arg, const Keys& keys, Columns* to) {
  if (arg.is_text) {
    if (arg.key == keys.dims) to->dims.back() = trace.text(arg.text());
    return;
  }
  if (arg.key == keys.sequence) to->sequence.back() = arg.value;
  if (arg.key == keys.forward) to->forward.back() = arg.value;
}

void TakeTrack(const trace::Trace& trace, const Context& context, uint32_t index, const Keys& keys,
               Columns* to) {
  const trace::Track& track = trace.tracks[index];
  const trace::Spans& spans = track.spans;
  for (trace::SpanIndex i = 0; i < spans.size(); ++i) {
    const trace::Name& name = trace.name(spans.name[i]);
    to->process.push_back(context.process_label(track.process));
    to->thread.push_back(context.track_label({index}));
    to->span.push_back(i);
    to->parent.push_back(spans.parent[i] == trace::kNoSpan ? kMissing : spans.parent[i]);
    to->kind.emplace_back(name.kind == trace::Kind::kOperation ? "operation" : "span");
    to->layer.emplace_back(trace::LayerName(name.layer));
    to->name.emplace_back(trace.text(name.text));
    to->overload.emplace_back(trace.text(name.overload));
    to->begin.push_back(spans.begin_ns[i]);
    to->end.push_back(spans.end_ns[i]);
    to->sequence.push_back(kMissing);
    to->forward.push_back(kMissing);
    to->dims.emplace_back();
    for (const trace::Arg& arg : track.args.of(i)) TakeArg(trace, arg, keys, to);
  }
}

void TakeFlops(const trace::Track& track, SpanFlops* flops, Columns* to) {
  const std::vector<int64_t> found = flops->Of(track);
  to->flops.insert(to->flops.end(), found.begin(), found.end());
  to->flops.resize(to->span.size(), kMissing);
}

}  // namespace

Table SpansTable(const trace::Trace& trace, const Context& context) {
  const Keys keys{trace.strings.Find("Sequence number"), trace.strings.Find("Fwd thread id"),
                  trace.strings.Find("Input Dims")};
  Columns all;
  SpanFlops flops(trace);
  for (uint32_t track = 0; track < trace.tracks.size(); ++track) {
    if (trace.tracks[track].kind == trace::TrackKind::kThread) {
      TakeTrack(trace, context, track, keys, &all);
      TakeFlops(trace.tracks[track], &flops, &all);
    }
  }
  return MakeTable("spans", MakeColumn("process", all.process), MakeColumn("thread", all.thread),
                   MakeColumn("span", all.span), MakeColumn("parent", all.parent),
                   MakeColumn("kind", all.kind), MakeColumn("layer", all.layer),
                   MakeColumn("name", all.name), MakeColumn("overload", all.overload),
                   MakeColumn("begin_ns", all.begin), MakeColumn("end_ns", all.end),
                   MakeColumn("sequence_number", all.sequence),
                   MakeColumn("forward_thread", all.forward), MakeColumn("input_dims", all.dims),
                   MakeColumn("flops", all.flops));
}

}  // namespace crosscut::analyze
