// The work of one process through its life, summed: who waits for it asks what it does meanwhile in
// less time than walking through it takes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "src/analyze/verdict/blamed_lines.h"
#include "src/trace/column.h"

namespace crosscut::analyze {

// Disjoint times in order.
class BusyTimes {
 public:
  // Requires: it does not begin before the last one ends.
  void Add(const trace::Interval& time);
  // How much of them lies before that time. O(log).
  int64_t Before(int64_t at_ns) const;
  bool Has(int64_t at_ns) const { return Before(at_ns + 1) > Before(at_ns); }

 private:
  trace::Column<trace::Interval> times_;
  trace::Column<int64_t> before_;  // of each: how much lies before it
};

// What other processes do at some times.
struct OthersWork {
  std::map<uint32_t, int64_t> names;  // ns by NameId of the innermost span with a layer
  BlamedLines lines;
  int64_t known_ns = 0;  // of a line
  // When any of it goes on at a line that may be blamed, at these times and others.
  std::shared_ptr<const BusyTimes> busy;
};

class WorkIndex {
 public:
  // What a thread does at a line.
  struct Piece {
    int64_t begin_ns, end_ns;
    Line line;
    trace::NameId name;                // none: no span
    uint32_t threads = 1, number = 0;  // that work then and share the time; which of them it is
    int64_t sample_ns;                 // when a sample tells the line
    double variance;                   // that it brings; of samples elsewhere none
    Blamed Within(int64_t begin, int64_t end) const;
  };
  // Requires: it is in order of time; pieces are disjoint or of equal times.
  explicit WorkIndex(trace::Column<Piece> pieces);
  // What goes on at `times`, which are disjoint and in order. Each costs O(kLeaf + lines * log)
  // time.
  OthersWork In(const std::vector<trace::Interval>& times) const;

 private:
  static constexpr size_t kLeaf = 512;  // pieces
  struct Sums {
    std::vector<std::pair<Line, Blamed>> lines;
    std::vector<std::pair<uint32_t, int64_t>> names;
  };
  static void Add(const Piece& piece, const Blamed& blamed, OthersWork* out);
  static void Add(const Sums& sums, OthersWork* out);
  static Sums SumsOf(const OthersWork& work);
  // All of pieces [first, last).
  void AddRange(size_t first, size_t last, OthersWork* out) const;

  trace::Column<Piece> pieces_;
  std::vector<std::vector<Sums>> levels_;  // of kLeaf pieces, of 2 kLeaf, ...; whole ones
  std::shared_ptr<const BusyTimes> busy_;
};

}  // namespace crosscut::analyze
