// Operations as Python sees them: the type `operation`, and per thread the operations that are
// open. All functions need the GIL unless they say otherwise.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>

namespace crosscut::python {

// Readies the type and adds it to `module` as "operation". -1 with an exception on failure.
int AddOperationType(PyObject* module);

// For adapters: a span of that name and layer which is opened and closed as an operation is; a new
// reference, or null with an exception where `name` is no str.
PyObject* MakeSpan(PyObject* name, int layer);

// For adapters: an operation that they found (CROSSCUT_FOUND).
PyObject* MakeFound(PyObject* name);

// The name id of an operation or of what MakeSpan() made; 0 with an exception for another object.
uint32_t NameIdOf(PyObject* operation);

// What `operation(...)(function)` returns is made by this Python callable (operation, function).
void SetDecorator(PyObject* decorator);

// Opens and closes an operation on this thread. A close with no open operation of that name here
// ends one that another thread left open (when that thread next opens or closes one), else does
// nothing. Name ids as from crosscut_intern().
void OpenOperation(uint32_t name);
void CloseOperation(uint32_t name);

// The same for a block of code: opens where this thread records, and tells whether it did, in which
// case the end of the block is ExitOperation(). Names of MakeSpan() too.
bool EnterOperation(uint32_t name);
void ExitOperation(uint32_t name);
// Whether one of that name is open on this thread.
bool IsOpen(uint32_t name);

// Operations open on this thread, for tests.
uint32_t OpenDepth();

// What is open belongs to an earlier session (or to the parent process): forget it, everywhere.
void ForgetOpenOperations();

// Around fork(), so that the child finds the list of threads unlocked and only itself in it.
void BeforeFork();
void AfterForkInParent();
void AfterForkInChild();

// Marks this thread as one that runs Python, once.
void ThisThreadRunsPython();
// Lets a thread of the recorder run operations (calibration) without becoming such a thread.
void ThisThreadIsOurs();

// The id of `text` as a name of the given kind, layer and flags (CROSSCUT_FOUND or none); 0 with an
// exception set where `text` is no str.
uint32_t NameId(PyObject* text, int kind, int layer, unsigned flags = 0);

// The probe kind "operation".
uint32_t OperationProbe();

}  // namespace crosscut::python
