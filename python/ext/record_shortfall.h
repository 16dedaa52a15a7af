// What a session cannot record as it was: counted, and told as a line of the table `sources`, which
// the report's first lines show.
#pragma once

#include <cstdint>

#include "python/ext/record_shared.h"

namespace crosscut::python {

// Each is told while they are few, since the program can be killed at any time, then every
// hundredth. Under the GIL, where there is one.
class Shortfall {
 public:
  // The source's name, and what is told behind the number of one and of several. All stay.
  constexpr Shortfall(const char* source, const char* one, const char* several)
      : source_(source), one_(one), several_(several) {}
  // One more, in the session that runs. Takes locks of the recorder.
  void Add();

 private:
  const char *const source_, *const one_, *const several_;
  uint32_t session_ = 0;  // that they are counted in
  uint64_t count_ = 0;
};

}  // namespace crosscut::python
