#include "patches.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "crosscut/in_python.h"
#include "entries.h"
#include "slots.h"

namespace crosscut::pycalls {
namespace {

struct Claim {
  uint32_t group;
  Label label;
};

struct Patch {
  void** address;
  PyObject* holder;
  std::vector<Claim> claims;       // the last one's label is in force; never empty
  bool active;                     // else its entry stays for stubs in flight
  PyObject* descriptor = nullptr;  // of a slot: a new subclass copies the pointer from there
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
  std::vector<uint32_t> used;  // active patches that are not fresh
  PatchStats stats;
  Thunks thunks = Thunks::kOut;
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

// Makes entry `index` what the label in force says.
void ApplyLabel(uint32_t index) {
  const Label& label = TheState().patches[index].claims.back().label;
  if (const uint32_t name = Intern(label)) g_entries[index].name = name;
  Extra& extra = g_extras[index];
  extra.callbacks = label.callbacks;
  extra.choose = label.choose;
  const bool says = extra.operation != 0 || extra.callbacks || extra.choose != nullptr;
  uint32_t& entry_state = g_entries[index].state;
  entry_state = (entry_state & kFresh) | (says ? kHasExtra : 0);
}

bool Fresh(uint32_t index) { return (g_entries[index].state & kFresh) != 0; }

// Whether the thunk of a patch belongs at its address now.
bool BelongsIn(uint32_t index) {
  const Thunks thunks = TheState().thunks;
  return thunks == Thunks::kIn || (thunks == Thunks::kIdle && Fresh(index));
}

int64_t NewEntry(void** address, PyObject* holder, Claim claim, void* original) {
  State& state = TheState();
  const size_t index = state.patches.size();
  const uint32_t name = index >= kMaxEntries ? 0 : Intern(claim.label);
  if (name == 0) {
    ++state.stats.full;
    return -1;
  }
  Py_XINCREF(holder);
  state.patches.push_back({address, holder, {std::move(claim)}, address != nullptr});
  g_entries[index] = {original, name, address != nullptr ? kFresh : 0};
  ApplyLabel(static_cast<uint32_t>(index));
  return static_cast<int64_t>(index);
}

void** WrappedBy(PyObject* descriptor) {
  return &reinterpret_cast<PyWrapperDescrObject*>(descriptor)->d_wrapped;
}

// Exchanges what stands at `address` if it is what we think it is.
void Exchange(void** address, void* from, void* to) {
  if (Load(address) == from) Store(address, to);
}

// Subclasses hold copies of a slot. They are looked up at each switch instead of being remembered:
// a class may end, and one made while thunks were in may have copied a thunk.
void SwitchSubclasses(PyTypeObject* type, const std::vector<SlotUse>& uses, bool in) {
  Ref children(PyObject_CallMethod(reinterpret_cast<PyObject*>(type), "__subclasses__", nullptr));
  if (!children || !PyList_Check(children.get())) {
    PyErr_Clear();
    return;
  }
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(children.get()); ++i) {
    auto* child = reinterpret_cast<PyTypeObject*>(PyList_GET_ITEM(children.get(), i));
    if (!PyType_Check(reinterpret_cast<PyObject*>(child))) continue;
    for (const SlotUse& use : uses) {
      void** address = SlotAddress(child, use.slot);
      if (address == nullptr || !PyType_HasFeature(child, Py_TPFLAGS_HEAPTYPE)) continue;
      void* original = g_entries[use.index].original;
      Exchange(address, in ? original : Stub(use.index), in ? Stub(use.index) : original);
    }
    SwitchSubclasses(child, uses, in);
  }
}

// Those that copied the slot of an entry that `which` names.
template <class Which>
void SwitchAllSubclasses(bool in, Which which) {
  if (TheState().roots.empty()) return;
  const PendingException kept;
  for (const SlotRoot& root : TheState().roots) {
    std::vector<SlotUse> uses;
    std::copy_if(root.uses.begin(), root.uses.end(), std::back_inserter(uses),
                 [&](const SlotUse& use) { return which(use.index); });
    if (!uses.empty()) SwitchSubclasses(root.type, uses, in);
  }
}

bool All(uint32_t) { return true; }
bool Used(uint32_t index) { return !Fresh(index); }

void PutIn(uint32_t index) {
  const Patch& patch = TheState().patches[index];
  void* original = g_entries[index].original;
  Exchange(patch.address, original, Stub(index));
  if (patch.descriptor != nullptr) Exchange(WrappedBy(patch.descriptor), original, Stub(index));
}

void PutBack(uint32_t index) {
  State& state = TheState();
  const Patch& patch = state.patches[index];
  void* original = g_entries[index].original;
  const void* now = Load(patch.address);
  if (now != Stub(index) && now != original) ++state.stats.foreign;
  Exchange(patch.address, Stub(index), original);
  if (patch.descriptor != nullptr) Exchange(WrappedBy(patch.descriptor), Stub(index), original);
}

void AddClaim(uint32_t index, PyObject* holder, Claim claim) {
  State& state = TheState();
  Patch& patch = state.patches[index];
  if (!patch.active) {
    patch.active = true;
    patch.claims.clear();
    Py_XINCREF(holder);
    patch.holder = holder;
    ++state.stats.entries;
    g_entries[index].state |= kFresh;
  }
  std::erase_if(patch.claims, [&](const Claim& c) { return c.group == claim.group; });
  const bool below = claim.group == kKnownGroup;
  // Whether a call waits for other threads is a fact, whoever names it.
  if (!patch.claims.empty()) {
    claim.label.flags |= patch.claims.front().label.flags & CROSSCUT_WAITS;
  }
  patch.claims.insert(below ? patch.claims.begin() : patch.claims.end(), std::move(claim));
  ApplyLabel(index);
}

// The patch is over; what it kept alive is to be given up when nothing here is half done.
void Retire(uint32_t index, std::vector<PyObject*>* kept) {
  Patch& patch = TheState().patches[index];
  PutBack(index);
  patch.active = false;
  std::erase(TheState().used, index);
  g_extras[index].operation = 0;
  --TheState().stats.entries;
  for (PyObject** object : {&patch.holder, &patch.descriptor}) {
    if (*object != nullptr) kept->push_back(std::exchange(*object, nullptr));
  }
}

bool ClaimedBy(const Patch& patch, uint32_t group) {
  return patch.active && std::any_of(patch.claims.begin(), patch.claims.end(),
                                     [group](const Claim& claim) { return claim.group == group; });
}

// Types are kept alive by the patches of their slots.
void ForgetRetiredSlots() {
  State& state = TheState();
  for (SlotRoot& root : state.roots) {
    std::erase_if(root.uses, [&](const SlotUse& u) { return !state.patches[u.index].active; });
  }
  std::erase_if(state.roots, [](const SlotRoot& root) { return root.uses.empty(); });
}

}  // namespace

PatchStats& Stats() { return TheState().stats; }
Thunks PatchesAre() { return TheState().thunks; }

uint32_t BoundaryProbe() {
  static const uint32_t probe =
      crosscut_intern("boundary", SIZE_MAX, CROSSCUT_TEXT, CROSSCUT_LAYER_NONE, 0, 0);
  return probe;
}

bool AddPatch(void** address, PyObject* holder, const Label& label, uint32_t group) {
  State& state = TheState();
  const auto known = state.by_address.find(address);
  if (known != state.by_address.end()) {
    const uint32_t index = known->second;
    void* now = Load(address);
    if (now == Stub(index) || now == g_entries[index].original) {
      AddClaim(index, holder, {group, label});
      if (BelongsIn(index)) PutIn(index);
      return true;
    }
  }
  const int64_t made = NewEntry(address, holder, {group, label}, Original(Load(address)));
  if (made < 0) return false;
  const auto index = static_cast<uint32_t>(made);
  if (known != state.by_address.end() && state.patches[known->second].active) {
    state.patches[known->second].active = false;  // its holder keeps the old code alive
    std::erase(state.used, known->second);
  } else {
    ++state.stats.entries;
  }
  state.by_address[address] = index;
  if (BelongsIn(index)) Store(address, Stub(index));
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
  std::erase_if(root->uses, [slot](const SlotUse& use) { return use.slot == slot; });
  root->uses.push_back({slot, known->second});
  Patch& patch = state.patches[known->second];
  if (patch.descriptor == nullptr) {
    patch.descriptor = SlotDescriptor(type, slot, g_entries[known->second].original).release();
  }
  if (!BelongsIn(known->second)) return;
  PutIn(known->second);
  SwitchSubclasses(type, {{slot, known->second}}, true);
}

bool SetOperation(void** address, const std::string& operation, unsigned flags) {
  State& state = TheState();
  const auto known = state.by_address.find(address);
  if (known == state.by_address.end()) return false;
  if (!state.patches[known->second].active) return false;
  state.patches[known->second].claims.back().label.flags |= flags;
  g_extras[known->second].operation =
      operation.empty() ? 0
                        : crosscut_intern(operation.data(), operation.size(), CROSSCUT_OPERATION,
                                          CROSSCUT_LAYER_NONE, CROSSCUT_FOUND, BoundaryProbe());
  ApplyLabel(known->second);
  return true;
}

const Label& LabelOf(uint32_t index) { return TheState().patches[index].claims.back().label; }

void* LoneStub(void* original, const Label& label) {
  const int64_t index = NewEntry(nullptr, nullptr, {kKnownGroup, label}, original);
  return index < 0 ? nullptr : Stub(static_cast<uint32_t>(index));
}

void SwitchPatches(Thunks to) {
  State& state = TheState();
  const Thunks from = std::exchange(state.thunks, to);
  if (from == to) return;
  const bool in = to == Thunks::kIn || (from == Thunks::kOut && to == Thunks::kIdle);
  if (from != Thunks::kOut && to != Thunks::kOut) {
    for (const uint32_t index : state.used) in ? PutIn(index) : PutBack(index);
    SwitchAllSubclasses(in, Used);
    return;
  }
  for (uint32_t i = 0; i < state.patches.size(); ++i) {
    if (!state.patches[i].active) continue;
    BelongsIn(i) ? PutIn(i) : PutBack(i);
  }
  SwitchAllSubclasses(
      in, [](uint32_t index) { return TheState().thunks == Thunks::kOut || BelongsIn(index); });
}

void NoteUse(uint32_t index) {
  State& state = TheState();
  g_entries[index].state &= ~kFresh;
  if (!state.patches[index].active) return;
  state.used.push_back(index);
  if (state.thunks != Thunks::kIdle) return;
  PutBack(index);
  SwitchAllSubclasses(false, [index](uint32_t use) { return use == index; });
}

int RemoveGroup(uint32_t group) {
  State& state = TheState();
  SwitchAllSubclasses(false, All);
  std::vector<PyObject*> kept;
  int count = 0;
  for (uint32_t i = 0; i < state.patches.size(); ++i) {
    Patch& patch = state.patches[i];
    if (!ClaimedBy(patch, group)) continue;
    ++count;
    if (patch.claims.size() == 1) {
      Retire(i, &kept);
      continue;
    }
    std::erase_if(patch.claims, [group](const Claim& claim) { return claim.group == group; });
    ApplyLabel(i);
  }
  ForgetRetiredSlots();
  SwitchAllSubclasses(true, BelongsIn);
  for (PyObject* object : kept) Py_DECREF(object);
  return count;
}

int CountGroup(uint32_t group) {
  const std::vector<Patch>& all = TheState().patches;
  return static_cast<int>(std::count_if(
      all.begin(), all.end(), [group](const Patch& patch) { return ClaimedBy(patch, group); }));
}

void RemovePatches() {
  State& state = TheState();
  SwitchAllSubclasses(false, All);
  std::vector<PyObject*> kept;
  for (uint32_t i = 0; i < state.patches.size(); ++i) {
    if (state.patches[i].active) Retire(i, &kept);
    if (PyObject* holder = std::exchange(state.patches[i].holder, nullptr)) kept.push_back(holder);
  }
  state.roots.clear();
  state.by_address.clear();
  for (PyObject* object : kept) Py_DECREF(object);
}

}  // namespace crosscut::pycalls
