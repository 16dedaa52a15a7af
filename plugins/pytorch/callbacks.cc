#include "callbacks.h"

#include <crosscut/crosscut.h>
#include <dlfcn.h>

#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <cstring>
#include <vector>

#include "import_slots.h"

namespace crosscut::pytorch {
namespace {

// This library is built without Python's headers; what it needs is the same in all that it serves.
struct Object;
struct Head {
  intptr_t references;
  Object* type;
};

template <class F>
F* Named(const char* symbol) {
  return reinterpret_cast<F*>(dlsym(RTLD_DEFAULT, symbol));
}

struct Python {
  using Call = Object*(Object*, Object*, Object*);
  using Two = Object*(Object*, Object*);
  using One = Object*(Object*);
  using Vector = Object*(Object*, Object* const*, size_t, Object*);
  using Listed = Object*(Object*, ...);
  using Build = Object*(const char*, va_list);
  Call* call = Named<Call>("PyObject_Call");
  Two* call_object = Named<Two>("PyObject_CallObject");
  Two* call_one = Named<Two>("PyObject_CallOneArg");
  One* call_none = Named<One>("PyObject_CallNoArgs");
  Vector* vector = Named<Vector>("PyObject_Vectorcall");
  Vector* vector_method = Named<Vector>("PyObject_VectorcallMethod");
  Listed* listed = Named<Listed>("PyObject_CallFunctionObjArgs");
  Object* (*attribute)(Object*, const char*) =
      Named<Object*(Object*, const char*)>("PyObject_GetAttrString");
  Two* attribute_of = Named<Two>("PyObject_GetAttr");
  Build* built = Named<Build>("Py_VaBuildValue");
  Build* built_with_sizes = Named<Build>("_Py_VaBuildValue_SizeT");  // "#" is a Py_ssize_t
  Object* (*tuple)(intptr_t) = Named<Object*(intptr_t)>("PyTuple_New");
  int (*set_item)(Object*, intptr_t,
                  Object*) = Named<int(Object*, intptr_t, Object*)>("PyTuple_SetItem");
  void (*release)(Object*) = Named<void(Object*)>("Py_DecRef");
  unsigned long (*flags)(Object*) = Named<unsigned long(Object*)>("PyType_GetFlags");
  const void* function = dlsym(RTLD_DEFAULT, "PyFunction_Type");
  const void* method = dlsym(RTLD_DEFAULT, "PyMethod_Type");
  bool whole() const {
    return call != nullptr && call_object != nullptr && call_one != nullptr &&
           call_none != nullptr && vector != nullptr && vector_method != nullptr &&
           listed != nullptr && attribute != nullptr && attribute_of != nullptr &&
           built != nullptr && built_with_sizes != nullptr && tuple != nullptr &&
           set_item != nullptr && release != nullptr && flags != nullptr && function != nullptr &&
           method != nullptr;
  }
};
const Python& python() {
  static const Python it;
  return it;
}

std::atomic<bool> recorded{false};
bool led = false;  // under the GIL

uint32_t Name() {
  static const uint32_t name = crosscut_intern(
      "callback", SIZE_MAX, CROSSCUT_SPAN, CROSSCUT_PYTHON, 0,
      crosscut_intern("boundary", SIZE_MAX, CROSSCUT_TEXT, CROSSCUT_LAYER_NONE, 0, 0));
  return name;
}

// Functions and methods of Python's, and objects of classes that are made in Python. A class itself
// is C's to call: it makes tensors and the like.
bool RunsPython(Object* callable) {
  constexpr unsigned long kHeapType = 1ul << 9;
  Object* type = reinterpret_cast<Head*>(callable)->type;
  return type == python().function || type == python().method ||
         (python().flags(type) & kHeapType) != 0;
}

class Callback {
 public:
  explicit Callback(bool runs_python)
      : began_(runs_python && recorded.load(std::memory_order_relaxed)) {
    if (began_) crosscut_begin_inline(Name());
  }
  ~Callback() {
    if (began_) crosscut_end_named(Name());
  }
  Callback(const Callback&) = delete;
  Callback& operator=(const Callback&) = delete;

