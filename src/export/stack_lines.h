// Time by call stack as lines of text, "main;step;aten::mm 1200": what flame graphs are made of.
//
// A line repeats all frames of its stack, so that the lines of a deep tree are longer than all that
// was recorded by the depth of the tree. They are kept in proportion to the tree: where they would
// not be, what lies deeper than fits is one line per stack at that depth, which says how many
// stacks it stands for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/export/sink.h"
#include "src/trace/stacks.h"

namespace crosscut::exporting {

class StackLines {
 public:
  using Node = trace::StackTree::Node;

  // `tree` outlives it, and may grow between the calls.
  explicit StackLines(const trace::StackTree& tree) : tree_(tree) {}

  void Add(Node node, int64_t ns);

  struct Prefix {
    std::string of_all;  // "p7;", "" for none
    std::string of_one;  // of stacks of one frame; "" for none
  };
  // The lines of all that was added since the last call, stacks before those in them, else by text.
  Status Write(const Prefix& prefix, Sink* sink);

 private:
  void MarkTree();
  uint32_t DepthThatFits(size_t prefix_bytes) const;
  void FoldBelow(uint32_t depth);
  Status WriteLines(const Prefix& prefix, Sink* sink) const;

  // Of a node: what was added, and where it stands. Frames and depth are known of `marked_`.
  struct Entry {
    int64_t ns = 0;
    int64_t folded_ns = 0;                           // of stacks in it that have no line
    uint32_t depth = 0, text_bytes = 0, folded = 0;  // `folded`: how many those are
    bool marked = false;
  };
  const trace::StackTree& tree_;
  std::vector<Entry> entries_;  // by node
  std::vector<Node> marked_;    // those with time and all around them, parents first
};

}  // namespace crosscut::exporting
