// A trace as a few lines of text: for tests, golden cases and examples.
//
//   # crosscut trace                      first line (needed only where a file is to be recognised)
//   process train pid=7 window=0..100     key; also parent=KEY start=fork name=TEXT incomplete=WHY
//   pause 10 20                           of the last process, as are all lines up to "thread"
//   probe op 10 5 12 18 100               inside, outside, low, high (ps), samples
//   source pytorch 2.13.0 on MESSAGE...
//   clock tsc 12 40                       anchors, error in ns
//   meta key VALUE...
//   thread main tid=7 base=python main    also: lead, ours, life=0..90
//   device gpu0 device=0 stream=7
//   async collectives                     a track of asynchronous spans
//   request "GET /x" 0 50            on an async track; "found": a task; arg running_ns, open
//   op forward 0 50                       an operation; "found": by an adapter
//   step step 0 50 number=3 level=0 switch  declared by this thread; "phase" alike
//   span aten::add 10 20 framework        layer; also waits, probe=NAME (op, too), at=LINE
//   span aten::add 10 20 overload=Tensor  of an operator
//   arg bytes 12                          of the last span or instant; text where no number
//   instant tick 5
//   out 17 12                             arrow 17 leaves at 12; "in 17 30": arrives
//   base 60 idle                          layer outside every span from 60 on
//   lose full 3 40 50                     reason, count, from, to
//   count queue 12 3                      counter, time, value
//   gap SENTENCE...                       for the top of the report
//   realtime 1000                         ns to add for CLOCK_REALTIME
//
// Times are integer ns. Words end at blanks; "..." runs to the end of the line, and a word in
// double quotes may hold blanks. Empty lines and lines that begin with # are skipped.
#pragma once

#include <string_view>

#include "src/base/status.h"
#include "src/trace/trace.h"

namespace crosscut::trace {

// kInvalid, with the number of the line, where a line is wrong.
Result<Trace> ParseText(std::string_view text);

}  // namespace crosscut::trace
