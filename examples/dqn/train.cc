#include "train.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "crosscut/crosscut.h"
#include "random.h"
#include "replay.h"

namespace dqn {
namespace {

using Clock = std::chrono::steady_clock;

crosscut::Name OperationName(const char* name) {
  return crosscut::Name(name, CROSSCUT_LAYER_NONE, CROSSCUT_OPERATION);
}
const crosscut::Name& Inference() {
  static const crosscut::Name name = OperationName("inference");
  return name;
}
const crosscut::Name& Simulate() {
  static const crosscut::Name name = OperationName("simulate");
  return name;
}

// What the environment does is the simulator's layer.
class Simulation {
 public:
  Simulation() : operation_(Simulate()), span_(Layer()) {}

 private:
  static const crosscut::Name& Layer() {
    static const crosscut::Name name("environment", CROSSCUT_SIMULATOR);
    return name;
  }
  crosscut::Operation operation_;
  crosscut::Span span_;
};

// Streams of random numbers of their own: evaluating changes nothing of the training.
uint32_t EvaluationSeed(const Settings& settings) {
  return static_cast<uint32_t>(settings.seed) + 1000000;
}
uint32_t FinalSeed(const Settings& settings) {
  return static_cast<uint32_t>(settings.seed) + 2000000;
}

// What evaluations find: the best, the curve, what is printed.
class Evaluations {
 public:
  Evaluations(const Settings& settings, Agent* agent, Environment* environment)
      : settings_(settings), agent_(agent), environment_(environment) {
    if (settings.curve.empty()) return;
    curve_.open(settings.curve);
    if (!curve_) throw std::runtime_error("cannot write " + settings.curve);
    curve_ << "step,return,epsilon,loss,seconds\n";
  }

  // Whether the training may end. `seconds` were trained so far.
  bool At(int64_t step, float loss, double seconds) {
    const double value =
        Evaluate(agent_, environment_, settings_.evaluate_episodes, EvaluationSeed(settings_));
    const double epsilon = settings_.epsilon.At(step);
    std::printf("step %7ld  return %7.2f  epsilon %.3f  loss %.5f  %6.0f steps/s\n",
                static_cast<long>(step), value, epsilon, loss, step / seconds);
    std::fflush(stdout);
    if (curve_.is_open()) {
      curve_ << step << ',' << value << ',' << epsilon << ',' << loss << ',' << seconds
             << std::endl;
    }
    if (best_.kept_step == 0 || value >= best_.kept_return) {
      best_.kept_step = step;
      best_.kept_return = value;
      agent_->Keep();
      if (!settings_.checkpoint.empty()) agent_->Save(settings_.checkpoint);
    }
    return value >= settings_.stop_at;
  }

  // Leaves the best network in the agent.
  Result Finish(int64_t steps, double seconds) {
    agent_->Restore();
    best_.final_return =
        Evaluate(agent_, environment_, settings_.final_episodes, FinalSeed(settings_));
    best_.steps = steps;
    best_.seconds = seconds;
    return best_;
  }

 private:
  const Settings& settings_;
  Agent* agent_;
  Environment* environment_;
  std::ofstream curve_;
  Result best_;
};

// The agent in its environment: one step after the other.
class Trainer {
 public:
  Trainer(const Settings& settings, Agent* agent, Environment* environment)
      : settings_(settings),
        agent_(agent),
        environment_(environment),
        random_(static_cast<uint32_t>(settings.seed)),
        replay_(settings.replay, environment->observation().size()) {
    environment_->Reset(&random_);
  }

  // Step number `step`, from 1.
  void Step(int64_t step) {
    const bool learns = step > settings_.learn_start && step % settings_.learn_period == 0;
    crosscut_step(learns ? learn_.id() : collect_.id());
    Live(settings_.epsilon.At(step));
    if (learns) Learn();
    if (step % settings_.target_period == 0) agent_->UpdateTarget();
  }

  float loss() const { return loss_; }

 private:
  int Choose(double epsilon) {
    const crosscut::Operation operation(Inference());
    if (random_.Uniform() < epsilon) return random_.Below(environment_->actions());
    return agent_->Act(before_);
  }

  void Live(double epsilon) {
    const std::span<const std::byte> now = environment_->observation();
    before_.assign(now.begin(), now.end());
    const int action = Choose(epsilon);
    Outcome outcome;
    {
      const Simulation simulation;
      outcome = environment_->Step(action);
    }
    {
      const crosscut::Operation operation(replay_name_);
      replay_.Add(before_, action, outcome, environment_->observation());
    }
    if (!outcome.over()) return;
    const Simulation simulation;
    environment_->Reset(&random_);
  }

  void Learn() {
    {
      const crosscut::Operation operation(replay_name_);
      replay_.Sample(settings_.batch, &random_, &batch_);
    }
    const crosscut::Operation operation(backprop_);
    loss_ = agent_->Learn(batch_);
  }

  const Settings& settings_;
  Agent* agent_;
  Environment* environment_;
  Random random_;
  Replay replay_;
  Batch batch_;
  std::vector<std::byte> before_;
  float loss_ = 0;
  const crosscut::Name replay_name_ = OperationName("replay");
  const crosscut::Name backprop_ = OperationName("backprop");
  const crosscut::Name collect_{"collect", CROSSCUT_LAYER_NONE, CROSSCUT_STEP};
  const crosscut::Name learn_{"learn", CROSSCUT_LAYER_NONE, CROSSCUT_STEP};
};

}  // namespace

double Evaluate(Agent* agent, Environment* environment, int64_t episodes, uint32_t seed) {
  Random random(seed);
  double sum = 0;
  for (int64_t i = 0; i < episodes; ++i) {
    environment->Reset(&random);
    for (Outcome outcome; !outcome.over();) {
      int action = 0;
      {
        const crosscut::Operation operation(Inference());
        action = agent->Act(environment->observation());
      }
      const Simulation simulation;
      outcome = environment->Step(action);
      sum += outcome.reward;
    }
  }
  return sum / static_cast<double>(episodes);
}

Result Train(const Settings& settings, Agent* agent, Environment* trained, Environment* evaluated) {
  Evaluations evaluations(settings, agent, evaluated);
  Trainer trainer(settings, agent, trained);
  double seconds = 0;
  int64_t step = 0;
  for (bool done = false; !done;) {
    crosscut_phase("train");
    const Clock::time_point begin = Clock::now();
    const int64_t until = std::min(settings.steps, step + settings.evaluate_period);
    while (step < until) trainer.Step(++step);
    crosscut_step_end();
    seconds += std::chrono::duration<double>(Clock::now() - begin).count();
    crosscut_phase("evaluate");
    done = evaluations.At(step, trainer.loss(), seconds) || step >= settings.steps;
  }
  const Result result = evaluations.Finish(step, seconds);
  crosscut_phase(nullptr);
  return result;
}

}  // namespace dqn
