/* Gets Crosscut into processes that PYTHONPATH does not reach. Loaded by LD_PRELOAD into every
 * dynamically linked program below `crosscut record`, so it links nothing but libc, and does
 * nothing where it is not needed:
 *  - a Python that was told to ignore its environment (-I, -E, -S) gets an audit hook before the
 *    interpreter starts, which brings in the package once the interpreter is ready;
 *  - the command of `crosscut record` itself, where it is no Python, gets a session, so that the
 *    process appears in the report.
 *  - a process that leaves by _exit (os._exit, a child of multiprocessing) tells its session;
 *  - a program that a process starts is started without this library where it cannot be loaded
 *    before it, or has nothing to do in it (children.h);
 *  - a program that shuts all its threads in a filter of system calls has none of ours in it
 *    (sandbox.h).
 * Prints nothing, changes no variable but CROSSCUT_PARENT. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "children.h"
#include "obstacle.h"
#include "sandbox.h"

/* ---- Python ------------------------------------------------------------------------------------
 * Only functions whose signatures have not changed from 3.8 on, found by name. */
typedef struct _object PyObject;
typedef int (*AuditHook)(const char* event, PyObject* arguments, void* data);

static struct {
  int (*add_audit_hook)(AuditHook hook, void* data);
  int (*is_initialized)(void);
  PyObject* (*dict_new)(void);
  PyObject* (*eval_get_builtins)(void);
  int (*dict_set_item_string)(PyObject*, const char*, PyObject*);
  PyObject* (*unicode_decode_fs_default)(const char*);
  PyObject* (*run_string)(const char*, int, PyObject*, PyObject*);
  void (*dec_ref)(PyObject*);
  void (*err_fetch)(PyObject**, PyObject**, PyObject**);
  void (*err_restore)(PyObject*, PyObject*, PyObject*);
  void (*err_clear)(void);
} python;

static int brought_in;
static int embedded; /* the program is no `python`: its main never says that it is ready */

static const int kFileInput = 257; /* Py_file_input */

/* Runs in a namespace of its own; what it raises is swallowed. */
static const char kBringIn[] =
    "try:\n"
    "    import sys\n"
    "    if sys.version_info >= (3, 10) and 'crosscut._inject' not in sys.modules:\n"
    "        import time\n"
    "        begun = time.monotonic_ns()\n"
    "        import _frozen_importlib as bootstrap, _frozen_importlib_external as external\n"
    "        if 'crosscut' not in sys.modules:\n"
    "            spec = external.spec_from_file_location('crosscut', package + '/__init__.py',\n"
    "                                                    submodule_search_locations=[package])\n"
    "            module = bootstrap.module_from_spec(spec)\n"
    "            sys.modules['crosscut'] = module\n"
    "            try:\n"
    "                spec.loader.exec_module(module)\n"
    "            except BaseException:\n"
    "                del sys.modules['crosscut']\n"
    "                raise\n"
    "        from crosscut import _inject\n"
    "        _inject.install(begun)\n"
    "except BaseException:\n"
    "    pass\n";

/* The package's folder, in whose lib this library stands; "" where nobody knows. */
static char* FindPackage(char folder[PATH_MAX]) {
  Dl_info info;
  *folder = '\0';
  if (dladdr((void*)&FindPackage, &info) == 0 || info.dli_fname == NULL) return folder;
  if (strlen(info.dli_fname) >= PATH_MAX) return folder;
  strcpy(folder, info.dli_fname);
  for (int up = 0; up < 2; ++up) {
    char* slash = strrchr(folder, '/');
    *(slash == NULL ? folder : slash) = '\0';
  }
  return folder;
}

static void BringIn(void) {
  char folder[PATH_MAX];
  PyObject *type, *value, *trace;
  python.err_fetch(&type, &value, &trace);
  PyObject* names = python.dict_new();
  PyObject* package = python.unicode_decode_fs_default(FindPackage(folder));
  if (names != NULL && package != NULL) {
    python.dict_set_item_string(names, "__builtins__", python.eval_get_builtins());
    python.dict_set_item_string(names, "package", package);
    PyObject* result = python.run_string(kBringIn, kFileInput, names, names);
    if (result != NULL) python.dec_ref(result);
  }
  if (package != NULL) python.dec_ref(package);
  if (names != NULL) python.dec_ref(names);
  python.err_clear();
  python.err_restore(type, value, trace);
}

/* Called with the GIL, for every audit event: the usual answer must be quick. */
static int OnAudit(const char* event, PyObject* arguments, void* data) {
  (void)arguments;
  (void)data;
  if (brought_in) return 0;
  /* "cpython.run_command", "cpython.run_file" and so on: main is about to run the program. */
  const int ready = strncmp(event, "cpython.run_", 12) == 0 ||
                    (embedded && python.is_initialized() &&
                     (strcmp(event, "exec") == 0 || strcmp(event, "compile") == 0));
  if (ready) {
    brought_in = 1;
    BringIn();
  }
  return 0;
}

/* Stores the function `name` of `library` in the pointer at `to`. */
static int Find(void* library, const char* name, void* to) {
  void* symbol = dlsym(library, name);
  memcpy(to, &symbol, sizeof symbol);
  return symbol != NULL;
}

