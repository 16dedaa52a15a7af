#include "plugins/pycalls/search/known.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string>
#include <string_view>

namespace crosscut::pycalls {
namespace {

enum What {
  kFunctions,  // of the module at `path`, and callables with a vectorcall pointer of their own
  kMethods,    // of the type at `path`; "x()" in a path: the type of what calling x gives
  kSlots,
};

struct Rule {
  const char* module;  // when this has been imported
  What what;
  const char* path;
  const char* prefix;
  crosscut_layer layer;
  const char* names;  // separated by spaces; null: all. A leading "-": all but these
  unsigned flags = 0;
  decltype(Extra::choose) choose = nullptr;
  bool callbacks = false;  // Python that it calls is told apart: dear, so not for hot functions
};

// Reading from a pipe, a socket or a terminal waits. -1 is nobody's file.
bool ReadsWait(long file) {
  struct stat status;
  if (file < 0 || file > INT_MAX) return false;
  const int error = errno;
  const bool waits =
      fstat(static_cast<int>(file), &status) == 0 &&
      (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode) || S_ISCHR(status.st_mode));
  errno = error;
  return waits;
}

uint32_t Waiting(const char* name) {
  return crosscut_intern(name, SIZE_MAX, CROSSCUT_SPAN, CROSSCUT_IDLE, 0, BoundaryProbe());
}

// os.read's arguments come in an array from 3.10 to 3.15.
uint32_t ChooseRead(uint32_t name, const uint64_t (&arguments)[3]) {
  static const uint32_t waiting = Waiting("os.read");
  auto* const* values = reinterpret_cast<PyObject* const*>(arguments[1]);
  if (arguments[2] == 0 || !PyLong_CheckExact(values[0])) return name;
  int overflow = 0;
  const long file = PyLong_AsLongAndOverflow(values[0], &overflow);
  return overflow == 0 && ReadsWait(file) ? waiting : name;
}

constexpr char kFileRead[] = "io.FileIO.read";
constexpr char kFileReadAll[] = "io.FileIO.readall";
constexpr char kFileReadInto[] = "io.FileIO.readinto";

// Whatever reads lines or text ends in a method of FileIO. A subclass may have a Python fileno.
template <const char* kName>
uint32_t ChooseFileRead(uint32_t name, const uint64_t (&arguments)[3]) {
  static const uint32_t waiting = Waiting(kName);
  auto* file = reinterpret_cast<PyObject*>(arguments[0]);
  if (std::strcmp(Py_TYPE(file)->tp_name, "_io.FileIO") != 0) return name;
  const int descriptor = PyObject_AsFileDescriptor(file);
  if (descriptor < 0) PyErr_Clear();  // closed
  return ReadsWait(descriptor) ? waiting : name;
}

// Those that communicate. Upper case: of buffers; lower case: of pickled objects.
constexpr char kMpiCalls[] =
    "Barrier Bcast Gather Gatherv Scatter Scatterv Allgather Allgatherv Alltoall Alltoallv "
    "Alltoallw Reduce Allreduce Reduce_scatter Reduce_scatter_block Scan Exscan barrier bcast "
    "gather scatter allgather alltoall reduce allreduce scan exscan Send Recv Sendrecv Ssend Rsend "
    "Bsend Isend Irecv Probe Mprobe send recv sendrecv ssend bsend isend irecv probe mprobe "
    "Ibarrier Ibcast Iallreduce Iallgather Ireduce Split Dup Create";

constexpr crosscut_layer kIdle = CROSSCUT_IDLE;
constexpr crosscut_layer kNative = CROSSCUT_NATIVE;
constexpr crosscut_layer kFramework = CROSSCUT_FRAMEWORK;
constexpr const char* kUmath = "numpy._core._multiarray_umath";
constexpr const char* kUmath1 = "numpy.core._multiarray_umath";  // NumPy 1
constexpr const char* kTfe = "tensorflow.python._pywrap_tfe";
constexpr const char* kTfSession = "tensorflow.python.client._pywrap_tf_session";
constexpr const char* kSocketWaits =
    "_accept connect connect_ex recv recv_into recvfrom "
    "recvfrom_into recvmsg recvmsg_into";

// Functions that mostly call back into Python are not here (torch's Function.apply, functools,
// array functions): the Python below them would be taken for native time.
constexpr Rule kRules[] = {
    {"torch", kMethods, "torch._C.TensorBase", "torch.Tensor", kFramework, nullptr},
    {"torch", kSlots, "torch._C.TensorBase", "torch.Tensor", kFramework,
     "mp_subscript mp_ass_subscript"},
    {"torch", kMethods, "torch._C._VariableFunctionsClass", "torch", kFramework, nullptr},
    {"torch", kMethods, "torch._C._EngineBase", "torch.autograd.engine", kFramework, "run_backward",
     CROSSCUT_WAITS},
    {"torch", kMethods, "torch._C._ImperativeEngine", "torch.autograd.engine", kFramework,
     "run_backward", CROSSCUT_WAITS},
    {"torch", kMethods, "torch._C.StorageBase", "torch.Storage", kFramework, nullptr},
    {"torch", kMethods, "torch._C.ScriptFunction", "torch.jit.ScriptFunction", kFramework,
     "__call__"},
    {"torch", kMethods, "torch._C.ScriptMethod", "torch.jit.ScriptMethod", kFramework, "__call__"},
    {"torch", kFunctions, "torch._C._nn", "torch.nn.functional", kFramework, nullptr},
    {"torch", kFunctions, "torch._C._linalg", "torch.linalg", kFramework, nullptr},
    {"torch", kFunctions, "torch._C._fft", "torch.fft", kFramework, nullptr},
    {"torch", kFunctions, "torch._C._special", "torch.special", kFramework, nullptr},
    {"torch", kFunctions, "torch._C._sparse", "torch.sparse", kFramework, nullptr},
    {"torch", kFunctions, "torch._C._nested", "torch.nested", kFramework, nullptr},
    {"torch", kFunctions, "torch._C", "torch._C", kFramework,
     "_group_tensors_by_device_and_dtype _dispatch_call_boxed _from_dlpack _to_dlpack "
     "_to_dlpack_versioned _jit_to_backend wait"},
    {"torch", kFunctions, "torch._C", "torch._C", CROSSCUT_RUNTIME,
     "_accelerator_synchronizeDevice _cuda_synchronize _mps_deviceSynchronize "
     "_mtia_deviceSynchronize _xpu_synchronize _cuda_emptyCache"},
    {"torch", kMethods, "torch._C._CudaStreamBase", "torch.cuda.Stream", CROSSCUT_RUNTIME,
     "synchronize query"},
    {"torch", kMethods, "torch._C._CudaEventBase", "torch.cuda.Event", CROSSCUT_RUNTIME,
     "synchronize query record wait"},
    {"torch.distributed", kMethods, "torch._C._distributed_c10d.ProcessGroup",
     "torch.distributed.ProcessGroup", CROSSCUT_COMM,
     "-__init__ name size rank group_name group_desc bound_device_id"},
    {"torch.distributed", kMethods, "torch._C._distributed_c10d.Work", "torch.distributed.Work",
     CROSSCUT_COMM, "wait synchronize"},
    {"torch.distributed", kMethods, "torch._C._distributed_c10d.Store", "torch.distributed.Store",
     CROSSCUT_COMM, "get set add wait"},

    {kUmath, kMethods, "numpy._core._multiarray_umath.ndarray", "numpy.ndarray", kNative, nullptr},
    {kUmath, kSlots, "numpy._core._multiarray_umath.ndarray", "numpy.ndarray", kNative,
     "mp_subscript mp_ass_subscript sq_contains"},
    {kUmath, kMethods, "numpy._core._multiarray_umath.generic", "numpy.generic", kNative, nullptr},
    {kUmath, kMethods, "numpy._core._multiarray_umath.dtype", "numpy.dtype", kNative, nullptr},
    {kUmath, kMethods, "numpy._core._multiarray_umath.ufunc", "numpy.ufunc", kNative,
     "reduce accumulate reduceat outer at resolve_dtypes"},
    {kUmath, kFunctions, kUmath, "numpy", kNative,
     "-implement_array_function add_docstring _add_newdoc_ufunc fromiter frompyfunc "
     "_get_implementing_args get_legacy_print_mode set_typeDict set_datetimeparse_function"},
    {kUmath, kFunctions, kUmath, "numpy", kNative, "fromiter", 0, nullptr, true},
    {kUmath1, kMethods, "numpy.core._multiarray_umath.ndarray", "numpy.ndarray", kNative, nullptr},
    {kUmath1, kSlots, "numpy.core._multiarray_umath.ndarray", "numpy.ndarray", kNative,
     "mp_subscript mp_ass_subscript sq_contains"},
    {kUmath1, kMethods, "numpy.core._multiarray_umath.generic", "numpy.generic", kNative, nullptr},
    {kUmath1, kMethods, "numpy.core._multiarray_umath.dtype", "numpy.dtype", kNative, nullptr},
    {kUmath1, kMethods, "numpy.core._multiarray_umath.ufunc", "numpy.ufunc", kNative,
     "reduce accumulate reduceat outer at"},
    {kUmath1, kFunctions, kUmath1, "numpy", kNative,
     "-implement_array_function add_docstring _add_newdoc_ufunc fromiter frompyfunc "
     "_get_implementing_args set_typeDict set_string_function set_numeric_ops"},
    {kUmath1, kFunctions, kUmath1, "numpy", kNative, "fromiter", 0, nullptr, true},
    {"numpy.linalg._umath_linalg", kFunctions, "numpy.linalg._umath_linalg", "numpy.linalg",
     kNative, nullptr},
    {"numpy.fft._pocketfft_umath", kFunctions, "numpy.fft._pocketfft_umath", "numpy.fft", kNative,
     nullptr},
    {"numpy.random.mtrand", kMethods, "numpy.random.mtrand.RandomState", "numpy.random", kNative,
     "-__init__"},
    {"numpy.random._generator", kMethods, "numpy.random._generator.Generator",
     "numpy.random.Generator", kNative, "-__init__"},

    // Gradients (TFE_Py_TapeGradient) call back into Python for every operator: not here.
    {kTfe, kFunctions, kTfe, "tensorflow", kFramework,
     "TFE_Py_FastPathExecute TFE_Py_Execute TFE_Py_ExecuteCancelable TFE_Execute "
     "TFE_ContextAddFunction TFE_ContextAddFunctionDef TFE_ContextAddFunctionFromPyFunction "
     "TFE_NewContext TFE_DeleteContext TFE_ContextSyncExecutors TFE_ExecutorWaitForAllPendingNodes "
     "TFE_ToDlpackCapsule TFE_FromDlpackCapsule"},
    {"tensorflow.python.framework.ops", kMethods, "tensorflow.python.framework.ops.EagerTensor",
     "tensorflow.Tensor", kFramework, "_numpy_internal _copy_to_device _summarize_value"},
    {kTfSession, kFunctions, kTfSession, "tensorflow.Session", kFramework,
     "TF_SessionRun_wrapper TF_SessionRunCallable TF_SessionMakeCallable TF_SessionPRun_wrapper "
     "ExtendSession TF_FinishOperation TF_GraphImportGraphDefWithResults "
     "TF_GraphToFunction_wrapper "
     "TF_TryEvaluateConstant_wrapper"},

    {"jaxlib._jax", kFunctions, "jaxlib._jax", "jax", kFramework,
     "batched_device_put batched_block_until_ready batched_copy_array_to_devices_with_sharding "
     "reorder_shards hlo_module_cost_analysis get_tfrt_cpu_client get_c_api_client "
     "buffer_to_dlpack_managed_tensor dlpack_managed_tensor_to_buffer"},
    {"jaxlib._jax", kMethods, "jaxlib._jax.ArrayImpl", "jax.Array", kFramework,
     "block_until_ready __array__ copy_to_host_async _copy_single_device_array_to_host_async "
     "_single_device_array_to_np_array_did_copy delete"},
    {"jaxlib._jax", kMethods, "jaxlib._jax.Client", "jax.Client", kFramework,
     "compile compile_and_load buffer_from_pyval deserialize_executable"},
    {"jaxlib._jax", kMethods, "jaxlib._jax.LoadedExecutable", "jax.LoadedExecutable", kFramework,
     "execute_sharded"},

    {"mpi4py.MPI", kMethods, "mpi4py.MPI.Comm", "mpi4py.Comm", CROSSCUT_COMM, kMpiCalls},
    {"mpi4py.MPI", kMethods, "mpi4py.MPI.Intracomm", "mpi4py.Comm", CROSSCUT_COMM, kMpiCalls},
    {"mpi4py.MPI", kMethods, "mpi4py.MPI.Request", "mpi4py.Request", CROSSCUT_COMM,
     "Wait Waitall Waitany Waitsome wait waitall waitany waitsome"},
    {"mpi4py.MPI", kFunctions, "mpi4py.MPI", "mpi4py", CROSSCUT_COMM, "Init Init_thread Finalize"},
    // What adapters/ray.py does not see: calls of Ray's control service, and the threads of a
    // driver that wait for its messages.
    {"ray._raylet", kMethods, "ray._raylet.GlobalStateAccessor", "ray.GlobalStateAccessor",
     CROSSCUT_COMM, "-__init__"},
    {"ray._raylet", kMethods, "ray._raylet.CoreWorker", "ray.CoreWorker", CROSSCUT_COMM,
     "cancel_task create_placement_group get_named_actor_handle kill_actor remove_placement_group "
     "wait_placement_group_ready"},
    {"ray._raylet", kMethods, "ray._raylet.GcsErrorSubscriber", "ray.GcsErrorSubscriber", kIdle,
     "poll"},
    {"ray._raylet", kMethods, "ray._raylet.GcsLogSubscriber", "ray.GcsLogSubscriber", kIdle,
     "poll"},

    {"gc", kFunctions, "gc", "gc", CROSSCUT_PYTHON, "collect"},
    {"time", kFunctions, "time", "time", kIdle, "sleep"},
    {"_thread", kMethods, "_thread.allocate_lock()", "threading.Lock", kIdle,
     "acquire acquire_lock __enter__"},
    {"_thread", kMethods, "_thread.RLock", "threading.RLock", kIdle,
     "acquire __enter__ _acquire_restore"},  // the last: a Condition's wait, once it is notified
    {"_thread", kMethods, "_thread._ThreadHandle", "threading.Thread", kIdle, "join",
     CROSSCUT_WAITS},
    {"_queue", kMethods, "_queue.SimpleQueue", "queue.SimpleQueue", kIdle, "get"},
    {"_multiprocessing", kMethods, "_multiprocessing.SemLock", "multiprocessing.SemLock", kIdle,
     "acquire __enter__"},
    {"_posixsubprocess", kFunctions, "_posixsubprocess", "subprocess", kNative, "fork_exec"},
    {"select", kFunctions, "select", "select", kIdle, "select"},
    {"select", kMethods, "select.poll()", "select.poll", kIdle, "poll"},
    {"select", kMethods, "select.epoll", "select.epoll", kIdle, "poll"},
    {"_signal", kFunctions, "_signal", "signal", kIdle, "pause sigwait sigwaitinfo sigtimedwait"},
    {"_socket", kMethods, "_socket.socket", "socket", kIdle, kSocketWaits},
    {"_socket", kMethods, "_socket.socket", "socket", kNative,
     "send sendall sendto sendmsg sendmsg_afalg"},
    {"_socket", kFunctions, "_socket", "socket", kIdle,
     "getaddrinfo gethostbyname gethostbyaddr getnameinfo"},
    {"_ssl", kMethods, "_ssl._SSLSocket", "ssl.SSLSocket", kIdle, "do_handshake read shutdown"},
    {"_ssl", kMethods, "_ssl._SSLSocket", "ssl.SSLSocket", kNative, "write"},
    {"fcntl", kFunctions, "fcntl", "fcntl", kIdle, "flock lockf"},
    {"posix", kFunctions, "posix", "os", kIdle, "system wait wait3 wait4 waitid waitpid"},
    {"posix", kFunctions, "posix", "os", kNative, "read", 0, ChooseRead},
    {"posix", kFunctions, "posix", "os", kNative,
     "write pread pwrite readv writev preadv pwritev fsync fdatasync sendfile "
     "copy_file_range splice posix_spawn posix_spawnp"},
    {"_io", kFunctions, "_io", "io", kNative, "open"},
    {"_io", kMethods, "_io.FileIO", "io.FileIO", kNative, "read", 0, ChooseFileRead<kFileRead>},
    {"_io", kMethods, "_io.FileIO", "io.FileIO", kNative, "readall", 0,
     ChooseFileRead<kFileReadAll>},
    {"_io", kMethods, "_io.FileIO", "io.FileIO", kNative, "readinto", 0,
     ChooseFileRead<kFileReadInto>},
    {"_io", kMethods, "_io.FileIO", "io.FileIO", kNative, "write"},
    {"_io", kMethods, "_io.BufferedReader", "io.BufferedReader", kNative,
     "read read1 readinto readinto1"},
    {"_io", kMethods, "_io.BufferedWriter", "io.BufferedWriter", kNative, "write flush"},
    {"_io", kMethods, "_io.BufferedRandom", "io.BufferedRandom", kNative,
     "read read1 readinto readinto1 write flush"},
};

// The object at a dotted path, below whatever prefix of it is an imported module.
Ref Resolve(std::string_view path) {
  Ref object;
  size_t end = path.size();
  for (; end != std::string_view::npos && end > 0; end = path.rfind('.', end - 1)) {
    object = LoadedModule(std::string(path.substr(0, end)).c_str());
    if (object) break;
  }
  while (object && end < path.size()) {
    const size_t next = std::min(path.find('.', end + 1), path.size());
    std::string part(path.substr(end + 1, next - end - 1));
    const bool call = part.ends_with("()");
    if (call) part.resize(part.size() - 2);
    object = Attribute(object.get(), part.c_str());
    if (call && object) {
      Ref instance(PyObject_CallNoArgs(object.get()));
      if (!instance) PyErr_Clear();
      object =
          Ref::Borrow(instance ? reinterpret_cast<PyObject*>(Py_TYPE(instance.get())) : nullptr);
    }
    end = next;
  }
  return object;
}

Ref Words(const char* words) {
  Ref text(PyUnicode_FromString(words));
  Ref list(text ? PyObject_CallMethod(text.get(), "split", nullptr) : nullptr);
  return Ref(list ? PySequence_Tuple(list.get()) : nullptr);
}

// For rules that name exceptions: the names of `owner` without them.
Ref AllBut(PyObject* owner, PyObject* without) {
  Ref dict = Attribute(owner, "__dict__");
  Ref names(dict ? PySet_New(nullptr) : nullptr);
  Ref keys(names ? PySequence_List(dict.get()) : nullptr);
  for (Py_ssize_t i = 0; keys && i < PyList_GET_SIZE(keys.get()); ++i) {
    PyObject* key = PyList_GET_ITEM(keys.get(), i);
    if (PySequence_Contains(without, key) == 0) PySet_Add(names.get(), key);
  }
  return names;
}

int ApplySlots(Finder& finder, PyTypeObject* type, PyObject* slots, const Choice& choice) {
  int count = 0;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(slots); ++i) {
    const int done = finder.PatchSlot(type, Text(PyTuple_GET_ITEM(slots, i)), choice);
    if (done < 0) return -1;
    count += done;
  }
  return count;
}

