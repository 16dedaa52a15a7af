#include "train.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace dqn {
namespace {

constexpr int kDoors = 6;

// Six doors in a row, of which either the left or the right leaf can be pushed: the right one gives
// 1. What is seen is the door's number.
class Doors : public Environment {
 public:
  std::vector<int64_t> shape() const override { return {2}; }
  int actions() const override { return 2; }
  void Reset(Random*) override { At(0); }
  Outcome Step(int action) override {
    const bool right = action == (door_ % 2 == 0 ? 1 : 0);
    At(door_ + 1);
    return {.reward = right ? 1.0f : 0.0f, .terminated = door_ == kDoors, .truncated = false};
  }
  std::span<const std::byte> observation() const override {
    return std::as_bytes(std::span(seen_));
  }

 private:
  void At(int door) {
    door_ = door;
    seen_ = {door_ / 6.0f, static_cast<float>(door_ % 2)};
  }
  int door_ = 0;
  std::array<float, 2> seen_ = {};
};

Settings Quick() {
  Settings settings;
  settings.steps = 3000;
  settings.stop_at = kDoors;
  settings.hidden = 16;
  settings.learning_rate = 3e-3;
  settings.batch = 16;
  settings.replay = 500;
  settings.learn_start = 50;
  settings.learn_period = 2;
  settings.target_period = 50;
  settings.epsilon = {1, 0.1, 500};
  settings.evaluate_period = 250;
  settings.evaluate_episodes = 2;
  settings.final_episodes = 3;
  return settings;
}

struct Trained {
  explicit Trained(const Settings& settings) : agent({2}, 2, settings) {
    result = Train(settings, &agent, &trained, &evaluated);
  }
  Agent agent;
  Doors trained, evaluated;
  Result result;
};

TEST(Train, FindsTheDoorsThatOpenAndStops) {
  const Trained it(Quick());
  EXPECT_EQ(it.result.kept_return, kDoors);
  EXPECT_EQ(it.result.final_return, kDoors);
  EXPECT_EQ(it.result.steps, it.result.kept_step) << "it goes on after it could stop";
  EXPECT_LT(it.result.steps, 3000);
}

TEST(Train, IsTheSameForTheSameSeed) {
  const auto curve = [](int64_t seed) {
    Settings settings = Quick();
    settings.seed = seed;
    settings.steps = 750;
    settings.stop_at = 1e30;
    settings.curve = testing::TempDir() + "dqn_curve.csv";
    const Trained it(settings);
    EXPECT_EQ(it.result.steps, 750);
    std::ifstream file(settings.curve);
    std::string all, line;
    while (std::getline(file, line)) all += line.substr(0, line.rfind(',')) + "\n";
    return all;
  };
  const std::string first = curve(1);
  EXPECT_EQ(first.substr(0, first.find('\n')), "step,return,epsilon,loss");
  EXPECT_EQ(std::count(first.begin(), first.end(), '\n'), 4);
  EXPECT_EQ(first, curve(1));
  EXPECT_NE(first, curve(2));
}

TEST(Train, LeavesTheNetworkThatItKept) {
  Settings settings = Quick();
  settings.checkpoint = testing::TempDir() + "dqn_checkpoint.pt";
  const Trained it(settings);
  settings.seed = 77;
  Agent other({2}, 2, settings);
  Doors doors;
  other.Load(settings.checkpoint);
  EXPECT_EQ(Evaluate(&other, &doors, 2, 1), kDoors);
}

TEST(Train, SaysWhichFileItCannotWrite) {
  Settings settings = Quick();
  settings.curve = "/no/such/folder/curve.csv";
  try {
    const Trained it(settings);
    FAIL() << "it trained";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "cannot write /no/such/folder/curve.csv");
  }
}

// A batch in which action 1 gives 1 and action 0 nothing, wherever it is taken.
TEST(Agent, LearnsWhatPays) {
  Settings settings = Quick();
  Agent agent({2}, 2, settings);
  Replay replay(64, 2 * sizeof(float));
  Random random(4);
  for (int i = 0; i < 64; ++i) {
    const std::array<float, 2> seen = {static_cast<float>(random.Uniform()), 0.5f};
    const auto bytes = std::as_bytes(std::span(seen));
    replay.Add(bytes, i % 2, {.reward = static_cast<float>(i % 2), .terminated = true}, bytes);
  }
  Batch batch;
  replay.Sample(64, &random, &batch);
  const float first = agent.Learn(batch);
  for (int i = 0; i < 300; ++i) agent.Learn(batch);
  EXPECT_LT(agent.Learn(batch), first / 20);
  const std::array<float, 2> seen = {0.3f, 0.5f};
  EXPECT_EQ(agent.Act(std::as_bytes(std::span(seen))), 1);
}

TEST(Agent, RestoresWhatItKept) {
  Settings settings = Quick();
  Agent agent({2}, 2, settings);
  const std::array<float, 2> seen = {0.3f, 0.5f};
  const auto bytes = std::as_bytes(std::span(seen));
  const int before = agent.Act(bytes);
  // The other action pays, until it is preferred.
  Replay replay(2, 2 * sizeof(float));
  replay.Add(bytes, 1 - before, {.reward = 5, .terminated = true}, bytes);
  replay.Add(bytes, before, {.reward = -5, .terminated = true}, bytes);
  Random random(4);
  Batch batch;
  replay.Sample(32, &random, &batch);
  for (int i = 0; i < 200; ++i) agent.Learn(batch);
  ASSERT_EQ(agent.Act(bytes), 1 - before);
  agent.Restore();
  EXPECT_EQ(agent.Act(bytes), before);
}

}  // namespace
}  // namespace dqn
