// Which function pointers of the process are thunks, and the switch that puts them in and takes
// them out.
//
// Switching. A program calls some dozens of the thousands of functions that are patched, and a step
// plan switches every few steps: writing to all of them costs a tenth of a millisecond of cold
// memory, and the program its caches. So an entry is fresh until its thunk is called for the first
// time, and a control step takes out only those that are not. A fresh one that is called inside a
// control step takes itself out.
//
// A patch is one pointer in memory (a table's ml_meth, a type's slot, an object's vectorcall) with
// its original, its entry and the object that keeps that memory alive. Several groups may claim a
// pointer: what is known of a library and each wrap() of the user is one; the newest claim labels
// it, and the pointer is a patch until the last one is given up. Everything here runs under the
// GIL. A pointer that somebody else has changed meanwhile is left as it is.
#pragma once

#include <cstdint>
#include <string>

#include "crosscut/crosscut.h"
#include "entries.h"
#include "python.h"

namespace crosscut::pycalls {

// How a patch is reported.
struct Label {
  std::string name;
  crosscut_layer layer = CROSSCUT_NATIVE;
  unsigned flags = 0;      // crosscut_name_flags
  bool callbacks = false;  // of Extra (entries.h), as is the next
  decltype(Extra::choose) choose = nullptr;
};

// The group of what known.cc lists: the label of any other goes before its.
inline constexpr uint32_t kKnownGroup = 0;

struct PatchStats {
  int64_t entries = 0;     // patched now
  int64_t read_only = 0;   // left alone: memory that cannot be written
  int64_t full = 0;        // left alone: no stub free
  int64_t unreadable = 0;  // left alone: not laid out as expected
  int64_t foreign = 0;     // pointers that another party had changed when we came to restore
};
PatchStats& Stats();

// Makes the pointer at `address` (writable) a patch, or changes the label of the one it is; puts
// its thunk in if the switch is on. `holder` owns the memory. False when there is no stub left.
bool AddPatch(void** address, PyObject* holder, const Label& label, uint32_t group);

// Says that `address` is slot `slot` of `type` (slots.h), so that the switch reaches subclasses
// that copied the pointer, and the descriptor from which later ones copy it.
void NoteSlot(PyTypeObject* type, int slot, void** address);

// Gives up the claims of `group`: pointers that no other claims get their originals back, and
// nothing of them is kept. Returns how many patches it had.
int RemoveGroup(uint32_t group);
// How many patches `group` claims.
int CountGroup(uint32_t group);

// Puts an operation around the patch at `address`; `flags` join those of its span. False where
// nothing is patched.
bool SetOperation(void** address, const std::string& operation, unsigned flags);

// What entry `index` (entries.h) was labelled with.
const Label& LabelOf(uint32_t index);

// A thunk around `original` that stands nowhere; null when there is no stub left.
void* LoneStub(void* original, const Label& label);

enum class Thunks {
  kOut,   // all originals back
  kIdle,  // for some steps: all that have ever been called are out
  kIn,
};
void SwitchPatches(Thunks to);
Thunks PatchesAre();

// The thunk of entry `index`, which is fresh, is being called.
void NoteUse(uint32_t index);

// Originals back, references given up, nothing remembered.
void RemovePatches();

// The probe that all patches report as.
uint32_t BoundaryProbe();

}  // namespace crosscut::pycalls
