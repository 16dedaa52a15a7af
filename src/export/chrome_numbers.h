// The numbers by which readers of Kineto's files join related events: calls and the work that they
// launched, and work and the operator that caused it.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/export/launches.h"
#include "src/trace/spans_around.h"
#include "src/trace/trace.h"
#include "src/trace/whole_spans.h"

namespace crosscut::exporting {

// A span that was cut has one number, which each of its parts gives.
class ChromeNumbers {
 public:
  struct Launch {
    int64_t correlation = 0;
    int64_t external = 0;  // the operator's number; 0: none was open
    trace::NameId work;    // the first that was launched
  };

  // `categories`: of each name, as they are written. `trace` must outlive this object.
  ChromeNumbers(const trace::Trace& trace, const std::vector<std::string_view>& categories);

  bool IsOperator(trace::NameId name) const { return roles_[name.value] == Role::kOperator; }
  bool IsPython(trace::NameId name) const { return roles_[name.value] == Role::kPython; }
  bool IsCall(trace::NameId name) const { return roles_[name.value] == Role::kCall; }

  // The span's number: from 1, unique in the trace.
  int64_t Of(uint32_t track, trace::SpanIndex span) const {
    return first_[track] + static_cast<int64_t>(wholes_[track].first(span));
  }
  const trace::WholeSpans& wholes(uint32_t track) const { return wholes_[track]; }
  // The launch of a call that launched work, or of that work; null for other spans.
  const Launch* FindLaunch(uint32_t track, trace::SpanIndex span) const {
    if (launches_.empty()) return nullptr;
    const auto at = launches_.find(wholes_.Key(track, span));
    return at == launches_.end() ? nullptr : &at->second;
  }
  int64_t spans() const { return spans_; }  // the greatest number
  bool IsLaunch(size_t flow) const { return are_launches_.Is(flow); }
  int64_t launches() const { return correlations_; }  // the greatest correlation
  // The number of the innermost operator, or Python function, around a span; 0 where there is none.
  int64_t OperatorAround(uint32_t track, trace::SpanIndex span) {
    return Around(&operators_, track, span);
  }
  int64_t PythonAround(uint32_t track, trace::SpanIndex span) {
    return Around(&python_, track, span);
  }

 private:
  enum class Role : uint8_t { kOther, kOperator, kPython, kCall };
  int64_t Around(trace::SpansAround* spans, uint32_t track, trace::SpanIndex span) const;

  const trace::Trace& trace_;
  const Launches are_launches_{trace_};
  trace::SpansAround operators_, python_;
  std::vector<Role> roles_;     // by name
  std::vector<int64_t> first_;  // by track
  const trace::WholeSpansByTrack wholes_{trace_};
  int64_t spans_ = 0, correlations_ = 0;
  std::unordered_map<uint64_t, Launch> launches_;
};

}  // namespace crosscut::exporting
