/* Programs that shut themselves in: a filter of system calls on all their threads (seccomp with
 * TSYNC) would end the process at the first call of Crosscut's own thread, so that thread leaves
 * before. Where the filter is on one thread alone, the recorder makes no more calls on the threads
 * of the program. What the kernel grants to a process of one thread alone (unshare) is refused to
 * one that is recorded: that is told. */
#ifndef CROSSCUT_PRELOAD_SANDBOX_H_
#define CROSSCUT_PRELOAD_SANDBOX_H_

/* Once, when this library is loaded; before, nothing is told. */
void WatchSandboxes(void);

#endif
