// Traces for tests, made by hand or at random, and their tables.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/analyze/tables.h"
#include "src/trace/trace.h"

namespace crosscut::analyze::testing {

using Pairs = std::initializer_list<std::pair<int64_t, int64_t>>;

// A trace of processes whose tracks are filled with spans in any order; Finish() nests them.
class TestTrace {
 public:
  trace::ProcessId Process(std::string_view key, int64_t start, int64_t end);
  // A thread that lives through its process's window.
  trace::TrackId Thread(trace::ProcessId process, std::string_view name = "");
  trace::TrackId Device(trace::ProcessId process, std::string_view name = "");
  trace::NameId Name(std::string_view text, trace::Kind kind, trace::Layer layer,
                     bool waits = false, std::string_view probe = "");
  // Of an operation that an adapter found.
  trace::NameId FoundName(std::string_view text);
  void Span(trace::TrackId track, int64_t begin, int64_t end, trace::NameId name);

  void Operation(trace::TrackId track, std::string_view name, int64_t begin, int64_t end) {
    Span(track, begin, end, Name(name, trace::Kind::kOperation, trace::Layer::kNone));
  }
  void Spans(trace::TrackId track, trace::Layer layer, Pairs spans);
  // Spans of one layer on a thread of their own.
  trace::TrackId Category(trace::ProcessId process, trace::Layer layer, Pairs spans);
  trace::TrackId DeviceSpans(trace::ProcessId process, Pairs spans);
  trace::TrackId Lead(trace::ProcessId process, std::string_view name = "lead");
  void Step(trace::ProcessId process, int64_t begin, int64_t end, uint8_t level,
            bool after_switch = false);

  trace::Process& process(trace::ProcessId id) { return trace_.processes[id.value]; }
  trace::Track& track(trace::TrackId id) { return trace_.tracks[id.value]; }
  trace::Trace& trace() { return trace_; }
  // Sorts and nests every track's spans, and places what was found. Spans of equal length nest in
  // order of insertion.
  trace::Trace& Finish();

 private:
  trace::Trace trace_;
};

// Small numbers, and everything that the engine knows: nested spans and operations, base layers,
// lives, waits, idle, devices, asynchronous spans, pauses, steps of all levels, threads of
// Crosscut. Not finished.
TestTrace RandomTrace(uint64_t seed);

// The trace that `text` describes (trace/text.h). An expectation fails where it describes none.
trace::Trace Parse(std::string_view text);

// A table of a trace. An expectation fails where there is none of that name.
Table Compute(const trace::Trace& trace, std::string_view name);
// The table's rows as words, texts and numbers alike; "-" for an empty text, "?" for a missing
// integer.
std::vector<std::string> Rows(const trace::Trace& trace, std::string_view name);

}  // namespace crosscut::analyze::testing
