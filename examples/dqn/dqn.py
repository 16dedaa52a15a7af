"""A DQN agent in Python on PyTorch, the twin of the one in C++ beside it: see docs/dqn.md.

The same settings and seeds give the same first weights, the same random numbers, and the same
episodes, until rounding in the optimizers differs. CartPole is gymnasium's, Pong is ale-py's.

Usage: dqn.py SETTINGS [NAME=VALUE]...     crosscut record -o RUN -- python dqn.py cartpole.txt
"""

import sys
import time
from types import SimpleNamespace

import numpy as np
import torch
from torch import nn
from torch.nn import functional

import crosscut

DEFAULTS = {
    "environment": "", "rom": "", "checkpoint": "", "curve": "", "seed": 1, "steps": 0,
    "stop_at": 1e30, "hidden": 64, "learning_rate": 1e-3, "discount": 0.99, "gradient_norm": 10.0,
    "batch": 64, "replay": 50000, "learn_start": 1000, "learn_period": 4, "target_period": 500,
    "epsilon_first": 1.0, "epsilon_last": 0.05, "epsilon_steps": 10000, "evaluate_period": 10000,
    "evaluate_episodes": 20, "final_episodes": 100,
}


def read_settings(arguments):
    """The settings of the file that is named first, changed as the other arguments say."""
    with open(arguments[0], encoding="utf-8") as file:
        lines = [line.partition("#")[0] for line in file]
    settings = dict(DEFAULTS)
    for line in lines + arguments[1:]:
        if not line.strip():
            continue
        name, equals, value = (part.strip() for part in line.partition("="))
        if not equals or name not in DEFAULTS:
            raise SystemExit(f"dqn.py: no setting: {line.strip()}")
        try:
            settings[name] = type(DEFAULTS[name])(value)
        except ValueError as error:
            raise SystemExit(f"dqn.py: {name}: {error}") from None
    return SimpleNamespace(**settings)


class CartPole:
    """gymnasium's CartPole-v1, with the random numbers of the caller."""

    shape, actions, pixels = (4,), 2, False

    def __init__(self, settings):
        import gymnasium

        self.it = gymnasium.make("CartPole-v1")

    def reset(self, random):
        self.it.unwrapped.np_random = np.random.Generator(random._bit_generator)
        return self.it.reset()[0]

    def step(self, action):
        observation, reward, terminated, truncated, _ = self.it.step(action)
        return observation, reward, terminated, truncated


class Pong:
    """Pong on the Arcade Learning Environment; pong.h says what is observed."""

    shape, actions, pixels = (4, 40, 40), 3, True
    frames, max_steps, most_idle_frames, first_row = 4, 4500, 30, 34
    stay, up, down = 0, 3, 4  # of ALE's actions

    def __init__(self, settings):
        import ale_py

        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
        self.ale = ale_py.ALEInterface()
        self.ale.setFloat("repeat_action_probability", 0)
        self.ale.setInt("random_seed", 1)
        self.ale.loadROM(settings.rom or ale_py.roms.get_rom_path("pong"))
        self.codes = [ale_py.Action(code) for code in (self.stay, self.up, self.down)]

    def reset(self, random):
        self.ale.reset_game()
        self.steps = 0
        for _ in range(1 + int(random.random_sample() * self.most_idle_frames)):
            self.ale.act(self.codes[0])
        self.before = self.now = self.ale.getScreenGrayscale()
        self.seen = np.zeros(self.shape, np.uint8)
        return self.see()

    def step(self, action):
        reward, terminated = 0, False
        for frame in range(self.frames):
            reward += self.ale.act(self.codes[action])
            terminated = self.ale.game_over()
            if frame + 2 >= self.frames or terminated:
                self.before, self.now = self.now, self.ale.getScreenGrayscale()
            if terminated:
                break
        self.steps += 1
        return self.see(), reward, terminated, self.steps >= self.max_steps

    def see(self):
        brighter = np.maximum(self.before, self.now)[self.first_row:self.first_row + 160]
        picture = brighter.reshape(40, 4, 40, 4).sum((1, 3), dtype=np.int32) // 16
        self.seen = np.concatenate([self.seen[1:], picture[None].astype(np.uint8)])
        return self.seen


