/* Makes each call of the simulator a span of layer `simulator`, in any program that uses it:
 *
 *   LD_PRELOAD=$PWD/libsimulator_spans.so crosscut record -o run -- ./program
 *   crosscut table run functions */
#define _GNU_SOURCE
#include "crosscut/interpose.h"
#include "simulator.h"

CROSSCUT_INTERPOSE(CROSSCUT_SIMULATOR, struct sim*, sim_new, (double gravity), (gravity));
CROSSCUT_INTERPOSE(CROSSCUT_SIMULATOR, double, sim_step, (struct sim * sim, double thrust, long us),
                   (sim, thrust, us));
CROSSCUT_INTERPOSE(CROSSCUT_SIMULATOR, void, sim_replay,
                   (const struct sim* sim, void (*visit)(double, void*), void* to),
                   (sim, visit, to));
