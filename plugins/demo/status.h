/* TensorFlow's statuses, by functions found when they are first wanted: a plugin with TF_SetStatus
 * undefined is not loaded where TensorFlow is not. */
#ifndef CROSSCUT_PLUGINS_DEMO_STATUS_H_
#define CROSSCUT_PLUGINS_DEMO_STATUS_H_

#include "crosscut/plugin.h"

/* Null where no library of the process has it: then no status can be set, and none is looked at. */
void (*demo_status_setter(void))(TF_Status*, TF_Code, const char*);

/* For who calls such functions: a status of TensorFlow's, or none (object null, always OK). */
typedef struct demo_status {
  TF_Status* object;
} demo_status;
demo_status demo_status_new(void);
void demo_status_delete(demo_status* status);
TF_Code demo_status_code(const demo_status* status);
const char* demo_status_message(const demo_status* status);

#endif
