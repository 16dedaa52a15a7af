#include "src/export/pytorch_words.h"

namespace crosscut::exporting {
namespace {

constexpr std::string_view kModule = "nn.Module: ";
constexpr std::string_view kFrame = "autograd::engine::evaluate_function: ";

// "Linear" of "nn.Module: Net.fc (Linear)", "Net" of "nn.Module: Net" and "nn.Module: Net#2"; "" of
// other texts.
std::string_view ClassOf(std::string_view text) {
  if (!text.starts_with(kModule)) return "";
  text.remove_prefix(kModule.size());
  const size_t open = text.rfind(" (");
  return open == std::string_view::npos || !text.ends_with(')')
             ? text.substr(0, text.find('#'))
             : text.substr(open + 2, text.size() - open - 3);
}

}  // namespace

ModuleNumbers::ModuleNumbers(const trace::Trace& trace) {
  bool any = false;
  for (const trace::Name& name : trace.names) {
    const bool recorded = !name.category.valid() && name.kind == trace::Kind::kSpan;
    classes_.push_back(recorded ? ClassOf(trace.text(name.text)) : "");
    any |= !classes_.back().empty();
  }
  if (!any) return;
  std::map<std::pair<uint32_t, std::string_view>, int64_t> next;
  for (const trace::Track& track : trace.tracks) {
    const uint32_t process = track.process.value;
    for (trace::SpanIndex i = 0; i < track.spans.size(); ++i) {
      const trace::NameId name = track.spans.name[i];
      if (!IsModule(name)) continue;
      const auto [at, added] = numbers_.try_emplace({process, name.value}, 0);
      if (added) at->second = next[{process, classes_[name.value]}]++;
    }
  }
}

std::string ModuleNumbers::TextOf(trace::ProcessId process, trace::NameId name) const {
  std::string text(kModule);
  return text.append(classes_[name.value]) + "_" + std::to_string(Of(process, name));
}

AutogradFrames::AutogradFrames(const trace::Trace& trace) : trace_(trace) {
  for (const trace::Name& name : trace.names) {
    std::string frame(kFrame);
    frames_.push_back(trace.strings.Find(frame.append(trace.text(name.text))));
  }
}

std::unordered_map<trace::SpanIndex, trace::SpanIndex> AutogradFrames::NodesOf(
    const trace::Track& track) const {
  std::unordered_map<trace::SpanIndex, trace::SpanIndex> nodes;
  for (trace::SpanIndex i = 0; i < track.spans.size(); ++i) {
    const trace::StringId frame = frames_[track.spans.name[i].value];
    const trace::SpanIndex parent = track.spans.parent[i];
    if (!frame.valid() || parent == trace::kNoSpan) continue;
    if (trace_.name(track.spans.name[parent]).text == frame) nodes.try_emplace(parent, i);
  }
  return nodes;
}

}  // namespace crosscut::exporting
