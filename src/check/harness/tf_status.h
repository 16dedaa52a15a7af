// TF_Status as TensorFlow's plugins expect it: the functions are exported by this program, so that
// a plugin with TF_SetStatus undefined in it finds them.
#pragma once

#include <string>

#include "crosscut/plugin.h"

struct TSL_Status {
  TF_Code code = TF_OK;
  std::string message;
};
