#include "python_stacks.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "inner_frame.h"
#include "memory.h"

namespace crosscut::samples {
namespace {

#if PY_VERSION_HEX >= 0x030b0000

const void* TopFrame(const PyThreadState& thread) {
#if PY_VERSION_HEX >= 0x030d0000
  return thread.current_frame;
#else
  const void* top = nullptr;
  const uintptr_t at =
      reinterpret_cast<uintptr_t>(thread.cframe) + offsetof(_PyCFrame, current_frame);
  return ReadObject(reinterpret_cast<const void*>(at), &top) ? top : nullptr;
#endif
}

// A thread's frames lie one behind the other, the innermost last: most of them come with the read
// of the first. An address is whatever stood where a frame's link was looked for.
class FrameReader {
 public:
  bool Read(const void* frame_at, InnerFrame* frame) {
    const auto at = reinterpret_cast<uintptr_t>(frame_at);
    // What lies before the window is far behind it: the difference wraps.
    if ((!filled_ || at - window_ > kLast) && !Fill(at)) return ReadObject(frame_at, frame);
    std::memcpy(frame, bytes_ + (at - window_), sizeof *frame);
    return true;
  }

 private:
  // Puts the window's end behind the frame at `at`.
  bool Fill(uintptr_t at) {
    window_ = at - kLast;
    filled_ =
        at >= kLast && ReadMemory(reinterpret_cast<const void*>(window_), bytes_, sizeof bytes_);
    return filled_;
  }

  static constexpr size_t kBytes = 4096;
  static constexpr size_t kLast = kBytes - sizeof(InnerFrame);  // a frame may begin there
  bool filled_ = false;
  uintptr_t window_ = 0;  // address of bytes_ in memory
  char bytes_[kBytes];
};

// Where the instructions begin that the frame runs. The frame may hold anything.
uintptr_t InstructionsOf(const InnerFrame& frame) {
  const auto code = reinterpret_cast<uintptr_t>(CodeOf(frame));
#ifdef CROSSCUT_INSTRUCTION_COPIES
  if (frame.copy > 0) {
    const auto read = [](uintptr_t at) {
      uintptr_t value = 0;
      return ReadObject(reinterpret_cast<const void*>(at), &value) ? value : 0;
    };
    const uintptr_t copies = read(code + offsetof(PyCodeObject, co_tlbc));
    return read(copies + offsetof(_PyCodeArray, entries) +
                sizeof(char*) * static_cast<size_t>(frame.copy));
  }
#endif
  return code + offsetof(PyCodeObject, co_code_adaptive);
}

// Byte of its code that runs; 0 where that is not known.
int32_t OffsetOf(const InnerFrame& frame) {
  const uintptr_t offset = reinterpret_cast<uintptr_t>(frame.instruction) - InstructionsOf(frame);
  return offset > INT32_MAX ? 0 : static_cast<int32_t>(offset);
}

// The frame around it; null at the outermost.
const void* ReadFrame(const void* at, FrameReader* reader, Frame* frame) {
  InnerFrame inner;
  if (!reader->Read(at, &inner)) return nullptr;
#if PY_VERSION_HEX >= 0x030c0000
  if (inner.owner >= kOwnedByInterpreter) return inner.previous;
#endif
  *frame = {CodeOf(inner), OffsetOf(inner)};
  return inner.previous;
}

#else

const void* TopFrame(const PyThreadState& thread) { return thread.frame; }

struct FrameReader {};

const void* ReadFrame(const void* at, FrameReader*, Frame* frame) {
  constexpr int kUnit = 2;  // bytes
  PyFrameObject object;
  const bool read = ReadMemory(at, &object, offsetof(PyFrameObject, f_localsplus));
  if (!read || Py_TYPE(&object) != &PyFrame_Type) return nullptr;
  const bool known = object.f_lasti >= 0 && object.f_lasti <= INT32_MAX / kUnit;
  *frame = {object.f_code, known ? object.f_lasti * kUnit : 0};
  return object.f_back;
}

// Where the C library keeps a thread's id: where this thread's is, if what stands there has the
// same distance in the main thread, whose id is the process's. -1: not found.
long FindTid(const PyThreadState& main) {
  constexpr long kMost = 4096;
  const auto self = static_cast<uintptr_t>(pthread_self());
  const auto other = static_cast<uintptr_t>(main.thread_id);
  const int own_tid = static_cast<int>(syscall(SYS_gettid));
  for (long at = 0; at < kMost; at += static_cast<long>(sizeof(int))) {
    int own = 0, its = 0;
    if (!ReadObject(reinterpret_cast<const void*>(self + static_cast<uintptr_t>(at)), &own)) break;
    if (own != own_tid) continue;
    const auto* there = reinterpret_cast<const void*>(other + static_cast<uintptr_t>(at));
    if (ReadObject(there, &its) && its == getpid()) return at;
  }
  return -1;
}

int TidOf(const PyThreadState& thread, long tid_at) {
  int tid = 0;
  if (tid_at < 0) return 0;
  const auto at = static_cast<uintptr_t>(thread.thread_id) + static_cast<uintptr_t>(tid_at);
  return ReadObject(reinterpret_cast<const void*>(at), &tid) ? tid : 0;
}

#endif

}  // namespace

bool PythonStacks::Init(const char** problem) {
  PyThreadState state;
  interpreter_ = PyThreadState_GetInterpreter(PyThreadState_Get());
  // New states are put in front: the one behind all others is the main thread's.
  const void* at = PyThreadState_Get();
  while (at != nullptr && ReadObject(at, &state) && state.interp == interpreter_) {
    oldest_ = at;
    at = state.next;
  }
  if (at == nullptr) return true;
  *problem = "the kernel does not let a process read its own memory (process_vm_readv)";
  return false;
}

std::vector<PythonThread> PythonStacks::Threads() {
  constexpr size_t kMost = 4096;
  std::vector<PythonThread> threads;
  PyThreadState state;
  const void* at = oldest_;
  // What stands in the place of a link can lead round.
  for (size_t looked = 0; at != nullptr && looked < kMost && ReadObject(at, &state); ++looked) {
    if (state.interp != interpreter_) break;  // freed meanwhile
#if PY_VERSION_HEX >= 0x030b0000
    const auto tid = static_cast<int>(state.native_thread_id);
#else
    if (tid_at_ == 0) tid_at_ = FindTid(state);
    const int tid = TidOf(state, tid_at_);
#endif
    if (tid > 0) threads.push_back({at, tid});
    at = state.prev;
  }
  return threads;
}

const Stack& PythonStacks::Read(const PythonThread& thread) {
  frames_.clear();
  stack_.frames.clear();
  stack_.own_line = 0;
  PyThreadState state;
  if (!ReadObject(thread.state, &state) || state.interp != interpreter_) return stack_;
  FrameReader reader;
  const void* at = TopFrame(state);
  for (size_t i = 0; at != nullptr && i < kMostFrames; ++i) {
    Frame frame = {nullptr, 0};
    at = ReadFrame(at, &reader, &frame);
    if (frame.code != nullptr) frames_.push_back(frame);
  }
  codes_.Name(frames_, &stack_);
  return stack_;
}

}  // namespace crosscut::samples
