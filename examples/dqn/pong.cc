#include "pong.h"

#include <algorithm>
#include <filesystem>
#include <optional>
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

// One that does not greet.
ale::ALEInterface MakeEmulator() {
  ale::Logger::setMode(ale::Logger::Error);
  return ale::ALEInterface();
}

// Throws std::runtime_error where the file is not there or is another game's.
void CheckGame(const std::string& rom) {
  if (!std::filesystem::is_regular_file(rom)) {
    throw std::runtime_error("rom = " + rom + ": no such file");
  }
  const std::optional<std::string> game = ale::ALEInterface::isSupportedROM(rom);
  if (game != "pong") {
    throw std::runtime_error("rom = " + rom + ": " + game.value_or("no game that ALE knows") +
                             (game ? ", not pong" : ""));
  }
}

}  // namespace

Pong::Pong(const std::string& rom) : ale_(MakeEmulator()), seen_(kPictures * kPicture) {
  CheckGame(rom);
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
