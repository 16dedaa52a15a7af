#include "source.h"

#include <cstdio>
#include <string>

#include "calibrate.h"
#include "call_stack.h"
#include "calls.h"
#include "collections.h"
#include "crosscut/crosscut.h"
#include "crosscut/in_python.h"
#include "entries.h"
#include "foreign.h"
#include "identity.h"
#include "jit.h"
#include "patches.h"

namespace crosscut::pycalls {
namespace {

bool g_want_calls = false;   // asked for by StartCalls()
bool g_allow_calls = false;  // by the current level
bool g_calls_in = false;
std::string* g_reported = nullptr;

// Only when it changes: this may run at every switch of the step plan.
void ReportState(const char* state, const std::string& message) {
  if (g_reported == nullptr) g_reported = new std::string;
  const std::string line = std::string(state) + message;
  if (line == *g_reported) return;
  *g_reported = line;
  crosscut_source_state("pycalls", RunningVersion(), state, message.c_str());
}

void NoticeSession() {
  const uint32_t now = crosscut_sessions();
  if (now != g_noticed) NextSession();
  g_noticed = now;
}

void SwitchCalls(bool in) {
  if (!in) {
    g_follows = g_want_calls ? Follows::kNativeCalls : Follows::kNothing;
    if (!g_calls_in) return;
    UnhookCalls();
    g_calls_in = false;
    crosscut_frames(0);
    return;
  }
  const bool was_in = g_calls_in;
  if (!was_in) {
    crosscut_frames(1);
    NextGeneration();
  }
  std::string owners;
  g_calls_in = HookCalls(&owners) || was_in;
  g_follows = g_calls_in ? Follows::kAllCalls : Follows::kNativeCalls;
  if (!g_calls_in) crosscut_frames(0);
  if (g_calls_in && !was_in) MeetThisThread();
  if (!owners.empty()) {
    ReportState("conflict",
                std::string(g_calls_in ? "some threads' Python functions" : "Python functions") +
                    " are not recorded: the hook belongs to " + owners);
  } else {
    ReportState(g_calls_in ? "on" : "failed",
                g_calls_in ? "boundary and Python functions" : "the hook could not be set");
  }
}

int SetLevel(void*, crosscut_level level) {
  const InPython python;
  if (!python) return CROSSCUT_OK;
  const bool left_out = level == CROSSCUT_LEVEL_MARKS;
  const bool boundary = level >= CROSSCUT_LEVEL_BOUNDARY && !left_out;
  const Thunks without = left_out || crosscut_in_control() ? Thunks::kIdle : Thunks::kOut;
  SetSwitches(boundary ? Thunks::kIn : without, level == CROSSCUT_LEVEL_EVERYTHING);
  return CROSSCUT_OK;
}

void Calibrate(void*) {
  const InPython python;
  if (!python) return;
  NextSession();
  CalibrateBoundary();
  CalibrateCollections();
  if (g_want_calls && !g_calls_in) CalibrateCalls();
}

}  // namespace

bool AddSource() {
  static int handle = 0;
  if (handle != 0) return true;
  crosscut_source source = {};
  source.struct_size = sizeof source;
  source.name = "pycalls";
  source.version = RunningVersion();
  source.set_level = SetLevel;
  source.calibrate = Calibrate;
  source.marks = 1;
  Py_BEGIN_ALLOW_THREADS;  // it may wait for a start of another thread, which may need the GIL
  handle = crosscut_source_add(&source);
  Py_END_ALLOW_THREADS;
  return handle > 0;
}

void SetSwitches(Thunks thunks, bool calls) {
  const bool boundary = thunks == Thunks::kIn;
  const bool was_in = PatchesAre() == Thunks::kIn;
  g_allow_calls = calls;
  if (boundary) NoticeSession();
  g_thunks_in = boundary;
  if (!calls) SwitchCalls(false);
  SwitchJit(boundary);
  if (thunks != Thunks::kOut) GuardIdentity();
  SwitchPatches(thunks);
  if (thunks == Thunks::kOut) UnguardIdentity();
  if (boundary && !was_in) HookCollections();
  if (!boundary && was_in) UnhookCollections();
  if (boundary && g_reported == nullptr) ReportState("on", "boundary");
  if (calls && g_want_calls) SwitchCalls(true);
}

bool CallsIn() { return g_calls_in; }

bool StartCalls(bool builtins) {
  if (g_want_calls && g_builtins == builtins) return true;
  if (g_want_calls) SwitchCalls(false);
  g_want_calls = true;
  g_builtins = builtins;
  CalibrateCalls();
  if (g_allow_calls) {
    SwitchCalls(true);
  } else {
    g_follows = Follows::kNativeCalls;
  }
  return !g_allow_calls || g_calls_in;
}

void StopCalls() {
  g_want_calls = false;
  SwitchCalls(false);
  ReleaseCalls();
}

void RemoveAll() {
  StopCalls();
  UnhookCollections();
  UnpatchJit();
  RemovePatches();
  SetForeignNamer(nullptr);
  UnguardIdentity();
}

}  // namespace crosscut::pycalls
