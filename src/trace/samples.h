// What a "[sample]" instant says: what a thread did when it was sampled.
#pragma once

#include <algorithm>
#include <cstdint>

#include "src/trace/trace.h"

namespace crosscut::trace {

// Whether a thread has the GIL: without it, it runs no Python.
enum class Gil : uint8_t { kUnknown, kReleased, kHeld };

struct Sample {
  int64_t covers_ns = 0;       // since the sample before it of its thread
  int64_t run_delay_ns = -1;   // for how long of it the thread was ready without a processor; -1:
                               // not known
  int64_t stack_after_ns = 0;  // the stack is of so much later
  int64_t thread = 0;          // its id if it has no track of its own; 0: the instant's thread
  StringId stack;              // Python frames "file.py:41 name", outermost first, joined by ";"
  StringId own_line;           // the innermost of them in the program's own code
  bool cut = false;            // frames of the stack are missing
  StringId library, function;  // the native code that ran
  StringId waits;              // what it waited for
  Gil gil = Gil::kUnknown;
};

// Reads the samples of one trace. Several threads may call const functions at once.
class SampleReader {
 public:
  explicit SampleReader(const Strings& strings)
      : name_(strings.Find("[sample]")),
        covers_(strings.Find("covers_ns")),
        run_delay_(strings.Find("run_delay_ns")),
        stack_after_(strings.Find("stack_after_ns")),
        thread_(strings.Find("Thread")),
        stack_(strings.Find("Python stack")),
        own_line_(strings.Find("Own line")),
        cut_(strings.Find("Frames missing")),
        library_(strings.Find("Library")),
        function_(strings.Find("Function")),
        waits_(strings.Find("Waits for")),
        gil_(strings.Find("Holds the GIL")) {}

  bool any() const { return name_.valid(); }  // whether the trace may have some

  // Calls take(at_ns, sample) for each sample of the track, in order of time. None covers more than
  // its process's window, or waited longer, whatever a damaged log says.
  template <class Taking>
  void ForEach(const Trace& trace, const Track& track, Taking take) const {
    constexpr int64_t kMost = INT64_MAX / 64;
    const Process& process = trace.processes[track.process.value];
    const int64_t longest = std::clamp<int64_t>(process.end_ns - process.start_ns, 0, kMost);
    for (uint32_t i = 0; i < track.instants.at_ns.size(); ++i) {
      if (trace.name(track.instants.name[i]).text != name_) continue;
      Sample sample = Read(track.instant_args, i);
      sample.covers_ns = std::clamp<int64_t>(sample.covers_ns, 0, longest);
      sample.run_delay_ns = std::clamp<int64_t>(sample.run_delay_ns, -1, longest);
      sample.stack_after_ns = std::clamp<int64_t>(sample.stack_after_ns, 0, longest);
      take(track.instants.at_ns[i], sample);
    }
  }

 private:
  Sample Read(const Args& args, uint32_t instant) const {
    Sample sample;
    for (const Arg& arg : args.of(instant)) {
      if (arg.key == covers_) sample.covers_ns = arg.value;
      if (arg.key == run_delay_) sample.run_delay_ns = arg.value;
      if (arg.key == stack_after_) sample.stack_after_ns = arg.value;
      if (arg.key == thread_) sample.thread = arg.value;
      if (arg.key == stack_) sample.stack = arg.text();
      if (arg.key == own_line_) sample.own_line = arg.text();
      if (arg.key == cut_) sample.cut = arg.value != 0;
      if (arg.key == library_) sample.library = arg.text();
      if (arg.key == function_) sample.function = arg.text();
      if (arg.key == waits_) sample.waits = arg.text();
      if (arg.key == gil_) sample.gil = arg.value != 0 ? Gil::kHeld : Gil::kReleased;
    }
    return sample;
  }

  StringId name_, covers_, run_delay_, stack_after_, thread_, stack_, own_line_, cut_, library_,
      function_, waits_, gil_;
};

}  // namespace crosscut::trace
