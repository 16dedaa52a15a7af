#include "patches.h"

#include <unordered_map>
#include <utility>
#include <vector>

#include "entries.h"
#include "slots.h"

namespace crosscut::pycalls {
namespace {

struct Patch {
  void** address;  // null: removed, its entry stays for stubs in flight
  PyObject* holder;
  Label label;
};

struct SlotUse {
  int slot;
  uint32_t index;
};

struct SlotRoot {
  PyTypeObject* type;  // kept alive by its patches
  std::vector<SlotUse> uses;
};

struct State {
  std::vector<Patch> patches;  // by entry index
  std::unordered_map<void**, uint32_t> by_address;
  std::vector<SlotRoot> roots;
  PatchStats stats;
  bool in = false;
};

// Never destroyed: stubs may run while the process ends.
State& TheState() {
  static State* state = new State;
  return *state;
}

void* Load(void** address) { return __atomic_load_n(address, __ATOMIC_RELAXED); }
void Store(void** address, void* code) { __atomic_store_n(address, code, __ATOMIC_RELEASE); }

uint32_t Intern(const Label& label) {
  return crosscut_intern(label.name.data(), label.name.size(), CROSSCUT_SPAN, label.layer,
                         label.flags, BoundaryProbe());
}

int64_t NewEntry(void** address, PyObject* holder, const Label& label, void* original) {
  State& state = TheState();
  const size_t index = state.patches.size();
  const uint32_t name = index >= kMaxEntries ? 0 : Intern(label);
  if (name == 0) {
    ++state.stats.full;
    return -1;
  }
  Py_XINCREF(holder);
  state.patches.push_back({address, holder, label});
  g_entries[index] = {original, name, 0};
  return static_cast<int64_t>(index);
}

// Subclasses hold copies of a slot. They are looked up at each switch instead of being remembered:
// a class may end, and one made while thunks were in may have copied a thunk.
void SwitchSubclasses(PyTypeObject* type, const SlotRoot& root, bool in) {
  Ref children(PyObject_CallMethod(reinterpret_cast<PyObject*>(type), "__subclasses__", nullptr));
  if (!children || !PyList_Check(children.get())) {
    PyErr_Clear();
    return;
  }
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(children.get()); ++i) {
    auto* child = reinterpret_cast<PyTypeObject*>(PyList_GET_ITEM(children.get(), i));
    if (!PyType_Check(reinterpret_cast<PyObject*>(child))) continue;
    for (const SlotUse& use : root.uses) {
      void** address = SlotAddress(child, use.slot);
      if (address == nullptr || !PyType_HasFeature(child, Py_TPFLAGS_HEAPTYPE)) continue;
      void* original = g_entries[use.index].original;
      void* from = in ? original : Stub(use.index);
      if (Load(address) == from) Store(address, in ? Stub(use.index) : original);
    }
    SwitchSubclasses(child, root, in);
  }
}

void SwitchAllSubclasses(bool in) {
  if (TheState().roots.empty()) return;
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  for (const SlotRoot& root : TheState().roots) SwitchSubclasses(root.type, root, in);
  PyErr_Restore(type, value, traceback);
}

void PutBack(uint32_t index) {
  State& state = TheState();
  void** address = state.patches[index].address;
  const void* now = Load(address);
  if (now == Stub(index)) {
    Store(address, g_entries[index].original);
  } else if (now != g_entries[index].original) {
    ++state.stats.foreign;
  }
}

}  // namespace

PatchStats& Stats() { return TheState().stats; }
bool PatchesIn() { return TheState().in; }

uint32_t BoundaryProbe() {
  static const uint32_t probe =
      crosscut_intern("boundary", SIZE_MAX, CROSSCUT_TEXT, CROSSCUT_LAYER_NONE, 0, 0);
  return probe;
}

bool AddPatch(void** address, PyObject* holder, const Label& label) {
  State& state = TheState();
  const auto known = state.by_address.find(address);
  if (known != state.by_address.end()) {
    const uint32_t index = known->second;
    void* now = Load(address);
    if (now == Stub(index) || now == g_entries[index].original) {
      if (const uint32_t name = Intern(label)) g_entries[index].name = name;
      state.patches[index].label = label;
      return true;
    }
  }
  const int64_t made = NewEntry(address, holder, label, Original(Load(address)));
  if (made < 0) return false;
  const auto index = static_cast<uint32_t>(made);
  if (known != state.by_address.end()) {
    state.patches[known->second].address = nullptr;  // its holder keeps the old code alive
    known->second = index;
  } else {
    state.by_address.emplace(address, index);
    ++state.stats.entries;
  }
  if (state.in) Store(address, Stub(index));
  return true;
}

void NoteSlot(PyTypeObject* type, int slot, void** address) {
  State& state = TheState();
  const auto known = state.by_address.find(address);
  if (known == state.by_address.end()) return;
  SlotRoot* root = nullptr;
  for (SlotRoot& r : state.roots) {
    if (r.type == type) root = &r;
  }
  if (root == nullptr) root = &state.roots.emplace_back(SlotRoot{type, {}});
  for (SlotUse& use : root->uses) {
    if (use.slot != slot) continue;
    use.index = known->second;
    return;
  }
  root->uses.push_back({slot, known->second});
  if (state.in) SwitchSubclasses(type, *root, true);
}

bool SetOperation(void** address, const std::string& operation, unsigned flags) {
  State& state = TheState();
  const auto known = state.by_address.find(address);
  if (known == state.by_address.end()) return false;
  Patch& patch = state.patches[known->second];
  patch.label.flags |= flags;
  Entry& entry = g_entries[known->second];
  if (const uint32_t name = Intern(patch.label)) entry.name = name;
  entry.operation = operation.empty()
                        ? 0
                        : crosscut_intern(operation.data(), operation.size(), CROSSCUT_OPERATION,
                                          CROSSCUT_LAYER_NONE, 0, BoundaryProbe());
  return true;
}

const Label& LabelOf(uint32_t index) { return TheState().patches[index].label; }

void* LoneStub(void* original, const Label& label) {
  const int64_t index = NewEntry(nullptr, nullptr, label, original);
  return index < 0 ? nullptr : Stub(static_cast<uint32_t>(index));
}

void SwitchPatches(bool in) {
  State& state = TheState();
  state.in = in;
  for (uint32_t i = 0; i < state.patches.size(); ++i) {
    void** address = state.patches[i].address;
    if (address == nullptr) continue;
    if (!in) {
      PutBack(i);
    } else if (Load(address) == g_entries[i].original) {
      Store(address, Stub(i));
    }
  }
  SwitchAllSubclasses(in);
}

void RemovePatches() {
  State& state = TheState();
  const bool in = state.in;
  SwitchPatches(false);
  state.in = in;
  state.roots.clear();
  state.by_address.clear();
  state.stats.entries = 0;
  std::vector<PyObject*> holders;
  for (Patch& patch : state.patches) {
    patch.address = nullptr;
    if (patch.holder != nullptr) holders.push_back(std::exchange(patch.holder, nullptr));
  }
  for (PyObject* holder : holders) Py_DECREF(holder);
}

}  // namespace crosscut::pycalls
