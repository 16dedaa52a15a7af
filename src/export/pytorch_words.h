// What PyTorch's profiler tells of modules and of autograd's frames, found in a recording.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/trace/trace.h"

namespace crosscut::exporting {

// Calls of nn.Modules. A module's number counts those of its class in its process, in the order of
// their first calls: the second Linear that is called is Linear_1.
class ModuleNumbers {
 public:
  // `trace` must outlive this object.
  explicit ModuleNumbers(const trace::Trace& trace);

  bool IsModule(trace::NameId name) const { return !classes_[name.value].empty(); }
  // The other two require IsModule(name). `process`: of a call.
  int64_t Of(trace::ProcessId process, trace::NameId name) const {
    return numbers_.at({process.value, name.value});
  }
  // By process and name.
  const std::map<std::pair<uint32_t, uint32_t>, int64_t>& numbers() const { return numbers_; }
  // "nn.Module: Linear_1".
  std::string TextOf(trace::ProcessId process, trace::NameId name) const;

 private:
  std::vector<std::string_view> classes_;  // by name; "": no module's
  std::map<std::pair<uint32_t, uint32_t>, int64_t> numbers_;
};

// Frames of autograd's engine, each with the node that runs in it.
class AutogradFrames {
 public:
  explicit AutogradFrames(const trace::Trace& trace);

  // Of one track, by frame.
  std::unordered_map<trace::SpanIndex, trace::SpanIndex> NodesOf(const trace::Track& track) const;

 private:
  const trace::Trace& trace_;
  std::vector<trace::StringId> frames_;  // by name: the text of its frame, where it has one
};

}  // namespace crosscut::exporting
