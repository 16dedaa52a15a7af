// What stopping costs with a million events held: `bench_stop RUN_DIR ROUNDS`. Every round is a
// session of its own; the million is marked at full speed, so that the drain has just begun when
// the session stops. Whether events were lost, the run itself tells (table drops).
#include <crosscut/crosscut.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "bench/harness.h"

namespace {

using crosscut::bench::NowNs;

constexpr int kSpans = 500'000;

// "VmRSS:" or "VmHWM:" of this process, the shared ring's pages included.
double MiBOf(const char* field) {
  std::FILE* status = std::fopen("/proc/self/status", "r");
  if (status == nullptr) return 0;
  char line[256];
  double mib = 0;
  while (std::fgets(line, sizeof line, status) != nullptr) {
    if (std::strncmp(line, field, std::strlen(field)) != 0) continue;
    mib = std::atof(line + std::strlen(field)) / 1024;
  }
  std::fclose(status);
  return mib;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: bench_stop RUN_DIR ROUNDS\n");
    return 2;
  }
  crosscut_options options = {};
  options.struct_size = sizeof options;
  options.run_dir = argv[1];
  const uint32_t name = crosscut_intern("span", SIZE_MAX, CROSSCUT_SPAN, CROSSCUT_NATIVE, 0, 0);
  const double before = MiBOf("VmRSS:");
  std::vector<double> stop_ms, mark_ms;
  for (int round = std::atoi(argv[2]); round > 0; --round) {
    if (crosscut_start(&options) != CROSSCUT_OK) {
      std::fprintf(stderr, "cannot record: %s\n", crosscut_error());
      return 1;
    }
    usleep(20'000);
    const int64_t begin = NowNs();
    for (int i = 0; i < kSpans; ++i) {
      crosscut_begin_inline(name);
      crosscut_end_inline();
    }
    const int64_t marked = NowNs();
    crosscut_stop();
    stop_ms.push_back(static_cast<double>(NowNs() - marked) / 1e6);
    mark_ms.push_back(static_cast<double>(marked - begin) / 1e6);
    usleep(300'000);
  }
  using crosscut::bench::Print;
  Print("stop", "stop with 1 M events held", stop_ms, "ms");
  Print("stop", "marking the million before it", mark_ms, "ms");
  Print("stop", "peak memory beyond before the start", MiBOf("VmHWM:") - before, "MiB");
}
