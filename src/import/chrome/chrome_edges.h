// Begins and ends of spans (phases B and E), which come one by one in any order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/import/chrome/chrome_rows.h"
#include "src/import/chrome/chrome_times.h"
#include "src/import/chrome/json_events.h"

namespace crosscut::import {

class ChromeEdges {
 public:
  static constexpr uint32_t kSpan = UINT32_MAX;
  // `text` is the span's name. `event` has pid and tid as in the file. `row` must outlive this.
  void Begin(const JsonEvent& event, ChromeRow* row, trace::StringId text, const ChromeSpan& span) {
    Begin(event, row, text, span, kSpan);
  }
  // Of what is no span of a row, as a step: TakeAsides() gives it back, by that number, which is
  // not kSpan.
  void BeginAside(const JsonEvent& event, ChromeRow* row, trace::StringId text, uint32_t number) {
    Begin(event, row, text, {event.ts_ns, event.ts_ns, {}, UINT32_MAX}, number);
  }
  // `text`: none where the event has no name. `owner`: of the end's arguments in the row
  // RowOf(event); UINT32_MAX: it has none.
  void End(const JsonEvent& event, trace::StringId text, uint32_t owner);
  // The row that may hold the arguments of an end of that thread; null where no span of the thread
  // has begun.
  ChromeRow* RowOf(const JsonEvent& event);

  // What was begun aside and has an end since the last call.
  struct Aside {
    uint32_t number;
    int64_t end_ns;
    bool stated;  // else the file has no end of it
  };
  std::vector<Aside> TakeAsides() { return std::exchange(asides_, {}); }

  // Puts the spans into their rows. An end belongs to the innermost open span, or if it has a name,
  // to the innermost of that name. Call it once.
  void Pair();
  // Call it after Pair. Calls visit(when) for each begin without an end.
  template <class Visit>
  void ForEachEndless(Visit visit) const {
    for (const Edge& begin : endless_) visit(begin.at_ns);
  }
  // Call it after Pair. Puts the spans without an end; they last until `last_ns`. Leaves out those
  // that begin outside `times` and returns their number.
  uint64_t PutEndless(const ChromeTimes& times, int64_t last_ns);
  uint64_t endless() const { return endless_.size(); }  // begins without an end
  uint64_t lone_ends() const { return lone_ends_; }     // ends without a begin
  uint64_t lost_args() const {
    return lost_args_;
  }  // ends on another row, whose arguments are lost

 private:
  static constexpr size_t kOpen = SIZE_MAX;
  struct Edge {
    int64_t at_ns;
    trace::StringId text;
    ChromeRow* row;  // of an end: of its arguments
    bool begins;
    trace::NameId name;
    uint32_t owner;
    size_t end = kOpen;      // of a begin: which edge ends it
    uint32_t aside = kSpan;  // its number
  };
  struct Thread {
    std::vector<Edge> edges;
    ChromeRow* last_row = nullptr;
  };
  Thread& ThreadOf(const JsonEvent& event);
  void Begin(const JsonEvent& event, ChromeRow* row, trace::StringId text, const ChromeSpan& span,
             uint32_t aside);
  // What is open on a thread, innermost last.
  struct Open {
    std::vector<size_t> begins;  // edges; may have some that ended, but not as the last
    std::unordered_map<uint32_t, std::vector<size_t>> of_name;  // what is open, by StringId
  };
  void PairThread(std::vector<Edge>* edges);
  // False: nothing open is what it ends.
  bool Close(size_t end, std::vector<Edge>* edges, Open* open);
  static uint32_t Joined(const Edge& begin, const Edge& end);
  void Put(const Edge& begin, const Edge& end);

  std::unordered_map<std::string, Thread> threads_;
  std::string id_, last_pid_, last_tid_;
  Thread* last_ = nullptr;
  std::vector<Edge> endless_;
  std::vector<Aside> asides_;
  uint64_t lone_ends_ = 0, lost_args_ = 0;
};

}  // namespace crosscut::import
