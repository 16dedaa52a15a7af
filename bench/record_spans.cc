// Records a run of a given size: `record_spans RUN_DIR MILLIONS [THREADS]`. A training loop's
// shape: steps, four operations a step, nested framework spans of 300 names, on one or several
// threads.
#include <crosscut/crosscut.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kSpansPerOperation = 2500;

struct Names {
  std::vector<uint32_t> operations, spans;
};

Names InternAll() {
  Names names;
  auto intern = [](const std::string& text, crosscut_kind kind, crosscut_layer layer) {
    return crosscut_intern(text.data(), text.size(), kind, layer, 0, 0);
  };
  for (const char* name : {"data", "forward", "backward", "optimizer"}) {
    names.operations.push_back(intern(name, CROSSCUT_OPERATION, CROSSCUT_LAYER_NONE));
  }
  const crosscut_layer layers[] = {CROSSCUT_FRAMEWORK, CROSSCUT_NATIVE, CROSSCUT_PYTHON,
                                   CROSSCUT_RUNTIME};
  for (int i = 0; i < 300; ++i) {
    names.spans.push_back(intern("op " + std::to_string(i), CROSSCUT_SPAN, layers[i % 4]));
  }
  return names;
}

void Operation(const Names& names, uint32_t operation, std::minstd_rand& random) {
  crosscut_begin_inline(operation);
  for (int i = 0; i < kSpansPerOperation; i += 5) {
    crosscut_begin_inline(names.spans[random() % 300]);
    for (int k = 0; k < 2; ++k) {
      crosscut_begin_inline(names.spans[random() % 300]);
      crosscut_begin_inline(names.spans[random() % 300]);
      crosscut_end_inline();
      crosscut_end_inline();
    }
    crosscut_end_inline();
  }
  crosscut_end_named(operation);
}

void Work(const Names& names, int64_t spans, bool lead) {
  std::minstd_rand random(7);
  crosscut_base(CROSSCUT_PYTHON);
  for (int64_t done = 0; done < spans; done += 4 * kSpansPerOperation) {
    if (lead) crosscut_step(0);
    for (uint32_t operation : names.operations) Operation(names, operation, random);
    usleep(1000);  // the drain keeps up, so that the run has every span
  }
  if (lead) crosscut_step_end();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: record_spans RUN_DIR MILLIONS [THREADS]\n");
    return 2;
  }
  const int threads = argc > 3 ? std::atoi(argv[3]) : 1;
  const auto spans = static_cast<int64_t>(std::atof(argv[2]) * 1e6) / threads;
  crosscut_options options = {};
  options.struct_size = sizeof options;
  options.run_dir = argv[1];
  if (crosscut_start(&options) != CROSSCUT_OK) {
    std::fprintf(stderr, "cannot record: %s\n", crosscut_error());
    return 1;
  }
  const Names names = InternAll();
  std::vector<std::thread> workers;
  for (int t = 1; t < threads; ++t) workers.emplace_back([&] { Work(names, spans, false); });
  Work(names, spans, true);
  for (std::thread& worker : workers) worker.join();
  return crosscut_stop();
}
