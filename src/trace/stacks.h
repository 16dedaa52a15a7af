// Call stacks: what was open around a span, outermost first, as nodes of one tree that all tracks
// share, so that equal stacks are one number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/trace/trace.h"

namespace crosscut::trace {

class StackTree {
 public:
  using Node = uint32_t;
  static constexpr Node kRoot = 0;  // the empty stack

  // `trace` outlives it.
  explicit StackTree(const Trace& trace);

  // `parent` and in it a frame of `name`, which is at `line` (0: not known).
  Node Push(Node parent, NameId name, int32_t line = 0);
  Node parent(Node node) const { return nodes_[node].parent; }
  // Never one of another name with the same text, layer and kind: those are one frame.
  NameId name(Node node) const { return nodes_[node].name; }
  int32_t line(Node node) const { return nodes_[node].line; }
  size_t size() const { return nodes_.size(); }

  // A Python function at a known line reads "train.py:41 main", all else as its name.
  std::string FrameText(Node node) const;
  // How many bytes that is, or a few more.
  size_t FrameBytes(Node node) const;
  // All frames, joined by ";". A ";" or line break in a name reads "_".
  std::string Text(Node node) const;

 private:
  struct Entry {
    Node parent;
    NameId name;
    int32_t line;
  };
  struct Key {
    uint64_t edge;  // parent, name
    int32_t line;
    bool operator==(const Key&) const = default;
  };
  struct HashKey {
    size_t operator()(const Key& key) const;
  };
  const Trace& trace_;
  std::vector<NameId> same_;  // by name: the first of its text, layer and kind
  std::vector<Entry> nodes_;
  std::unordered_map<Key, Node, HashKey> children_;
};

// "main (train.py:12)" in parts; false where `text` is not of that form.
struct CodePlace {
  std::string_view function, file;
  int32_t line = 0;  // where the function begins
};
bool ParseCodePlace(std::string_view text, CodePlace* place);

// By span of `track`: itself and all that is around it. Steps and phases are no spans.
std::vector<StackTree::Node> FullStacks(const Track& track, StackTree* tree);

// By span: the Python functions around it, without itself; each at the line from which it called
// towards the span, where that is known.
std::vector<StackTree::Node> PythonStacks(const Trace& trace, const Track& track, StackTree* tree);

// By span: how long it lasted without the spans in it.
std::vector<int64_t> SelfTimes(const Spans& spans);
// The same as the table `functions` has it: an operation is none, so that it has 0, and what lies
// in it counts against the span around it.
std::vector<int64_t> FunctionSelfTimes(const Trace& trace, const Spans& spans);

}  // namespace crosscut::trace
