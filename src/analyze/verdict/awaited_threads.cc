#include "src/analyze/verdict/awaited_threads.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace crosscut::analyze {
namespace {

// So few samples may all be a chance; below this part of them nothing is moved.
constexpr int64_t kFewest = 3;
constexpr double kLeastPart = 0.1;
// Threads that live too short for a sample of their own have the lines of those that samples met.
constexpr int64_t kFewestForAll = 10;

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

void AwaitedThreads::AddLead(Cause behind, Lead lead, const Line& line, const Blamed& blamed) {
  Behind& sum = of(behind);
  sum.all.Add(blamed);
  awaits_ = lead.awaits;
  if (lead.awaits) sum.awaiting.Add(line, blamed);
  if (lead.awaits && lead.future) sum.futures.Add(line, blamed);
}

void AwaitedThreads::AddOther(Cause behind, const Other& other) {
  Behind& sum = of(behind);
  sum.others_awaiting_child += other.awaits_child;
  sum.others_in_native += other.code == Code::kNative;
  sum.others_in_interpreter += other.code == Code::kInterpreter;
  sum.others_running += other.runs;
  sum.others_at_lines += other.runs && other.at_line;
  if (other.item != nullptr) sum.items.Add(*other.item, other.blamed);
}

AwaitedThreads::Moved AwaitedThreads::Move(Cause behind) const {
  const Behind& sum = behind_[static_cast<size_t>(behind)];
  const Blamed& awaiting = sum.awaiting.all;
  if (awaiting.samples < kFewest) return {};
  const double part = static_cast<double>(awaiting.ns) / static_cast<double>(sum.all.ns);
  if (part < kLeastPart) return {};
  Moved out = {behind, sum.awaiting, sum.others};
  Told known;
  for (const auto& [line, blamed] : sum.others) {
    if (IsSampled(line.kind)) known.Add(line, blamed);
  }
  if (known.all.samples >= kFewestForAll && sum.others_running > 0) {
    const double at_lines =
        static_cast<double>(sum.others_at_lines) / static_cast<double>(sum.others_running);
    const auto all = std::clamp<int64_t>(std::llround(at_lines * static_cast<double>(awaiting.ns)),
                                         known.all.ns, awaiting.ns);
    out.to_lines = Scaled(known, all);
    out.to_lines[Line()].ns += awaiting.ns - all;
  }
  if (behind == Cause::kPython && sum.others_in_native > sum.others_in_interpreter) {
    out.to = Cause::kNative;  // that nothing wraps
  }
  if (behind != Cause::kWaiting) return out;
  out.to_lines = sum.awaiting.lines;
  if (sum.items.all.samples >= kFewest) {
    // Nobody works, so who was given work waits, and the lead waits for that.
    for (const auto& [line, blamed] : sum.futures.lines) out.to_lines[line].Take(blamed);
    for (const auto& [line, blamed] : Scaled(sum.items, sum.futures.all.ns)) {
      out.to_lines[line].Add(blamed);
    }
  }
  if (2 * sum.others_awaiting_child >= awaiting.samples) out.to = Cause::kOtherProcess;
  return out;
}

}  // namespace crosscut::analyze
