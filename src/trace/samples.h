// What a "[sample]" instant says: where somebody who looked found a thread.
#pragma once

#include <cstdint>

#include "src/trace/trace.h"

namespace crosscut::trace {

struct Sample {
  int64_t covers_ns = 0;       // since the sample of its thread before it
  int64_t thread = 0;          // its id where it has no track of its own; 0: that of the instant
  StringId stack;              // Python frames, outermost first, "file.py:41 name" each, by ";"
  StringId library, function;  // the native code that ran
  StringId waits;              // what it waited for
};

// Reads those of one trace. Const functions may be called by many threads.
class SampleReader {
 public:
  explicit SampleReader(const Strings& strings)
      : name_(strings.Find("[sample]")),
        covers_(strings.Find("covers_ns")),
        thread_(strings.Find("Thread")),
        stack_(strings.Find("Python stack")),
        library_(strings.Find("Library")),
        function_(strings.Find("Function")),
        waits_(strings.Find("Waits for")) {}

  bool any() const { return name_.valid(); }  // whether the trace may have some

  // Calls take(at_ns, sample) for each of the track, in order of time.
  template <class Taking>
  void ForEach(const Trace& trace, const Track& track, Taking take) const {
    for (uint32_t i = 0; i < track.instants.at_ns.size(); ++i) {
      if (trace.name(track.instants.name[i]).text != name_) continue;
      take(track.instants.at_ns[i], Read(track.instant_args, i));
    }
  }

 private:
  Sample Read(const Args& args, uint32_t instant) const {
    Sample sample;
    for (const Arg& arg : args.of(instant)) {
      if (arg.key == covers_) sample.covers_ns = arg.value;
      if (arg.key == thread_) sample.thread = arg.value;
      if (arg.key == stack_) sample.stack = arg.text();
      if (arg.key == library_) sample.library = arg.text();
      if (arg.key == function_) sample.function = arg.text();
      if (arg.key == waits_) sample.waits = arg.text();
    }
    return sample;
  }

  StringId name_, covers_, thread_, stack_, library_, function_, waits_;
};

}  // namespace crosscut::trace
