// What a Chrome trace calls the spans of a recording: their categories and names are Kineto's.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/export/profile_options.h"
#include "src/export/pytorch_words.h"
#include "src/trace/trace.h"

namespace crosscut::exporting {

class ChromeNames {
 public:
  // `trace` must outlive this object.
  explicit ChromeNames(const trace::Trace& trace);

  // Of the host's, by name; "" where only some spans of the name are written, and they need none.
  const std::vector<std::string_view>& categories() const { return categories_; }
  // Of what stands on a device's stream.
  std::string_view WorkCategory(trace::NameId name) const { return work_categories_[name.value]; }
  // {"ph": "X", "cat": ..., "name": ...
  std::string_view Head(const trace::Track& track, trace::SpanIndex span) const {
    const trace::NameId name = track.spans.name[span];
    if (track.kind == trace::TrackKind::kDevice) return work_heads_[name.value];
    const bool own = options_.is_profile && modules_.IsModule(name);
    return own ? module_heads_.at({track.process.value, name.value}) : heads_[name.value];
  }
  // Whether the trace of a profile is without the span, as PyTorch's own is.
  bool IsLeftOut(const trace::Spans& spans, trace::SpanIndex span) const;

  const ProfileOptions& options() const { return options_; }
  const ModuleNumbers& modules() const { return modules_; }

 private:
  std::string_view CategoryOf(trace::NameId id) const;

  const trace::Trace& trace_;
  const ProfileOptions options_;
  const ModuleNumbers modules_;
  std::vector<bool> calls_module_;                                     // by name
  std::vector<std::string_view> categories_, work_categories_;         // by name
  std::vector<std::string> heads_, work_heads_;                        // by name
  std::map<std::pair<uint32_t, uint32_t>, std::string> module_heads_;  // by process and name
};

}  // namespace crosscut::exporting
