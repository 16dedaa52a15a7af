/* A module with every calling convention, every kind of method and the slots that can be patched:
 * what the tests of the boundary call. Each function tells what it was called with. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <pthread.h>
#include <structmember.h>
#include <unistd.h>

static PyObject* NoArgs(PyObject* self, PyObject* nothing) {
  (void)self;
  return PyLong_FromLong(nothing == NULL ? 1 : -1);
}
static PyObject* One(PyObject* self, PyObject* argument) {
  (void)self;
  return Py_BuildValue("(O)", argument);
}
static PyObject* VarArgs(PyObject* self, PyObject* args) {
  (void)self;
  Py_INCREF(args);
  return args;
}
static PyObject* Keywords(PyObject* self, PyObject* args, PyObject* kwargs) {
  (void)self;
  return Py_BuildValue("(OO)", args, kwargs == NULL ? Py_None : kwargs);
}
static PyObject* Tuple(PyObject* const* args, Py_ssize_t count) {
  PyObject* tuple = PyTuple_New(count);
  for (Py_ssize_t i = 0; tuple != NULL && i < count; ++i) {
    Py_INCREF(args[i]);
    PyTuple_SET_ITEM(tuple, i, args[i]);
  }
  return tuple;
}
static PyObject* Fast(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  (void)self;
  return Tuple(args, count);
}
static PyObject* FastKeywords(PyObject* self, PyObject* const* args, Py_ssize_t count,
                              PyObject* names) {
  (void)self;
  const Py_ssize_t extra = names == NULL ? 0 : PyTuple_GET_SIZE(names);
  return Py_BuildValue("(NO)", Tuple(args, count + extra), names == NULL ? Py_None : names);
}
static PyObject* Method(PyObject* self, PyTypeObject* home, PyObject* const* args, Py_ssize_t count,
                        PyObject* names) {
  const Py_ssize_t extra = names == NULL ? 0 : PyTuple_GET_SIZE(names);
  return Py_BuildValue("(OONO)", self, home, Tuple(args, count + extra),
                       names == NULL ? Py_None : names);
}
static PyObject* Raise(PyObject* self, PyObject* type) {
  (void)self;
  PyErr_SetString(type, "raised in C");
  return NULL;
}
static PyObject* CallBack(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  (void)self;
  return PyObject_Vectorcall(args[0], args + 1, count - 1, NULL);
}
static PyObject* Wait(PyObject* self, PyObject* seconds) {
  (void)self;
  const double wanted = PyFloat_AsDouble(seconds);
  Py_BEGIN_ALLOW_THREADS usleep((useconds_t)(wanted * 1e6));
  Py_END_ALLOW_THREADS Py_RETURN_NONE;
}
/* Calls `callable` on a thread that Python does not know, and joins it. */
static void* ForeignThread(void* callable) {
  const PyGILState_STATE state = PyGILState_Ensure();
  PyObject* result = PyObject_CallObject((PyObject*)callable, NULL);
  if (result == NULL) PyErr_Print();
  Py_XDECREF(result);
  PyGILState_Release(state);
  return NULL;
}
static PyObject* OnForeignThread(PyObject* self, PyObject* callable) {
  pthread_t thread;
  (void)self;
  if (pthread_create(&thread, NULL, ForeignThread, callable) != 0) return PyErr_NoMemory();
  Py_BEGIN_ALLOW_THREADS pthread_join(thread, NULL);
  Py_END_ALLOW_THREADS Py_RETURN_NONE;
}
static PyObject* TableBytes(PyObject* self, PyObject* nothing);

/* ---- A type ---------------------------------------------------------------------------------- */

typedef struct {
  PyObject_HEAD long left;
  vectorcallfunc vectorcall;
  PyObject* weak;
} Thing;

static PyObject* ThingVectorcall(PyObject* self, PyObject* const* args, size_t count,
                                 PyObject* names) {
  (void)self;
  (void)names;
  return Tuple(args, PyVectorcall_NARGS(count));
}
static PyObject* ThingNew(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  Thing* thing = (Thing*)type->tp_alloc(type, 0);
  (void)args;
  (void)kwargs;
  if (thing != NULL) {
    thing->left = 3;
    thing->vectorcall = ThingVectorcall;
  }
  return (PyObject*)thing;
}
static void ThingFree(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  if (((Thing*)self)->weak != NULL) PyObject_ClearWeakRefs(self);
  type->tp_free(self);
  Py_DECREF(type);
}
static PyObject* ThingAdd(PyObject* a, PyObject* b) {
  (void)a;
  if (!PyLong_Check(b)) Py_RETURN_NOTIMPLEMENTED;
  return Py_BuildValue("(sO)", "add", b);
}
static PyObject* ThingPower(PyObject* a, PyObject* b, PyObject* c) {
  (void)a;
  return Py_BuildValue("(sOO)", "power", b, c);
}
static int ThingBool(PyObject* self) { return ((Thing*)self)->left > 0; }
static Py_ssize_t ThingLength(PyObject* self) {
  (void)self;
  return (Py_ssize_t)1 << 40;
}
static PyObject* ThingItem(PyObject* self, PyObject* key) {
  (void)self;
  if (key == Py_None) PyErr_SetNone(PyExc_KeyError);
  return key == Py_None ? NULL : Py_BuildValue("(sO)", "item", key);
}
static int ThingSetItem(PyObject* self, PyObject* key, PyObject* value) {
  (void)self;
  if (value == NULL) PyErr_SetObject(PyExc_KeyError, key);
  return value == NULL ? -1 : 0;
}
static int ThingContains(PyObject* self, PyObject* value) {
  (void)self;
  return value == Py_True;
}
static PyObject* ThingCompare(PyObject* a, PyObject* b, int op) {
  (void)a;
  (void)b;
  return PyLong_FromLong(op);
}
static PyObject* ThingNext(PyObject* self) {
  return ((Thing*)self)->left-- > 0 ? PyLong_FromLong(((Thing*)self)->left) : NULL;
}
static PyObject* Reduce(PyObject* self, PyObject* nothing) {
  (void)nothing;
  return Py_BuildValue("(O())", (PyObject*)Py_TYPE(self));
}

