/* A program that uses the simulator and knows nothing of Crosscut:
 *   program STEPS MICROSECONDS [FILE]
 * Two threads fly; it prints where they end, and nothing that depends on time. Into FILE it writes
 * the ns that the loops of both took together, by a clock of its own. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "simulator.h"

struct flight {
  int steps;
  long us;
  double sum;
  long long ns;
};

static long long Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void Add(double height, void* to) { *(double*)to += height; }

static void* Fly(void* argument) {
  struct flight* flight = argument;
  struct sim* sim = sim_new(9.81);
  if (sim == NULL) return NULL;
  const long long begin = Now();
  for (int i = 0; i < flight->steps; ++i) sim_step(sim, i % 2 == 0 ? 25 : 0, flight->us);
  flight->ns = Now() - begin;
  sim_replay(sim, Add, &flight->sum);
  sim_free(sim);
  return NULL;
}

int main(int count, char** arguments) {
  const int steps = count > 1 ? atoi(arguments[1]) : 100;
  const long us = count > 2 ? atol(arguments[2]) : 200;
  struct flight flights[2] = {{steps, us, 0, 0}, {steps / 2, us, 0, 0}};
  pthread_t second;
  if (pthread_create(&second, NULL, Fly, &flights[1]) != 0) return 1;
  Fly(&flights[0]);
  pthread_join(second, NULL);
  printf("%.6f %.6f\n", flights[0].sum, flights[1].sum);
  FILE* const file = count > 3 ? fopen(arguments[3], "w") : NULL;
  if (file != NULL) {
    fprintf(file, "%lld\n", flights[0].ns + flights[1].ns);
    fclose(file);
  }
  return 0;
}
