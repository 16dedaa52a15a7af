// What plugins cost the program's own thread: the time inside the host's calls (load, start, 200
// switches of level, stop), each round in a fork of its own, because a plugin that hangs is hung
// for good.
//
// Usage: bench_plugin_calls ROUNDS DEMO.so SCRIPTED.so
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "bench/harness.h"
#include "src/host/registry.h"

namespace {

using crosscut::bench::NowNs;
using crosscut::host::Registry;

constexpr int kSteps = 200;
constexpr useconds_t kStepUs = 200;

crosscut::host::Surroundings Deaf() {
  crosscut::host::Surroundings around = {};
  around.hooks.tell = [](const char*, const char*, const char*, const char*) {};
  around.hooks.probe_cost = [](uint32_t, const int64_t*) {};
  around.hooks.collected = [](const char*, const void*, size_t, int64_t) -> const char* {
    return nullptr;
  };
  around.hooks.idle = [] {};
  around.hooks.loaded = [] {};
  return around;
}

// Milliseconds inside the host.
double Cycle(const std::string& plugins) {
  Registry& registry = Registry::Get();
  int64_t spent = 0;
  const auto timed = [&spent](auto call) {
    const int64_t begin = NowNs();
    call();
    spent += NowNs() - begin;
  };
  timed([&] {
    registry.Load(plugins.c_str(), Deaf());
    registry.Start();
  });
  for (int step = 0; step < kSteps; ++step) {
    timed([&] { registry.SetLevel(step % 5 == 0 ? 0 : 1); });
    usleep(kStepUs);
  }
  timed([&] {
    registry.Stop();
    registry.Busy();
  });
  return static_cast<double>(spent) / 1e6;
}

double CycleInFork(const std::string& plugins) {
  int ends[2];
  if (pipe(ends) != 0) abort();
  const pid_t child = fork();
  if (child == 0) {
    const double ms = Cycle(plugins);
    _exit(write(ends[1], &ms, sizeof ms) == sizeof ms ? 0 : 1);
  }
  close(ends[1]);
  double ms = 0;
  int status = -1;
  const bool told = read(ends[0], &ms, sizeof ms) == sizeof ms;
  close(ends[0]);
  if (waitpid(child, &status, 0) != child || status != 0 || !told) abort();
  return ms;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::string demo = argv[2], scripted = argv[3];
  const std::vector<std::pair<std::string, std::string>> plugins = {
      {"no plugin", ""},
      {"demo", demo},
      {"one that hangs in init", scripted + ",mode=hang in init"},
      {"one that hangs in start", scripted + ",mode=hang in start"},
      {"one that hangs in stop", scripted + ",mode=hang in stop"},
      {"one that hangs in collect", scripted + ",mode=hang in size"}};
  std::vector<crosscut::bench::Variant> variants;
  for (const auto& [name, list] : plugins) {
    variants.push_back({name, [list = list] { return CycleInFork(list); }});
  }
  const auto ms = crosscut::bench::RunRounds(variants, atoi(argv[1]));
  for (size_t i = 0; i < variants.size(); ++i) {
    char unit[64];
    snprintf(unit, sizeof unit, "ms (worst %.2f)", *std::max_element(ms[i].begin(), ms[i].end()));
    crosscut::bench::Print("plugins: inside the host's calls", variants[i].name.c_str(), ms[i],
                           unit);
  }
}
