#include "pong.h"

#include <algorithm>
#include <filesystem>
#include <stdexcept>

namespace dqn {
namespace {

constexpr int kFrames = 4;  // an action lasts
constexpr int kMaxSteps = 4500;
constexpr int kMostIdleFrames = 30;
constexpr int kWidth = 160;    // of the screen
constexpr int kFirstRow = 34;  // of the field
constexpr int kBlock = 4;      // pixels that become one
constexpr ale::Action kActions[] = {ale::PLAYER_A_NOOP, ale::PLAYER_A_RIGHT, ale::PLAYER_A_LEFT};

}  // namespace

Pong::Pong(const std::string& rom) : seen_(kPictures * kPicture) {
  if (!ale::ALEInterface::isSupportedROM(rom).has_value()) {
    throw std::runtime_error("rom = " + rom + ": no game that ALE knows");
  }
  ale::Logger::setMode(ale::Logger::Error);
  ale_.setFloat("repeat_action_probability", 0);
  ale_.setInt("random_seed", 1);
  ale_.loadROM(rom);
}

void Pong::Reset(Random* random) {
  ale_.reset_game();
  steps_ = 0;
  for (int left = 1 + random->Below(kMostIdleFrames); left > 0; --left) {
    ale_.act(ale::PLAYER_A_NOOP);
  }
  ale_.getScreenGrayscale(now_);
  before_ = now_;
  std::fill(seen_.begin(), seen_.end(), uint8_t{0});
  See();
}

Outcome Pong::Step(int action) {
  Outcome outcome;
  for (int frame = 0; frame < kFrames && !outcome.terminated; ++frame) {
    outcome.reward += static_cast<float>(ale_.act(kActions[action]));
    outcome.terminated = ale_.game_over();
    if (frame + 2 < kFrames && !outcome.terminated) continue;
    before_.swap(now_);
    ale_.getScreenGrayscale(now_);
  }
  See();
  outcome.truncated = ++steps_ >= kMaxSteps;
  return outcome;
}

void Pong::See() {
  std::copy(seen_.begin() + kPicture, seen_.end(), seen_.begin());
  uint8_t* const picture = seen_.data() + (kPictures - 1) * kPicture;
  for (int place = 0; place < kPicture; ++place) {
    const int corner = (kFirstRow + place / kSide * kBlock) * kWidth + place % kSide * kBlock;
    int sum = 0;
    for (int y = 0; y < kBlock; ++y) {
      for (int x = 0; x < kBlock; ++x) {
        const int at = corner + y * kWidth + x;
        sum += std::max(before_[at], now_[at]);
      }
    }
    picture[place] = static_cast<uint8_t>(sum / (kBlock * kBlock));
  }
}

}  // namespace dqn
