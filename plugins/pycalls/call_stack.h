// Python functions as spans: what both ways of hooking calls (calls_profile.cc up to 3.11,
// calls_monitoring.cc from 3.12) share.
//
// Each thread keeps the stack of frames whose spans it has begun, keyed by frame address, and the
// list of recorded native calls that are in flight. When the hook goes in, or finds another stack
// than it left (greenlets), the stack is made anew from the frames that live, and the recorder is
// told what runs (crosscut_running); what was begun before ended where the hook went out. So
// nothing is believed of what happened unseen, and every end has its begin.
//
// Spans are named with the line that calls (call_sites.h). A compiler's functions (compilers.h) are
// one span, without what it calls.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "crosscut/crosscut.h"
#include "python.h"

namespace crosscut::pycalls {

// Must be called once, under the GIL, before anything else here. Code below `package_dir` (ours)
// is not recorded.
bool InitCallStack(const std::string& package_dir);

// The file of each Python function that was named; "" where several have the name. Under the GIL.
using FilesByName = std::unordered_map<std::string, std::string>;
const FilesByName& FilesOfNames();

// The hook goes in: stacks are to be made anew, this thread's at once.
void NextGeneration();
void MeetThisThread();

// A new session or log begins (a forked child): what is open belongs to the old one.
void NextSession();
extern uint32_t g_session;  // written under the GIL, as are the next two
extern uint32_t g_noticed;  // what crosscut_sessions() said then
extern bool g_thunks_in;
// Whether what began when g_session was `session` ends in the session that records. One that has
// just begun and of which nobody told us finds the thunks out.
inline bool StillIn(uint32_t session) {
  if (__builtin_expect(session != g_session, 0)) return false;
  return __builtin_expect(g_thunks_in, 1) || crosscut_sessions() == g_noticed;
}

// `frame` begins or goes on; it is the thread's topmost frame. `code` is borrowed.
void BeginCall(const void* frame, PyCodeObject* code);
// `frame` returns, yields or is left by an exception.
void EndCall(const void* frame);
// The same for a frame of `code` that nobody has looked up yet. False: only EndCall() can tell.
bool EndTop(const PyCodeObject* code);

// Whether builtin functions are asked for beside Python's. Written under the GIL while the hook is
// out.
extern bool g_builtins;
// The topmost frame, of `code`, calls something; what is no builtin function, or recorded
// otherwise, is left alone.
void BeginBuiltin(const void* frame, PyCodeObject* code, PyObject* callable);
// What it called has returned or raised.
void EndBuiltin(const void* frame);

// Stands in for this thread's stack: what begins and ends while it is there is forgotten.
class PrivateStack {
 public:
  PrivateStack();
  ~PrivateStack();
  PrivateStack(const PrivateStack&) = delete;
  PrivateStack& operator=(const PrivateStack&) = delete;

 private:
  void* theirs_;
};

// What thunks tell of their calls where Python functions are asked for: which are in flight, so
// that frames find their places beside them.
enum class Follows : uint8_t { kNothing, kNativeCalls, kAllCalls };
extern Follows g_follows;  // written under the GIL

// A native call of entry `index` (entries.h) begins; `token` is its own while it is in flight.
// Returns its name, with the line that calls it where Python functions are recorded and it is
// known. 0: what a compiler calls, which is not recorded; EndNative() is not to be called then.
uint32_t BeginNative(uint32_t index, const void* token);
// It goes by another name; before it is marked.
void RenameNative(const void* token, uint32_t name);
// It has ended and is about to be marked so. False: the session knows of no begin, and is not to
// be told of the end.
bool EndNative(const void* token);

// The probe that calls report as.
uint32_t PycallProbe();

}  // namespace crosscut::pycalls
