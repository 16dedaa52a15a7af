#include "simulator.h"

#include <stdlib.h>
#include <time.h>

struct sim {
  double gravity, height, speed;
  double heights[4096];
  int steps;
};

struct sim* sim_new(double gravity) {
  struct sim* sim = calloc(1, sizeof *sim);
  if (sim != NULL) sim->gravity = gravity;
  return sim;
}

static long NowNs(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000L + now.tv_nsec;
}

double sim_step(struct sim* sim, double thrust, long us) {
  const long end = NowNs() + us * 1000;
  sim->speed += (thrust - sim->gravity) * 1e-3;
  sim->height += sim->speed * 1e-3;
  if (sim->steps < 4096) sim->heights[sim->steps++] = sim->height;
  while (NowNs() < end) {
  }
  return sim->height;
}

void sim_replay(const struct sim* sim, void (*visit)(double height, void* to), void* to) {
  for (int i = 0; i < sim->steps; ++i) visit(sim->heights[i], to);
}

void sim_free(struct sim* sim) { free(sim); }
