/* Records the functions that a shared library exports, in programs that are left as they are: a
 * library of your own, loaded before it (LD_PRELOAD), stands between.
 *
 *   #include <crosscut/interpose.h>
 *   CROSSCUT_INTERPOSE(CROSSCUT_SIMULATOR, int, sim_step, (struct sim * sim, int action),
 *                      (sim, action))
 *
 *   cc -shared -fPIC sim_spans.c -o sim_spans.so $(pkg-config --cflags --libs crosscut) -ldl
 *   LD_PRELOAD=$PWD/sim_spans.so crosscut record -- ./program
 *
 * Each call is a span of the function's name from its begin to its end, on the calling thread;
 * an exception or the end of the thread (pthread_exit) inside it ends it, where the file is
 * compiled with -fexceptions, as C++ is. Without a session a call costs two loads and three
 * branches.
 *
 * Met are calls through the dynamic linker: not those that a library makes of its own functions
 * internally, nor those of a library that the program opens itself (dlopen) and asks (dlsym). Not
 * for the functions of the C library, which the recorder uses, too. Needs _GNU_SOURCE in C.
 */
#ifndef CROSSCUT_INTERPOSE_H_
#define CROSSCUT_INTERPOSE_H_

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "crosscut/crosscut.h"

#ifdef __cplusplus
#define CROSSCUT_EXTERN_C_ extern "C"
#else
#define CROSSCUT_EXTERN_C_ extern
#endif

/* What one interposed function knows. All zero at first; filled by any thread, always alike. */
struct crosscut_interposed_ {
  void* next;    /* the function that is stood before */
  uint32_t span; /* the name of its spans */
};

/* Where `symbol` goes on. Without any, the program ends as one with an undefined symbol does: with
 * status 127 and a line on stderr. */
static inline void* crosscut_interposed_next_(struct crosscut_interposed_* function,
                                              const char* symbol, enum crosscut_layer layer,
                                              const char* text) {
  void* next = __atomic_load_n(&function->next, __ATOMIC_ACQUIRE);
  if (__builtin_expect(next != NULL, 1)) return next;
  next = dlsym(RTLD_NEXT, symbol);
  if (next == NULL) {
    fprintf(stderr, "crosscut: %s: interposed, but no library has it\n", symbol);
    _exit(127);
  }
  __atomic_store_n(&function->span, crosscut_intern(text, SIZE_MAX, CROSSCUT_SPAN, layer, 0, 0),
                   __ATOMIC_RELAXED);
  __atomic_store_n(&function->next, next, __ATOMIC_RELEASE);
  return next;
}

static inline void crosscut_interposed_end_(const uint32_t* name) {
  (void)name;
  crosscut_end_inline();
}

/* Interposes `result name parameters`; `arguments` are those parameters' names, in parentheses. */
#define CROSSCUT_INTERPOSE(layer, result, name, parameters, arguments) \
  CROSSCUT_INTERPOSE_SYMBOL(layer, result, name, #name, parameters, arguments)

/* The same for a symbol that is no C name, such as a C++ member function (whose first parameter is
 * the object); `name` is what it is called here and in the report. */
#define CROSSCUT_INTERPOSE_SYMBOL(layer, result, name, symbol, parameters, arguments)              \
  CROSSCUT_EXTERN_C_ CROSSCUT_API result name parameters __asm__(symbol);                          \
  result name parameters {                                                                         \
    typedef result(*crosscut_function_) parameters;                                                \
    static struct crosscut_interposed_ crosscut_interposed;                                        \
    crosscut_function_ crosscut_next =                                                             \
        (crosscut_function_)crosscut_interposed_next_(&crosscut_interposed, symbol, layer, #name); \
    __attribute__((cleanup(crosscut_interposed_end_))) const uint32_t crosscut_span =              \
        __atomic_load_n(&crosscut_interposed.span, __ATOMIC_RELAXED);                              \
    crosscut_begin_inline(crosscut_span);                                                          \
    return crosscut_next arguments;                                                                \
  }                                                                                                \
  struct crosscut_interposed_ /* so that a semicolon may follow */

#endif /* CROSSCUT_INTERPOSE_H_ */
