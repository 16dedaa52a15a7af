// src/base/atomic.h in a program that is checked by relacy, and the search itself.
//
//   struct Suite : sync::Checked<Suite, 2> {  what is shared, made anew for every execution
//     void Begin() { ... }                    before there are threads
//     void Run(unsigned i) { ... }            thread 0 and thread 1
//     void End() { Require(...); }            behind both
//   };
//   EXPECT_TRUE(sync::IsRight<Suite>());
//   EXPECT_EQ(sync::NeedlessOrders<Suite, ...>(), ...);
//
// Executions are tried at random, and then all that relacy's search knows, or all that leave a
// thread so often as the suite says. In the latter a load may see the value before the newest where
// nothing has told the thread of a newer one; in random ones the one before that, too. Then each
// memory order that a suite has used is weakened, one at a time, and must be found wrong: an order
// that the search would not miss is not shown to be enough.
//
// relacy has one order of all stores, as they are executed. What a store that is not seq_cst may do
// beyond that, to be passed by its thread's later loads, is added here where such an order is
// weakened.
//
// One thread of the machine; all threads of a suite are its fibres. A suite allocates nothing.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include <relacy/relacy.hpp>
#undef new
#undef delete
#undef malloc
#undef calloc
#undef realloc
#undef free
#undef assert
#undef errno
#undef memory_order_relaxed
#undef memory_order_consume
#undef memory_order_acquire
#undef memory_order_release
#undef memory_order_acq_rel
#undef memory_order_seq_cst
#undef VAR

namespace crosscut::sync {

// Where in the product an atomic is used, and how.
struct Use {
  const char* function;
  int line;
  const char* field;  // of a Shared; "" elsewhere
  char kind;          // 'l'oad, 's'tore, 'x': both
  std::memory_order order;
  bool operator==(const Use& o) const {
    return line == o.line && order == o.order && kind == o.kind &&
           std::strcmp(field, o.field) == 0 && std::strcmp(function, o.function) == 0;
  }
};

inline const char* NameOf(std::memory_order order) {
  constexpr const char* kNames[] = {"relaxed", "consume", "acquire",
                                    "release", "acq_rel", "seq_cst"};
  return kNames[static_cast<int>(order)];
}

// The search that runs. Of fixed size: in a suite relacy counts what is allocated.
struct Trial {
  static constexpr int kMostUses = 64;
  static constexpr int kMostShared = 64;
  static constexpr int kMostThreads = 4;
  Use uses[kMostUses];             // every one that is more than relaxed, by threads
  uint32_t users[kMostUses] = {};  // bit i: suite i
  int use_count = 0;
  int collects = -1;  // the number of the suite
  Use weak = {};      // this one is taken as `instead`
  std::memory_order instead = std::memory_order_relaxed;
  struct {
    const void* at;
    void* atomic;
  } shared[kMostShared];  // of the suite
  int shared_count = 0;
  // A store of each thread that others do not see yet; `put` stores it.
  struct {
    void* atomic;
    uint64_t value;
    void (*put)(void* atomic, uint64_t value);
  } late[kMostThreads];
  bool threads_run = false;
};
inline Trial trial;

// Before the thread uses `atomic`; null: at its end.
inline void PutLate(const void* atomic, bool loads) {
  if (!trial.threads_run) return;
  auto& late = trial.late[rl::thread_index()];
  if (late.atomic == nullptr) return;
  const bool may_pass = loads && atomic != late.atomic;
  if (may_pass && rl::rand(2) == 0) return;
  void* const at = std::exchange(late.atomic, nullptr);
  late.put(at, late.value);
}

inline bool IsWeak(const Use& use) { return trial.weak.function != nullptr && use == trial.weak; }

inline void Collect(const Use& use) {
  if (trial.collects < 0 || !trial.threads_run || use.order == std::memory_order_relaxed) return;
  int i = 0;
  while (i < trial.use_count && !(trial.uses[i] == use)) ++i;
  if (i == Trial::kMostUses) return;
  if (i == trial.use_count) trial.uses[trial.use_count++] = use;
  trial.users[i] |= uint32_t{1} << trial.collects;
}

inline rl::memory_order OrderOf(const Use& use) {
  Collect(use);
  std::memory_order order = use.order;
  if (IsWeak(use)) order = trial.instead;
  switch (order) {
    case std::memory_order_acquire: return rl::mo_acquire;
    case std::memory_order_release: return rl::mo_release;
    case std::memory_order_acq_rel: return rl::mo_acq_rel;
    case std::memory_order_seq_cst: return rl::mo_seq_cst;
    default: return rl::mo_relaxed;
  }
}

#define CROSSCUT_USE                                   \
  std::memory_order order = std::memory_order_seq_cst, \
                    const char *function = __builtin_FUNCTION(), int line = __builtin_LINE()
#define CROSSCUT_HERE(kind)                                                     \
  (PutLate(this, kind == 'l'), OrderOf({function, line, field_, kind, order})), \
      rl::debug_info(function, field_, line)

// What of std::atomic the protocols use.
template <class T>
class Atomic {
 public:
  Atomic(T value = T(), const char* field = "") : field_(field) {
    cell_.store(value, rl::mo_relaxed, rl::debug_info("Atomic", field_, 0));
  }
  T load(CROSSCUT_USE) const { return cell_.load(CROSSCUT_HERE('l')); }
  void store(T value, CROSSCUT_USE) {
    const bool sequenced = order == std::memory_order_seq_cst;
    if (trial.threads_run && sequenced && IsWeak({function, line, field_, 's', order})) {
      PutLate(this, false);
      trial.late[rl::thread_index()] = {this, static_cast<uint64_t>(value), &PutRelease};
    } else {
      cell_.store(value, CROSSCUT_HERE('s'));
    }
  }
  T exchange(T value, CROSSCUT_USE) { return cell_.exchange(value, CROSSCUT_HERE('x')); }
  T fetch_add(T value, CROSSCUT_USE) { return cell_.fetch_add(value, CROSSCUT_HERE('x')); }
  T fetch_or(T value, CROSSCUT_USE) { return cell_.fetch_or(value, CROSSCUT_HERE('x')); }
  T fetch_and(T value, CROSSCUT_USE) { return cell_.fetch_and(value, CROSSCUT_HERE('x')); }
  bool compare_exchange_strong(T& expected, T value, CROSSCUT_USE) {
    return cell_.compare_exchange_strong(expected, value, CROSSCUT_HERE('x'));
  }
  bool compare_exchange_weak(T& expected, T value, CROSSCUT_USE) {
    return cell_.compare_exchange_weak(expected, value, CROSSCUT_HERE('x'));
  }
  void CallIt(const char* field) { field_ = field; }