 private:
  const bool began_;
};

// These functions of the interpreter's raise where there is nothing to call.
Object* NothingToCall() { return python().listed(nullptr, nullptr); }

Object* Call(Object* callable, Object* arguments, Object* keywords) {
  const Callback span(RunsPython(callable));
  return python().call(callable, arguments, keywords);
}

Object* CallObject(Object* callable, Object* arguments) {
  const Callback span(RunsPython(callable));
  return python().call_object(callable, arguments);
}

Object* CallOne(Object* callable, Object* argument) {
  const Callback span(RunsPython(callable));
  return python().call_one(callable, argument);
}

Object* CallNone(Object* callable) {
  const Callback span(RunsPython(callable));
  return python().call_none(callable);
}

Object* Vector(Object* callable, Object* const* arguments, size_t count, Object* names) {
  const Callback span(RunsPython(callable));
  return python().vector(callable, arguments, count, names);
}

// The arguments up to the null that ends them.
std::vector<Object*> Listed(std::vector<Object*> first, va_list arguments) {
  while (Object* argument = va_arg(arguments, Object*)) first.push_back(argument);
  return first;
}

Object* CallListed(Object* callable, ...) {
  if (callable == nullptr) return NothingToCall();
  va_list arguments;
  va_start(arguments, callable);
  const std::vector<Object*> all = Listed({}, arguments);
  va_end(arguments);
  const Callback span(RunsPython(callable));
  return python().vector(callable, all.data(), all.size(), nullptr);
}

Object* CallMethodListed(Object* object, Object* name, ...) {
  if (object == nullptr || name == nullptr) return NothingToCall();
  va_list arguments;
  va_start(arguments, name);
  const std::vector<Object*> all = Listed({object}, arguments);
  va_end(arguments);
  if (!recorded.load(std::memory_order_relaxed)) {
    return python().vector_method(name, all.data(), all.size(), nullptr);
  }
  Object* const callable = python().attribute_of(object, name);
  if (callable == nullptr) return nullptr;
  Object* result = Vector(callable, all.data() + 1, all.size() - 1, nullptr);
  python().release(callable);
  return result;
}

// What `format` builds, as a tuple; null with an exception.
Object* Built(Python::Build* build, const char* format, va_list arguments) {
  constexpr unsigned long kTupleSubclass = 1ul << 26;
  constexpr char kSaysNothing[] = ",: \t";
  if (format == nullptr || format[strspn(format, kSaysNothing)] == '\0') return python().tuple(0);
  Object* value = build(format, arguments);
  if (value == nullptr) return nullptr;
  const unsigned long flags = python().flags(reinterpret_cast<Head*>(value)->type);
  if ((flags & kTupleSubclass) != 0) return value;
  Object* one = python().tuple(1);
  if (one != nullptr) {
    (void)python().set_item(one, 0, value);  // takes the value
  } else {
    python().release(value);
  }
  return one;
}

Object* CallBuilt(Object* callable, Object* arguments) {
  if (arguments == nullptr) return nullptr;
  Object* result = Call(callable, arguments, nullptr);
  python().release(arguments);
  return result;
}

template <Python::Build* Python::*build>
Object* CallFormatted(Object* callable, const char* format, ...) {
  if (callable == nullptr) return NothingToCall();
  va_list arguments;
  va_start(arguments, format);
  Object* const all = Built(python().*build, format, arguments);
  va_end(arguments);
  return CallBuilt(callable, all);
}

template <Python::Build* Python::*build>
Object* CallMethodFormatted(Object* object, const char* name, const char* format, ...) {
  if (object == nullptr || name == nullptr) return NothingToCall();
  Object* const callable = python().attribute(object, name);
  if (callable == nullptr) return nullptr;
  va_list arguments;
  va_start(arguments, format);
  Object* const all = Built(python().*build, format, arguments);
  va_end(arguments);
  Object* result = CallBuilt(callable, all);
  python().release(callable);
  return result;
}

template <class F>
ImportedFunction Led(const char* symbol, F* ours) {
  return {symbol, reinterpret_cast<uintptr_t>(ours)};
}

ImportSlots& Slots() {
  static auto* const slots = new ImportSlots(
      {Led("PyObject_Call", &Call), Led("PyObject_CallObject", &CallObject),
       Led("PyObject_CallOneArg", &CallOne), Led("PyObject_CallNoArgs", &CallNone),
       Led("PyObject_Vectorcall", &Vector),
       Led("PyObject_CallFunction", &CallFormatted<&Python::built>),
       Led("PyObject_CallMethod", &CallMethodFormatted<&Python::built>),
       Led("_PyObject_CallFunction_SizeT", &CallFormatted<&Python::built_with_sizes>),
       Led("_PyObject_CallMethod_SizeT", &CallMethodFormatted<&Python::built_with_sizes>),
       Led("PyObject_CallFunctionObjArgs", &CallListed),
       Led("PyObject_CallMethodObjArgs", &CallMethodListed)});
  return *slots;
}

}  // namespace

void LeadCallbacksOfNewLibraries() {
  if (led) Slots().Lead(/*to_ours=*/true);
}

int LeadCallbacks(bool to_ours) {
  led = to_ours && python().whole();
  return python().whole() ? static_cast<int>(Slots().Lead(to_ours)) : 0;
}

void RecordCallbacks(bool on) { recorded.store(on, std::memory_order_relaxed); }

}  // namespace crosscut::pytorch
