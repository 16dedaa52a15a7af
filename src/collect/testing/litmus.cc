#include "src/collect/testing/litmus.h"

#include <algorithm>
#include <utility>

namespace crosscut::litmus {
namespace {

// By location: which message, of those in the location's order.
using View = std::array<int, kLocations>;

struct Message {
  uint64_t value = 0;
  View view{};            // what whoever reads it with acquire learns
  bool followed = false;  // by a read-modify-write that read it: nothing comes between
};

// The choices of one execution; those of the next one differ in the last that has another way.
class Choices {
 public:
  void Restart() { at_ = 0; }
  int Choose(int ways) {
    if (ways == 1) return 0;
    if (at_ == made_.size()) made_.push_back({0, ways});
    return made_[at_++].way;
  }
  bool Advance() {
    while (!made_.empty() && made_.back().way + 1 == made_.back().ways) made_.pop_back();
    if (made_.empty()) return false;
    ++made_.back().way;
    return true;
  }

 private:
  struct Choice {
    int way, ways;
  };
  std::vector<Choice> made_;
  size_t at_ = 0;
};

class Execution {
 public:
  Execution(int threads, const std::function<Task(Thread&)>& body, Choices* choices)
      : choices_(*choices) {
    for (auto& messages : messages_) messages.push_back({});
    for (auto& order : order_) order.push_back(0);
    for (int i = 0; i < threads; ++i) {
      threads_.push_back(std::make_unique<Thread>(i));
      tasks_.push_back(body(*threads_.back()));
      tasks_.back().Resume();  // up to its first operation
      knows_.push_back({});
      heard_.push_back({});
    }
  }

  // False where a thread waits for ever.
  bool Run(Outcome* outcome) {
    while (true) {
      std::vector<int> able;
      bool all_done = true;
      for (int i = 0; i < static_cast<int>(tasks_.size()); ++i) {
        if (tasks_[i].done()) continue;
        all_done = false;
        if (!Readable(i).empty()) able.push_back(i);
      }
      if (all_done) break;
      if (able.empty()) return false;
      Step(able[choices_.Choose(static_cast<int>(able.size()))]);
    }
    for (const auto& thread : threads_) outcome->results.push_back(thread->result);
    for (int l = 0; l < kLocations; ++l) outcome->last[l] = messages_[l][order_[l].back()].value;
    return true;
  }

 private:
  static bool Acquires(Order order) {
    return order == kAcquire || order == kAcqRel || order == kSeqCst;
  }
  static bool Releases(Order order) {
    return order == kRelease || order == kAcqRel || order == kSeqCst;
  }
  size_t PlaceOf(int location, int message) const {
    const std::vector<int>& order = order_[location];
    return static_cast<size_t>(std::find(order.begin(), order.end(), message) - order.begin());
  }
  void Join(View* into, const View& from) const {
    for (int l = 0; l < kLocations; ++l) {
      if (PlaceOf(l, from[l]) > PlaceOf(l, (*into)[l])) (*into)[l] = from[l];
    }
  }
  // The place of the oldest store that an operation of the thread may still read.
  size_t Oldest(int thread, const Operation& next) const {
    size_t place = PlaceOf(next.location, knows_[thread][next.location]);
    if (next.order == kSeqCst)
      place = std::max(place, PlaceOf(next.location, sequence_[next.location]));
    return place;
  }
  // Places of what the thread's next operation may read; one of them for what reads nothing.
  std::vector<size_t> Readable(int thread) const {
    const Operation& next = threads_[thread]->next;
    if (next.kind == Operation::kStore || next.kind == Operation::kFence) return {0};
    const std::vector<int>& order = order_[next.location];
    std::vector<size_t> places;
    for (size_t i = Oldest(thread, next); i < order.size(); ++i) {
      const Message& message = messages_[next.location][order[i]];
      if (next.waits && message.value == next.expected) continue;
      const bool stores = next.kind == Operation::kExchange && message.value == next.expected;
      if (stores && message.followed) continue;
      places.push_back(i);
    }
    return places;
  }

  void Step(int thread) {
    const Operation next = threads_[thread]->next;
    if (next.kind == Operation::kFence) Join(&knows_[thread], heard_[thread]);
    if (next.kind == Operation::kStore) {
      // Behind all that it knows of, and before or behind what it does not.
      const size_t first = Oldest(thread, next) + 1;
      std::vector<size_t> places;
      for (size_t i = first; i <= order_[next.location].size(); ++i) {
        if (!messages_[next.location][order_[next.location][i - 1]].followed) places.push_back(i);
      }
      Put(thread, next, places[choices_.Choose(static_cast<int>(places.size()))], {});
    }
    if (next.kind == Operation::kLoad || next.kind == Operation::kExchange) {
      const std::vector<size_t> places = Readable(thread);
      const size_t place = places[choices_.Choose(static_cast<int>(places.size()))];
      Take(thread, next, place);
    }
    tasks_[thread].Resume();
  }

  void Take(int thread, const Operation& next, size_t place) {
    const int id = order_[next.location][place];
    const Message message = messages_[next.location][id];
    threads_[thread]->got = message.value;
    knows_[thread][next.location] = id;
    Join(&heard_[thread], message.view);
    if (Acquires(next.order)) Join(&knows_[thread], message.view);
    if (next.order == kSeqCst) sequence_[next.location] = id;
    if (next.kind != Operation::kExchange || message.value != next.expected) return;
    messages_[next.location][id].followed = true;
    Put(thread, next, place + 1, message.view);  // goes on with the release sequence
  }

  void Put(int thread, const Operation& next, size_t place, const View& inherited) {
    const int id = static_cast<int>(messages_[next.location].size());
    messages_[next.location].push_back({next.value, inherited, false});
    order_[next.location].insert(order_[next.location].begin() + static_cast<ptrdiff_t>(place), id);
    knows_[thread][next.location] = id;
    View& view = messages_[next.location][id].view;
    if (Releases(next.order)) Join(&view, knows_[thread]);
    view[next.location] = id;
    if (next.order == kSeqCst) sequence_[next.location] = id;
  }

  Choices& choices_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<Task> tasks_;
  std::array<std::vector<Message>, kLocations> messages_;
  std::array<std::vector<int>, kLocations> order_;
  std::vector<View> knows_, heard_;  // heard: what an acquire fence makes it know
  View sequence_{};                  // the last that a seq_cst operation read or stored
};

}  // namespace

size_t Outcomes::Count(const std::function<bool(const Outcome&)>& is) const {
  return static_cast<size_t>(std::count_if(all.begin(), all.end(), is));
}

Outcomes Explore(int threads, const std::function<Task(Thread&)>& body) {
  Outcomes out;
  Choices choices;
  do {
    choices.Restart();
    Execution execution(threads, body, &choices);
    Outcome outcome;
    ++out.executions;
    if (execution.Run(&outcome)) out.all.insert(std::move(outcome));
  } while (choices.Advance());
  return out;
}

}  // namespace crosscut::litmus