 private:
  static void PutRelease(void* atomic, uint64_t value) {
    static_cast<Atomic*>(atomic)->cell_.store(static_cast<T>(value), rl::mo_release,
                                              rl::debug_info("late", "", 0));
  }

  rl::atomic<T> cell_;
  const char* field_;
};

// A plain value whose use by two threads at once is found.
template <class T>
class Plain {
 public:
  Plain(T value = T()) { *this = value; }
  Plain& operator=(T value) {
    value_(rl::debug_info("Plain", "stored", 0)).store(value);
    return *this;
  }
  operator T() const { return value_(rl::debug_info("Plain", "loaded", 0)).load(); }

 private:
  rl::var<T> value_;
};

// Has an atomic stand for each of N plain fields that lie one behind the other while it lives, so
// that what the product does to them is seen. They are 0.
template <class T, size_t N>
class Shared {
 public:
  Shared(T* first, const char* const (&fields)[N]) {
    for (size_t i = 0; i < N; ++i) {
      atomics_[i].CallIt(fields[i]);
      trial.shared[trial.shared_count++] = {first + i, &atomics_[i]};
    }
  }

 private:
  Atomic<T> atomics_[N];
};

template <class T>
class RefOf {
 public:
  explicit RefOf(T& field) : plain_(field) {
    for (int i = 0; i < trial.shared_count && atomic_ == nullptr; ++i) {
      if (trial.shared[i].at == &field) atomic_ = static_cast<Atomic<T>*>(trial.shared[i].atomic);
    }
  }
  T load(CROSSCUT_USE) const {
    return atomic_ == nullptr ? plain_ : atomic_->load(order, function, line);
  }
  void store(T value, CROSSCUT_USE) const {
    if (atomic_ == nullptr) return (void)(plain_ = value);
    atomic_->store(value, order, function, line);
  }
  T fetch_add(T value, CROSSCUT_USE) const {
    return atomic_ == nullptr ? (plain_ += value) - value
                              : atomic_->fetch_add(value, order, function, line);
  }
  bool compare_exchange_strong(T& expected, T value, CROSSCUT_USE) const {
    return atomic_->compare_exchange_strong(expected, value, order, function, line);
  }

