/* A program that uses the simulator and knows nothing of Crosscut:  program STEPS MICROSECONDS
 * Two threads fly; it prints where they end, and nothing that depends on time. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "simulator.h"

struct flight {
  int steps;
  long us;
  double sum;
};

static void Add(double height, void* to) { *(double*)to += height; }

static void* Fly(void* argument) {
  struct flight* flight = argument;
  struct sim* sim = sim_new(9.81);
  if (sim == NULL) return NULL;
  for (int i = 0; i < flight->steps; ++i) sim_step(sim, i % 2 == 0 ? 25 : 0, flight->us);
  sim_replay(sim, Add, &flight->sum);
  sim_free(sim);
  return NULL;
}

int main(int count, char** arguments) {
  const int steps = count > 1 ? atoi(arguments[1]) : 100;
  const long us = count > 2 ? atol(arguments[2]) : 200;
  struct flight flights[2] = {{steps, us, 0}, {steps / 2, us, 0}};
  pthread_t second;
  if (pthread_create(&second, NULL, Fly, &flights[1]) != 0) return 1;
  Fly(&flights[0]);
  pthread_join(second, NULL);
  printf("%.6f %.6f\n", flights[0].sum, flights[1].sum);
  return 0;
}
