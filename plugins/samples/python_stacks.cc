#include "python_stacks.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "inner_frame.h"
#include "memory.h"

namespace crosscut::samples {
namespace {

// What is read of a frame.
struct Link {
  Frame frame;        // no code: it is no function's
  const void* outer;  // the frame around it; null at the outermost
  bool generator;     // it has nothing around it, either, while its generator rests
  bool called;        // by native code; nothing else may be the outermost, but what has ended is
};

#if PY_VERSION_HEX >= 0x030b0000

bool ReadTop(const PyThreadState& thread, const void** top) {
#if PY_VERSION_HEX >= 0x030d0000
  *top = thread.current_frame;
  return true;
#else
  const uintptr_t at =
      reinterpret_cast<uintptr_t>(thread.cframe) + offsetof(_PyCFrame, current_frame);
  return ReadObject(reinterpret_cast<const void*>(at), top);
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

bool ReadFrame(const void* at, FrameReader* reader, Link* link) {
  InnerFrame inner;
  if (!reader->Read(at, &inner)) return false;
  link->outer = inner.previous;
  link->generator = inner.owner == kOwnedByGenerator;
  link->frame = {CodeOf(inner), OffsetOf(inner)};
#if PY_VERSION_HEX >= 0x030c0000
  link->called = inner.owner >= kOwnedByInterpreter;
  if (link->called) link->frame = {nullptr, 0};
#else
  link->called = inner.is_entry != 0;
#endif
  return true;
}

#else

bool ReadTop(const PyThreadState& thread, const void** top) {
  *top = thread.frame;
  return true;
}

struct FrameReader {};

bool ReadFrame(const void* at, FrameReader*, Link* link) {
  constexpr int kUnit = 2;  // bytes
  PyFrameObject object;
  const bool read = ReadMemory(at, &object, offsetof(PyFrameObject, f_localsplus));
  if (!read || Py_TYPE(&object) != &PyFrame_Type) return false;
  const bool known = object.f_lasti >= 0 && object.f_lasti <= INT32_MAX / kUnit;
  link->frame = {object.f_code, known ? object.f_lasti * kUnit : 0};
  link->outer = object.f_back;
  link->generator = object.f_gen != nullptr;
  link->called = object.f_state == FRAME_EXECUTING || object.f_state == FRAME_UNWINDING;
  return true;
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

// A thread that waits for the GIL has it no more, or not yet. A build that can do without a GIL
// tells only who has it: nobody, where it does without.
Gil GilIn([[maybe_unused]] const void* at, [[maybe_unused]] const PyThreadState& state) {
#if PY_VERSION_HEX >= 0x030d0000
  const bool held = state._status.holds_gil != 0;
#elif PY_VERSION_HEX >= 0x030c0000
  const bool held = state._status.active != 0;
#else
  const bool held = _PyThreadState_UncheckedGet() == at;  // the process's, whoever asks
#endif
  if (held) return Gil::kHeld;
#ifdef Py_GIL_DISABLED
  return Gil::kUnknown;
#else
  return Gil::kReleased;
#endif
}

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
    if (tid > 0) threads.push_back({at, tid, GilIn(at, state) == Gil::kHeld});
    at = state.prev;
  }
  // Before CPython 3.12 the state of a thread that has not begun yet has the id of who started it.
  const auto earlier = [](const auto& a, const auto& b) { return a.tid < b.tid; };
  const auto alike = [](const auto& a, const auto& b) { return a.tid == b.tid; };
  std::stable_sort(threads.begin(), threads.end(), earlier);
  threads.erase(std::unique(threads.begin(), threads.end(), alike), threads.end());
  return threads;
}

bool PythonStacks::ReadState(const PythonThread& thread, PyThreadState* state) const {
  if (!ReadObject(thread.state, state) || state->interp != interpreter_) return false;
#if PY_VERSION_HEX >= 0x030b0000
  if (static_cast<int>(state->native_thread_id) != thread.tid) return false;  // another's by now
#endif
  return true;
}

Gil PythonStacks::GilOf(const PythonThread& thread) const {
  PyThreadState state;
  return ReadState(thread, &state) ? GilIn(thread.state, state) : Gil::kUnknown;
}

const Stack& PythonStacks::Read(const PythonThread& thread) {
  // Each takes microseconds, in which a generator in a loop may come and go a few times.
  constexpr int kMostReads = 10;
  bool same = true;  // whatever is read, each time
  for (int reads = 0; reads < kMostReads; ++reads) {
    stack_ = {};
    PyThreadState state;
    if (!ReadState(thread, &state)) return stack_;
    stack_.gil = GilIn(thread.state, state);
    before_.swap(frames_);
    const Ending ending = Walk(state);
    const bool again = reads > 0 && frames_ == before_;
    same = same && (reads == 0 || again);
    const bool all_named = codes_.Name(frames_, &stack_);
    if (ending == Ending::kDeeper) {
      stack_.part = Part::kInner;
      if (stack_.own_line == 0) stack_.own_line = OwnLineBehind();
    }
    if (!all_named || ending == Ending::kChanged) stack_.part = Part::kChanged;
    if (ending == Ending::kGenerator) {
      // Native code may call a generator with no Python around it; that one stays.
      stack_.part = same && reads + 1 == kMostReads ? Part::kWhole : Part::kChanged;
    }
    if (stack_.part != Part::kChanged || (ending == Ending::kOutermost && again)) break;
  }
  return stack_;
}

PythonStacks::Ending PythonStacks::Walk(const PyThreadState& state) {
  frames_.clear();
  FrameReader reader;
  Link link = {};
  link.called = true;
  if (!ReadTop(state, &link.outer)) return Ending::kChanged;
  for (size_t i = 0; link.outer != nullptr; ++i) {
    if (i == kMostFrames) {
      behind_ = link.outer;
      return Ending::kDeeper;
    }
    if (!ReadFrame(link.outer, &reader, &link)) return Ending::kChanged;
    if (link.frame.code != nullptr) frames_.push_back(link.frame);
  }
  if (link.generator) return Ending::kGenerator;
  return link.called ? Ending::kOutermost : Ending::kChanged;
}

// Where a library calls itself, a few functions are most of them: each is asked for once.
uint32_t PythonStacks::OwnLineBehind() {
  FrameReader reader;
  Link link = {};
  link.outer = behind_;
  std::unordered_set<const void*> known;
  for (size_t i = 0; link.outer != nullptr && i < kMostBehind; ++i) {
    if (!ReadFrame(link.outer, &reader, &link)) break;
    if (link.frame.code == nullptr || !known.insert(link.frame.code).second) continue;
    Stack stack;
    codes_.Name({&link.frame, 1}, &stack);
    if (stack.own_line != 0) return stack.own_line;
  }
  return 0;
}

}  // namespace crosscut::samples
