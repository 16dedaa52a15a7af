// How a call of the application is wrapped. Each wrapper is a function with its entry's own type;
// while nothing is recorded it costs a load and a branch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>

#include "api.h"
#include "commands.h"
#include "session.h"

namespace crosscut::opencl {

// A string literal as a template argument.
template <size_t kSize>
struct Text {
  constexpr Text(const char (&from)[kSize]) {
    for (size_t i = 0; i < kSize; ++i) text[i] = from[i];
  }
  char text[kSize] = {};
};

// ---- Calls that are a span and nothing else --------------------------------------------------

template <auto kMember, Text kName>
struct Spanned;
template <typename R, typename... A, R (*cl_icd_dispatch::*kMember)(A...), Text kName>
struct Spanned<kMember, kName> {
  static R Call(A... args) {
    if (Recording() == 0) return (Driver().*kMember)(args...);
    static constinit Name name(kName.text, CROSSCUT_ON_HOST_RUNTIME);
    const CallSpan span(name);
    return (Driver().*kMember)(args...);
  }
};

// ---- Calls that enqueue work for a device ----------------------------------------------------

// Begins to follow what is being enqueued on `queue` (null: nothing). `*event`, the application's
// place for an event or null, becomes a place of ours where it was null.
class Enqueueing {
 public:
  struct Place {
    uint32_t session;
    Queue* queue;
    Name& name;  // of the call
  };
  Enqueueing(uint32_t session, Queue* queue, cl_event** event);
  Enqueueing(const Enqueueing&) = delete;
  Enqueueing& operator=(const Enqueueing&) = delete;

  // The driver has been called; `flow`: from the call's span. Null where there is nothing to
  // follow, else to be filled and then followed.
  Command* Done(bool enqueued, uint64_t flow);
  void Follow();

 private:
  Command* command_ = nullptr;
  cl_event own_ = nullptr;
  cl_event* place_;
  bool is_own_ = false;
};

inline bool Succeeded(cl_int result) { return result == CL_SUCCESS; }
inline bool Succeeded(const void* mapped) { return mapped != nullptr; }

template <typename... A>
constexpr size_t EventIndex() {
  size_t index = 0, found = 0;
  ((std::is_same_v<A, cl_event*> ? found = index++ : index++), ...);
  return found;
}

// `describe(command, arguments)` names the command's span and fills its arguments from the tuple of
// the call's.
template <typename R, typename Describe, typename... A>
R Enqueue(Enqueueing::Place place, Describe describe, R (*driver)(A...), A... args) {
  std::tuple<A...> all(args...);
  Enqueueing enqueueing(place.session, place.queue, &std::get<EventIndex<A...>()>(all));
  uint64_t flow = 0;
  R result = [&] {
    CallSpan span(place.name);
    R returned = std::apply(driver, all);
    flow = span.FlowOut();
    return returned;
  }();
  if (Command* command = enqueueing.Done(Succeeded(result), flow)) {
    describe(*command, all);
    enqueueing.Follow();
  }
  return result;
}

template <auto kMember, Text kName, auto kDescribe>
struct Enqueued;
template <typename R, typename... A, R (*cl_icd_dispatch::*kMember)(A...), Text kName,
          auto kDescribe>
struct Enqueued<kMember, kName, kDescribe> {
  static R Call(A... args) {
    const uint32_t session = Recording();
    if (session == 0) return (Driver().*kMember)(args...);
    static constinit Name name(kName.text, CROSSCUT_ON_HOST_RUNTIME, true);
    Queue* queue = FindQueue(std::get<0>(std::tie(args...)));
    return Enqueue({session, queue, name}, kDescribe, Driver().*kMember, args...);
  }
};

// ---- The layer's table -----------------------------------------------------------------------

// Entries that the loader below does not have stay absent.
template <typename Function>
void Replace(Function& entry, std::type_identity_t<Function> ours) {
  if (entry != nullptr) entry = ours;
}

// One function per file of wrappers; `table` holds what is wrapped.
void WrapQueues(cl_icd_dispatch& table);
void WrapCalls(cl_icd_dispatch& table);
void WrapCopies(cl_icd_dispatch& table);
void WrapKernels(cl_icd_dispatch& table);

}  // namespace crosscut::opencl