#define AS_METHOD(f) ((PyCFunction)(void (*)(void))(f))
static PyMethodDef g_thing_methods[] = {
    {"noargs", NoArgs, METH_NOARGS, "noargs($self)\n--\n\nThe documented one."},
    {"one", One, METH_O, NULL},
    {"varargs", VarArgs, METH_VARARGS, NULL},
    {"keywords", AS_METHOD(Keywords), METH_VARARGS | METH_KEYWORDS, NULL},
    {"fast", AS_METHOD(Fast), METH_FASTCALL, NULL},
    {"fast_keywords", AS_METHOD(FastKeywords), METH_FASTCALL | METH_KEYWORDS, NULL},
    {"method", AS_METHOD(Method), METH_METHOD | METH_FASTCALL | METH_KEYWORDS, NULL},
    {"of_class", One, METH_O | METH_CLASS, NULL},
    {"of_none", AS_METHOD(Fast), METH_FASTCALL | METH_STATIC, NULL},
    {"raises", Raise, METH_O, NULL},
    {"__reduce__", Reduce, METH_NOARGS, NULL},
    {"__init_subclass__", AS_METHOD(Keywords), METH_VARARGS | METH_KEYWORDS | METH_CLASS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyMemberDef g_thing_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Thing, vectorcall), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Thing, weak), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};
static PyType_Slot g_thing_slots[] = {
    {Py_tp_new, ThingNew},
    {Py_tp_dealloc, ThingFree},
    {Py_tp_methods, g_thing_methods},
    {Py_tp_members, g_thing_members},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_richcompare, ThingCompare},
    {Py_tp_hash, PyObject_HashNotImplemented},
    {Py_tp_iter, PyObject_SelfIter},
    {Py_tp_iternext, ThingNext},
    {Py_nb_add, ThingAdd},
    {Py_nb_power, ThingPower},
    {Py_nb_bool, ThingBool},
    {Py_mp_length, ThingLength},
    {Py_mp_subscript, ThingItem},
    {Py_mp_ass_subscript, ThingSetItem},
    {Py_sq_contains, ThingContains},
    {0, NULL},
};
static PyType_Spec g_thing_spec = {
    "_conventions.Thing", sizeof(Thing), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_VECTORCALL, g_thing_slots};

/* A table that the loader makes read-only. */
static const PyMethodDef g_sealed[] = {{"sealed", NoArgs, METH_NOARGS, NULL}};

static PyMethodDef g_methods[] = {
    {"noargs", NoArgs, METH_NOARGS, "noargs($module)\n--\n\nThe documented one."},
    {"one", One, METH_O, NULL},
    {"varargs", VarArgs, METH_VARARGS, NULL},
    {"keywords", AS_METHOD(Keywords), METH_VARARGS | METH_KEYWORDS, NULL},
    {"fast", AS_METHOD(Fast), METH_FASTCALL, NULL},
    {"fast_keywords", AS_METHOD(FastKeywords), METH_FASTCALL | METH_KEYWORDS, NULL},
    {"raises", Raise, METH_O, NULL},
    {"call_back", AS_METHOD(CallBack), METH_FASTCALL, NULL},
    {"wait", Wait, METH_O, NULL},
    {"on_foreign_thread", OnForeignThread, METH_O, NULL},
    {"table_bytes", TableBytes, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyObject* TableBytes(PyObject* self, PyObject* nothing) {
  (void)self;
  (void)nothing;
  return Py_BuildValue("(y#y#)", (char*)g_methods, (Py_ssize_t)sizeof g_methods,
                       (char*)g_thing_methods, (Py_ssize_t)sizeof g_thing_methods);
}

static struct PyModuleDef g_module = {
    PyModuleDef_HEAD_INIT, "_conventions", NULL, -1, g_methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__conventions(void);
PyMODINIT_FUNC PyInit__conventions(void) {
  PyObject* module = PyModule_Create(&g_module);
  PyObject* type = PyType_FromSpec(&g_thing_spec);
  PyObject* sealed = PyCFunction_New((PyMethodDef*)g_sealed, NULL);
  if (module == NULL || type == NULL || sealed == NULL) return NULL;
  PyObject* alias = PyObject_GetAttrString(module, "one");
  if (alias == NULL || PyModule_AddObject(module, "Thing", type) < 0 ||
      PyModule_AddObject(module, "sealed", sealed) < 0 ||
      PyModule_AddObject(module, "one_again", alias) < 0) {
    return NULL;
  }
  return module;
}
