// Python functions as spans: what both ways of hooking calls (calls_profile.cc up to 3.11,
// calls_monitoring.cc from 3.12) share.
//
// Each thread keeps the stack of frames whose spans it has begun, keyed by frame address. An end
// for a frame that is not on it is no event; an end for a frame below the top closes what is above
// it first. So a lost or an extra callback costs one span's precision and never the nesting. While
// hooks are withdrawn functions return unseen: the first event after that drops the frames that
// have gone. What runs when a session begins is begun before the thread's first call in it.
//
// Spans are named with the line that calls (call_sites.h). A compiler's functions (compilers.h) are
// one span, without what it calls.
#pragma once

#include <cstdint>
#include <string>

#include "python.h"

namespace crosscut::pycalls {

// Must be called once, under the GIL, before anything else here. Code below `package_dir` (ours)
// is not recorded.
bool InitCallStack(const std::string& package_dir);

// The hooks have been put in again: stacks are to be compared with the frames that live.
void NextGeneration();

// A new log begins (a session, a forked child): what is open belongs to the old one.
void NextSession();

// `frame` begins or goes on; it is the thread's topmost frame. `code` is borrowed.
void BeginCall(const void* frame, PyCodeObject* code);
// `frame` returns, yields or is left by an exception.
void EndCall(const void* frame);
// The same for a frame of `code` that nobody has looked up yet. False: only EndCall() can tell.
bool EndTop(const PyCodeObject* code);

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

// For the thunk of entry `index` (entries.h) while calls are recorded: its name with the line that
// calls it, where that is known. 0: what a compiler calls, which is not recorded.
uint32_t NameNativeCall(uint32_t index);

// The probe that calls report as.
uint32_t PycallProbe();

}  // namespace crosscut::pycalls
