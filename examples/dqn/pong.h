// Pong on the Arcade Learning Environment: the real game on the emulator of its console.
#ifndef DQN_PONG_H_
#define DQN_PONG_H_

#include <cstdint>
#include <string>

#include "ale/ale_interface.hpp"
#include "environment.h"

namespace dqn {

// Observed are the last four pictures, 40 x 40 bytes each: the field's 160 x 160 pixels in gray,
// the brighter of two frames that follow each other, each 4 x 4 of them as their mean. The three
// actions are to stay, to go up and to go down; each lasts four frames. A point gives 1 or -1.
// An episode begins with 1 to 30 frames without action, ends with a side's 21st point, and is
// truncated after five minutes of play (4,500 steps). Nothing else in it is random.
class Pong : public Environment {
 public:
  static constexpr int kSide = 40;  // of a picture
  static constexpr int kPictures = 4;
  static constexpr int kPicture = kSide * kSide;

  // `rom` is the game's file. Throws std::runtime_error where it is missing or another game's.
  explicit Pong(const std::string& rom);

  std::vector<int64_t> shape() const override { return {kPictures, kSide, kSide}; }
  int actions() const override { return 3; }
  void Reset(Random* random) override;
  Outcome Step(int action) override;
  std::span<const std::byte> observation() const override {
    return std::as_bytes(std::span(seen_));
  }

 private:
  // The last picture makes room for that of the brighter of two frames.
  void See();

  ale::ALEInterface ale_;
  std::vector<unsigned char> before_, now_;  // the last two frames, in gray
  std::vector<uint8_t> seen_;
  int steps_ = 0;
};

}  // namespace dqn

#endif  // DQN_PONG_H_