 private:
  T& plain_;
  Atomic<T>* atomic_ = nullptr;
};

template <class T>
RefOf<T> Ref(T& field) {
  return RefOf<T>(field);
}

// Headers for C use these; each value of an order is the number of the same in std.
template <class T>
T BuiltinLoad(const T* at, int order, const char* function, int line) {
  return Ref(const_cast<T&>(*at)).load(static_cast<std::memory_order>(order), function, line);
}
template <class T, class V>
void BuiltinStore(T* at, V value, int order, const char* function, int line) {
  Ref(*at).store(static_cast<T>(value), static_cast<std::memory_order>(order), function, line);
}
#define __atomic_load_n(at, order) \
  crosscut::sync::BuiltinLoad(at, order, __builtin_FUNCTION(), __LINE__)
#define __atomic_store_n(at, value, order) \
  crosscut::sync::BuiltinStore(at, value, order, __builtin_FUNCTION(), __LINE__)
#define __atomic_signal_fence(order) ((void)0)

// membarrier(2): every thread has a fence between two of its instructions.
inline void BarrierOnAllThreads() {
  rl::ctx().sched();
  rl::systemwide_fence(rl::debug_info("BarrierOnAllThreads", "", 0));
}
// Between two system calls that read another's memory.
inline void AcquireFence() {
  rl::atomic_thread_fence(rl::mo_acquire, rl::debug_info("AcquireFence", "", 0));
}
// While a thread waits for others.
inline void Yield() { rl::yield(1, rl::debug_info("Yield", "", 0)); }

inline void Require(bool holds, int line = __builtin_LINE()) {
  if (holds) return;
  rl::ctx().fail_test("Require", rl::test_result_user_assert_failed,
                      rl::debug_info("Require", "", line));
}

// `switches`: how often one execution may leave a thread that could go on; 0: as often as it can.
template <class Suite, int threads, unsigned switches = 0>
struct Checked : rl::test_suite<Suite, threads> {
  static constexpr unsigned kSwitches = switches;
  Checked() {
    trial.shared_count = 0;
    trial.threads_run = false;
    for (auto& late : trial.late) late.atomic = nullptr;
  }
  Suite& suite() { return *static_cast<Suite*>(this); }
  void Begin() {}
  void End() {}
  void before() {
    suite().Begin();
    trial.threads_run = true;
  }
  void thread(unsigned i) {
    suite().Run(i);
    PutLate(nullptr, false);
  }
  void after() {
    trial.threads_run = false;
    suite().End();
  }
};

// ---- The search ---------------------------------------------------------------------------------

inline constexpr uint64_t kRandomExecutions = 20'000;

template <class Suite, template <rl::thread_id_t> class Scheduler>
bool IsRight(rl::scheduler_type_e how, bool shows) {
  std::ostream nowhere(nullptr);
  rl::ostringstream state;
  rl::test_params params;
  params.output_stream = &nowhere;
  params.progress_stream = &nowhere;
  params.search_type = how;
  params.iteration_count = kRandomExecutions;
  params.context_bound = Suite::kSwitches;
  using Fibres = Scheduler<Suite::params::thread_count>;
  const auto result = rl::run_test<Suite, Fibres>(params, state, false);
  if (result != rl::test_result_success && shows) {
    params.output_stream = &std::cout;
    rl::simulate<Suite>(params);
  }
  return result == rl::test_result_success;
}

template <class Suite>
bool IsRightAtRandom(bool shows = false) {
  return IsRight<Suite, rl::random_scheduler>(rl::sched_random, shows);
}

// `shows`: the first execution that is wrong.
template <class Suite>
bool IsRight(bool shows = true) {
  if (!IsRightAtRandom<Suite>(shows)) return false;
  if constexpr (Suite::kSwitches == 0) {
    return IsRight<Suite, rl::full_search_scheduler>(rl::sched_full, shows);
  } else {
    return IsRight<Suite, rl::context_bound_scheduler>(rl::sched_bound, shows);
  }
}

// One step weaker; of what loads and stores, each half by itself.
inline std::vector<std::memory_order> Weaker(const Use& use) {
  using enum std::memory_order;
  if (use.order == seq_cst)
    return {use.kind == 'l' ? acquire : use.kind == 's' ? release : acq_rel};
  if (use.order == acq_rel) return {acquire, release};
  return {relaxed};
}

inline std::string Words(const Use& use, std::memory_order instead) {
  return std::string(use.function).substr(0, std::string_view(use.function).find('<')) +
         (*use.field == '\0' ? "" : std::string(" of ") + use.field) + ": " + NameOf(use.order) +
         " as " + NameOf(instead);
}

// The orders with whose weakening all suites that use them are still right.
template <class... Suites>
std::vector<std::string> NeedlessOrders() {
  trial = {};
  (..., (++trial.collects, IsRightAtRandom<Suites>()));
  trial.collects = -1;
  std::vector<std::string> needless;
  if (trial.use_count == Trial::kMostUses) needless.push_back("more than kMostUses");
  for (int i = 0; i < trial.use_count; ++i) {
    for (const std::memory_order instead : Weaker(trial.uses[i])) {
      trial.weak = trial.uses[i];
      trial.instead = instead;
      int suite = 0;
      const auto right = [&](bool (*is_right)(bool)) {
        return (trial.users[i] >> suite++ & 1) == 0 || is_right(false);
      };
      if ((right(&IsRight<Suites>) && ...)) needless.push_back(Words(trial.weak, instead));
    }
  }
  std::cout << trial.use_count << " orders\n";
  trial.weak = {};
  return needless;
}

}  // namespace crosscut::sync
