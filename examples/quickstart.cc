// A C++ program without Python that marks what it does. It records itself:
//
//   c++ -std=c++20 quickstart.cc $(pkg-config --cflags --libs crosscut) -o quickstart
//   ./quickstart quickstart-run && crosscut report quickstart-run
//
// or is recorded from outside, where crosscut_start() finds the run directory in the environment:
//
//   crosscut record -o quickstart-run -- ./quickstart
#include <cmath>
#include <cstdio>
#include <thread>
#include <vector>

#include "crosscut/crosscut.h"

namespace {

constexpr int kSteps = 120;
constexpr int kBodies = 160;

struct Body {
  double x, v;
};

// What takes the time is a simulator's work: the span says so.
void Simulate(std::vector<Body>* bodies) {
  static const crosscut::Name kSimulate("simulate", CROSSCUT_SIMULATOR);
  const crosscut::Span span(kSimulate);
  for (Body& a : *bodies) {
    double force = 0;
    for (const Body& b : *bodies) force += std::tanh(b.x - a.x);
    a.v += 1e-3 * force;
  }
  for (Body& body : *bodies) body.x += 1e-3 * body.v;
}

double Learn(const std::vector<Body>& bodies) {
  static const crosscut::Name kFit("fit", CROSSCUT_NATIVE);
  const crosscut::Span span(kFit);
  double loss = 0;
  for (int pass = 0; pass < 20; ++pass) {
    for (const Body& body : bodies) loss += std::exp(-body.x * body.x) * std::sin(body.v);
  }
  return loss;
}

}  // namespace

int main(int count, char** arguments) {
  crosscut_options options = {};
  options.struct_size = sizeof options;
  options.run_dir = count > 1 ? arguments[1] : nullptr;
  options.control_percent = -1;
  if (crosscut_active() == 0 && crosscut_start(&options) != CROSSCUT_OK) {
    std::fprintf(stderr, "not recorded: %s\n", crosscut_error());
  }
  crosscut_process_name("quickstart");

  // Names of operations that are entered often are made once.
  const crosscut::Name act("act", CROSSCUT_LAYER_NONE, CROSSCUT_OPERATION);
  const crosscut::Name train("train", CROSSCUT_LAYER_NONE, CROSSCUT_OPERATION);
  const uint32_t loss_name =
      crosscut_intern("loss in millionths", SIZE_MAX, CROSSCUT_TEXT, CROSSCUT_LAYER_NONE, 0, 0);
  std::vector<Body> bodies(kBodies);
  for (int i = 0; i < kBodies; ++i) bodies[i] = {std::cos(i), std::sin(2 * i)};

  double loss = 0;
  crosscut_phase("training");
  for (int step = 0; step < kSteps; ++step) {
    crosscut_step(0);
    {
      const crosscut::Operation operation(act);
      // A second thread of this process: its simulation overlaps with the first one's.
      std::vector<Body> others = bodies;
      std::thread helper([&others] { Simulate(&others); });
      Simulate(&bodies);
      helper.join();
    }
    const crosscut::Operation operation(train);
    loss = Learn(bodies);
    crosscut_counter(loss_name, static_cast<int64_t>(loss * 1e6));
  }
  crosscut_step_end();
  crosscut_phase(nullptr);
  if (crosscut_active() != 0) std::fprintf(stderr, "recorded in %s\n", crosscut_run_dir());
  crosscut_stop();
  std::printf("loss %.6f after %d steps\n", loss, kSteps);
  return 0;
}
