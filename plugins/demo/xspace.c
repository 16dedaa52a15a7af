#include "xspace.h"

#include <stdlib.h>
#include <string.h>

/* Fields of xplane.proto. */
enum {
  SPACE_PLANES = 1,
  PLANE_ID = 1,
  PLANE_NAME = 2,
  PLANE_LINES = 3,
  PLANE_EVENT_METADATA = 4,
  PLANE_STAT_METADATA = 5,
  LINE_ID = 1,
  LINE_NAME = 2,
  LINE_TIMESTAMP_NS = 3,
  LINE_EVENTS = 4,
  EVENT_METADATA_ID = 1,
  EVENT_OFFSET_PS = 2,
  EVENT_DURATION_PS = 3,
  EVENT_STATS = 4,
  STAT_METADATA_ID = 1,
  STAT_INT64 = 4,
  ENTRY_KEY = 1,
  ENTRY_VALUE = 2,
  METADATA_ID = 1,
  METADATA_NAME = 2
};
enum { STAT_BYTES = 1, LONGEST_VARINT = 10 };

typedef struct bytes {
  uint8_t* data;
  size_t size, room;
  int failed;
} bytes;

static void append(bytes* to, const void* data, size_t size) {
  if (to->failed) return;
  if (to->room - to->size < size) {
    const size_t room = (to->size + size) * 2;
    uint8_t* more = realloc(to->data, room);
    if (more == NULL) {
      to->failed = 1;
      return;
    }
    to->data = more;
    to->room = room;
  }
  memcpy(to->data + to->size, data, size);
  to->size += size;
}

static void varint(bytes* to, uint64_t value) {
  uint8_t text[LONGEST_VARINT];
  size_t n = 0;
  while (value >= 0x80) {
    text[n++] = (uint8_t)(value | 0x80);
    value >>= 7;
  }
  text[n++] = (uint8_t)value;
  append(to, text, n);
}

static void number(bytes* to, int field, int64_t value) {
  varint(to, (uint64_t)field << 3);
  varint(to, (uint64_t)value);
}

static void text(bytes* to, int field, const void* data, size_t size) {
  varint(to, (uint64_t)field << 3 | 2);
  varint(to, size);
  append(to, data, size);
}

/* A message inside another; `part` is empty again afterwards. */
static void message(bytes* to, int field, bytes* part) {
  text(to, field, part->data, part->size);
  to->failed |= part->failed;
  part->size = 0;
}

static void metadata(bytes* plane, int field, int64_t id, const char* name) {
  bytes value = {0}, entry = {0};
  number(&value, METADATA_ID, id);
  text(&value, METADATA_NAME, name, strlen(name));
  number(&entry, ENTRY_KEY, id);
  message(&entry, ENTRY_VALUE, &value);
  message(plane, field, &entry);
  free(value.data);
  free(entry.data);
}

static void encode_event(bytes* line, const demo_event* event, int64_t line_ns) {
  bytes out = {0}, stat = {0};
  number(&out, EVENT_METADATA_ID, event->work + 1);
  number(&out, EVENT_OFFSET_PS, (event->begin_ns - line_ns) * 1000);
  number(&out, EVENT_DURATION_PS, (event->end_ns - event->begin_ns) * 1000);
  if (event->bytes != 0) {
    number(&stat, STAT_METADATA_ID, STAT_BYTES);
    number(&stat, STAT_INT64, (int64_t)event->bytes);
    message(&out, EVENT_STATS, &stat);
  }
  message(line, LINE_EVENTS, &out);
  free(out.data);
  free(stat.data);
}

/* Times of a line count from its first event's. */
static void encode_line(bytes* plane, const demo_event* events, size_t count, uint32_t queue,
                        int64_t to_realtime_ns) {
  static const char* const kNames[] = {"Queue 0", "Queue 1"};
  bytes line = {0};
  int64_t first = -1;
  size_t i;
  number(&line, LINE_ID, queue + 1);
  text(&line, LINE_NAME, kNames[queue], strlen(kNames[queue]));
  for (i = 0; i < count; ++i) {
    if (events[i].queue != queue) continue;
    if (first < 0) {
      first = events[i].begin_ns;
      number(&line, LINE_TIMESTAMP_NS, first + to_realtime_ns);
    }
    encode_event(&line, &events[i], first);
  }
  if (first >= 0) message(plane, PLANE_LINES, &line);
  free(line.data);
}

uint8_t* demo_xspace(const demo_event* events, size_t count, int64_t to_realtime_ns, size_t* size) {
  /* TensorFlow's tools show planes of this name as they are. */
  static const char kPlane[] = "/device:CUSTOM:demo";
  bytes plane = {0}, space = {0};
  number(&plane, PLANE_ID, 100);
  text(&plane, PLANE_NAME, kPlane, strlen(kPlane));
  encode_line(&plane, events, count, 0, to_realtime_ns);
  encode_line(&plane, events, count, 1, to_realtime_ns);
  metadata(&plane, PLANE_EVENT_METADATA, DEMO_KERNEL + 1, "demo_kernel");
  metadata(&plane, PLANE_EVENT_METADATA, DEMO_COPY + 1, "demo_copy");
  metadata(&plane, PLANE_STAT_METADATA, STAT_BYTES, "bytes");
  message(&space, SPACE_PLANES, &plane);
  free(plane.data);
  if (space.failed) {
    free(space.data);
    return NULL;
  }
  *size = space.size;
  return space.data;
}
