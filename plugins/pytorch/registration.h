// A source of the session under one name: registered, forgotten, registered again.
#pragma once

#include <crosscut/crosscut.h>

namespace crosscut::pytorch {

// What the recorder calls, as in crosscut_source. Any thread.
struct Registration {
  const char* name;
  int (*set_level)(void*, crosscut_level);
  void (*calibrate)(void*);
  int marks;
  int handle = 0;  // 0: not registered

  // Returns 0 or a CROSSCUT_E* code; nothing changes where it is registered. Add and Remove under
  // the GIL. The library must stay loaded.
  int Add(const char* version) {
    if (handle != 0) return CROSSCUT_OK;
    crosscut_source source = {};
    source.struct_size = sizeof source;
    source.name = name;
    source.version = version;
    source.set_level = set_level;
    source.calibrate = calibrate;
    source.marks = marks;
    handle = crosscut_source_add(&source);
    return handle != 0 ? CROSSCUT_OK : CROSSCUT_EINVAL;
  }

  void Remove() {
    if (handle != 0) crosscut_source_remove(handle);
    handle = 0;
  }
};

}  // namespace crosscut::pytorch
