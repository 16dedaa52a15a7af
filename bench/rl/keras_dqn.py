"""A DQN agent in Keras on TensorFlow, on a CartPole of its own.

Usage: keras_dqn.py STEPS
The same seeds each time, one thread: every run does the same.
"""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
import tensorflow as tf

BATCH, DISCOUNT, MEMORY = 32, np.float32(0.99), 5000
LEARN_START, LEARN_PERIOD, TARGET_PERIOD, MOST_STEPS = 200, 4, 250, 200


class CartPole:
    """Barto, Sutton and Anderson 1983; the figures are gymnasium's."""

    def __init__(self, random):
        self.random = random

    def reset(self):
        self.state, self.steps = self.random.uniform(-0.05, 0.05, 4), 0
        return self.state.astype(np.float32)

    def step(self, action):
        x, speed, angle, turn = self.state
        force = 10.0 if action else -10.0
        push = (force + 0.05 * turn * turn * np.sin(angle)) / 1.1
        bend = ((9.8 * np.sin(angle) - np.cos(angle) * push) /
                (0.5 * (4 / 3 - 0.1 * np.cos(angle) ** 2 / 1.1)))
        pull = push - 0.05 * bend * np.cos(angle) / 1.1
        self.state = np.array([x + 0.02 * speed, speed + 0.02 * pull, angle + 0.02 * turn,
                               turn + 0.02 * bend])
        self.steps += 1
        fell = abs(self.state[0]) > 2.4 or abs(self.state[2]) > 0.2095
        return self.state.astype(np.float32), fell, fell or self.steps >= MOST_STEPS


def network():
    return keras.Sequential([keras.Input((4,)), keras.layers.Dense(64, "relu"),
                             keras.layers.Dense(64, "relu"), keras.layers.Dense(2)])


class Agent:
    def __init__(self, random):
        self.random = random
        self.online, self.target = network(), network()
        self.target.set_weights(self.online.get_weights())
        self.online.compile("adam", "huber")
        self.act = tf.function(self.online)
        self.foresee = tf.function(self.target)
        self.seen = np.zeros((MEMORY, 4), np.float32)
        self.then = np.zeros((MEMORY, 4), np.float32)
        self.done = np.zeros(MEMORY, np.int64)
        self.fell = np.zeros(MEMORY, np.float32)
        self.count = 0

    def choose(self, state, epsilon):
        if self.random.random() < epsilon:
            return int(self.random.integers(2))
        return int(np.argmax(self.act(tf.constant(state[None]))[0]))

    def remember(self, state, action, then, fell):
        at = self.count % MEMORY
        self.seen[at], self.done[at], self.then[at], self.fell[at] = state, action, then, fell
        self.count += 1

    def learn(self):
        rows = self.random.integers(min(self.count, MEMORY), size=BATCH)
        best = self.foresee(tf.constant(self.then[rows])).numpy().max(axis=1)
        wanted = self.act(tf.constant(self.seen[rows])).numpy()
        wanted[np.arange(BATCH), self.done[rows]] = 1 + DISCOUNT * best * (1 - self.fell[rows])
        self.online.train_on_batch(self.seen[rows], wanted)


def main():
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    keras.utils.set_random_seed(1)
    random = np.random.default_rng(1)
    agent, world = Agent(random), CartPole(random)
    state, episodes = world.reset(), 0
    for step in range(int(sys.argv[1])):
        action = agent.choose(state, max(0.05, 1 - step / 1000))
        then, fell, ended = world.step(action)
        agent.remember(state, action, then, fell)
        state = world.reset() if ended else then
        episodes += ended
        if step >= LEARN_START and step % LEARN_PERIOD == 0:
            agent.learn()
        if step % TARGET_PERIOD == 0:
            agent.target.set_weights(agent.online.get_weights())
    print(episodes, sum(float(weights.sum()) for weights in agent.online.get_weights()))


if __name__ == "__main__":
    main()
