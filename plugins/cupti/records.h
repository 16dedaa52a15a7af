// From CUPTI's activity records to spans on the host's tracks.
//
// Records of a batch of buffers are sorted by the time they begin, since streams, contexts and
// threads of the program fill buffers side by side.
// Threads: one at a time.
#pragma once

#include <crosscut/plugin.h>

#include <cstddef>
#include <cstdint>

#include "api.h"
#include "correlation.h"
#include "graph_runs.h"
#include "layout.h"
#include "metrics.h"
#include "pauses.h"
#include "texts.h"
#include "tracks.h"

namespace crosscut::cupti {

class Records {
 public:
  // What became of the records of a session.
  struct Counts {
    uint64_t pushed = 0;    // spans
    uint64_t unlinked = 0;  // among them, without an arrow from their launch
    uint64_t by_graph = 0;  // with an arrow by what their graph did before (graph_runs.h)
    uint64_t repeats = 0;   // left out: further passes over a kernel, for its metrics
    uint64_t paused = 0;    // left out: launched in control steps
    uint64_t lost = 0;      // without times, or without room for a track
    uint64_t damaged = 0;   // buffers that broke off
    uint64_t overhead_ns = 0;
  };

  Records() = default;
  ~Records();
  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;

  // Once. `launches` and `metrics` stay the caller's.
  void Prepare(const crosscut_host* host, const CorrelationTable* launches, Metrics* metrics,
               uint32_t flows);
  // A new session.
  void Renew() { counts_ = Counts(); }
  // Of a CUPTI of `version`.
  void Use(const Api* api, uint32_t version);
  // CUPTI begins to record, in a session perhaps not for the first time; times are of the host's
  // `clock`.
  void Begin(uint32_t clock);

  // The records of a buffer; it must live until Push(). False: Push() first, then again from the
  // start, for there is no room for all of them.
  bool Add(uint8_t* buffer, size_t valid);
  // Hands over what was added. `paused` is on CUPTI's clock.
  void Push(const Pauses& paused);
  // What was measured of all that ran until `at_ns`, CUPTI's clock; a word of the host's.
  void PushWindow(uint32_t metrics, int64_t at_ns);

  const Counts& counts() const { return counts_; }
  bool empty() const { return count_ == 0; }

 private:
  static constexpr uint32_t kMostInBatch = 1 << 16;
  struct Item {
    int64_t begin_ns;
    const CUpti_Activity* record;
  };
  struct Work {  // what kernels, copies and memory sets have in common
    Stream stream;
    int64_t begin_ns, end_ns;
    uint32_t correlation, name, graph;
    uint64_t graph_node, source_node;
  };
  template <class Record>
  static Work WorkOf(const Record& record, uint32_t name, uint64_t source_node);

  bool Note(const CUpti_Activity* record);
  void PushOne(const CUpti_Activity* record, const Pauses& paused);
  void PushKernel(const CUpti_Activity* record, const Pauses& paused);
  void PushCopy(const CUpti_Activity* record, const Pauses& paused);
  void PushPeerCopy(const CUpti_Activity* record, const Pauses& paused);
  void PushSet(const CUpti_Activity* record, const Pauses& paused);
  void PushGraph(const CUpti_Activity* record, const Pauses& paused);
  void PushSynchronisation(const CUpti_Activity* record);
  void PushOverhead(const CUpti_Activity* record);
  // Zeros are CUPTI's word for times that it could not take. Those without are counted.
  bool HasTimes(int64_t begin_ns, int64_t end_ns);
  // The span with its arrow and its ids; false where it is left out.
  bool PushWork(const Work& work, const Pauses& paused);
  uint64_t SourceNode(const CUpti_Activity* record, size_t offset) const;
  void Arg(uint32_t key, int64_t value) const;
  void ArgUnless(int64_t usual, uint32_t key, int64_t value) const;

  const crosscut_host* host_ = nullptr;
  const Api* api_ = nullptr;
  const CorrelationTable* launches_ = nullptr;
  Metrics* metrics_ = nullptr;
  CorrelationTable externals_;
  GraphRuns graph_runs_;
  Texts texts_;
  Tracks tracks_;
  Layout layout_;
  Counts counts_;
  Item* items_ = nullptr;
  uint32_t count_ = 0;
};

}  // namespace crosscut::cupti
