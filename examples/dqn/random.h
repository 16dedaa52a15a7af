// Random numbers that are NumPy's: the same seed draws the same here as in dqn.py.
#ifndef DQN_RANDOM_H_
#define DQN_RANDOM_H_

#include <cstdint>
#include <random>

namespace dqn {

// numpy.random.RandomState(seed): a Mersenne Twister and 53 bits of it for a double.
class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}

  // In [0, 1), as random_sample().
  double Uniform() {
    const uint32_t high = engine_() >> 5, low = engine_() >> 6;
    return (high * 67108864.0 + low) / 9007199254740992.0;
  }
  // In [low, high), as numpy.random.Generator.uniform().
  double Uniform(double low, double high) { return low + (high - low) * Uniform(); }
  // In 0..count - 1.
  int Below(int count) { return static_cast<int>(Uniform() * count); }

 private:
  std::mt19937 engine_;
};

}  // namespace dqn

#endif  // DQN_RANDOM_H_
