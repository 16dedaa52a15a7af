// Stacks of Python as another thread may find them: whole, half written, freed. This program stands
// for the interpreter: it defines the few symbols of CPython that are used, and lays out threads,
// frames and code objects itself.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "crosscut/crosscut.h"
#include "inner_frame.h"
#include "line_table.h"
#include "memory.h"
#include "python_stacks.h"
#include "src/base/testing/emulator.h"
#include "waits.h"

PyTypeObject PyCode_Type, PyUnicode_Type, PyBytes_Type, PyFrame_Type;

namespace {
PyThreadState g_thread;
PyThreadState* g_holder = nullptr;  // of the GIL
std::vector<std::string> g_names;
}  // namespace

PyThreadState* PyThreadState_Get() { return &g_thread; }
PyThreadState* _PyThreadState_UncheckedGet() { return g_holder; }
PyInterpreterState* PyThreadState_GetInterpreter(PyThreadState* thread) { return thread->interp; }

uint32_t crosscut_intern(const char* text, size_t bytes, enum crosscut_kind, enum crosscut_layer,
                         uint32_t, uint32_t) {
  g_names.emplace_back(text, bytes);
  return static_cast<uint32_t>(g_names.size());
}

namespace crosscut::samples {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// All tests here read this process's memory so.
class NeedsReading : public testing::Environment {
 public:
  void SetUp() override {
    if (base::UnderEmulator()) GTEST_SKIP() << "qemu has no process_vm_readv";
  }
};
const auto* const kNeedsReading = testing::AddGlobalTestEnvironment(new NeedsReading);

const size_t kPage = static_cast<size_t>(sysconf(_SC_PAGESIZE));

// Pages that may be read, each between two that may not.
class Islands {
 public:
  explicit Islands(size_t count) : count_(count) {
    base_ = static_cast<char*>(mmap(nullptr, (2 * count + 1) * kPage, PROT_NONE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    for (size_t i = 0; i < count; ++i) mprotect(Page(i), kPage, PROT_READ | PROT_WRITE);
  }
  ~Islands() { munmap(base_, (2 * count_ + 1) * kPage); }
  Islands(const Islands&) = delete;
  Islands& operator=(const Islands&) = delete;

  char* Page(size_t i) { return base_ + (2 * i + 1) * kPage; }
  size_t count() const { return count_; }

 private:
  const size_t count_;
  char* base_;
};

struct Text {
  PyASCIIObject head;
  char bytes[32];
};
struct Lines {
  PyBytesObject object;
  char bytes[32];
};

void SetText(Text* text, const std::string& value) {
  *text = {};
  reinterpret_cast<PyObject*>(text)->ob_type = &PyUnicode_Type;
  text->head.length = static_cast<Py_ssize_t>(value.size());
  text->head.state.compact = 1;
  text->head.state.ascii = 1;
  text->head.state.kind = 1;
  std::memcpy(text->bytes, value.data(), value.size());
}

void SetLink(InnerFrame* frame, const void* outer) {
#if PY_VERSION_HEX >= 0x030b0000
  frame->previous = static_cast<const InnerFrame*>(outer);
#else
  frame->f_back = static_cast<PyFrameObject*>(const_cast<void*>(outer));
#endif
}

void SetGenerator(InnerFrame* frame) {
#if PY_VERSION_HEX >= 0x030b0000
  frame->owner = kOwnedByGenerator;
#else
  frame->f_gen = reinterpret_cast<PyObject*>(frame);
#endif
}

void SetCode(InnerFrame* frame, const void* code) {
#if PY_VERSION_HEX >= 0x030b0000
  frame->executable = reinterpret_cast<uintptr_t>(code) | kExecutableTag;
  frame->instruction = static_cast<const char*>(code) + offsetof(PyCodeObject, co_code_adaptive);
#else
  Py_SET_TYPE(frame, &PyFrame_Type);
  frame->f_code = static_cast<PyCodeObject*>(const_cast<void*>(code));
#endif
}

class Stacks : public testing::Test {
 protected:
  void SetUp() override {
    g_thread = {};
    g_thread.interp = reinterpret_cast<PyInterpreterState*>(&g_thread);
    SetText(&file_, "train.py");
    SetText(&function_, "main");
    reinterpret_cast<PyObject*>(&lines_)->ob_type = &PyBytes_Type;
    Py_SET_TYPE(&code_, &PyCode_Type);
    code_.co_filename = reinterpret_cast<PyObject*>(&file_);
#if PY_VERSION_HEX >= 0x030b0000
    code_.co_qualname = reinterpret_cast<PyObject*>(&function_);
#else
    code_.co_name = reinterpret_cast<PyObject*>(&function_);
#endif
    code_.co_linetable = reinterpret_cast<PyObject*>(&lines_);
    code_.co_firstlineno = 41;
    const char* problem = "";
    ASSERT_TRUE(stacks_.Init(&problem)) << problem;
  }

  // Of what was read last.
  std::string OwnLine() { return own_line_ == 0 ? "" : g_names[own_line_ - 1]; }

  void SetInnermost(const void* frame) {
#if PY_VERSION_HEX >= 0x030d0000
    g_thread.current_frame = static_cast<_PyInterpreterFrame*>(const_cast<void*>(frame));
#elif PY_VERSION_HEX >= 0x030b0000
    top_.current_frame = static_cast<_PyInterpreterFrame*>(const_cast<void*>(frame));
    g_thread.cframe = &top_;
#else
    g_thread.frame = static_cast<PyFrameObject*>(const_cast<void*>(frame));
#endif
  }

  std::vector<std::string> Read(const void* innermost) {
    SetInnermost(innermost);
    return Read();
  }

  std::vector<std::string> Read() {
    std::vector<std::string> texts;
    const Stack& stack = stacks_.Read({&g_thread, 0});
    for (const uint32_t name : stack.frames) texts.push_back(g_names[name - 1]);
    own_line_ = stack.own_line;
    part_ = stack.part;
    return texts;
  }

  InnerFrame Frame(const void* outer) {
    InnerFrame frame = {};
    SetCode(&frame, &code_);
    SetLink(&frame, outer);
#if PY_VERSION_HEX >= 0x030c0000
    native_.owner = kOwnedByInterpreter;
    if (outer == nullptr) SetLink(&frame, &native_);
#elif PY_VERSION_HEX >= 0x030b0000
    frame.is_entry = outer == nullptr ? 1 : 0;
#endif
    return frame;
  }

  InnerFrame native_ = {};  // what calls the outermost function
  Text file_ = {}, function_ = {};
  Lines lines_ = {};
  PyCodeObject code_ = {};
#if PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030d0000
  _PyCFrame top_ = {};
#endif
  uint32_t own_line_ = 0;
  Part part_ = Part::kWhole;
  PythonStacks stacks_{OwnCode{{"/lib"}, "/home", {"/home"}, "/home/run.py"}};
};

// It has nothing around it any more, and was called by a function.
TEST_F(Stacks, AreNotWholeWhereAFrameHasEnded) {
  InnerFrame outer = Frame(nullptr), ended = Frame(&outer), inner = Frame(&ended);
  EXPECT_EQ(Read(&inner).size(), 3u);
  EXPECT_EQ(part_, Part::kWhole);
  SetLink(&ended, nullptr);
#if PY_VERSION_HEX < 0x030b0000
  ended.f_state = FRAME_RETURNED;
#endif
  EXPECT_EQ(Read(&inner).size(), 2u);
  EXPECT_EQ(part_, Part::kChanged);
}

TEST_F(Stacks, AreReadFromTheInnermostFunctionOn) {
  InnerFrame outer = Frame(nullptr), inner = Frame(&outer);
  EXPECT_THAT(Read(&inner), ElementsAre("train.py:41 main", "train.py:41 main"));
  EXPECT_EQ(part_, Part::kWhole);
  EXPECT_THAT(Read(nullptr), IsEmpty());
  EXPECT_EQ(part_, Part::kWhole);
}

// Native code calls it.
void SetHolder(bool holds) {
  g_holder = holds ? &g_thread : nullptr;
#if PY_VERSION_HEX >= 0x030d0000
  g_thread._status.holds_gil = holds;
#elif PY_VERSION_HEX >= 0x030c0000
  g_thread._status.active = holds;
#endif
}

TEST_F(Stacks, SayWhetherTheirThreadHasTheGil) {
#ifdef Py_GIL_DISABLED
  constexpr Gil kNotHeld = Gil::kUnknown;
#else
  constexpr Gil kNotHeld = Gil::kReleased;
#endif
  InnerFrame frame = Frame(nullptr);
  SetInnermost(&frame);
  for (const bool holds : {true, false}) {
    SetHolder(holds);
    const Gil gil = holds ? Gil::kHeld : kNotHeld;
    EXPECT_EQ(stacks_.Read({&g_thread, 0}).gil, gil);
    EXPECT_EQ(stacks_.GilOf({&g_thread, 0}), gil);
  }
  SetHolder(true);
  EXPECT_EQ(stacks_.GilOf({nullptr, 0}), Gil::kUnknown);
  SetHolder(false);
}

TEST_F(Stacks, MayEndWithAGenerator) {
  InnerFrame generator = Frame(nullptr);
  SetGenerator(&generator);
  EXPECT_THAT(Read(&generator), ElementsAre("train.py:41 main"));
  EXPECT_EQ(part_, Part::kWhole);
}

TEST_F(Stacks, AreWholeOrSayThatTheyAreNotWhileAGeneratorComesAndGoes) {
  Text file;
  SetText(&file, "encoder.py");
  PyCodeObject code;
  std::memcpy(static_cast<void*>(&code), &code_, sizeof code);
  code.co_filename = reinterpret_cast<PyObject*>(&file);
  InnerFrame outer = Frame(nullptr), generator = Frame(&outer);
  SetCode(&generator, &code);
  SetGenerator(&generator);
  SetInnermost(&outer);
  std::atomic<bool> done = false;
  std::thread program([&] {  // in the order in which CPython writes
    const auto a_while = [] { std::this_thread::sleep_for(std::chrono::nanoseconds(1)); };
    for (int i = 0; !done; ++i) {
      SetLink(&generator, &outer);
      std::atomic_thread_fence(std::memory_order_seq_cst);
      SetInnermost(&generator);
      if (i % 1000 == 0) a_while();
      SetInnermost(&outer);
      std::atomic_thread_fence(std::memory_order_seq_cst);
      SetLink(&generator, nullptr);
      if (i % 1000 == 500) a_while();
    }
  });
  int in_generator = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto frames = Read();
    if (part_ != Part::kWhole) continue;
    EXPECT_THAT(frames, testing::Contains("train.py:41 main")) << i;
    in_generator += frames.size() == 2 ? 1 : 0;
  }
  done = true;
  program.join();
  EXPECT_GT(in_generator, 0);
}

TEST_F(Stacks, HaveTheInnermostLineOfTheProgramsOwnCode) {
  Text files[3];
  PyCodeObject codes[3];
  InnerFrame frames[3];  // innermost first
  const char* const kPaths[] = {"/lib/json.py", "<string>", "/home/nets/net.py"};
  for (int i = 0; i < 3; ++i) {
    SetText(&files[i], kPaths[i]);
    std::memcpy(static_cast<void*>(&codes[i]), &code_, sizeof code_);
    codes[i].co_filename = reinterpret_cast<PyObject*>(&files[i]);
    frames[i] = Frame(i < 2 ? &frames[i + 1] : nullptr);
    SetCode(&frames[i], &codes[i]);
  }
  EXPECT_THAT(Read(frames), ElementsAre("json.py:41 main", "<string>:41 main", "net.py:41 main"));
  EXPECT_EQ(OwnLine(), "nets/net.py:41 main");
  SetLink(&frames[1], nullptr);
  Read(frames);
  EXPECT_EQ(OwnLine(), "run.py/<string>:41 main");
  SetLink(&frames[0], nullptr);
  Read(frames);
  EXPECT_EQ(OwnLine(), "");
}

// Code that is compiled, run and dropped in a loop has the same addresses again, and so have its
// strings.
TEST_F(Stacks, OfCodeAtTheAddressesOfOtherCodeHaveItsNames) {
  InnerFrame outer = Frame(nullptr), inner = Frame(&outer);
  EXPECT_THAT(Read(&inner), ElementsAre("train.py:41 main", "train.py:41 main"));
  const size_t names = g_names.size();
  EXPECT_THAT(Read(&inner), ElementsAre("train.py:41 main", "train.py:41 main"));
  EXPECT_EQ(g_names.size(), names) << "it was looked up again";
  SetText(&file_, "other.py");
  EXPECT_THAT(Read(&inner), ElementsAre("other.py:41 main", "other.py:41 main"));
  SetText(&function_, "a_longer_name");
  EXPECT_THAT(Read(&inner), ElementsAre("other.py:41 a_longer_name", "other.py:41 a_longer_name"));
  // All of the code is one line, two behind the first.
  auto* const bytes = reinterpret_cast<char*>(&lines_) + offsetof(PyBytesObject, ob_sval);
#if PY_VERSION_HEX >= 0x030b0000
  const char table[] = {static_cast<char>(0x80 | 12 << 3 | 7), 0, 0};
#else
  const char table[] = {16, 2};
#endif
  for (const size_t size : {sizeof table, size_t{0}}) {
    std::copy_n(table, size, bytes);
    reinterpret_cast<PyVarObject*>(&lines_)->ob_size = static_cast<Py_ssize_t>(size);
    const std::string line = size > 0 ? "other.py:43 a_longer_name" : "other.py:41 a_longer_name";
    EXPECT_THAT(Read(&inner), ElementsAre(line, line));
  }
}

TEST_F(Stacks, EndWhereALinkLeadsOutOfMemory) {
  constexpr uintptr_t kTop = std::numeric_limits<uintptr_t>::max();
  for (const uintptr_t link : {uintptr_t{1}, uintptr_t{16}, uintptr_t{kPage}, kTop, kTop - 7,
                               kTop - sizeof(InnerFrame), kTop - kPage, kTop / 2}) {
    InnerFrame frame = Frame(reinterpret_cast<const void*>(link));
    EXPECT_THAT(Read(&frame), ElementsAre("train.py:41 main")) << link;
    EXPECT_EQ(part_, Part::kChanged) << link;
    EXPECT_THAT(Read(reinterpret_cast<const void*>(link)), IsEmpty()) << link;
    EXPECT_EQ(part_, Part::kChanged) << link;
  }
}

TEST_F(Stacks, EndAfterTheMostFramesWhereTheyGoRound) {
  InnerFrame one = Frame(nullptr), other = Frame(&one);
  SetLink(&one, &other);
  EXPECT_THAT(Read(&one), SizeIs(PythonStacks::kMostFrames));
  EXPECT_EQ(part_, Part::kInner);
}

TEST_F(Stacks, HaveALineOfTheProgramsOwnCodeHoweverDeepALibraryCallsItself) {
  Text files[2];
  PyCodeObject codes[2];
  const char* const kPaths[] = {"/home/train.py", "/lib/copy.py"};
  for (int i = 0; i < 2; ++i) {
    SetText(&files[i], kPaths[i]);
    std::memcpy(static_cast<void*>(&codes[i]), &code_, sizeof code_);
    codes[i].co_filename = reinterpret_cast<PyObject*>(&files[i]);
  }
  for (const size_t count : {PythonStacks::kMostFrames, PythonStacks::kMostFrames + 1,
                             PythonStacks::kMostFrames + PythonStacks::kMostBehind - 1,
                             PythonStacks::kMostFrames + PythonStacks::kMostBehind}) {
    std::vector<InnerFrame> frames(count + 1, Frame(nullptr));  // outermost first
    for (size_t i = 0; i <= count; ++i) {
      SetCode(&frames[i], &codes[i > 0]);
      if (i > 0) SetLink(&frames[i], &frames[i - 1]);
    }
    EXPECT_THAT(Read(&frames[count]), SizeIs(PythonStacks::kMostFrames));
    EXPECT_EQ(part_, Part::kInner);
    const bool near = count < PythonStacks::kMostFrames + PythonStacks::kMostBehind;
    EXPECT_EQ(OwnLine(), near ? "train.py:41 main" : "") << count;
  }
}

TEST_F(Stacks, OfThreadStatesThatGoRoundAreLookedAtOnceAround) {
  g_thread.prev = &g_thread;  // and it has no thread's id
  EXPECT_THAT(stacks_.Threads(), IsEmpty());
}

#if PY_VERSION_HEX >= 0x030b0000
// Up to 3.11 its state has the starting thread's id until it begins.
TEST_F(Stacks, AThreadThatHasNotBegunTakesNothingFromWhoStartedIt) {
  g_thread.native_thread_id = 7;
  PyThreadState begins = g_thread;
  begins.prev = nullptr;
  g_thread.prev = &begins;
  const std::vector<PythonThread> threads = stacks_.Threads();
  ASSERT_THAT(threads, SizeIs(1));
  EXPECT_EQ(threads[0].state, &g_thread);
  g_thread.native_thread_id = 0;
}

TEST_F(Stacks, OfAThreadWhoseStateIsAnothersByNowAreEmpty) {
  InnerFrame frame = Frame(nullptr);
  EXPECT_THAT(Read(&frame), ElementsAre("train.py:41 main"));
  g_thread.native_thread_id = 7;
  EXPECT_THAT(Read(&frame), IsEmpty());
  g_thread.native_thread_id = 0;
}
#endif

TEST_F(Stacks, AreReadAtTheEdgesOfWhatIsMapped) {
  Islands islands(2);
  auto* first = reinterpret_cast<InnerFrame*>(islands.Page(0));
  auto* last = reinterpret_cast<InnerFrame*>(islands.Page(1) + kPage) - 1;
  std::memset(static_cast<void*>(first), 0, sizeof *first);
  std::memset(static_cast<void*>(last), 0, sizeof *last);
  SetCode(first, &code_);
  SetCode(last, &code_);
  SetLink(last, first);
  SetLink(first, islands.Page(0) + kPage - 8);  // most of it lies where nothing is
  EXPECT_THAT(Read(last), ElementsAre("train.py:41 main", "train.py:41 main"));
}

// A word as it may stand anywhere in memory that was freed and written again.
uintptr_t AnyWord(std::mt19937_64& random, Islands& islands, const std::vector<uintptr_t>& known) {
  char* page = islands.Page(random() % islands.count());
  switch (random() % 8) {
    case 0: return random();
    case 1: return ~uintptr_t{0} - random() % 64;
    case 2: return random() % 64;
    case 3: return reinterpret_cast<uintptr_t>(page + kPage - random() % 64);
    case 4: return reinterpret_cast<uintptr_t>(page - random() % 64);
    case 5: return known[random() % known.size()];
    default: return reinterpret_cast<uintptr_t>(page + random() % (kPage / 8) * 8);
  }
}

// Frames, code objects and strings of nothing but such words.
TEST_F(Stacks, OfAnyBytesAreAnswersAndNoFaults) {
  std::mt19937_64 random(1);
  Islands islands(6);
  InnerFrame whole = Frame(nullptr);
  std::vector<uintptr_t> known;
  for (const void* at : {static_cast<void*>(&PyCode_Type), static_cast<void*>(&PyUnicode_Type),
                         static_cast<void*>(&PyBytes_Type), static_cast<void*>(&PyFrame_Type),
                         static_cast<void*>(&whole), static_cast<void*>(&code_),
                         static_cast<void*>(&file_), static_cast<void*>(&lines_)}) {
    known.push_back(reinterpret_cast<uintptr_t>(at));
  }
  size_t frames = 0;
  for (int round = 0; round < 3000; ++round) {
    for (size_t i = 0; i < islands.count(); ++i) {
      auto* words = reinterpret_cast<uintptr_t*>(islands.Page(i));
      for (size_t at = 0; at < kPage / 8; ++at) words[at] = AnyWord(random, islands, known);
    }
    for (int look = 0; look < 8; ++look) {
      const auto names = Read(reinterpret_cast<const void*>(AnyWord(random, islands, known)));
      EXPECT_LE(names.size(), PythonStacks::kMostFrames);
      frames += names.size();
    }
  }
  EXPECT_GT(frames, 300u) << "too little of what was read looked like a stack";
}

// Code that is one word away from being right, its strings of any length and kind.
TEST_F(Stacks, OfDamagedCodeKeepTheFramesThatAreWhole) {
  std::mt19937_64 random(2);
  Islands islands(2);
  const std::vector<uintptr_t> known = {reinterpret_cast<uintptr_t>(&file_)};
  auto* code = reinterpret_cast<PyCodeObject*>(islands.Page(0));
  auto* text = reinterpret_cast<Text*>(islands.Page(1));
  InnerFrame outer = Frame(nullptr), inner = Frame(&outer);
  SetCode(&inner, code);
  for (int round = 0; round < 20000; ++round) {
    std::memcpy(static_cast<void*>(code), &code_, offsetof(PyCodeObject, co_firstlineno));
    code->co_firstlineno = static_cast<int>(random());
    code->co_filename = reinterpret_cast<PyObject*>(text);
    SetText(text, "any.py");
    const uintptr_t word = AnyWord(random, islands, known);
    void* damaged = random() % 2 == 0 ? static_cast<void*>(code) : text;
    const size_t words =
        damaged == text ? sizeof *text / 8 : offsetof(PyCodeObject, co_firstlineno) / 8;
    std::memcpy(static_cast<char*>(damaged) + random() % words * 8, &word, sizeof word);
    const auto names = Read(&inner);
    ASSERT_EQ(part_ == Part::kChanged, names.size() < 2);
    ASSERT_THAT(names, testing::Contains("train.py:41 main"));
    ASSERT_LE(names.size(), 2u);
  }
}

TEST(LineTable, OfAnyBytesGivesRangesInOrder) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 20000; ++round) {
    std::string bytes(random() % 200, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    const auto ranges = DecodeLines(bytes, static_cast<int>(random()));
    for (size_t i = 1; i < ranges.size(); ++i) EXPECT_LE(ranges[i - 1].end, ranges[i].end);
    LineAt(ranges, static_cast<int32_t>(random()));
  }
}

TEST(Memory, OfManyPiecesIsReadUpToTheFirstThatCannotBe) {
  Islands islands(1);
  char to[8];
  std::vector<Piece> pieces(200, Piece{islands.Page(0), to, sizeof to});
  EXPECT_EQ(ReadPieces(pieces), 200u);
  for (const size_t bad : {0u, 63u, 64u, 150u}) {
    for (const void* from : {static_cast<const void*>(islands.Page(0) + kPage - 4),
                             static_cast<const void*>(islands.Page(0) - 4),
                             reinterpret_cast<const void*>(~uintptr_t{0})}) {
      auto damaged = pieces;
      damaged[bad].from = from;
      EXPECT_EQ(ReadPieces(damaged), bad);
    }
  }
}

// What a thread that makes `call` waits for, as a sample tells it.
template <class Call>
std::string WaitsIn(Call call) {
  std::atomic<int> tid{0};
  std::thread thread([&] {
    tid = static_cast<int>(syscall(SYS_gettid));
    call();
  });
  thread.detach();  // it waits until the test's end
  while (tid == 0) std::this_thread::yield();
  Waits waits;
  uint32_t name = 0;
  while (waits.Look(tid, &name) != Waits::kWaits) std::this_thread::yield();
  return g_names[name - 1];
}

TEST(Waits, TellWhatSortOfFileIsReadOrWritten) {
  int in[2], full[2], ends[2];
  ASSERT_EQ(pipe(in), 0);
  ASSERT_EQ(pipe(full), 0);
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  static char bytes[1 << 20];
  const auto ignore = [](ssize_t) {};
  EXPECT_EQ(WaitsIn([&, fd = in[0]] { ignore(read(fd, bytes, 1)); }), "read (pipe)");
  EXPECT_EQ(WaitsIn([&, fd = full[1]] { ignore(write(fd, bytes, sizeof bytes)); }), "write (pipe)");
  EXPECT_EQ(WaitsIn([&, fd = ends[0]] { ignore(read(fd, bytes, 1)); }), "read (socket)");
  EXPECT_EQ(WaitsIn([&, fd = ends[1]] { ignore(recv(fd, bytes, 1, 0)); }), "recvfrom");
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(terminal, 0);
  EXPECT_EQ(WaitsIn([&, fd = terminal] { ignore(read(fd, bytes, 1)); }), "read (device)");
}

}  // namespace
}  // namespace crosscut::samples