static int FindPython(void) {
  struct {
    const char* name;
    void* to;
  } const wanted[] = {
      {"PySys_AddAuditHook", &python.add_audit_hook},
      {"Py_IsInitialized", &python.is_initialized},
      {"PyDict_New", &python.dict_new},
      {"PyEval_GetBuiltins", &python.eval_get_builtins},
      {"PyDict_SetItemString", &python.dict_set_item_string},
      {"PyUnicode_DecodeFSDefault", &python.unicode_decode_fs_default},
      {"PyRun_String", &python.run_string},
      {"Py_DecRef", &python.dec_ref},
      {"PyErr_Fetch", &python.err_fetch},
      {"PyErr_Restore", &python.err_restore},
      {"PyErr_Clear", &python.err_clear},
  };
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; ++i) {
    if (!Find(RTLD_DEFAULT, wanted[i].name, wanted[i].to)) return 0;
  }
  return 1;
}

static const char* BaseName(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash == NULL ? path : slash + 1;
}

/* Whether the options of a `python` command line keep sitecustomize from being imported. */
static int IgnoresEnvironment(int argc, char** argv) {
  for (int i = 1; i < argc && argv[i][0] == '-' && argv[i][1] != '\0'; ++i) {
    if (argv[i][1] == '-') { /* --version, --check-hash-based-pycs WORD */
      if (strcmp(argv[i], "--check-hash-based-pycs") == 0) ++i;
      continue;
    }
    for (const char* option = argv[i] + 1; *option != '\0'; ++option) {
      if (strchr("IES", *option) != NULL) return 1;
      if (*option == 'c' || *option == 'm') return 0;
      if (*option == 'W' || *option == 'X') { /* their word is the rest, or the next one */
        if (option[1] == '\0') ++i;
        break;
      }
    }
  }
  return 0;
}

/* ---- Programs that are no Python --------------------------------------------------------------*/

/* Programs that only start another one: the command is what they start. Some of them refuse to
 * work in a process with a second thread. */
static const char* const kLaunchers[] = {
    "bwrap",   "chroot",  "chrt",    "env",     "ionice",  "nice",   "nohup",  "nsenter",
    "numactl", "prlimit", "runuser", "setarch", "setpriv", "setsid", "stdbuf", "su",
    "sudo",    "taskset", "time",    "timeout", "unshare", "xargs"};

static long long MonotonicNs(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Whether `record --stop-after-seconds` has ended the recording already. */
static int TooLate(void) {
  const char* end = getenv("CROSSCUT_STOP_AT");
  return end != NULL && MonotonicNs() >= strtoll(end, NULL, 10);
}

/* Opens a session for the command itself. Its children (a shell's tools) are left alone: a thread
 * and a ring for each of them would cost more than they tell. */
static void StartSession(const char* program) {
  const char* parent = getenv("CROSSCUT_PARENT");
  if (parent != NULL && *parent != '\0') return;
  for (size_t i = 0; i < sizeof kLaunchers / sizeof *kLaunchers; ++i) {
    if (strcmp(program, kLaunchers[i]) == 0) return;
  }
  const enum Obstacle obstacle = ObstacleOfThisProgram();
  if (obstacle != kNone) {
    TellObstacle(obstacle, program, "process");
    return;
  }
  char begun[32];
  snprintf(begun, sizeof begun, "%lld", MonotonicNs());
  char path[PATH_MAX + 32];
  strcat(FindPackage(path), "/lib/libcrosscut.so.1");
  const char* dormant = getenv("CROSSCUT_DORMANT");
  int (*start)(const void*);
  int (*arm)(const void*);
  const char* (*key)(void);
  void (*meta)(const char*, const char*);
  void* library = RTLD_DEFAULT;
  if (dlsym(library, "crosscut_start") == NULL) {
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == NULL) return;
  }
  if (!Find(library, "crosscut_start", &start) || !Find(library, "crosscut_arm", &arm) ||
      !Find(library, "crosscut_process_key", &key) || !Find(library, "crosscut_meta", &meta)) {
    return;
  }
  if (dormant != NULL) arm(NULL);
  if (dormant == NULL || (strcmp(dormant, "0") == 0 && !TooLate())) start(NULL);
  if (*key() == '\0') return;
  if (dormant == NULL) meta("brought_in_ns", begun);
  setenv("CROSSCUT_PARENT", key(), 1);
}

/* ---- _exit -------------------------------------------------------------------------------------
 * libcrosscut stores its function here when it is loaded; see src/runtime/api.cc. */
__attribute__((visibility("default"))) void (*crosscut_preload_at_exit)(void);

__attribute__((visibility("default"), noreturn)) void _exit(int status) {
  void (*at_exit)(void) = crosscut_preload_at_exit;
  if (at_exit != NULL) at_exit();
  for (;;) syscall(SYS_exit_group, status);
}
__attribute__((visibility("default"), noreturn)) void _Exit(int status) { _exit(status); }

/* What Python is, and what is linked to it, has; the loader looks for it, and does not mind. */
extern __attribute__((weak, visibility("default"))) void Py_Initialize(void);

__attribute__((constructor)) static void Load(int argc, char** argv, char** environment) {
  (void)environment;
  const char* run = getenv("CROSSCUT_RUN");
  Dl_info info;
  if (run == NULL || *run == '\0' || argc < 1) return;
  if (dladdr((void*)&Load, &info) == 0 || info.dli_fname == NULL) return;
  WatchChildren(info.dli_fname, run);
  WatchSandboxes();
  if (Py_Initialize == NULL) {
    StartSession(BaseName(argv[0]));
    return;
  }
  embedded = strncmp(BaseName(argv[0]), "python", 6) != 0;
  if ((embedded || IgnoresEnvironment(argc, argv)) && FindPython()) {
    python.add_audit_hook(OnAudit, NULL);
  }
}
