// Which launch of a graph its loops belong to.
//
// CUPTI (13.0, seen on an H200) gives what runs in a conditional node of a graph the graph's id but
// no correlation id. A graph's runs follow one another, so that such work belongs to the launch of
// the graph's other work that began last before it. Not thread-safe.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace crosscut::cupti {

class GraphRuns {
 public:
  GraphRuns() = default;
  ~GraphRuns() { std::free(graphs_); }
  GraphRuns(const GraphRuns&) = delete;
  GraphRuns& operator=(const GraphRuns&) = delete;

  // Once. Without memory nothing is found.
  void Prepare() { graphs_ = static_cast<Graph*>(std::calloc(kGraphs, sizeof(Graph))); }
  // A new session.
  void Clear() {
    for (uint32_t i = 0; graphs_ != nullptr && i < kGraphs; ++i) graphs_[i].count = 0;
  }

  // Work of `graph` whose launch is known: the first of each launch matters.
  void Note(uint32_t graph, int64_t begin_ns, uint64_t launch) {
    if (graphs_ == nullptr) return;
    Graph& at = graphs_[graph % kGraphs];
    if (at.id != graph) at = {graph, 0, {}};
    if (at.count != 0 && at.runs[(at.count - 1) % kRuns].launch == launch) return;
    at.runs[at.count++ % kRuns] = {begin_ns, launch};
  }

  // The launch of the work noted of `graph` that began last at or before `begin_ns`; 0: none known.
  uint64_t Find(uint32_t graph, int64_t begin_ns) const {
    if (graphs_ == nullptr) return 0;
    const Graph& at = graphs_[graph % kGraphs];
    if (at.id != graph) return 0;
    const Run* best = nullptr;
    for (uint32_t i = 0; i < at.count && i < kRuns; ++i) {
      const Run& run = at.runs[i];
      if (run.begin_ns > begin_ns) continue;
      if (best == nullptr || run.begin_ns > best->begin_ns) best = &run;
    }
    return best == nullptr ? 0 : best->launch;
  }

 private:
  static constexpr uint32_t kGraphs = 64, kRuns = 64;  // the latest; older ones are forgotten
  struct Run {
    int64_t begin_ns;
    uint64_t launch;
  };
  struct Graph {
    uint32_t id, count;  // count: of all runs noted
    Run runs[kRuns];
  };

  Graph* graphs_ = nullptr;
};

}  // namespace crosscut::cupti
