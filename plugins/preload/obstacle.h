/* Whether this library can be loaded before a program. What `crosscut record` asks about its
 * command (src/verbs/record_environment.cc), asked here about every program that a recorded one
 * starts. */
#ifndef CROSSCUT_PRELOAD_OBSTACLE_H_
#define CROSSCUT_PRELOAD_OBSTACLE_H_

/* What stands against it. The order is that of their texts in obstacle.c. */
enum Obstacle {
  kNone,
  kNoLoader,    /* no loader would: statically linked, nothing there, no program */
  kNothingToDo, /* it starts no program and loads no library, so there is nothing for ours to do */
  kAddressSanitizer, /* from here on: it would do harm */
  kThreadSanitizer,
  kOtherProcessor,
  kOtherLoader,
  kLocksMemory,
  kOneThread,
  kLibraryOutOfReach,
  kObstacles
};

static inline int DoesHarm(enum Obstacle obstacle) { return obstacle >= kAddressSanitizer; }

/* For a file name, and for a sentence about a program. */
const char* ObstacleKey(enum Obstacle obstacle);
const char* ObstacleText(enum Obstacle obstacle);

/* Where a file is read to. */
struct Room {
  char head[4096]; /* its begin, which has nearly all that is asked */
  char block[16384];
};

/* Of the file at `path`, from `folder` (as of openat()), or of what its first line (#!) names.
 * kNone where it may not be read. What was found of a program is remembered by its device, inode,
 * length and times. Safe in a child of vfork(), in a signal handler and on a stack of 16 KiB: no
 * malloc(), no lock, errno as it was. */
enum Obstacle ObstacleOfFile(int folder, const char* path, const char* library, struct Room* room);
/* The same of an open file, which is read by position; below 0, errno says why it is not open. */
enum Obstacle ObstacleOfDescriptor(int fd, const char* library, struct Room* room);

/* What this program calls that a recorder in it would make fail: mlockall(), where it may lock only
 * so much and what we map would count; unshare() and setns(), which want a process with one thread.
 */
enum Obstacle ObstacleOfThisProgram(void);

#endif
