// What the stack of a thread says that it does, and the system call that it is in.
#pragma once

#include <cstddef>
#include <string_view>

namespace crosscut::analyze {

// Whether a thread with that stack ("threading.py:320 Condition.wait" innermost, behind the last
// ";") waits for another thread to do something, rather than for one to leave a lock or a
// semaphore.
bool AwaitsThread(std::string_view stack);

// Whether it waits for another thread to end.
bool AwaitsEnd(std::string_view stack);

// Whether it waits for a thread of its own to begin: what that does then is not what it waits for.
bool AwaitsBegin(std::string_view stack);

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

}  // namespace crosscut::analyze
