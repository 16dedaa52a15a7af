// The work of some processes through their lives, summed: who waits for them asks what they do
// meanwhile in less time than walking through it takes.
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
  // When the one began that goes on up to that time; that time where none does. O(log).
  int64_t BeginOf(int64_t at_ns) const;

 private:
  // How many begin before that time.
  size_t CountBefore(int64_t at_ns) const;

  trace::Column<trace::Interval> times_;
  trace::Column<int64_t> before_;  // of each: how much lies before it
};

// What a thread does at a line.
struct WorkPiece {
  int64_t begin_ns, end_ns;
  Line line;
  trace::NameId name;    // none: no span
  uint32_t threads = 1;  // of the process, that work then and share the time
  int64_t sample_ns;     // when a sample tells the line
  double variance;       // that it brings; of samples elsewhere none
};
// Of a process in order of time: disjoint or of equal times.
using WorkPieces = trace::Column<WorkPiece>;

// What other processes do at some times.
struct OthersWork {
  std::map<uint32_t, int64_t> names;  // ns by NameId of the innermost span with a layer
  BlamedLines lines;
  int64_t known_ns = 0;  // of a line
  // When any of it goes on at a line that may be blamed, at these times and others.
  std::shared_ptr<const BusyTimes> busy;
};

// Where several of the processes work at a time, each has an equal part of it, and its threads of
// that.
class WorkIndex {
 public:
  // The pieces, which must outlive it, by process.
  explicit WorkIndex(std::vector<const WorkPieces*> processes);
  // What goes on at `times`, which are disjoint and in order. Each costs O(kLeaf + (lines +
  // processes) * log) time.
  OthersWork In(const std::vector<trace::Interval>& times) const;
  // OthersWork::busy.
  const BusyTimes& busy() const { return *busy_; }

 private:
  static constexpr size_t kLeaf = 512;  // pieces
  // Not yet in whole numbers.
  struct Amount {
    double ns = 0, variance = 0;
    int64_t samples = 0;
    void Add(const Amount& more, int sign = 1) {
      ns += sign * more.ns;
      variance += sign * more.variance;
      samples += sign * more.samples;
    }
  };
  struct Sums {
    std::map<Line, Amount> lines;
    std::map<uint32_t, double> names;
  };
  struct Flat {  // Sums, in less memory
    std::vector<std::pair<Line, Amount>> lines;
    std::vector<std::pair<uint32_t, double>> names;
  };
  // From at_ns on, time passes at that rate for each of those who work.
  struct Pace {
    int64_t at_ns;
    double passed, rate;
  };
  struct Entry {
    const WorkPiece* piece;
    double ns;  // its part of the time
  };
  void SetPaces();
  double PassedAt(int64_t at_ns) const;
  // What the piece has from `from_ns` on.
  Amount Behind(const WorkPiece& piece, double ns, int64_t from_ns) const;
  static void Add(const WorkPiece& piece, const Amount& amount, int sign, Sums* out);
  // All of entries [first, last).
  void AddRange(size_t first, size_t last, Sums* out) const;
  // Behind `at_ns`, of the pieces that go on then; `next`: by process, those behind it.
  void AddTails(int64_t at_ns, int sign, std::vector<size_t>* next, Sums* out) const;

  std::vector<const WorkPieces*> processes_;
  trace::Column<Pace> paces_;
  trace::Column<Entry> entries_;           // by begin
  std::vector<std::vector<Flat>> levels_;  // of kLeaf entries, of 2 kLeaf, ...; whole ones
  std::shared_ptr<const BusyTimes> busy_;
};

}  // namespace crosscut::analyze
