#include "src/analyze/verdict/awaited_threads.h"

#include <algorithm>
#include <iterator>

namespace crosscut::analyze {
namespace {

// So few samples may all be a chance; below this part of them nothing is moved.
constexpr int64_t kFewest = 3;
constexpr double kLeastPart = 0.1;

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

}  // namespace

bool AwaitsThread(std::string_view stack) {
  const Frame frame = TakeInnermost(&stack);
  if (frame.file != "threading.py") return false;
  if (frame.function == "join" || frame.function == "_wait_for_tstate_lock") return true;
  if (frame.function != "wait") return false;
  const Frame caller = TakeInnermost(&stack);  // a semaphore is a lock that some may hold
  return caller.file != "threading.py" || caller.function != "acquire";
}

bool IsInLibrary(std::string_view stack, std::string_view own_line) {
  return !own_line.ends_with(stack.substr(stack.rfind(';') + 1));  // whole where there is none
}

bool AwaitsProcess(std::string_view call) {
  constexpr std::string_view kCalls[] = {"read",        "poll",     "ppoll",   "select",
                                         "pselect6",    "recvfrom", "recvmsg", "epoll_wait",
                                         "epoll_pwait", "wait4",    "waitid"};
  return std::find(std::begin(kCalls), std::end(kCalls), call) != std::end(kCalls);
}

void AwaitedThreads::AddLead(Cause behind, bool awaits, trace::StringId line,
                             const Blamed& blamed) {
  Behind& sum = of(behind);
  ++sum.samples;
  if (!awaits) return;
  ++sum.awaiting;
  AddLine(line, blamed, sum.lead);
}

void AwaitedThreads::AddOther(Cause behind, const Other& other, trace::StringId line,
                              const Blamed& blamed) {
  Behind& sum = of(behind);
  sum.others_awaiting_child += other.awaits_child;
  sum.others_in_native += other.code == Code::kNative;
  sum.others_in_interpreter += other.code == Code::kInterpreter;
  if (other.runs) AddLine(line, blamed, sum.others);
}

AwaitedThreads::Moved AwaitedThreads::Move(Cause behind) const {
  const Behind& sum = behind_[static_cast<size_t>(behind)];
  if (sum.awaiting < kFewest) return {};
  const double part = static_cast<double>(sum.awaiting) / static_cast<double>(sum.samples);
  if (part < kLeastPart) return {};
  Moved out = {behind, static_cast<int64_t>(part * static_cast<double>(sum.ns)), sum.awaiting,
               sum.lead, sum.others};
  if (behind == Cause::kPython && sum.others_in_native > sum.others_in_interpreter) {
    out.to = Cause::kNative;  // that nothing wraps
  }
  if (behind != Cause::kWaiting) return out;
  out.to_lines = sum.lead;
  if (2 * sum.others_awaiting_child >= sum.awaiting) out.to = Cause::kOtherProcess;
  return out;
}

}  // namespace crosscut::analyze
