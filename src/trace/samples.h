// What a "[sample]" instant says: what a thread did when it was sampled.
#pragma once

#include <cstdint>

#include "src/trace/trace.h"

namespace crosscut::trace {

struct Sample {
  int64_t covers_ns = 0;       // since the sample before it of its thread
  int64_t run_delay_ns = -1;   // for how long of it the thread was ready without a processor; -1:
                               // not known
  int64_t thread = 0;          // its id if it has no track of its own; 0: the instant's thread
  StringId stack;              // Python frames "file.py:41 name", outermost first, joined by ";"
  StringId own_line;           // the innermost of them in the program's own code
  StringId library, function;  // the native code that ran
  StringId waits;              // what it waited for
};

// Reads the samples of one trace. Several threads may call const functions at once.
class SampleReader {
 public:
  explicit SampleReader(const Strings& strings)
      : name_(strings.Find("[sample]")),
        covers_(strings.Find("covers_ns")),
        run_delay_(strings.Find("run_delay_ns")),
        thread_(strings.Find("Thread")),
        stack_(strings.Find("Python stack")),
        own_line_(strings.Find("Own line")),
        library_(strings.Find("Library")),
        function_(strings.Find("Function")),
        waits_(strings.Find("Waits for")) {}

  bool any() const { return name_.valid(); }  // whether the trace may have some

  // Calls take(at_ns, sample) for each sample of the track, in order of time.
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
      if (arg.key == run_delay_) sample.run_delay_ns = arg.value;
      if (arg.key == thread_) sample.thread = arg.value;
      if (arg.key == stack_) sample.stack = arg.text();
      if (arg.key == own_line_) sample.own_line = arg.text();
      if (arg.key == library_) sample.library = arg.text();
      if (arg.key == function_) sample.function = arg.text();
      if (arg.key == waits_) sample.waits = arg.text();
    }
    return sample;
  }

  StringId name_, covers_, run_delay_, thread_, stack_, own_line_, library_, function_, waits_;
};

}  // namespace crosscut::trace
