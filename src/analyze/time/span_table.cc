#include "src/analyze/time/span_table.h"

#include <iterator>
#include <utility>

#include "src/analyze/amounts.h"
#include "src/analyze/columns.h"
#include "src/analyze/operators/span_flops.h"
#include "src/trace/whole_spans.h"

namespace crosscut::analyze {
namespace {

struct Columns {
  Texts process, thread, kind, layer, name, overload, probe;
  Integers span, parent, begin, end, flops, thread_id, first, found;
};

// The arguments that have columns: of numbers, then of texts.
constexpr std::pair<const char*, const char*> kNumbers[] = {
    {"Sequence number", "sequence_number"}, {"Fwd thread id", "forward_thread"}, {"step", "step"}};
constexpr std::pair<const char*, const char*> kTexts[] = {{"Input Dims", "input_dims"},
                                                          {"Input type", "input_types"},
                                                          {"Input Strides", "input_strides"},
                                                          {"Concrete Inputs", "concrete_inputs"},
                                                          {"kwinputs", "named_inputs"}};

struct Args {
  explicit Args(const trace::Trace& trace) : trace(trace) {
    for (size_t i = 0; i < std::size(kNumbers); ++i) {
      number_keys[i] = trace.strings.Find(kNumbers[i].first);
    }
    for (size_t i = 0; i < std::size(kTexts); ++i) {
      text_keys[i] = trace.strings.Find(kTexts[i].first);
    }
  }

  template <class Span>
  void Take(const Span& args) {
    for (Integers& column : numbers) column.push_back(kMissing);
    std::string_view found[std::size(kTexts)];
    for (const trace::Arg& arg : args) {
      for (size_t i = 0; i < std::size(kNumbers) && !arg.is_text; ++i) {
        if (arg.key == number_keys[i]) numbers[i].back() = arg.value;
      }
      for (size_t i = 0; i < std::size(kTexts) && arg.is_text; ++i) {
        if (arg.key == text_keys[i]) found[i] = trace.text(arg.text());
      }
    }
    for (size_t i = 0; i < std::size(kTexts); ++i) texts[i].push_back(found[i]);
  }

  Column Number(size_t i) { return MakeColumn(kNumbers[i].second, numbers[i]); }
  Column Text(size_t i) { return MakeColumn(kTexts[i].second, texts[i]); }

  const trace::Trace& trace;
  trace::StringId number_keys[std::size(kNumbers)], text_keys[std::size(kTexts)];
  Integers numbers[std::size(kNumbers)];
  Texts texts[std::size(kTexts)];
};

void TakeTrack(const trace::Trace& trace, const Context& context, uint32_t index, Args* args,
               Columns* to) {
  const trace::Track& track = trace.tracks[index];
  const trace::Spans& spans = track.spans;
  const trace::WholeSpans wholes(spans);
  const bool thread = track.kind == trace::TrackKind::kThread;
  for (trace::SpanIndex i = 0; i < spans.size(); ++i) {
    const trace::Name& name = trace.name(spans.name[i]);
    to->process.push_back(context.process_label(track.process));
    to->thread.push_back(context.track_label({index}));
    to->span.push_back(i);
    to->parent.push_back(spans.parent[i] == trace::kNoSpan ? kMissing : spans.parent[i]);
    to->kind.emplace_back(name.scope() ? "operation" : "span");
    to->layer.emplace_back(trace::LayerName(name.layer));
    to->name.emplace_back(trace.text(name.text));
    to->overload.emplace_back(trace.text(name.overload));
    to->begin.push_back(spans.begin_ns[i]);
    to->end.push_back(spans.end_ns[i]);
    to->probe.emplace_back(trace.text(name.probe));
    to->thread_id.push_back(thread && track.os_id > 0 ? track.os_id : kMissing);
    to->first.push_back(wholes.first(i));
    to->found.push_back(name.found ? 1 : 0);
    args->Take(track.args.of(i));
  }
}

void TakeFlops(const trace::Track& track, SpanFlops* counter, Columns* to) {
  const std::vector<int64_t> found = counter->Of(track);
  for (const int64_t flops : found) to->flops.push_back(CellOf(flops));
  to->flops.resize(to->span.size(), kMissing);
}

}  // namespace

Table SpansTable(const trace::Trace& trace, const Context& context) {
  Columns all;
  Args args(trace);
  SpanFlops flops(trace);
  for (uint32_t track = 0; track < trace.tracks.size(); ++track) {
    if (trace.tracks[track].kind != trace::TrackKind::kDevice) {
      TakeTrack(trace, context, track, &args, &all);
      TakeFlops(trace.tracks[track], &flops, &all);
    }
  }
  return MakeTable("spans", MakeColumn("process", all.process), MakeColumn("thread", all.thread),
                   MakeColumn("span", all.span), MakeColumn("parent", all.parent),
                   MakeColumn("kind", all.kind), MakeColumn("layer", all.layer),
                   MakeColumn("name", all.name), MakeColumn("overload", all.overload),
                   MakeColumn("begin_ns", all.begin), MakeColumn("end_ns", all.end), args.Number(0),
                   args.Number(1), args.Text(0), MakeColumn("flops", all.flops),
                   MakeColumn("probe", all.probe), args.Number(2), args.Text(1), args.Text(2),
                   args.Text(3), MakeColumn("thread_id", all.thread_id),
                   MakeColumn("first", all.first), MakeColumn("found", all.found), args.Text(4));
}

}  // namespace crosscut::analyze
