#include <array>
#include <iterator>
#include <string_view>
#include <vector>

#include "src/analyze/amounts.h"
#include "src/analyze/columns.h"
#include "src/analyze/operators/span_flops.h"
#include "src/analyze/time/tables.h"
#include "src/trace/whole_spans.h"

namespace crosscut::analyze {
namespace {

// The arguments that have columns: of numbers, then of texts.
constexpr const char* kNumbers[] = {"Sequence number", "Fwd thread id", "step"};
constexpr const char* kTexts[] = {"Input Dims", "Input type", "Input Strides", "Concrete Inputs",
                                  "kwinputs"};

// Finds the arguments of one span after the other.
class SpanArgs {
 public:
  explicit SpanArgs(const trace::Trace& trace) : trace_(trace) {
    for (const char* name : kNumbers) number_keys_.push_back(trace.strings.Find(name));
    for (const char* name : kTexts) text_keys_.push_back(trace.strings.Find(name));
  }

  template <class Args>
  void Take(const Args& args) {
    numbers.fill(kMissing);
    texts.fill("");
    for (const trace::Arg& arg : args) {
      for (size_t i = 0; i < numbers.size() && !arg.is_text; ++i) {
        if (arg.key == number_keys_[i]) numbers[i] = arg.value;
      }
      for (size_t i = 0; i < texts.size() && arg.is_text; ++i) {
        if (arg.key == text_keys_[i]) texts[i] = trace_.text(arg.text());
      }
    }
  }

  // Of the span that was taken last.
  std::array<int64_t, std::size(kNumbers)> numbers;
  std::array<std::string_view, std::size(kTexts)> texts;

 private:
  const trace::Trace& trace_;
  std::vector<trace::StringId> number_keys_, text_keys_;
};

}  // namespace

Table SpansTable(const trace::Trace& trace, const Context& context) {
  SpanArgs args(trace);
  SpanFlops flops_of(trace);
  TableRows table("spans", Text("process"), Text("thread"), Integer("span"), Integer("parent"),
                  Text("kind"), Text("layer"), Text("name"), Text("overload"), Integer("begin_ns"),
                  Integer("end_ns"), Integer("sequence_number"), Integer("forward_thread"),
                  Text("input_dims"), Integer("flops"), Text("probe"), Integer("step"),
                  Text("input_types"), Text("input_strides"), Text("concrete_inputs"),
                  Integer("thread_id"), Integer("first"), Integer("found"), Text("named_inputs"));
  for (uint32_t t = 0; t < trace.tracks.size(); ++t) {
    const trace::Track& track = trace.tracks[t];
    if (track.kind == trace::TrackKind::kDevice) continue;
    const trace::Spans& spans = track.spans;
    const trace::WholeSpans wholes(spans);
    const std::vector<int64_t> flops = flops_of.Of(track);
    const bool thread = track.kind == trace::TrackKind::kThread && track.os_id > 0;
    for (trace::SpanIndex i = 0; i < spans.size(); ++i) {
      const trace::Name& name = trace.name(spans.name[i]);
      args.Take(track.args.of(i));
      const auto& [sequence, forward, step] = args.numbers;
      const auto& [dims, types, strides, concrete, named] = args.texts;
      table.Add(
          context.process_label(track.process), context.track_label({t}), i,
          spans.parent[i] == trace::kNoSpan ? kMissing : spans.parent[i],
          name.scope() ? "operation" : "span", trace::LayerName(name.layer), trace.text(name.text),
          trace.text(name.overload), spans.begin_ns[i], spans.end_ns[i], sequence, forward, dims,
          i < flops.size() ? CellOf(flops[i]) : kMissing, trace.text(name.probe), step, types,
          strides, concrete, thread ? track.os_id : kMissing, wholes.first(i), name.found, named);
    }
  }
  return table.Make();
}

}  // namespace crosscut::analyze
