#include "src/export/stack_lines.h"

#include <algorithm>
#include <unordered_map>

namespace crosscut::exporting {
namespace {

using trace::StackTree;

// Of text: so much, and so much for each stack.
constexpr uint64_t kMostBytes = 32 << 20, kMostBytesPerStack = 512;
constexpr size_t kNumberBytes = 8;  // of a line, about
constexpr size_t kFlushBytes = 1 << 20;

}  // namespace

std::string StackFrame(std::string text, bool whole_stack) {
  const auto breaks = [&](char c) {
    return (c >= 0 && c < ' ') || c == '\x7f' || (c == ';' && !whole_stack);
  };
  std::replace_if(text.begin(), text.end(), breaks, '_');
  return text;
}

std::string ProcessFrame(const trace::Trace& trace, uint32_t process) {
  if (trace.processes.size() < 2) return "";
  return StackFrame(std::string(trace.text(trace.processes[process].key))) + ";";
}

void StackLines::Add(Node node, int64_t ns) {
  if (entries_.size() <= node) entries_.resize(tree_.size());
  entries_[node].ns += ns;
  for (; node != StackTree::kRoot && !entries_[node].marked; node = tree_.parent(node)) {
    entries_[node].marked = true;
    marked_.push_back(node);
  }
}

Status StackLines::Write(const Prefix& prefix, Sink* sink) {
  MarkTree();
  FoldBelow(DepthThatFits(prefix.of_all.size()));
  const Status status = WriteLines(prefix, sink);
  for (const Node node : marked_) entries_[node] = {};
  marked_.clear();
  return status;
}

// A node is younger than its parent.
void StackLines::MarkTree() {
  std::sort(marked_.begin(), marked_.end());
  for (const Node node : marked_) {
    const Node parent = tree_.parent(node);
    const Entry around = parent == StackTree::kRoot ? Entry() : entries_[parent];
    Entry& entry = entries_[node];
    const uint64_t bytes = uint64_t{around.text_bytes} + tree_.FrameBytes(node) + 1;
    entry.text_bytes = static_cast<uint32_t>(std::min<uint64_t>(bytes, UINT32_MAX));
    entry.depth = around.depth + 1;
  }
}

uint32_t StackLines::DepthThatFits(size_t prefix_bytes) const {
  std::vector<uint64_t> bytes;  // of the lines by depth
  for (const Node node : marked_) {
    const Entry& entry = entries_[node];
    if (entry.depth >= bytes.size()) bytes.resize(entry.depth + 1);
    bytes[entry.depth] += entry.text_bytes + prefix_bytes + kNumberBytes;
  }
  const uint64_t most = kMostBytes + kMostBytesPerStack * marked_.size();
  uint64_t sum = 0;
  uint32_t depth = 1;
  for (; depth < bytes.size(); ++depth) {
    sum += bytes[depth];
    // A stack at the last depth that fits may have a second line, for what is folded into it.
    if (sum + bytes[depth] > most) break;
  }
  return depth < bytes.size() ? std::max<uint32_t>(1, depth - 1) : depth;
}

void StackLines::FoldBelow(uint32_t depth) {
  for (auto at = marked_.rbegin(); at != marked_.rend(); ++at) {
    Entry& entry = entries_[*at];
    if (entry.depth <= depth) continue;
    Entry& parent = entries_[tree_.parent(*at)];
    parent.folded += entry.folded + (entry.ns > 0 ? 1 : 0);
    entry.folded = 0;
    if (entry.ns > 0) parent.folded_ns += entry.ns;
    parent.folded_ns += entry.folded_ns;
    entry.marked = false;
  }
  std::erase_if(marked_, [&](Node node) {
    if (entries_[node].marked) return false;
    entries_[node] = {};
    return true;
  });
}

Status StackLines::WriteLines(const Prefix& prefix, Sink* sink) const {
  // By parent: children in the order of their text.
  std::unordered_map<Node, std::vector<std::pair<std::string, Node>>> children;
  for (const Node node : marked_) {
    children[tree_.parent(node)].emplace_back(StackFrame(tree_.FrameText(node)), node);
  }
  for (auto& [parent, of_it] : children) {
    std::sort(of_it.begin(), of_it.end(), std::greater<>());
  }
  const std::vector<std::pair<std::string, Node>>& outermost = children[StackTree::kRoot];
  std::string text, stack = prefix.of_all;
  struct Open {
    Node node;
    size_t outside;  // bytes of `stack` without it
  };
  std::vector<Open> open{{StackTree::kRoot, stack.size()}};
  const auto write = [&](std::string_view before, std::string_view after, int64_t ns) {
    text.append(before).append(after);
    text += ' ';
    text += std::to_string(ns);
    text += '\n';
  };
  const bool apart = !prefix.of_one.empty();
  for (auto one = outermost.rbegin(); apart && one != outermost.rend(); ++one) {
    const int64_t ns = entries_[one->second].ns;
    if (ns > 0) write(prefix.of_all + prefix.of_one, one->first, ns);
  }
  while (!open.empty()) {
    auto left = children.find(open.back().node);
    if (left == children.end() || left->second.empty()) {
      stack.resize(open.back().outside);
      open.pop_back();
      continue;
    }
    const auto [frame, node] = std::move(left->second.back());
    left->second.pop_back();
    const size_t outside = stack.size();
    const bool alone = open.back().node == StackTree::kRoot;
    if (!alone) stack += ';';
    stack += frame;
    open.push_back({node, outside});
    const Entry& entry = entries_[node];
    if (entry.ns > 0 && !(alone && apart)) write(stack, "", entry.ns);
    if (entry.folded > 0) {
      const std::string deeper =
          std::to_string(entry.folded) + (entry.folded == 1 ? " deeper stack" : " deeper stacks");
      write(stack, ";(" + deeper + ")", entry.folded_ns);
    }
    if (text.size() < kFlushBytes) continue;
    if (Status status = sink->Write(text); !status.ok()) return status;
    text.clear();
  }
  return sink->Write(text);
}

}  // namespace crosscut::exporting
