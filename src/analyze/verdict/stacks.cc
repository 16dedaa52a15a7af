#include "src/analyze/verdict/stacks.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "src/analyze/verdict/blamed_lines.h"

namespace crosscut::analyze {
namespace {

struct Frame {
  std::string_view file, function;  // without its class, which CPython 3.10 does not tell
};

// The innermost frame of the stack, which loses it.
Frame TakeInnermost(std::string_view* stack) {
  const size_t at = stack->rfind(';');
  const std::string_view frame = at == stack->npos ? *stack : stack->substr(at + 1);
  *stack = at == stack->npos ? std::string_view() : stack->substr(0, at);
  const size_t colon = frame.find(':'), space = frame.find(' ', colon);
  if (colon == frame.npos || space == frame.npos) return {};
  const std::string_view name = frame.substr(space + 1);
  return {frame.substr(0, colon), name.substr(name.rfind('.') + 1)};
}

// The last of them of the main thread, which ends behind all others.
bool IsOfEnd(std::string_view function) {
  return function == "join" || function == "_wait_for_tstate_lock" || function == "_shutdown";
}

}  // namespace

bool AwaitsThread(std::string_view stack) {
  const Frame frame = TakeInnermost(&stack);
  if (frame.file != "threading.py") return false;
  if (IsOfEnd(frame.function)) return true;
  if (frame.function != "wait") return false;
  const Frame caller = TakeInnermost(&stack);  // a semaphore is a lock that some may hold
  return caller.file != "threading.py" || caller.function != "acquire";
}

bool AwaitsEnd(std::string_view stack) {
  const Frame frame = TakeInnermost(&stack);
  return frame.file == "threading.py" && IsOfEnd(frame.function);
}

bool AwaitsBegin(std::string_view stack) {
  Frame frame;
  do {
    frame = TakeInnermost(&stack);
  } while (frame.file == "threading.py" && frame.function != "start");
  return frame.file == "threading.py";
}

bool AwaitsFuture(std::string_view stack) {
  if (!AwaitsThread(stack)) return false;
  Frame frame;
  do {
    frame = TakeInnermost(&stack);
  } while (frame.file == "threading.py");
  return frame.file == "_base.py";
}

bool InWorkItem(std::string_view stack) {
  // What stands before a frame, up to its line, and its function, of which CPython 3.10 tells no
  // class.
  constexpr std::pair<std::string_view, std::string_view> kItems[] = {
      {" _worker;thread.py:", "run"},  // concurrent.futures
      {";_asyncio.py:", "run"},        // anyio
      {" run;pool.py:", "worker"},     // multiprocessing's, of threads
      {".run;pool.py:", "worker"},
      {";socketserver.py:", "process_request_thread"}};
  return std::any_of(std::begin(kItems), std::end(kItems), [stack](const auto& item) {
    const size_t at = stack.find(item.first);
    if (at == stack.npos) return false;
    const std::string_view inside = stack.substr(at + item.first.size());
    const std::string_view frame = inside.substr(0, inside.find(';'));
    return frame.substr(frame.find_last_of(" .") + 1) == item.second;
  });
}

size_t BehindFrameOf(std::string_view stack, std::string_view line) {
  const std::string_view frame = FrameOfLine(line);
  size_t at = stack.rfind(frame);
  const auto is_whole = [&] {
    const size_t end = at + frame.size();
    return (at == 0 || stack[at - 1] == ';') && (end == stack.size() || stack[end] == ';');
  };
  while (at != stack.npos && !is_whole()) at = at == 0 ? stack.npos : stack.rfind(frame, at - 1);
  return at == stack.npos ? at : at + frame.size();
}

bool IsInLibrary(std::string_view stack, std::string_view own_line) {
  return !stack.empty() && BehindFrameOf(stack, own_line) != stack.size();
}

bool AwaitsFile(std::string_view call) {
  constexpr std::string_view kCalls[] = {"pread64", "pwrite64", "fsync", "fdatasync"};
  return std::find(std::begin(kCalls), std::end(kCalls), call) != std::end(kCalls);
}

bool AwaitsReader(std::string_view call) {
  return call.starts_with("write") && (call.ends_with(" (pipe)") || call.ends_with(" (socket)"));
}

bool AwaitsProcess(std::string_view call) {
  constexpr std::string_view kCalls[] = {"read",        "poll",     "ppoll",   "select",
                                         "pselect6",    "recvfrom", "recvmsg", "epoll_wait",
                                         "epoll_pwait", "wait4",    "waitid"};
  if (call.ends_with(" (device)")) return false;  // somebody at a terminal
  call = call.substr(0, call.find(" ("));
  return std::find(std::begin(kCalls), std::end(kCalls), call) != std::end(kCalls);
}

bool Waits(std::string_view call) {
  constexpr std::string_view kCalls[] = {"nanosleep", "clock_nanosleep", "accept4", "connect"};
  if (std::find(std::begin(kCalls), std::end(kCalls), call) != std::end(kCalls)) return true;
  return call != "read" && AwaitsProcess(call);  // of a file, but for a named pipe
}

}  // namespace crosscut::analyze
