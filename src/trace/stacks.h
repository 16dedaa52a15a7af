// Call stacks: what was open around a span, outermost first. They are nodes of one tree that all
// tracks share, so that equal stacks are one number.
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

  // `trace` must outlive it.
  explicit StackTree(const Trace& trace);

  // The stack `parent` with a frame of `name` in it, which is at `line` (0: not known).
  Node Push(Node parent, NameId name, int32_t line = 0);
  Node parent(Node node) const { return nodes_[node].parent; }
  // Names with the same text, layer and kind are one frame; this is the first of them.
  NameId name(Node node) const { return nodes_[node].name; }
  int32_t line(Node node) const { return nodes_[node].line; }
  size_t size() const { return nodes_.size(); }

  // A Python function at a known line reads "train.py:41 main", any other frame as its name.
  std::string FrameText(Node node) const;
  // The length of FrameText in bytes, or a little more.
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

// By span of `track`: the span itself and all that is around it. Steps and phases are no spans.
std::vector<StackTree::Node> FullStacks(const Track& track, StackTree* tree);

// By span: the Python functions around it, without itself. Each is at the line from which it called
// towards the span, if that is known.
std::vector<StackTree::Node> PythonStacks(const Trace& trace, const Track& track, StackTree* tree);

// By span: its length in ns without the spans directly in it.
std::vector<int64_t> SelfTimes(const Spans& spans);
// The same as in the table `functions`: an operation has 0, and what lies in it counts against the
// function around it.
std::vector<int64_t> FunctionSelfTimes(const Trace& trace, const Spans& spans);

}  // namespace crosscut::trace
