#define _GNU_SOURCE
#include "status.h"

#include <dlfcn.h>
#include <string.h>

void (*demo_status_setter(void))(TF_Status*, TF_Code, const char*) {
  void (*set)(TF_Status*, TF_Code, const char*) = NULL;
  void* found = dlsym(RTLD_DEFAULT, "TF_SetStatus");
  if (found == NULL) {
    void* library = dlopen("libtensorflow_framework.so.2", RTLD_NOLOAD | RTLD_LAZY);
    if (library != NULL) {
      found = dlsym(library, "TF_SetStatus");
      dlclose(library); /* it stays: others loaded it */
    }
  }
  memcpy(&set, &found, sizeof set);
  return set;
}
