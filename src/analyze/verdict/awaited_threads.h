// When the lead waits for what another thread does (a result, an item of a queue, its end), its
// span says that it waits for a lock: that is how Python waits for anything. The stack of a sample
// tells the two apart, and what worked meanwhile is what the lead waited for.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "src/analyze/verdict/blamed_lines.h"
#include "src/analyze/verdict/cause.h"
#include "src/analyze/verdict/native_code.h"

namespace crosscut::analyze {

// Whether a thread with that stack ("threading.py:320 Condition.wait" innermost, behind the last
// ";") waits for another thread to do something, rather than for one to leave a lock or a
// semaphore.
bool AwaitsThread(std::string_view stack);

// Whether it waits for another thread to end.
bool AwaitsEnd(std::string_view stack);

// Whether it waits for a future of concurrent.futures.
bool AwaitsFuture(std::string_view stack);

// Whether a thread with that stack works at what somebody gave to a pool of threads
// (concurrent.futures, anyio), or answers what came in by a connection (socketserver).
bool InWorkItem(std::string_view stack);

// Where the innermost frame of a line of the program's own ends in a stack, which shows it without
// its folder; npos: it has none.
size_t BehindFrameOf(std::string_view stack, std::string_view line);

// Whether the innermost frame of that stack is none of the program's own, whose innermost line is
// `own_line` ("models/net.py:41 forward").
bool IsInLibrary(std::string_view stack, std::string_view own_line);

// Whether a thread in that system call waits for a file, and whether for who reads what it writes
// into a pipe or a socket: "write" says nothing of the latter where it comes without a sort of
// file.
bool AwaitsFile(std::string_view call);
bool AwaitsReader(std::string_view call);

// Whether a thread that waits in that system call waits for another process: in a pipe, a socket,
// or for a child's end.
bool AwaitsProcess(std::string_view call);

// Whether a thread in that system call sleeps, or waits for somebody who has no lock of its.
bool Waits(std::string_view call);

// The lead's waits for locks in one process, by what worked meanwhile: the cause that it would be
// if the lead did it itself; kWaiting where nothing did.
class AwaitedThreads {
 public:
  struct Lead {
    bool awaits;  // AwaitsThread
    bool future;  // AwaitsFuture
  };
  // While `behind` went on, the lead waited for a lock at that line.
  void AddLead(Cause behind, Lead lead, const Line& line, const Blamed& blamed);
  // And another thread worked at that line, in the stretch of the last AddLead; no line: none did.
  void AddWork(Cause behind, const Line& line, const Blamed& blamed) {
    if (awaits_) of(behind).others[line].Add(blamed);
  }
  // A sample of another thread then.
  struct Other {
    bool awaits_child;   // it waits for a process that this one started (AwaitsProcess)
    bool runs, at_line;  // it works; at a line of the program's own, or for an import
    Code code = Code::kUnknown;
    const Line* item = nullptr;  // its line in work that a pool gave it; null: it is in none
    Blamed blamed = {};          // what the sample stands for
  };
  void AddOther(Cause behind, const Other& other);

  struct Moved {
    Cause to = Cause::kLock;  // kLock: nothing
    Told lead;                // what is moved, at the lead's lines
    BlamedLines to_lines;     // of who worked; the lead's where nobody did
  };
  // What of the time in which `behind` went on was no wait for a lock.
  Moved Move(Cause behind) const;

 private:
  struct Behind {
    Blamed all;
    Told awaiting, futures;
    int64_t others_awaiting_child = 0, others_in_native = 0, others_in_interpreter = 0;
    int64_t others_running = 0, others_at_lines = 0;
    BlamedLines others;  // of those that worked while the lead awaited
    Told items;          // Other::item
  };
  Behind& of(Cause behind) { return behind_[static_cast<size_t>(behind)]; }

  std::array<Behind, kCauses> behind_;
  bool awaits_ = false;  // of the last AddLead
};

}  // namespace crosscut::analyze
