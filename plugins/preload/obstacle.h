/* Whether this library can be loaded before a program. What `crosscut record` asks about its
 * command (src/verbs/record_environment.cc), asked here about every program that a recorded one
 * starts. */
#ifndef CROSSCUT_PRELOAD_OBSTACLE_H_
#define CROSSCUT_PRELOAD_OBSTACLE_H_

/* What stands against it. The order is that of their texts in obstacle.c. */
enum Obstacle {
  kNone,
  kAddressSanitizer,
  kThreadSanitizer,
  kOtherProcessor,
  kOtherLoader,
  kLocksMemory,
  kOneThread,
  kLibraryOutOfReach,
  kObstacles
};

/* For a file name, and for a sentence about a program. */
const char* ObstacleKey(enum Obstacle obstacle);
const char* ObstacleText(enum Obstacle obstacle);

/* Of the file at `path`, or of what its first line (#!) names. kNone where it cannot be read:
 * whoever runs it will say so. Safe in a child of vfork() and on a stack of 16 KiB: no
 * malloc(), no lock, errno as it was. */
enum Obstacle ObstacleOfFile(const char* path, const char* library);
/* The same of an open file, which is read by position. */
enum Obstacle ObstacleOfDescriptor(int fd, const char* library);

/* What this program calls that a recorder in it would make fail: mlockall(), where it may lock only
 * so much and what we map would count; unshare() and setns(), which want a process with one thread.
 */
enum Obstacle ObstacleOfThisProgram(void);

#endif
