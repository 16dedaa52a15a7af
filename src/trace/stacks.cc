#include "src/trace/stacks.h"

#include <algorithm>
#include <charconv>

#include "src/trace/namesakes.h"

namespace crosscut::trace {

StackTree::StackTree(const Trace& trace) : trace_(trace), nodes_{{kRoot, NameId::None(), 0}} {
  std::unordered_map<uint64_t, NameId> first;
  for (uint32_t i = 0; i < trace.names.size(); ++i) {
    const Name& name = trace.names[i];
    const uint64_t key = uint64_t{name.text.value} << 8 | static_cast<uint64_t>(name.layer) << 4 |
                         static_cast<uint64_t>(name.kind);
    same_.push_back(first.emplace(key, NameId{i}).first->second);
  }
}

size_t StackTree::HashKey::operator()(const Key& key) const {
  const uint64_t mixed = (key.edge ^ static_cast<uint64_t>(key.line) << 20) * 0x9e3779b97f4a7c15;
  return static_cast<size_t>(mixed ^ mixed >> 32);
}

StackTree::Node StackTree::Push(Node parent, NameId name, int32_t line) {
  name = same_[name.value];
  const Key key{uint64_t{parent} << 32 | name.value, line};
  const auto [at, fresh] = children_.emplace(key, static_cast<Node>(nodes_.size()));
  if (fresh) nodes_.push_back({parent, name, line});
  return at->second;
}

bool ParseCodePlace(std::string_view text, CodePlace* place) {
  const size_t open = text.rfind(" ("), colon = text.rfind(':');
  if (open == std::string_view::npos || colon == std::string_view::npos || colon < open ||
      !text.ends_with(')')) {
    return false;
  }
  const char* const end = text.data() + text.size() - 1;
  const auto parsed = std::from_chars(text.data() + colon + 1, end, place->line);
  if (parsed.ec != std::errc() || parsed.ptr != end) return false;
  place->function = text.substr(0, open);
  place->file = text.substr(open + 2, colon - open - 2);
  return true;
}

std::string StackTree::FrameText(Node node) const {
  const Entry& entry = nodes_[node];
  if (!entry.name.valid()) return "";
  const std::string_view text = trace_.name_text(entry.name);
  CodePlace place;
  if (entry.line == 0 || !ParseCodePlace(text, &place)) return std::string(text);
  return std::string(place.file) + ":" + std::to_string(entry.line) + " " +
         std::string(place.function);
}

size_t StackTree::FrameBytes(Node node) const {
  const Entry& entry = nodes_[node];
  constexpr size_t kLine = 12;
  return entry.name.valid() ? trace_.name_text(entry.name).size() + kLine : 0;
}

std::string StackTree::Text(Node node) const {
  std::vector<Node> frames;
  for (; node != kRoot; node = parent(node)) frames.push_back(node);
  std::string out;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    if (frame != frames.rbegin()) out += ';';
    std::string text = FrameText(*frame);
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c == ';' || c == '\n' || c == '\r'; }, '_');
    out += text;
  }
  return out;
}

std::vector<StackTree::Node> FullStacks(const Track& track, StackTree* tree) {
  const Spans& spans = track.spans;
  std::vector<StackTree::Node> stacks;
  stacks.reserve(spans.size());
  for (size_t i = 0; i < spans.size(); ++i) {
    const SpanIndex parent = spans.parent[i];
    stacks.push_back(
        tree->Push(parent == kNoSpan ? StackTree::kRoot : stacks[parent], spans.name[i]));
  }
  return stacks;
}

std::vector<StackTree::Node> PythonStacks(const Trace& trace, const Track& track, StackTree* tree) {
  const Spans& spans = track.spans;
  const auto python = [&](SpanIndex span) {
    const Name& name = trace.name(spans.name[span]);
    return name.kind == Kind::kSpan && name.layer == Layer::kPython;
  };
  // The innermost Python function around each span, and from where it called towards it.
  std::vector<SpanIndex> around(spans.size(), kNoSpan);
  std::vector<int32_t> line(spans.size(), 0);
  std::vector<StackTree::Node> stacks(spans.size(), StackTree::kRoot);
  for (SpanIndex i = 0; i < spans.size(); ++i) {
    const SpanIndex parent = spans.parent[i];
    line[i] = trace.name(spans.name[i]).called_at;
    if (parent == kNoSpan) continue;
    const bool inside = python(parent);
    around[i] = inside ? parent : around[parent];
    if (line[i] == 0 && !inside) line[i] = line[parent];
    const SpanIndex caller = around[i];
    if (caller != kNoSpan) stacks[i] = tree->Push(stacks[caller], spans.name[caller], line[i]);
  }
  return stacks;
}

std::vector<int64_t> SelfTimes(const Spans& spans) {
  std::vector<int64_t> self(spans.size());
  for (size_t i = 0; i < spans.size(); ++i) {
    const int64_t length = spans.end_ns[i] - spans.begin_ns[i];
    self[i] += length;
    if (spans.parent[i] != kNoSpan) self[spans.parent[i]] -= length;
  }
  return self;
}

std::vector<int64_t> FunctionSelfTimes(const Trace& trace, const Spans& spans) {
  std::vector<int64_t> self(spans.size());
  Namesakes open(spans);
  for (SpanIndex i = 0; i < spans.size(); ++i) {
    const bool function = trace.name(spans.name[i]).kind == Kind::kSpan;
    open.Enter(i, function ? 0 : Namesakes::kNoKey);
    if (!function) continue;
    const int64_t length = spans.end_ns[i] - spans.begin_ns[i];
    self[i] += length;
    if (open.KeyedAround() != kNoSpan) self[open.KeyedAround()] -= length;
  }
  return self;
}

}  // namespace crosscut::trace
