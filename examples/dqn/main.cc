// A DQN agent in C++ on LibTorch, the twin of dqn.py: see docs/dqn.md.
//
//   dqn SETTINGS [NAME=VALUE]...         crosscut record -o RUN -- dqn examples/dqn/cartpole.txt
//
// Marks what it does by crosscut.h, and records where `crosscut record` started it.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>

#include "agent.h"
#include "cartpole.h"
#include "crosscut/crosscut.h"
#include "environment.h"
#include "settings.h"
#include "train.h"
#ifdef DQN_WITH_ALE
#include "pong.h"
#endif

namespace dqn {

namespace {

// Throws std::runtime_error where there is none such.
std::unique_ptr<Environment> MakeEnvironment(const Settings& settings) {
  if (settings.environment == "cartpole") return std::make_unique<CartPole>();
#ifdef DQN_WITH_ALE
  if (settings.environment == "pong") return std::make_unique<Pong>(settings.rom);
#else
  if (settings.environment == "pong") {
    throw std::runtime_error("built without the Arcade Learning Environment: docs/dqn.md");
  }
#endif
  throw std::runtime_error("no environment is called \"" + settings.environment + "\"");
}

void Run(const Settings& settings) {
  const std::unique_ptr<Environment> trained = MakeEnvironment(settings);
  const std::unique_ptr<Environment> evaluated = MakeEnvironment(settings);
  Agent agent(trained->shape(), trained->actions(), settings);
  const Result result = Train(settings, &agent, trained.get(), evaluated.get());
  std::printf("seed %ld: %ld steps in %.1f s; kept that of step %ld; %.2f over %ld episodes\n",
              static_cast<long>(settings.seed), static_cast<long>(result.steps), result.seconds,
              static_cast<long>(result.kept_step), result.final_return,
              static_cast<long>(settings.final_episodes));
}

}  // namespace
}  // namespace dqn

int main(int count, char** arguments) {
  if (count < 2) {
    std::fprintf(stderr, "usage: dqn SETTINGS [NAME=VALUE]...\n");
    return 2;
  }
  // Where nobody records, marking costs next to nothing.
  if (std::getenv("CROSSCUT_RUN") != nullptr && crosscut_active() == 0 &&
      crosscut_start(nullptr) != CROSSCUT_OK) {
    std::fprintf(stderr, "dqn: not recorded: %s\n", crosscut_error());
  }
  crosscut_process_name("dqn (C++)");
  // What is in no span is this program's own code.
  crosscut_base(CROSSCUT_NATIVE);
  try {
    dqn::Run(dqn::ReadSettings({arguments + 1, arguments + count}));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "dqn: %s\n", error.what());
    return 1;
  }
  crosscut_stop();
  return 0;
}
