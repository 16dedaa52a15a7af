// Frames, code objects, strings and thread states of Python as they may stand in memory that
// changes while it is read: one whole stack, then words of it written over by the input, with any
// value, with addresses in the middle, at the edges and outside of what is mapped. Reading must be
// an answer and never a fault. One target for the layout of each Python; this program stands for
// the interpreter.
#include "plugins/samples/python_stacks.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "crosscut/crosscut.h"
#include "plugins/samples/inner_frame.h"
#include "plugins/samples/line_table.h"

PyTypeObject PyCode_Type, PyUnicode_Type, PyBytes_Type, PyFrame_Type;

namespace crosscut::samples {
namespace {

constexpr size_t kPage = 4096, kPages = 6, kIsland = 2 * kPage;
constexpr size_t kMostText = 4 * 4096 + 64;  // bytes: of a file's name, a function's and a number

// Islands of two pages, each between pages that nobody may read.
struct Memory {
  Memory() {
    char* base = static_cast<char*>(mmap(nullptr, (2 * kPages + 1) * kIsland, PROT_NONE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    for (size_t i = 0; i < kPages; ++i) {
      islands[i] = base + (2 * i + 1) * kIsland;
      mprotect(islands[i], kIsland, PROT_READ | PROT_WRITE);
    }
  }
  char* islands[kPages];
};
Memory memory;

PyThreadState* Main() { return reinterpret_cast<PyThreadState*>(memory.islands[0]); }
PyThreadState* Other() { return reinterpret_cast<PyThreadState*>(memory.islands[1]); }
PyCodeObject* Code() { return reinterpret_cast<PyCodeObject*>(memory.islands[2]); }
char* Text(size_t i) { return memory.islands[3] + i * 512; }
InnerFrame* FrameAt(size_t i) {
  constexpr size_t kApart = (sizeof(InnerFrame) + 15) / 16 * 16;
  return reinterpret_cast<InnerFrame*>(memory.islands[4] + i * kApart);
}
constexpr size_t kFrames = 8;

void SetText(char* at, std::string_view value) {
  auto* text = reinterpret_cast<PyASCIIObject*>(at);
  reinterpret_cast<PyObject*>(text)->ob_type = &PyUnicode_Type;
  text->length = static_cast<Py_ssize_t>(value.size());
  text->state.compact = 1;
  text->state.ascii = 1;
  text->state.kind = 1;
  std::memcpy(at + sizeof *text, value.data(), value.size());
}

void SetFrame(size_t i) {
  InnerFrame* frame = FrameAt(i);
  InnerFrame* outer = i + 1 < kFrames ? FrameAt(i + 1) : nullptr;
#if PY_VERSION_HEX >= 0x030b0000
  frame->executable = reinterpret_cast<uintptr_t>(Code()) | kExecutableTag;
  frame->instruction = reinterpret_cast<char*>(Code()) + offsetof(PyCodeObject, co_code_adaptive);
  frame->previous = outer;
#else
  Py_SET_TYPE(frame, &PyFrame_Type);
  frame->f_code = Code();
  frame->f_back = outer;
#endif
}

void SetThread(PyThreadState* thread, PyThreadState* newer) {
  thread->interp = reinterpret_cast<PyInterpreterState*>(memory.islands[0]);
  thread->prev = newer;
#if PY_VERSION_HEX >= 0x030d0000
  thread->current_frame = reinterpret_cast<_PyInterpreterFrame*>(FrameAt(0));
#elif PY_VERSION_HEX >= 0x030b0000
  auto* top = reinterpret_cast<_PyCFrame*>(memory.islands[5]);
  top->current_frame = reinterpret_cast<_PyInterpreterFrame*>(FrameAt(0));
  thread->cframe = top;
#else
  thread->frame = FrameAt(0);
  thread->thread_id = reinterpret_cast<uintptr_t>(memory.islands[5]);
#endif
#if PY_VERSION_HEX >= 0x030b0000
  thread->native_thread_id = 17;
#endif
}

void WriteWhole() {
  for (char* island : memory.islands) std::memset(island, 0, kIsland);
  SetText(Text(0), "train.py");
  SetText(Text(1), "main");
  SetText(Text(2), "");  // the lines: a bytes object
  auto* lines = reinterpret_cast<PyBytesObject*>(Text(2));
  reinterpret_cast<PyObject*>(lines)->ob_type = &PyBytes_Type;
  reinterpret_cast<PyVarObject*>(lines)->ob_size = 32;
  Py_SET_TYPE(Code(), &PyCode_Type);
  Code()->co_filename = reinterpret_cast<PyObject*>(Text(0));
#if PY_VERSION_HEX >= 0x030b0000
  Code()->co_qualname = reinterpret_cast<PyObject*>(Text(1));
#else
  Code()->co_name = reinterpret_cast<PyObject*>(Text(1));
#endif
  Code()->co_linetable = reinterpret_cast<PyObject*>(Text(2));
  Code()->co_firstlineno = 41;
  for (size_t i = 0; i < kFrames; ++i) SetFrame(i);
  SetThread(Main(), Other());
  SetThread(Other(), nullptr);
}

// A word as `value` says, after what `kind` says it should look like.
uint64_t Word(uint8_t kind, uint64_t value) {
  char* island = memory.islands[value % kPages];
  const uint64_t offset = value / kPages % kIsland;
  const void* types[] = {&PyCode_Type, &PyUnicode_Type, &PyBytes_Type, &PyFrame_Type};
  switch (kind % 8) {
    case 0: return value;
    case 1: return reinterpret_cast<uint64_t>(island + offset);
    case 2: return reinterpret_cast<uint64_t>(island + kIsland - offset % 64);
    case 3: return reinterpret_cast<uint64_t>(island - offset % 64);
    case 4: return reinterpret_cast<uint64_t>(types[value % 4]);
    case 5: return ~uint64_t{0} - value % kIsland;
    case 6: return value % 4096;
    default: return reinterpret_cast<uint64_t>(island + offset / 8 * 8);
  }
}

// Eleven bytes each: what to write, and over which word of which object.
size_t WriteOver(const uint8_t* data, size_t size) {
  constexpr size_t kRecord = 11;
  char* const objects[] = {memory.islands[0], memory.islands[1], memory.islands[2],
                           Text(0),           Text(1),           Text(2),
                           memory.islands[4], memory.islands[5]};
  size_t at = 0;
  for (; at + kRecord <= size && data[at] != 0xff; at += kRecord) {
    uint64_t value;
    std::memcpy(&value, data + at + 3, sizeof value);
    char* to = objects[data[at + 1] % 8] + size_t{data[at + 2]} * 8;
    const uint64_t word = Word(data[at], value);
    std::memcpy(to, &word, sizeof word);
  }
  return at;
}

void CheckLines(std::string_view table, int first_line) {
  const auto ranges = DecodeLines(table, first_line);
  for (size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i - 1].end > ranges[i].end) abort();
  }
  if (!ranges.empty()) (void)LineAt(ranges, ranges.front().end);
}

}  // namespace
}  // namespace crosscut::samples

