#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "src/analyze/columns.h"
#include "src/analyze/time/tables.h"
#include "src/trace/layers.h"
#include "src/trace/samples.h"
#include "src/trace/spans_around.h"

namespace crosscut::analyze {
namespace {

using trace::kNoSpan;
using trace::StringId;

struct Place {
  uint32_t process = 0;
  std::string thread;
  trace::NameId operation, span;
  trace::Layer layer = trace::Layer::kNone;
  std::string_view line;
  StringId own_line, library, function, waits;
  auto Tie() const {
    return std::tuple(process, std::string_view(thread), operation.value, span.value, layer, line,
                      own_line.value, library.value, function.value, waits.value);
  }
  bool operator<(const Place& other) const { return Tie() < other.Tie(); }
};
struct Sums {
  int64_t count = 0, ns = 0;
  int64_t run_delay_ns = kMissing;
};

class Samples {
 public:
  Samples(const trace::Trace& trace, const Context& context)
      : trace_(trace),
        context_(context),
        reader_(trace.strings),
        open_(trace),
        layered_(trace,
                 [this](trace::TrackId track, trace::SpanIndex span) {
                   return trace::HasLayer(NameOf(track, span));
                 }),
        ours_(trace,
              [this](trace::TrackId track, trace::SpanIndex span) {
                const trace::Name& name = NameOf(track, span);
                return trace::HasLayer(name) && name.layer == trace::Layer::kOverhead;
              }),
        operations_(trace, [this](trace::TrackId track, trace::SpanIndex span) {
          return NameOf(track, span).kind == trace::Kind::kOperation;
        }) {
    if (!reader_.any()) return;
    for (uint32_t t = 0; t < trace.tracks.size(); ++t) Take({t});
  }
  Table Make() const;

 private:
  void Take(trace::TrackId id) {
    const trace::Track& track = trace_.tracks[id.value];
    reader_.ForEach(trace_, track, [&](int64_t at, const trace::Sample& sample) {
      Place place;
      place.process = track.process.value;
      if (!track.ours) FindSpans(id, at, &place);
      if (sample.thread != 0) place.thread = "thread " + std::to_string(sample.thread);
      place.own_line = sample.own_line;
      place.library = sample.library;
      place.function = sample.function;
      place.waits = sample.waits;
      const std::string_view stack = trace_.text(sample.stack);
      place.line = stack.substr(stack.rfind(';') + 1);
      Sums& sums = rows_[place];
      ++sums.count;
      sums.ns += sample.covers_ns;
      if (sample.run_delay_ns < 0) return;
      sums.run_delay_ns = std::max<int64_t>(sums.run_delay_ns, 0) + sample.run_delay_ns;
    });
  }

  void FindSpans(trace::TrackId id, int64_t at, Place* place) {
    const trace::Track& track = trace_.tracks[id.value];
    place->thread = context_.track_label(id);
    const trace::SpanIndex span = open_.of(id).InnermostAt(at);
    if (span != kNoSpan) place->span = track.spans.name[span];
    const trace::SpanIndex layered = layered_.Of(id, span), op = operations_.Of(id, span);
    place->layer =
        ours_.Of(id, span) != kNoSpan ? trace::Layer::kOverhead : trace::BaseAt(track, at);
    if (layered != kNoSpan) place->layer = trace::LayerInside(NameOf(id, layered), place->layer);
    if (op != kNoSpan) place->operation = track.spans.name[op];
    const trace::TrackId lead = trace_.processes[track.process.value].lead;
    if (op == kNoSpan && lead.valid() && lead != id) FindLeads(lead, at, place);
  }

  void FindLeads(trace::TrackId lead, int64_t at, Place* place) {
    const trace::SpanIndex op = operations_.Of(lead, open_.of(lead).InnermostAt(at));
    if (op != kNoSpan) place->operation = trace_.tracks[lead.value].spans.name[op];
  }

  const trace::Name& NameOf(trace::TrackId track, trace::SpanIndex span) const {
    return trace_.name(trace_.tracks[track.value].spans.name[span]);
  }

  const trace::Trace& trace_;
  const Context& context_;
  const trace::SampleReader reader_;
  trace::OpenSpansByTrack open_;
  trace::SpansAround layered_, ours_, operations_;
  std::map<Place, Sums> rows_;
};

Table Samples::Make() const {
  std::vector<const std::pair<const Place, Sums>*> order;
  for (const auto& row : rows_) order.push_back(&row);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) { return a->second.ns > b->second.ns; });
  TableRows table("samples", Text("process"), Text("thread"), Text("operation"), Text("layer"),
                  Text("span"), Text("line"), Text("own_line"), Text("library"), Text("function"),
                  Text("waits_for"), Integer("count"), Integer("ns"), Integer("run_delay_ns"));
  for (const auto* row : order) {
    const auto& [place, sums] = *row;
    table.Add(context_.process_label({place.process}), place.thread,
              trace_.name_text(place.operation), trace::LayerName(place.layer),
              trace_.name_text(place.span), place.line, trace_.text(place.own_line),
              trace_.text(place.library), trace_.text(place.function), trace_.text(place.waits),
              sums.count, sums.ns, sums.run_delay_ns);
  }
  return table.Make();
}

}  // namespace

Table SamplesTable(const trace::Trace& trace, const Context& context) {
  return Samples(trace, context).Make();
}

}  // namespace crosscut::analyze
