// While the lead waits inside a native call, that may have Python run on a thread of its own: to
// prepare data (tf.data, Keras), or for a function of the program's that a compiled one calls
// (jax.pure_callback, tf.py_function). Then the lead waits for that.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "src/analyze/verdict/blamed_lines.h"
#include "src/analyze/verdict/cause.h"
#include "src/analyze/verdict/thread_samples.h"

namespace crosscut::analyze {

class CalledBack {
 public:
  // A sample of another thread, taken while the lead's time had that cause.
  void Add(Cause cause, const ThreadSample& other);

  struct Work {
    Cause cause;  // what it would be if the lead did it itself
    BlamedLines lines;
  };
  // What the lead waited for in the part `locked` of its time with that cause; none: nothing of the
  // sort, as far as samples tell.
  std::optional<Work> For(Cause cause, const Blamed& locked) const;

 private:
  struct Seen {
    Told all;
    int64_t feeds = 0, waits = 0, native = 0;  // of its samples
  };
  std::array<Seen, kCauses> seen_;
};

}  // namespace crosscut::analyze
