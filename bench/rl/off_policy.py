"""TD3 and DDPG, the same in PyTorch and in TensorFlow's three ways, on any environment with
continuous actions. RL-Scope compares frameworks so: one algorithm, one set of sizes.

Usage: off_policy.py {td3,ddpg} {torch,tf-eager,tf-autograph,tf-graph} ENVIRONMENT STEPS
(ENVIRONMENT: gymnasium's, or bullet/CartPole on PyBullet)
Marks the three operations of RL-Scope's paper: simulation, inference, backpropagation. The same
seeds each time, one thread. Prints the return, and the median of an update's processor time on that
thread.
"""

import contextlib
import os
import statistics
import sys
import time

import gymnasium
import numpy as np

try:
    from crosscut import operation
except ImportError:  # unrecorded
    def operation(_):
        return contextlib.nullcontext()

HIDDEN, BATCH, DISCOUNT, RATE, BLEND = (64, 64), 64, 0.99, 1e-3, 0.005
NOISE, CLIP, POLICY_EVERY, MEMORY, START = 0.2, 0.5, 2, 10_000, 200


class TorchAgent:
    def __init__(self, seen, acts, critics, _):
        import torch

        torch.manual_seed(1)
        torch.set_num_threads(1)
        self.torch = torch

        def network(inputs, outputs, *last):
            sizes = (inputs, *HIDDEN)
            layers = [layer for pair in zip(sizes, sizes[1:])
                      for layer in (torch.nn.Linear(*pair), torch.nn.ReLU())]
            return torch.nn.Sequential(*layers, torch.nn.Linear(sizes[-1], outputs), *last)

        self.nets, self.late = (
            [network(seen, acts, torch.nn.Tanh()),
             *(network(seen + acts, 1) for _ in range(critics))] for _ in range(2))
        for net, late in zip(self.nets, self.late):
            late.load_state_dict(net.state_dict())
        self.policy_adam = torch.optim.Adam(self.nets[0].parameters(), RATE)
        self.critic_adam = torch.optim.Adam(
            [weight for net in self.nets[1:] for weight in net.parameters()], RATE)

    def act(self, state):
        with self.torch.no_grad():
            return self.nets[0](self.torch.from_numpy(state[None]))[0].numpy()

    def learn(self, batch, noise, policy_too):
        torch = self.torch
        state, action, reward, then, going = map(torch.from_numpy, batch)
        with torch.no_grad():
            chosen = (self.late[0](then) + torch.from_numpy(noise)).clamp(-1, 1)
            foreseen = torch.cat([net(torch.cat([then, chosen], 1)) for net in self.late[1:]], 1)
            wanted = reward + DISCOUNT * going * foreseen.min(1, keepdim=True).values
        both = torch.cat([state, action], 1)
        loss = sum(((net(both) - wanted) ** 2).mean() for net in self.nets[1:])
        self.critic_adam.zero_grad()
        loss.backward()
        self.critic_adam.step()
        if not policy_too:
            return
        loss = -self.nets[1](torch.cat([state, self.nets[0](state)], 1)).mean()
        self.policy_adam.zero_grad()
        loss.backward()
        self.policy_adam.step()
        with torch.no_grad():
            for net, late in zip(self.nets, self.late):
                for weight, old in zip(net.parameters(), late.parameters()):
                    old.lerp_(weight, BLEND)