int Apply(Finder& finder, const Rule& rule, crosscut_layer layer) {
  const Ref owner = Resolve(rule.path);
  if (!owner || (rule.what != kFunctions && !PyType_Check(owner.get()))) return 0;
  const bool all_but = rule.names != nullptr && rule.names[0] == '-';
  Ref names = rule.names == nullptr ? Ref() : Words(rule.names + all_but);
  if (all_but) names = AllBut(owner.get(), names.get());
  if (PyErr_Occurred() != nullptr) return -1;
  Choice choice;
  choice.layer = layer != CROSSCUT_LAYER_NONE ? layer : rule.layer;
  choice.flags = rule.flags;
  choice.choose = rule.choose;
  choice.callbacks = rule.callbacks;
  choice.prefix = rule.prefix;
  auto* type = reinterpret_cast<PyTypeObject*>(owner.get());
  if (rule.what == kSlots) return ApplySlots(finder, type, names.get(), choice);
  choice.names = names.get();
  if (rule.what == kMethods) return finder.PatchType(type, choice);
  return PyModule_Check(owner.get()) ? finder.PatchModule(owner.get(), choice) : 0;
}

}  // namespace

PyObject* KnownModules() {
  Ref names(PySet_New(nullptr));
  for (const Rule& rule : kRules) {
    Ref name(PyUnicode_FromString(rule.module));
    if (!names || !name || PySet_Add(names.get(), name.get()) < 0) return nullptr;
  }
  return PySequence_Tuple(names.get());
}

int PatchKnown(const char* module, crosscut_layer layer) {
  Finder finder;
  int count = 0;
  for (const Rule& rule : kRules) {
    if (std::strcmp(rule.module, module) != 0) continue;
    const int done = Apply(finder, rule, layer);
    if (done < 0) return -1;
    count += done;
  }
  return count;
}

}  // namespace crosscut::pycalls
