// A C++ program whose steps simulate and then fit; the fault makes the simulator's part large.
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "crosscut/crosscut.h"

namespace {

double Work(int rounds) {
  double sum = 0;
  for (int i = 0; i < rounds; ++i) sum += std::sin(i * 0.5);
  return sum;
}

}  // namespace

int main() {
  const char* const planted = std::getenv("PLANTED");
  const int simulated = planted != nullptr && *planted == '1' ? 400'000 : 20'000;
  static const crosscut::Name kSimulate("simulate", CROSSCUT_SIMULATOR);
  static const crosscut::Name kFit("fit", CROSSCUT_NATIVE);
  crosscut_start(nullptr);
  double sum = 0;
  for (int i = 0; i < 100; ++i) {
    crosscut_step(0);
    {
      const crosscut::Span span(kSimulate);
      sum += Work(simulated);
    }
    const crosscut::Span span(kFit);
    sum += Work(100'000);
  }
  std::printf("%g\n", sum);
  crosscut_stop();
}