ENVIRONMENTS = {"cartpole": CartPole, "pong": Pong}


class Replay:
    """The newest `capacity` transitions."""

    def __init__(self, capacity, environment):
        kind = np.uint8 if environment.pixels else np.float32
        self.before = np.empty((capacity, *environment.shape), kind)
        self.after = np.empty((capacity, *environment.shape), kind)
        self.action = np.empty(capacity, np.int64)
        self.reward = np.empty(capacity, np.float32)
        self.follows = np.empty(capacity, np.float32)
        self.size, self.next = 0, 0

    def add(self, before, action, outcome):
        after, reward, terminated, _ = outcome
        at = self.next
        self.before[at], self.after[at] = before, after
        self.action[at], self.reward[at], self.follows[at] = action, reward, not terminated
        self.next = (at + 1) % len(self.action)
        self.size = max(self.size, at + 1)

    def sample(self, count, random):
        rows = (random.random_sample(count) * self.size).astype(np.int64)
        columns = self.before, self.after, self.action, self.reward, self.follows
        return [torch.from_numpy(column[rows]) for column in columns]


def make_network(environment, hidden):
    if not environment.pixels:
        size, = environment.shape
        return nn.Sequential(nn.Linear(size, hidden), nn.ReLU(), nn.Linear(hidden, hidden),
                             nn.ReLU(), nn.Linear(hidden, environment.actions))
    planes, rows, columns = environment.shape

    def halved(size):
        return (size - 4) // 2 + 1

    places = halved(halved(rows)) * halved(halved(columns))
    return nn.Sequential(nn.Conv2d(planes, 16, 4, stride=2), nn.ReLU(),
                         nn.Conv2d(16, 32, 4, stride=2), nn.ReLU(), nn.Flatten(),
                         nn.Linear(32 * places, hidden), nn.ReLU(),
                         nn.Linear(hidden, environment.actions))


def copy_parameters(source, target):
    target.load_state_dict(source.state_dict())


class Agent:
    def __init__(self, environment, settings):
        torch.set_num_threads(1)
        torch.manual_seed(settings.seed)
        self.network, self.target, self.best = (
            make_network(environment, settings.hidden) for _ in range(3))
        self.optimizer = torch.optim.Adam(self.network.parameters(), settings.learning_rate)
        self.settings, self.pixels = settings, environment.pixels
        self.update_target()

    def tensor(self, observations):
        return observations.float().div_(255) if self.pixels else observations

    @torch.inference_mode()
    def act(self, observation):
        return int(self.network(self.tensor(torch.from_numpy(observation)[None])).argmax(1))

    def loss(self, before, after, action, reward, follows):
        with torch.no_grad():
            best = self.target(self.tensor(after)).max(1).values
            expected = reward + self.settings.discount * follows * best
        taken = self.network(self.tensor(before)).gather(1, action[:, None]).squeeze(1)
        return functional.smooth_l1_loss(taken, expected)

    def learn(self, batch):
        loss = self.loss(*batch)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), self.settings.gradient_norm)
        self.optimizer.step()
        return loss.item()

    def update_target(self):
        copy_parameters(self.network, self.target)


def evaluate(agent, environment, episodes, seed):
    """The mean return of `episodes` greedy episodes that begin as `seed` says."""
    random = np.random.RandomState(seed)
    total = 0.0
    for _ in range(episodes):
        observation, over = environment.reset(random), False
        while not over:
            with crosscut.operation("inference"):
                action = agent.act(observation)
            with crosscut.operation("simulate"):
                observation, reward, terminated, truncated = environment.step(action)
            total += reward
            over = terminated or truncated
    return total / episodes


