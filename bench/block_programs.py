"""Main loops of many kinds for blocks.py: each function sets one up and returns its step().

The same seed each time. Nothing here knows of a profiler, but for `marks`, whose step marks itself
as a program would.
"""

import math
import random


def one_thread():
    import torch
    torch.set_num_threads(1)
    torch.manual_seed(1)
    return torch


def trains(model, optimizer, batch, wanted):
    def step():
        optimizer.zero_grad()
        loss = (model(batch()) - wanted).square().mean()
        loss.backward()
        optimizer.step()
    return step


def mlp():
    """Four linear layers of 64, Adam: some 0.3 ms."""
    torch = one_thread()
    linear, relu = torch.nn.Linear, torch.nn.ReLU
    model = torch.nn.Sequential(linear(64, 64), relu(), linear(64, 64), relu(), linear(64, 64),
                                relu(), linear(64, 64))
    x, y = torch.randn(32, 64), torch.randn(32, 64)
    return trains(model, torch.optim.Adam(model.parameters()), lambda: x, y)


def transformer():
    """Two encoder layers of 64, 8 x 32 words, Adam: some 4 ms."""
    torch = one_thread()
    layer = torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    model = torch.nn.Sequential(
        torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), torch.nn.Linear(64, 10))
    x, y = torch.randn(8, 32, 64), torch.randn(8, 32, 10)
    return trains(model, torch.optim.Adam(model.parameters()), lambda: x, y)


class CartPole:
    """gymnasium's, in plain Python."""

    def __init__(self):
        self._random = random.Random(0)

    def reset(self):
        self.state, self._age = tuple(self._random.uniform(-0.05, 0.05) for _ in range(4)), 0
        return self.state

    def step(self, action):
        x, v, angle, spin = self.state
        cos, sin = math.cos(angle), math.sin(angle)
        push = ((10.0 if action else -10.0) + 0.05 * spin * spin * sin) / 1.1
        turn = (9.8 * sin - cos * push) / (0.5 * (4.0 / 3.0 - 0.1 * cos * cos / 1.1))
        self.state = (x + 0.02 * v, v + 0.02 * (push - 0.05 * turn * cos / 1.1),
                      angle + 0.02 * spin, spin + 0.02 * turn)
        self._age += 1
        fallen = abs(self.state[0]) > 2.4 or abs(self.state[2]) > 0.2095
        return self.state, 1.0, fallen or self._age >= 500


def dqn():
    """An agent in CartPole: a policy each step, an update each fourth: some 0.2 ms."""
    torch = one_thread()

    def network():
        linear, relu = torch.nn.Linear, torch.nn.ReLU
        return torch.nn.Sequential(linear(4, 64), relu(), linear(64, 64), relu(), linear(64, 2))

    policy, target, world, draw = network(), network(), CartPole(), random.Random(1)
    optimizer = torch.optim.Adam(policy.parameters())
    memory, state = [], {"seen": world.reset(), "count": 0}

    def update():
        columns = list(zip(*draw.sample(memory, 32)))
        before, actions, rewards, after, ends = map(torch.tensor, columns)
        with torch.no_grad():
            wanted = rewards + 0.99 * (1 - ends) * target(after).max(1).values
        valued = policy(before).gather(1, actions[:, None]).squeeze(1)
        loss = torch.nn.functional.smooth_l1_loss(valued, wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    def step():
        seen = state["seen"]
        if draw.random() < 0.1:
            action = draw.randrange(2)
        else:
            with torch.no_grad():
                action = int(policy(torch.tensor(seen)).argmax().item())
        after, reward, done = world.step(action)
        memory.append((seen, action, reward, after, float(done)))
        del memory[:-10000]
        state["seen"] = world.reset() if done else after
        state["count"] += 1
        if state["count"] % 4 == 0 and len(memory) >= 64:
            update()
        if state["count"] % 200 == 0:
            target.load_state_dict(policy.state_dict())
    return step


class Rows:
    """A data set whose rows take about 0.2 ms of Python and NumPy each."""

    def __len__(self):
        return 1 << 30

    def __getitem__(self, index):
        import numpy
        row = numpy.random.default_rng(index).standard_normal(8192).astype(numpy.float32)
        return numpy.sort(row)[::128]


def loader():
    """A DataLoader with a worker."""
    torch = one_thread()
    batches = iter(torch.utils.data.DataLoader(Rows(), batch_size=4, num_workers=1))
    model = torch.nn.Linear(64, 1)
    return trains(model, torch.optim.SGD(model.parameters(), 0.001), lambda: next(batches),
                  torch.zeros(4, 1))


def greenlets():
    """A training step in each of four greenlets, in turn."""
    import gevent
    steps = [mlp() for _ in range(4)]
    return lambda: gevent.joinall([gevent.spawn(step) for step in steps], raise_error=True)


def _rank(number, port):
    import torch.distributed
    torch = one_thread()
    torch.distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}",
                                         rank=number, world_size=2)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(128, 128))
    x = torch.randn(64, 128)
    return trains(model, torch.optim.SGD(model.parameters(), 0.001), lambda: x, torch.zeros(1))


