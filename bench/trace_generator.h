// The synthetic operator trace that size and speed of packing are measured on: 300 names whose use
// follows Zipf's law, depth 4 (a step of 30 modules of 10 ops of 1 to 4 leaves), log-normal leaf
// durations (median 3 us) fixed per name, each call with 8 % jitter, gaps with 15 %, one call in
// 150 a spike. "Repeating" draws the step's tree once, as a training loop has it; "random" anew for
// every step. Deterministic for a seed.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace crosscut::bench {

struct GeneratorOptions {
  size_t spans = 1 << 20;
  bool repeating = true;
  uint64_t seed = 1;
  double ticks_per_ns = 2.1;
  double rest_ns = 300;  // before a step
  uint16_t first_name = 0x100;
  uint64_t start_tick = 1'000'000'000'000;
};

class TraceGenerator {
 public:
  explicit TraceGenerator(const GeneratorOptions& options)
      : options_(options), random_(options.seed), tick_(static_cast<double>(options.start_tick)) {
    double sum = 0;
    for (int i = 0; i < kNames; ++i) {
      sum += 1.0 / (i + 1);
      zipf_.push_back(sum);
      leaf_ns_.push_back(std::exp(std::log(3000.0) + 0.8 * normal_(random_)));
    }
  }

  // Event words as a thread's ring holds them: a begin (tick << 16 | name) and an end (code 1) per
  // span, properly nested, ticks rising.
  std::vector<uint64_t> Make() {
    words_.clear();
    words_.reserve(options_.spans * 2 + 4096);
    std::vector<Node> step = DrawStep();
    while (words_.size() < options_.spans * 2) {
      if (!options_.repeating) step = DrawStep();
      for (const Node& node : step) Emit(node);
    }
    return words_;
  }

 private:
  static constexpr int kNames = 300;
  struct Node {
    uint16_t name;
    bool begin;
    double ns;  // before this edge
    double jitter;
  };

  uint16_t DrawName() {
    const double at = uniform_(random_) * zipf_.back();
    const auto found = std::lower_bound(zipf_.begin(), zipf_.end(), at);
    return static_cast<uint16_t>(options_.first_name + (found - zipf_.begin()));
  }

  std::vector<Node> DrawStep() {
    std::vector<Node> step;
    auto open = [&](uint16_t name) { step.push_back({name, true, 300, 0.15}); };
    auto close = [&](double ns, double jitter) { step.push_back({0, false, ns, jitter}); };
    step.push_back({options_.first_name, true, options_.rest_ns, 0.15});
    for (int module = 0; module < 30; ++module) {
      open(DrawName());
      for (int op = 0; op < 10; ++op) {
        open(DrawName());
        const int leaves = 1 + static_cast<int>(random_() % 4);
        for (int leaf = 0; leaf < leaves; ++leaf) {
          const uint16_t name = DrawName();
          open(name);
          close(leaf_ns_[static_cast<size_t>(name - options_.first_name)], 0.08);
        }
        close(300, 0.15);
      }
      close(300, 0.15);
    }
    close(300, 0.15);
    return step;
  }

  void Emit(const Node& node) {
    double ns = node.ns * (1 + node.jitter * normal_(random_));
    if (uniform_(random_) < 1.0 / 150) ns *= 5 + 45 * uniform_(random_);
    tick_ += std::max(10.0, ns) * options_.ticks_per_ns;
    const uint64_t code = node.begin ? node.name : 1;
    words_.push_back(static_cast<uint64_t>(tick_) << 16 | code);
  }

  GeneratorOptions options_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
  std::vector<double> zipf_, leaf_ns_;
  std::vector<uint64_t> words_;
  double tick_;
};

}  // namespace crosscut::bench
