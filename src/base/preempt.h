// Points of preemption: where tests make a thread yield or sleep, by a seed, so that rare orders of
// threads become common.
//
// A build with the CMake option CROSSCUT_PREEMPT includes this file before all others in the
// recording half (-include), so that each atomic operation, std::atomic's own among them, and each
// fault point is such a point. In every other build nothing includes it.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif
// Any thread; leaves errno alone. Does nothing until a seed is set.
void crosscut_preempt_point(void);
// From now on, with this seed; 0: no more. Before there are other threads.
void crosscut_preempt_seed(unsigned long seed);
#ifdef __cplusplus
}
#endif

#ifndef CROSSCUT_PREEMPT_OWN  // the one who implements it
#define CROSSCUT_PREEMPTED(call) (crosscut_preempt_point(), call)
#define __atomic_load(...) CROSSCUT_PREEMPTED(__atomic_load(__VA_ARGS__))
#define __atomic_load_n(...) CROSSCUT_PREEMPTED(__atomic_load_n(__VA_ARGS__))
#define __atomic_store(...) \
  (CROSSCUT_PREEMPTED(__atomic_store(__VA_ARGS__)), crosscut_preempt_point())
#define __atomic_store_n(...) \
  (CROSSCUT_PREEMPTED(__atomic_store_n(__VA_ARGS__)), crosscut_preempt_point())
#define __atomic_exchange(...) CROSSCUT_PREEMPTED(__atomic_exchange(__VA_ARGS__))
#define __atomic_exchange_n(...) CROSSCUT_PREEMPTED(__atomic_exchange_n(__VA_ARGS__))
#define __atomic_compare_exchange(...) CROSSCUT_PREEMPTED(__atomic_compare_exchange(__VA_ARGS__))
#define __atomic_compare_exchange_n(...) \
  CROSSCUT_PREEMPTED(__atomic_compare_exchange_n(__VA_ARGS__))
#define __atomic_fetch_add(...) CROSSCUT_PREEMPTED(__atomic_fetch_add(__VA_ARGS__))
#define __atomic_fetch_sub(...) CROSSCUT_PREEMPTED(__atomic_fetch_sub(__VA_ARGS__))
#define __atomic_fetch_and(...) CROSSCUT_PREEMPTED(__atomic_fetch_and(__VA_ARGS__))
#define __atomic_fetch_or(...) CROSSCUT_PREEMPTED(__atomic_fetch_or(__VA_ARGS__))
#define __atomic_add_fetch(...) CROSSCUT_PREEMPTED(__atomic_add_fetch(__VA_ARGS__))
#define __atomic_sub_fetch(...) CROSSCUT_PREEMPTED(__atomic_sub_fetch(__VA_ARGS__))
#endif
