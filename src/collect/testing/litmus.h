// Every execution of a few threads that C++'s memory orders permit: for programs of a dozen loads
// and stores, in which the lock-free parts of Crosscut are written down again, line by line.
//
// The model has views (Kang et al., "A promising semantics for relaxed-memory concurrency", POPL
// 2017, without promises: no load is served by a store that comes later). Each location has its
// stores in one order. Each thread knows, of each location, the oldest store that it may still
// read; an acquiring load of what was stored with release learns what the storing thread knew.
// Operations that are seq_cst are ordered among each other on each location, and no more.
//
//   const auto outcomes = litmus::Explore(2, [](litmus::Thread& t) -> litmus::Task {
//     if (t.id() == 0) co_await t.Store(kX, 1, kRelease);
//     if (t.id() == 1) t.result[0] = co_await t.Load(kX, kAcquire);
//   });
#pragma once

#include <array>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace crosscut::litmus {

inline constexpr int kLocations = 16;  // all 0 at first
inline constexpr int kResults = 4;

enum Order { kRelaxed, kAcquire, kRelease, kAcqRel, kSeqCst };

// The suspended body of a thread. Moves, but is not copied.
class Task {
 public:
  struct promise_type {
    Task get_return_object() {
      return Task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task(const Task&) = delete;
  ~Task() {
    if (handle_) handle_.destroy();
  }
  void Resume() { handle_.resume(); }
  bool done() const { return handle_.done(); }

 private:
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

// What a thread does next.
struct Operation {
  enum Kind { kLoad, kStore, kExchange, kFence } kind;
  int location;
  uint64_t value;     // stored
  uint64_t expected;  // kExchange: only where this is read
  Order order;
  bool waits;  // kLoad: for a value other than `expected`
};

class Thread {
 public:
  explicit Thread(int id) : id_(id) {}
  int id() const { return id_; }
  // What the execution is told by. 0 at first.
  std::array<uint64_t, kResults> result{};

  struct Awaiter {
    Thread* thread;
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<>) const {}
    uint64_t await_resume() const { return thread->got; }
  };
  Awaiter Load(int location, Order order) {
    return Next({Operation::kLoad, location, 0, 0, order, false});
  }
  // Loads until it reads something else. An execution in which that never comes is left out.
  Awaiter LoadOtherThan(uint64_t value, int location, Order order) {
    return Next({Operation::kLoad, location, 0, value, order, true});
  }
  Awaiter Store(int location, uint64_t value, Order order) {
    return Next({Operation::kStore, location, value, 0, order, false});
  }
  // compare_exchange_strong: what it read; it stored where that is `expected`.
  Awaiter Exchange(int location, uint64_t expected, uint64_t value, Order order) {
    return Next({Operation::kExchange, location, value, expected, order, false});
  }
  // atomic_thread_fence(acquire).
  Awaiter AcquireFence() { return Next({Operation::kFence, 0, 0, 0, kAcquire, false}); }

  Operation next{};
  uint64_t got = 0;

 private:
  Awaiter Next(const Operation& operation) {
    next = operation;
    return {this};
  }
  int id_;
};

struct Outcome {
  std::vector<std::array<uint64_t, kResults>> results;  // by thread
  std::array<uint64_t, kLocations> last;                // the last store of each location
  auto operator<=>(const Outcome&) const = default;
};
struct Outcomes {
  std::set<Outcome> all;
  uint64_t executions = 0;

  // How many outcomes are as `is` says.
  size_t Count(const std::function<bool(const Outcome&)>& is) const;
};

// All outcomes of `threads` threads that each run `body`.
Outcomes Explore(int threads, const std::function<Task(Thread&)>& body);

}  // namespace crosscut::litmus
