// Steps of the process: those that the program declares, and those that adapters find. What runs at
// each step is C, so that a step costs no frame of Python. All functions need the GIL, where there
// is one.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>

namespace crosscut::python {

// A step of that kind begins (a name of CROSSCUT_STEP; 0: "step"), which the program declares: from
// now on none is found. Its number as an int, a new reference; null with an exception, without
// memory or where the program is interrupted in the step hook.
PyObject* BeginDeclaredStep(uint32_t kind);
void EndStep();

// set_step_hook(): called unseen with the number of each step that begins; None: nobody.
PyObject* SetStepHook(PyObject*, PyObject* hook);

// `updater` has updated the program's model: a step ends where it is the primary one. None as a new
// reference; null with an exception.
PyObject* FoundUpdate(PyObject* updater);

// Adds to `module`, for adapters: what finds steps. An agent may gather experience for long before
// it learns from it. Such a rollout is no part of the update behind it: every few steps of the
// environment are a step of a kind of its own. -1 with an exception.
int AddStepFunctions(PyObject* module);

// In a forked child: it learns nothing yet, so an environment that it runs makes no steps of it; no
// annotation of its parent's is open.
void ForgetLearner();

}  // namespace crosscut::python
