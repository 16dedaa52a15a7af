#include "src/analyze/operators/span_flops.h"

#include <algorithm>

#include "src/analyze/amounts.h"
#include "src/analyze/memory/memory_events.h"
#include "src/analyze/operators/flops.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

using trace::kNoSpan;
using trace::SpanIndex;

SpanFlops::SpanFlops(const trace::Trace& trace)
    : trace_(trace),
      dims_(trace.strings.Find("Input Dims")),
      concrete_(trace.strings.Find("Concrete Inputs")),
      last_(dims_.valid() ? trace.names.size() : 0) {
  for (uint32_t i = 0; i < last_.size(); ++i) {
    const std::string_view text = trace.text(trace.names[i].text);
    is_operator_.push_back(IsOperator(trace, {i}));
    is_convolution_.push_back(is_operator_.back() && IsConvolution(text));
    is_elementwise_.push_back(IsElementwise(text));
  }
}

std::vector<int64_t> SpanFlops::Of(const trace::Track& track) {
  if (!dims_.valid()) return {};
  const trace::Spans& spans = track.spans;
  std::vector<int64_t> flops(spans.size(), kMissing);
  std::vector<SpanIndex> outermost(spans.size());  // that passes the same call on
  for (SpanIndex i = 0; i < spans.size(); ++i) {
    const SpanIndex parent = spans.parent[i];
    const bool passed_on = parent != kNoSpan && PassesOn(spans.name[parent], spans.name[i]);
    outermost[i] = passed_on ? outermost[parent] : i;
  }
  enum : uint8_t { kElementwise = 1, kOther = 2 };
  std::vector<uint8_t> inside(spans.size());  // what counts in a span
  for (auto i = static_cast<SpanIndex>(spans.size()); i-- > 0;) {
    const uint8_t kind = is_elementwise_[spans.name[i].value] ? kElementwise : kOther;
    const int64_t found = (inside[i] & kind) != 0 ? kMissing : ByFormula(track, i);
    if (found != kMissing) {
      inside[i] |= kind;
      int64_t& whole = flops[outermost[i]];
      whole = Together(std::max<int64_t>(whole, 0), found);
    }
    if (spans.parent[i] != kNoSpan) inside[spans.parent[i]] |= inside[i];
  }
  return flops;
}

int64_t SpanFlops::ByFormula(const trace::Track& track, SpanIndex span) {
  const trace::NameId name = track.spans.name[span];
  const std::vector<SpanIndex>& continued = track.spans.continued;
  if (!is_operator_[name.value] || std::binary_search(continued.begin(), continued.end(), span)) {
    return kMissing;
  }
  Call call;
  for (const trace::Arg& arg : track.args.of(span)) {
    if (arg.key == dims_) call.dims = arg.text();
    if (arg.key == concrete_) call.concrete = arg.text();
  }
  if (!call.dims.valid()) return kMissing;
  Last& last = last_[name.value];
  if (last.call == call) return last.flops;
  const trace::StringId text = trace_.name(name).text;
  const auto [at, fresh] =
      known_.try_emplace(std::tuple(text.value, call.dims.value, call.concrete.value));
  if (fresh) {
    at->second = FlopsOf(trace_.text(text), trace_.text(call.dims), trace_.text(call.concrete));
  }
  last = {call, at->second};
  return last.flops;
}

bool SpanFlops::PassesOn(trace::NameId outer, trace::NameId inner) const {
  return (is_convolution_[outer.value] && is_convolution_[inner.value]) ||
         trace_.name(outer).text == trace_.name(inner).text;
}

}  // namespace crosscut::analyze
