/* The programs that a recorded one starts, by exec and by posix_spawn: where this library cannot be
 * loaded before one, or has nothing to do there, its LD_PRELOAD is given without it. The caller's
 * own array stays as it is. libcrosscut is told of each, as starting it takes longer for us. */
#ifndef CROSSCUT_PRELOAD_CHILDREN_H_
#define CROSSCUT_PRELOAD_CHILDREN_H_

#include "obstacle.h"

/* Once, when this library is loaded; before, children are started as they would be without it.
 * `library` is its path, `run` the run directory: both are copied. */
void WatchChildren(const char* library, const char* run);

/* This library's; "" before WatchChildren(). */
const char* OwnPath(void);

/* Opens a file of the run directory for a word of ours; -1 where it cannot, or where another folder
 * has taken the directory's place. */
int OpenInRun(const char* name, int flags);

/* Leaves word in the run directory that a program is not recorded; `who` is "child" or "process".
 */
void TellObstacle(enum Obstacle obstacle, const char* program, const char* who);

#endif
