/* A pretended device and its run-time API, as a vendor's library would offer it: plugins of the zoo
 * link to it, and the checker makes it work through crosscut_work(). */
#ifndef TESTS_ZOO_DEVICE_H_
#define TESTS_ZOO_DEVICE_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 1, or what CROSSCUT_PLUGIN_MOCK_DEVICES says. */
int device_count(void);

/* What is told of each piece of work: ns of CLOCK_REALTIME and of CLOCK_MONOTONIC. Called on the
 * thread that asked for the work, with the API's lock held. Null: nothing. */
typedef void (*device_listener)(void* self, int64_t begin_real_ns, int64_t begin_ns,
                                int64_t length_ns);
void device_listen(device_listener listener, void* self);

/* Never returns: a thread to leave behind. */
void* device_idle(void* nothing);

/* The lock that every call of the API takes. */
void device_lock(void);
void device_unlock(void);

/* Runs so many pieces of work, one after the other. */
int crosscut_work(uint64_t pieces);
/* How many there have been. */
uint64_t device_worked(void);
/* The thread that asked for the latest. */
int device_last_user(void);

#ifdef __cplusplus
}
#endif
#endif