class TensorFlowAgent:
    """Eagerly, by tf.function (autograph), or as a graph that a session of TensorFlow 1 runs."""

    def __init__(self, seen, acts, critics, way):
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        import tensorflow as tf

        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(1)
        self.tf, self.way = tf, way
        if way == "tf-graph":
            tf.compat.v1.disable_eager_execution()
        random = np.random.default_rng(1)

        def first(inputs, outputs):
            sizes = (inputs, *HIDDEN, outputs)
            return [value for a, b in zip(sizes, sizes[1:])
                    for value in (random.uniform(-1, 1, (a, b)).astype(np.float32) / a ** 0.5,
                                  np.zeros(b, np.float32))]

        values = [first(seen, acts), *(first(seen + acts, 1) for _ in range(critics))]
        self.nets, self.late = ([[tf.Variable(value) for value in of_net] for of_net in values]
                                for _ in range(2))
        self.weights = {False: [w for net in self.nets[1:] for w in net], True: self.nets[0]}
        self.moments = {of: [(tf.Variable(tf.zeros(w.shape)), tf.Variable(tf.zeros(w.shape)))
                             for w in weights] for of, weights in self.weights.items()}
        self.steps = {of: tf.Variable(0.0) for of in self.weights}
        if way == "tf-autograph":
            self.update = tf.function(self.update)
            self.choose = tf.function(self.choose)
        if way == "tf-graph":
            self.build(seen, acts)

    def run(self, weights, value):
        for i in range(0, len(weights) - 2, 2):
            value = self.tf.nn.relu(value @ weights[i] + weights[i + 1])
        return value @ weights[-2] + weights[-1]

    def choose(self, state):
        return self.tf.tanh(self.run(self.nets[0], state))

    def adam(self, of_policy, gradients):
        """Kingma and Ba 2015; the operations of an update, for a graph."""
        tf, done = self.tf, []
        step = self.steps[of_policy].assign_add(1.0)
        step = step if self.way == "tf-graph" else self.steps[of_policy]
        rate = RATE * tf.sqrt(1 - 0.999 ** step) / (1 - 0.9 ** step)
        for weight, gradient, (mean, square) in zip(
                self.weights[of_policy], gradients, self.moments[of_policy]):
            new_mean = 0.9 * mean + 0.1 * gradient
            new_square = 0.999 * square + 0.001 * gradient * gradient
            done += [mean.assign(new_mean), square.assign(new_square),
                     weight.assign_sub(rate * new_mean / (tf.sqrt(new_square) + 1e-7))]
        return done

    def critic_loss(self, batch, noise):
        tf = self.tf
        state, action, reward, then, going = batch
        chosen = tf.clip_by_value(tf.tanh(self.run(self.late[0], then)) + noise, -1.0, 1.0)
        foreseen = tf.concat([self.run(net, tf.concat([then, chosen], 1))
                              for net in self.late[1:]], 1)
        wanted = tf.stop_gradient(
            reward + DISCOUNT * going * tf.reduce_min(foreseen, 1, keepdims=True))
        both = tf.concat([state, action], 1)
        return tf.add_n([tf.reduce_mean((self.run(net, both) - wanted) ** 2)
                         for net in self.nets[1:]])

    def policy_loss(self, state):
        both = self.tf.concat([state, self.choose(state)], 1)
        return -self.tf.reduce_mean(self.run(self.nets[1], both))

    def blend(self):
        return [old.assign_add(BLEND * (weight - old))
                for net, late in zip(self.nets, self.late) for weight, old in zip(net, late)]

    def update(self, batch, noise, policy_too):
        with self.tf.GradientTape() as tape:
            loss = self.critic_loss(batch, noise)
        self.adam(False, tape.gradient(loss, self.weights[False]))
        if policy_too:
            with self.tf.GradientTape() as tape:
                loss = self.policy_loss(batch[0])
            self.adam(True, tape.gradient(loss, self.weights[True]))
            self.blend()

    def build(self, seen, acts):
        tf, v1 = self.tf, self.tf.compat.v1
        self.fed = [v1.placeholder(tf.float32, (None, n)) for n in (seen, acts, 1, seen, 1, acts)]
        self.chosen = self.choose(self.fed[0])
        loss = self.critic_loss(self.fed[:-1], self.fed[-1])
        critics = self.adam(False, tf.gradients(loss, self.weights[False]))
        self.critics = tf.group(critics)
        with tf.control_dependencies(critics):
            policy = self.adam(True, tf.gradients(self.policy_loss(self.fed[0]),
                                                  self.weights[True]))
            with tf.control_dependencies(policy):
                self.whole = tf.group(self.blend())
        self.session = v1.Session(config=v1.ConfigProto(
            intra_op_parallelism_threads=1, inter_op_parallelism_threads=1))
        self.session.run(v1.global_variables_initializer())

    def act(self, state):
        if self.way == "tf-graph":
            return self.session.run(self.chosen, {self.fed[0]: state[None]})[0]
        return self.choose(self.tf.constant(state[None]))[0].numpy()

    def learn(self, batch, noise, policy_too):
        if self.way == "tf-graph":
            self.session.run(self.whole if policy_too else self.critics,
                             dict(zip(self.fed, (*batch, noise))))
            return
        self.update([self.tf.constant(part) for part in batch], self.tf.constant(noise),
                    policy_too)


def make(name):
    if name.startswith("bullet/"):
        import bullet

        return bullet.CartPole()
    return gymnasium.make(name)


def main():
    algorithm, framework, name, steps = *sys.argv[1:4], int(sys.argv[4])
    random = np.random.default_rng(1)
    world = make(name)
    seen, acts = world.observation_space.shape[0], world.action_space.shape[0]
    scale = world.action_space.high
    critics, every = (2, POLICY_EVERY) if algorithm == "td3" else (1, 1)
    kind = TorchAgent if framework == "torch" else TensorFlowAgent
    agent = kind(seen, acts, critics, framework)
    memory = [np.zeros((MEMORY, n), np.float32) for n in (seen, acts, 1, seen, 1)]
    took = []
    state, total = world.reset(seed=1)[0].astype(np.float32), 0.0
    for step in range(steps):
        if step < START:
            action = random.uniform(-1, 1, acts).astype(np.float32)
        else:
            with operation("inference"):
                action = agent.act(state)
            action = np.clip(action + random.normal(0, 0.1, acts), -1, 1).astype(np.float32)
        with operation("simulation"):
            then, reward, ended, cut, _ = world.step(action * scale)
        total += reward
        then = then.astype(np.float32)
        for kept, value in zip(memory, (state, action, reward, then, 0.0 if ended else 1.0)):
            kept[step % MEMORY] = value
        state = then
        if ended or cut:
            with operation("simulation"):
                state = world.reset()[0].astype(np.float32)
        if step >= START:
            with operation("backpropagation"):
                rows = random.integers(min(step + 1, MEMORY), size=BATCH)
                noise = np.zeros((BATCH, acts), np.float32)
                if algorithm == "td3":
                    noise = random.normal(0, NOISE, noise.shape).clip(-CLIP, CLIP)
                begin = time.thread_time()
                agent.learn([kept[rows] for kept in memory], noise.astype(np.float32),
                            step % every == 0)
                took.append(time.thread_time() - begin)
    print(f"{total:.6g}, {1e3 * statistics.median(took):.3g} ms")


if __name__ == "__main__":
    main()