PyThreadState* PyThreadState_Get() { return crosscut::samples::Main(); }
PyThreadState* _PyThreadState_UncheckedGet() { return PyThreadState_Get(); }
PyInterpreterState* PyThreadState_GetInterpreter(PyThreadState* thread) { return thread->interp; }

uint32_t crosscut_intern(const char* text, size_t bytes, enum crosscut_kind, enum crosscut_layer,
                         uint32_t, uint32_t) {
  uint32_t sum = 1;
  for (size_t i = 0; i < bytes; ++i) sum = sum * 31 + static_cast<uint8_t>(text[i]);
  if (bytes > 2 * crosscut::samples::kMostText) abort();
  return sum | 1;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace crosscut::samples;
  WriteWhole();
  PythonStacks stacks;
  const char* problem = "";
  if (!stacks.Init(&problem)) abort();
  const size_t done = WriteOver(data, size);
  std::memcpy(Text(2) + offsetof(PyBytesObject, ob_sval), data + done,
              size - done < 400 ? size - done : 400);
  CheckLines({reinterpret_cast<const char*>(data), size}, static_cast<int>(size));
  // Few of a ring of thread states: it is their reading that takes long.
  std::vector<PythonThread> threads = stacks.Threads();
  if (threads.size() > 2) threads.resize(2);
  for (const PythonThread& thread : threads) {
    if (stacks.Read(thread).frames.size() > PythonStacks::kMostFrames) abort();
  }
  for (const void* state : {static_cast<void*>(Main()), static_cast<void*>(Other())}) {
    for (int again = 0; again < 2; ++again) {
      if (stacks.Read({state, 1}).frames.size() > PythonStacks::kMostFrames) abort();
    }
  }
  return 0;
}
