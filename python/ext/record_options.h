// crosscut_options from keywords of Python.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "crosscut/crosscut.h"

namespace crosscut::python {

// Of start() and arm(): run_dir, memory_bytes, flight_recorder, keep_seconds, control_percent,
// seed, plan, budget_percent, all optional, by name. The texts live as long as the dict does, which
// may be null. False with an exception set where there is another name or a wrong type.
bool ParseOptions(PyObject* keywords, crosscut_options* options);

}  // namespace crosscut::python