class Trainer:
    """The agent in its environment: one step after the other."""

    def __init__(self, settings, agent, environment):
        self.settings, self.agent, self.environment = settings, agent, environment
        self.random = np.random.RandomState(settings.seed)
        self.replay = Replay(settings.replay, environment)
        self.observation = environment.reset(self.random)
        self.loss = 0.0

    def epsilon(self, step):
        passed = min(1.0, step / self.settings.epsilon_steps)
        first = self.settings.epsilon_first
        return first + passed * (self.settings.epsilon_last - first)

    def step(self, step):
        settings = self.settings
        learns = step > settings.learn_start and step % settings.learn_period == 0
        crosscut.step("learn" if learns else "collect")
        self.live(self.epsilon(step))
        if learns:
            with crosscut.operation("replay"):
                batch = self.replay.sample(settings.batch, self.random)
            with crosscut.operation("backprop"):
                self.loss = self.agent.learn(batch)
        if step % settings.target_period == 0:
            self.agent.update_target()

    def live(self, epsilon):
        with crosscut.operation("inference"):
            if self.random.random_sample() < epsilon:
                action = int(self.random.random_sample() * self.environment.actions)
            else:
                action = self.agent.act(self.observation)
        with crosscut.operation("simulate"):
            outcome = self.environment.step(action)
        with crosscut.operation("replay"):
            self.replay.add(self.observation, action, outcome)
        self.observation, _, terminated, truncated = outcome
        if terminated or truncated:
            with crosscut.operation("simulate"):
                self.observation = self.environment.reset(self.random)


class Evaluations:
    """What evaluations find: the best, the curve, what is printed."""

    def __init__(self, settings, agent, environment):
        self.settings, self.agent, self.environment = settings, agent, environment
        self.kept_step, self.kept_return = 0, 0.0
        self.curve = open(settings.curve, "w", encoding="utf-8") if settings.curve else None
        if self.curve:
            print("step,return,epsilon,loss,seconds", file=self.curve, flush=True)

    def at(self, step, trainer, seconds):
        settings, epsilon, loss = self.settings, trainer.epsilon(step), trainer.loss
        value = evaluate(self.agent, self.environment, settings.evaluate_episodes,
                         settings.seed + 1000000)
        print(f"step {step:7d}  return {value:7.2f}  epsilon {epsilon:.3f}  loss {loss:.5f}  "
              f"{step / seconds:6.0f} steps/s", flush=True)
        if self.curve:
            print(step, value, epsilon, loss, seconds, sep=",", file=self.curve, flush=True)
        if self.kept_step == 0 or value >= self.kept_return:
            self.kept_step, self.kept_return = step, value
            copy_parameters(self.agent.network, self.agent.best)
            if settings.checkpoint:
                torch.save(self.agent.network.state_dict(), settings.checkpoint)
        return value >= settings.stop_at

    def finish(self):
        """The mean return of the network that was kept, in episodes that it has not seen."""
        copy_parameters(self.agent.best, self.agent.network)
        return evaluate(self.agent, self.environment, self.settings.final_episodes,
                        self.settings.seed + 2000000)


def train(settings):
    make = ENVIRONMENTS[settings.environment]
    trained, evaluated = make(settings), make(settings)
    agent = Agent(trained, settings)
    evaluations = Evaluations(settings, agent, evaluated)
    trainer = Trainer(settings, agent, trained)
    seconds, step, done = 0.0, 0, False
    while not done:
        crosscut.phase("train")
        begin = time.monotonic()
        until = min(settings.steps, step + settings.evaluate_period)
        while step < until:
            step += 1
            trainer.step(step)
        crosscut.step_end()
        seconds += time.monotonic() - begin
        crosscut.phase("evaluate")
        done = evaluations.at(step, trainer, seconds) or step >= settings.steps
    final = evaluations.finish()
    crosscut.phase(None)
    print(f"seed {settings.seed}: {step} steps in {seconds:.1f} s; kept that of step "
          f"{evaluations.kept_step}; {final:.2f} over {settings.final_episodes} episodes")


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    crosscut.process_name("dqn (Python)")
    train(read_settings(sys.argv[1:]))


if __name__ == "__main__":
    main()
