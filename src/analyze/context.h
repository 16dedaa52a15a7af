// What every analysis gets beside the trace: labels, and results that several of them need.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "src/trace/trace.h"

namespace crosscut::analyze {

// Refers to the trace, which must outlive it and must not change. May be used by several threads at
// once.
class Context {
 public:
  explicit Context(const trace::Trace& trace);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const trace::Trace& trace() const { return trace_; }
  const trace::TracksByProcess& tracks() const;
  // The process's counter of that name, the first if there are several; null where there is none.
  const trace::CounterSeries* counter(trace::ProcessId process, std::string_view name) const;
  // The names of a process and a track in tables: unique in the run, and in the process. "" for an
  // id that is none.
  const std::string& process_label(trace::ProcessId process) const;
  const std::string& track_label(trace::TrackId track) const;

  // A result that is expensive: T(trace), or T(context) if it builds on other such results, made at
  // the first call and kept. Context knows none of these types, so each room has its own:
  // Accounting, DeviceWork, MemoryUse.
  template <class T>
  const T& Shared() const {
    return *static_cast<const T*>(SharedOf(&kKeyOf<T>, [](const Context& context) {
      if constexpr (std::is_constructible_v<T, const Context&>) {
        return std::shared_ptr<const void>(std::make_shared<const T>(context));
      } else {
        return std::shared_ptr<const void>(std::make_shared<const T>(context.trace()));
      }
    }));
  }

 private:
  struct State;
  template <class T>
  static constexpr char kKeyOf = 0;  // its address is T's
  const void* SharedOf(const void* key, std::shared_ptr<const void> (*make)(const Context&)) const;

  const trace::Trace& trace_;
  std::unique_ptr<State> state_;
};

}  // namespace crosscut::analyze