def _other_rank(port):
    step = _rank(1, port)
    try:
        while True:
            step()
    except RuntimeError:
        pass  # the first rank has ended


def ranks():
    """DistributedDataParallel on two processes (gloo)."""
    import socket

    import torch.multiprocessing
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = torch.multiprocessing.get_context("fork")
    context.Process(target=_other_rank, args=(port,), daemon=True).start()
    return _rank(0, port)


def opencl():
    """Eight kernels and a copy to the host."""
    import numpy
    import pyopencl
    context = pyopencl.create_some_context(interactive=False)
    queue = pyopencl.CommandQueue(context)
    program = pyopencl.Program(context, """
        kernel void saxpy(float a, global const float* x, global float* y) {
          size_t i = get_global_id(0);
          y[i] = a * x[i] + y[i];
        }""").build()
    saxpy = pyopencl.Kernel(program, "saxpy")
    x = numpy.ones(1 << 16, numpy.float32)
    y = numpy.zeros_like(x)
    flags = pyopencl.mem_flags
    on_device = [pyopencl.Buffer(context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=data)
                 for data in (x, y)]

    def step():
        for _ in range(8):
            saxpy(queue, x.shape, None, numpy.float32(1e-3), *on_device)
        pyopencl.enqueue_copy(queue, y, on_device[1])
    return step


def jax():
    """A jitted update; no step that anybody sees."""
    import jax as framework
    import jax.numpy as numpy

    def loss(weights, x, y):
        for weight in weights[:-1]:
            x = framework.nn.relu(x @ weight)
        return ((x @ weights[-1] - y) ** 2).mean()

    @framework.jit
    def update(weights, x, y):
        gradients = framework.grad(loss)(weights, x, y)
        return [weight - 1e-3 * gradient for weight, gradient in zip(weights, gradients)]

    keys = framework.random.split(framework.random.PRNGKey(1), 4)
    state = [[framework.random.normal(key, (128, 128)) * 0.1 for key in keys[:3]]]
    x = framework.random.normal(keys[3], (128, 128))
    y = numpy.sin(x)

    def step():
        state[0] = framework.block_until_ready(update(state[0], x, y))
    return step


def keras():
    """A batch of Model.train_on_batch() on TensorFlow."""
    import keras as framework
    import numpy
    import tensorflow
    tensorflow.config.threading.set_inter_op_parallelism_threads(1)
    tensorflow.config.threading.set_intra_op_parallelism_threads(1)
    layers = [framework.layers.Dense(64, "relu") for _ in range(3)]
    model = framework.Sequential([framework.Input((64,)), *layers, framework.layers.Dense(1)])
    model.compile("adam", "mse")
    x = numpy.random.default_rng(1).standard_normal((32, 64)).astype(numpy.float32)
    y = x.sum(axis=1, keepdims=True)
    return lambda: model.train_on_batch(x, y)


def ppo():
    """Stable-Baselines3's PPO on CartPole: a step is 64 of the environment and their update."""
    import stable_baselines3
    one_thread()
    agent = stable_baselines3.PPO("MlpPolicy", "CartPole-v1", n_steps=64, batch_size=64, n_epochs=2,
                                  seed=1, device="cpu")
    return lambda: agent.learn(64, reset_num_timesteps=False)


def marks():
    """Ten crosscut.operation() and ten record_function() scopes around a hundredth of a
    millisecond each."""
    import crosscut
    torch = one_thread()
    x = torch.randn(64, 64)

    def step():
        for _ in range(10):
            with crosscut.operation("multiply"), torch.profiler.record_function("scope"):
                torch.mm(x, x)
    return step


def python_calls():
    """A thousand small Python functions."""
    def add(a, b):
        return a + b

    def step():
        total = 0
        for i in range(1000):
            total = add(total, i)
    return step


def echo():
    """A connection to a server of asyncio in the same process, and ten lines there and back."""
    import asyncio
    loop = asyncio.new_event_loop()

    async def serve(reader, writer):
        while line := await reader.readline():
            writer.write(line)
        writer.close()

    server = loop.run_until_complete(asyncio.start_server(serve, "127.0.0.1", 0))
    address = server.sockets[0].getsockname()

    async def ask():
        reader, writer = await asyncio.open_connection(*address)
        for _ in range(10):
            writer.write(b"line\n")
            await reader.readline()
        writer.close()
        await writer.wait_closed()
    return lambda: loop.run_until_complete(ask())


def tasks():
    """A hundred tasks of asyncio that let each other run once."""
    import asyncio
    loop = asyncio.new_event_loop()

    async def turn():
        await asyncio.sleep(0)

    async def gather():
        await asyncio.gather(*[turn() for _ in range(100)])
    return lambda: loop.run_until_complete(gather())


def children():
    """A program that is started and waited for."""
    import subprocess
    return lambda: subprocess.run(["true"], check=True)
