/* TensorFlow's TF_SetStatus, found when it is first wanted: a plugin with that symbol undefined is
 * not loaded where TensorFlow is not. */
#ifndef CROSSCUT_PLUGINS_DEMO_STATUS_H_
#define CROSSCUT_PLUGINS_DEMO_STATUS_H_

#include "crosscut/plugin.h"

/* Null where no library of the process has it: then no status can be set, and none is looked at. */
void (*demo_status_setter(void))(TF_Status*, TF_Code, const char*);

#endif
