// Time by call stack as lines of text, "main;step;aten::mm 1200", from which flame graphs are made.
//
// A line repeats all frames of its stack, so the lines of a deep tree can be far longer than the
// recording. They are kept in proportion to the tree. Where they would not be, stacks below the
// depth that fits are joined: one line at that depth says for how many stacks it stands.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/export/sink.h"
#include "src/trace/stacks.h"

namespace crosscut::exporting {

// A text as a frame of such a line: a ";", a line break or another control character would make two
// of it, and becomes "_". With `whole_stack`, `text` is several frames, and each ";" stays.
std::string StackFrame(std::string text, bool whole_stack = false);

// The frame around all stacks of a process, with its ";"; "" where the trace has no other process.
std::string ProcessFrame(const trace::Trace& trace, uint32_t process);

class StackLines {
 public:
  using Node = trace::StackTree::Node;

  // `tree` must outlive it and may grow between the calls.
  explicit StackLines(const trace::StackTree& tree) : tree_(tree) {}

  // Adds time to the stack `node`.
  void Add(Node node, int64_t ns);

  struct Prefix {
    std::string of_all;  // of each line: "p7;"; "": none
    std::string of_one;  // also of stacks of one frame; "": none
  };
  // Writes the lines of all that was added since the last call. A stack comes before the stacks in
  // it; others are ordered by their text.
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
