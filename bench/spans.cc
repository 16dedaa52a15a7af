// What one span costs the program: inline, through the shared library, switched off; against two
// back-to-back reads of the clock, which no tracer with two exact stamps can undercut, and against
// a function that does nothing, which no mark through a library can.
#include <crosscut/crosscut.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "bench/harness.h"

extern "C" void EmptyFunction(unsigned);  // empty_function.cc

namespace {

using crosscut::bench::Interleave;
using crosscut::bench::NowNs;

// 20,000 spans are 320 KB: the drain empties them between bursts, so that no burst meets a full
// ring or a chunk that was never touched.
constexpr int kBurst = 20'000;

template <class Body>
double Burst(Body body) {
  const int64_t begin = NowNs();
  for (int i = 0; i < kBurst; ++i) body();
  const double ns = static_cast<double>(NowNs() - begin) / kBurst;
  usleep(3000);
  return ns;
}

double TwoClocks() {
  return Burst([] {
    uint64_t a = crosscut_ticks_();
    asm volatile("" : : "r"(a));
    uint64_t b = crosscut_ticks_();
    asm volatile("" : : "r"(b));
  });
}

void PinToOneCore() {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(0, &set);
  sched_setaffinity(0, sizeof set, &set);
}

}  // namespace

int main() {
  char dir[] = "/tmp/crosscut-bench-XXXXXX";
  if (mkdtemp(dir) == nullptr) return 1;
  crosscut_options options = {};
  options.struct_size = sizeof options;
  options.run_dir = dir;
  setenv("CROSSCUT_RUN", dir, 1);
  const uint32_t name = crosscut_intern("span", SIZE_MAX, CROSSCUT_SPAN, CROSSCUT_NATIVE, 0, 0);

  Interleave("disabled",
             {{"empty loop", [] { return Burst([] { asm volatile(""); }); }},
              {"empty loop again (A/A)", [] { return Burst([] { asm volatile(""); }); }},
              {"disabled span, inline",
               [=] {
                 return Burst([=] {
                   crosscut_begin_inline(name);
                   crosscut_end_inline();
                 });
               }},
              {"empty function, C ABI", [=] { return Burst([=] { EmptyFunction(name); }); }},
              {"disabled mark, C ABI", [=] { return Burst([=] { crosscut_begin(name); }); }},
              {"disabled span, C ABI",
               [=] {
                 return Burst([=] {
                   crosscut_begin(name);
                   crosscut_end();
                 });
               }}},
             41);

  if (crosscut_start(&options) != CROSSCUT_OK) {
    std::fprintf(stderr, "cannot record: %s\n", crosscut_error());
    return 1;
  }
  PinToOneCore();
  Interleave("span",
             {{"two clock reads", TwoClocks},
              {"two clock reads again (A/A)", TwoClocks},
              {"span, inline",
               [=] {
                 return Burst([=] {
                   crosscut_begin_inline(name);
                   crosscut_end_inline();
                 });
               }},
              {"span, C ABI",
               [=] {
                 return Burst([=] {
                   crosscut_begin(name);
                   crosscut_end();
                 });
               }}},
             61);
  crosscut_stop();
  usleep(200'000);
  return std::system((std::string("rm -rf ") + dir).c_str()) == 0 ? 0 : 1;
}
