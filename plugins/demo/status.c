#define _GNU_SOURCE
#include "status.h"

#include <dlfcn.h>
#include <string.h>

/* The object behind the function pointer at `function` becomes that of `name`, or null. */
static void find(const char* name, void* function) {
  void* found = dlsym(RTLD_DEFAULT, name);
  if (found == NULL) {
    void* library = dlopen("libtensorflow_framework.so.2", RTLD_NOLOAD | RTLD_LAZY);
    if (library != NULL) {
      found = dlsym(library, name);
      dlclose(library); /* it stays: others loaded it */
    }
  }
  memcpy(function, &found, sizeof found);
}

void (*demo_status_setter(void))(TF_Status*, TF_Code, const char*) {
  void (*set)(TF_Status*, TF_Code, const char*);
  find("TF_SetStatus", &set);
  return set;
}

demo_status demo_status_new(void) {
  TF_Status* (*create)(void);
  demo_status status = {NULL};
  find("TF_NewStatus", &create);
  if (create != NULL) status.object = create();
  return status;
}

void demo_status_delete(demo_status* status) {
  void (*destroy)(TF_Status*);
  if (status->object == NULL) return;
  find("TF_DeleteStatus", &destroy);
  if (destroy != NULL) destroy(status->object);
  status->object = NULL;
}

TF_Code demo_status_code(const demo_status* status) {
  TF_Code (*code)(const TF_Status*);
  if (status->object == NULL) return TF_OK;
  find("TF_GetCode", &code);
  return code == NULL ? TF_OK : code(status->object);
}

const char* demo_status_message(const demo_status* status) {
  const char* (*message)(const TF_Status*);
  if (status->object == NULL) return "";
  find("TF_Message", &message);
  return message == NULL ? "" : message(status->object);
}
