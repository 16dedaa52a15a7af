// Named places where tests make this code die, wait or fail. CROSSCUT_FAULT compiles to `false`
// unless CROSSCUT_FAULT_POINTS is defined, so shipped builds contain none of it.
//
//   if (CROSSCUT_FAULT("log.append.write")) return Status::Io("injected");
//
// The environment arms them: CROSSCUT_FAULT=name:nth:action, where nth counts passes of that point
// in this process from 1 (0 = every pass) and action is one of
//   kill      SIGKILL to the own process
//   abort     abort()
//   pause<ms> sleep that many milliseconds, then go on
//   fail      the expression is true
// Several may be given, separated by commas. The variable is read once, at the first pass of any
// point (FaultPointsReload() reads it again, for tests that set it later). Thread-safe.
#pragma once

#ifdef CROSSCUT_FAULT_POINTS

namespace crosscut::base {
bool FaultPoint(const char* name);
void FaultPointsReload();
}  // namespace crosscut::base
#define CROSSCUT_FAULT(name) (::crosscut::base::FaultPoint(name))

#else

#define CROSSCUT_FAULT(name) (false)

#endif
