#include <algorithm>
#include <string>
#include <vector>

#include "src/export/exporter.h"
#include "src/export/stack_lines.h"
#include "src/trace/stacks.h"

namespace crosscut::exporting {
namespace {

using trace::StackTree;
using Node = StackTree::Node;

// ns by node of a tree that is shared by all tracks, written process by process.
class Collapsed {
 public:
  Collapsed(const trace::Trace& trace, bool device)
      : trace_(trace), device_(device), tree_(trace), lines_(tree_) {}

  void AddHost(const trace::Track& track) {
    const std::vector<Node> stacks = FullStacks(track, &tree_);
    const std::vector<int64_t> self = SelfTimes(track.spans);
    for (size_t i = 0; i < stacks.size(); ++i) lines_.Add(stacks[i], self[i]);
  }

  void AddDevice(uint32_t t, const std::vector<std::vector<Node>>& launches) {
    const trace::Spans& spans = trace_.tracks[t].spans;
    for (size_t i = 0; i < spans.size(); ++i) {
      const trace::Name& name = trace_.name(spans.name[i]);
      if (name.kind != trace::Kind::kSpan || name.layer == trace::Layer::kIdle) continue;
      const Node launch = i < launches[t].size() ? launches[t][i] : StackTree::kRoot;
      // Work that begins and ends while other work runs beside it is no part of that.
      lines_.Add(tree_.Push(launch, spans.name[i]), spans.end_ns[i] - spans.begin_ns[i]);
    }
  }

  // By device track and span: the stack of what launched it.
  std::vector<std::vector<Node>> FindLaunches() {
    std::vector<std::vector<Node>> stacks(trace_.tracks.size()), launches(trace_.tracks.size());
    for (const trace::Flow& flow : trace_.flows) {
      if (!flow.from_track.valid() || !flow.to_track.valid()) continue;
      if (flow.from == trace::kNoSpan || flow.to == trace::kNoSpan) continue;
      const uint32_t from = flow.from_track.value, to = flow.to_track.value;
      if (trace_.tracks[to].kind != trace::TrackKind::kDevice) continue;
      if (stacks[from].empty()) stacks[from] = FullStacks(trace_.tracks[from], &tree_);
      launches[to].resize(trace_.tracks[to].spans.size(), StackTree::kRoot);
      launches[to][flow.to] = stacks[from][flow.from];
    }
    return launches;
  }

  Status Write(uint32_t process, Sink* sink) {
    StackLines::Prefix prefix;
    prefix.of_all = ProcessFrame(trace_, process);
    if (device_) prefix.of_one = "(unlinked);";  // a launch is a frame at least
    return lines_.Write(prefix, sink);
  }

 private:
  const trace::Trace& trace_;
  const bool device_;
  StackTree tree_;
  StackLines lines_;
};

Result<Gaps> WriteStacks(const trace::Trace& trace, bool device, Sink* sink) {
  Collapsed collapsed(trace, device);
  const auto launches =
      device ? collapsed.FindLaunches() : std::vector<std::vector<StackTree::Node>>();
  const trace::TracksByProcess tracks(trace);
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    for (const uint32_t t : tracks.of({p})) {
      const trace::Track& track = trace.tracks[t];
      if (device != (track.kind == trace::TrackKind::kDevice)) continue;
      device ? collapsed.AddDevice(t, launches) : collapsed.AddHost(track);
    }
    if (Status status = collapsed.Write(p, sink); !status.ok()) return status;
  }
  return GapsOf(trace, device ? kWork | kLaunches : uint32_t{kSpans});
}

}  // namespace

Result<Gaps> WriteCollapsed(const trace::Trace& trace, Sink* sink) {
  return WriteStacks(trace, false, sink);
}

Result<Gaps> WriteCollapsedDevice(const trace::Trace& trace, Sink* sink) {
  return WriteStacks(trace, true, sink);
}

}  // namespace crosscut::exporting
