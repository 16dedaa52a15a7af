// Interleaved measurement: every round runs every variant once, in a random order, and ratios are
// taken within a round, so that a machine that wanders between rounds does not enter them.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace crosscut::bench {

inline int64_t NowNs() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// Processor time of the whole process, so that what a recorder leaves to a thread of its own
// counts: for work that never waits what wall time would be on a quiet machine.
inline int64_t CpuNs() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

struct Variant {
  std::string name;
  std::function<double()> run;  // ns per item of one round
};

struct Spread {
  double median = 0, q25 = 0, q75 = 0;
};

inline Spread SpreadOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  auto at = [&](double q) { return values[static_cast<size_t>(q * (values.size() - 1) + 0.5)]; };
  return {at(0.5), at(0.25), at(0.75)};
}

// By variant, by round: ns per item.
using Rounds = std::vector<std::vector<double>>;

inline Rounds RunRounds(const std::vector<Variant>& variants, int rounds) {
  std::mt19937 random(12345);
  Rounds ns(variants.size());
  std::vector<size_t> order(variants.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (const Variant& v : variants) v.run();  // warm
  for (int round = 0; round < rounds; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (size_t i : order) ns[i].push_back(variants[i].run());
  }
  return ns;
}

// One line of JSON per variant: its ns, and its ratio to variants[0] (A) with spread. variants[1]
// should be A again: the A/A control.
inline Rounds Interleave(const char* group, const std::vector<Variant>& variants, int rounds) {
  const Rounds ns = RunRounds(variants, rounds);
  for (size_t i = 0; i < variants.size(); ++i) {
    std::vector<double> ratio;
    for (int r = 0; r < rounds; ++r) ratio.push_back(ns[i][r] / ns[0][r]);
    const Spread n = SpreadOf(ns[i]), q = SpreadOf(ratio);
    std::printf(
        "{\"group\": \"%s\", \"name\": \"%s\", \"ns\": %.3f, \"ns_q25\": %.3f, \"ns_q75\": %.3f, "
        "\"ratio\": %.4f, \"ratio_q25\": %.4f, \"ratio_q75\": %.4f, \"rounds\": %d}\n",
        group, variants[i].name.c_str(), n.median, n.q25, n.q75, q.median, q.q25, q.q75, rounds);
  }
  std::fflush(stdout);
  return ns;
}

// A value that is no ratio of rounds: bytes, one-off times.
inline void Print(const char* group, const char* name, double value, const char* unit) {
  std::printf("{\"group\": \"%s\", \"name\": \"%s\", \"value\": %.4f, \"unit\": \"%s\"}\n", group,
              name, value, unit);
  std::fflush(stdout);
}

// The same with the quartiles of its rounds.
inline void Print(const char* group, const char* name, const std::vector<double>& values,
                  const char* unit) {
  const Spread s = SpreadOf(values);
  std::printf(
      "{\"group\": \"%s\", \"name\": \"%s\", \"value\": %.4f, \"value_q25\": %.4f, "
      "\"value_q75\": %.4f, \"unit\": \"%s\"}\n",
      group, name, s.median, s.q25, s.q75, unit);
  std::fflush(stdout);
}

}  // namespace crosscut::bench
