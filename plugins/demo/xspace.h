/* Just enough of an encoder for the XSpace that TensorFlow wants: one plane, a line per queue.
 * Under Crosscut none of this is needed: its host takes spans as they come. */
#ifndef CROSSCUT_PLUGINS_DEMO_XSPACE_H_
#define CROSSCUT_PLUGINS_DEMO_XSPACE_H_

#include <stddef.h>
#include <stdint.h>

#include "device.h"

/* Serialises `count` events, in order of time on each queue, into a new buffer that the caller
 * frees; its length goes to *size. Times are shifted by `to_realtime_ns`. Null: no memory. */
uint8_t* demo_xspace(const demo_event* events, size_t count, int64_t to_realtime_ns, size_t* size);

#endif
