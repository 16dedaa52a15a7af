// Floating-point operations call by call.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "src/trace/trace.h"

namespace crosscut::analyze {

// The floating-point operations of each call of an operator, so that the sum over all calls counts
// each multiplication once. An operator that calls another with FLOPs has none of its own: under
// vmap an operator calls one with the true shapes, and a sparse one calls a dense one. Where
// convolutions or operators of one name call one another, the outermost has the FLOPs, as in
// torch.profiler.
class SpanFlops {
 public:
  // `trace` must outlive it.
  explicit SpanFlops(const trace::Trace& trace);

  // By span of the track: kMissing where a call has none or they are not known. Empty where the
  // trace has no inputs of operators.
  std::vector<int64_t> Of(const trace::Track& track);

 private:
  struct Call {  // none where they were not recorded
    trace::StringId dims, concrete;
    bool operator==(const Call&) const = default;
  };
  struct Last {
    Call call;
    int64_t flops = 0;
  };
  int64_t ByFormula(const trace::Track& track, trace::SpanIndex span);
  bool PassesOn(trace::NameId outer, trace::NameId inner) const;

  const trace::Trace& trace_;
  const trace::StringId dims_, concrete_;                            // keys of arguments
  std::vector<bool> is_operator_, is_convolution_, is_elementwise_;  // by name
  std::vector<Last> last_;  // by name: most calls are like the one before
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, int64_t> known_;  // by text, dims, concrete
};

}  // namespace crosscut::analyze
