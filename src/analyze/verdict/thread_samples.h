// The samples of one thread, with what each of them tells.
#pragma once

#include <cstdint>
#include <vector>

#include "src/analyze/verdict/blamed_lines.h"
#include "src/analyze/verdict/native_code.h"
#include "src/trace/samples.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

struct ThreadSample {
  // When its stack was read, which tells the line.
  int64_t at_ns = 0;
  int64_t covers_ns = 0, run_delay_ns = -1;
  Line line;
  bool cut = false;             // frames are missing, perhaps the program's own: no line is known
  trace::StringId stack;        // trace::Sample::stack
  bool python = false;          // it has a stack
  bool locked = false;          // it was seen waiting for a lock
  bool runs = false;            // it waited in no system call
  bool awaits_thread = false;   // AwaitsThread
  bool in_subprocess = false;   // a call of subprocess's
  bool awaits_end = false;      // AwaitsEnd
  bool awaits_begin = false;    // AwaitsBegin
  bool awaits_future = false;   // AwaitsFuture
  bool awaits_process = false;  // AwaitsProcess
  bool selects = false;         // it waits for any of several files
  bool waits = false;           // Waits
  bool awaits_reader = false;   // AwaitsReader
  bool awaits_file = false;     // AwaitsFile
  bool in_library = false;      // IsInLibrary
  bool in_item = false;         // InWorkItem
  bool compiles = false;        // a compiler that is written in Python
  bool feeds = false;           // it prepares data for the lead
  bool called_back = false;     // a thread of native code's runs it, at a line of the program
  trace::Gil gil = trace::Gil::kUnknown;
  bool knows_native = false;
  Code code = Code::kUnknown;  // that ran

  // Whether it may run Python: that of others waits for it.
  bool runs_python() const { return python && runs && gil != trace::Gil::kReleased; }
};

// In order of time. Where the thread is the process's main one, its last samples without a stack
// are the interpreter's exit.
std::vector<ThreadSample> SamplesOf(const trace::Trace& trace, const trace::SampleReader& reader,
                                    const trace::Track& track);

}  // namespace crosscut::analyze
