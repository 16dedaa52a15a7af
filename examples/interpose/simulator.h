/* A simulator as somebody else built it: a shared library without a word of Crosscut. */
#ifndef SIMULATOR_H_
#define SIMULATOR_H_

#ifdef __cplusplus
extern "C" {
#endif

struct sim;
struct sim* sim_new(double gravity);
/* Advances by one step, which takes `us` microseconds; the height then. */
double sim_step(struct sim* sim, double thrust, long us);
/* Calls `visit` with each height since the beginning. */
void sim_replay(const struct sim* sim, void (*visit)(double height, void* to), void* to);
void sim_free(struct sim* sim);

#ifdef __cplusplus
}
#endif
#endif
