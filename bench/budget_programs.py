"""Main loops of many kinds, for suite `budget` of validate.py.

Usage: budget_programs.py KIND STEPS
KIND is mlp, transformer, loader, greenlets, ranks, opencl or jax. The same seed each time. Nothing
here knows of a profiler.
"""

import sys


def one_thread():
    import torch
    torch.set_num_threads(1)
    torch.manual_seed(1)
    return torch


def mlp_of(torch, width=64):
    model = torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.ReLU(),
                                torch.nn.Linear(width, width), torch.nn.ReLU(),
                                torch.nn.Linear(width, 1))
    return model, torch.optim.SGD(model.parameters(), lr=1e-3)


def train(model, optimizer, x, y):
    optimizer.zero_grad()
    loss = (model(x) - y).square().mean()
    loss.backward()
    optimizer.step()
    return loss


def mlp(steps):
    torch = one_thread()
    model, optimizer = mlp_of(torch)
    x = torch.randn(64, 64)
    y = x.sum(dim=1, keepdim=True)
    for _ in range(steps):
        train(model, optimizer, x, y)


def transformer(steps):
    torch = one_thread()
    layer = torch.nn.TransformerEncoderLayer(128, 4, 256, batch_first=True)
    model = torch.nn.Sequential(torch.nn.TransformerEncoder(layer, 2), torch.nn.Linear(128, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    x = torch.randn(8, 64, 128)
    y = x.mean(dim=2, keepdim=True)
    for _ in range(steps):
        train(model, optimizer, x, y)


class Rows:
    """A data set whose rows take about 0.2 ms of Python and NumPy each."""

    def __len__(self):
        return 1 << 30

    def __getitem__(self, index):
        import numpy
        random = numpy.random.default_rng(index)
        row = random.standard_normal(8192).astype(numpy.float32)
        return numpy.sort(row)[::128], row[:1]


def loader(steps):
    torch = one_thread()
    model, optimizer = mlp_of(torch)
    data = torch.utils.data.DataLoader(Rows(), batch_size=32, num_workers=1)
    for _, (x, y) in zip(range(steps), data):
        train(model, optimizer, x, y)


def greenlets(steps):
    import gevent
    torch = one_thread()

    def learns(seed):
        model, optimizer = mlp_of(torch)
        x = torch.randn(64, 64) + seed
        y = x.sum(dim=1, keepdim=True)
        for _ in range(steps // 4):
            train(model, optimizer, x, y)
            gevent.sleep(0)

    gevent.joinall([gevent.spawn(learns, seed) for seed in range(4)], raise_error=True)


def rank(number, steps, port):
    import torch.distributed
    torch = one_thread()
    torch.distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}",
                                         rank=number, world_size=2)
    model, _ = mlp_of(torch, 128)
    parallel = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(parallel.parameters(), lr=1e-3)
    x = torch.randn(64, 128)
    y = x.sum(dim=1, keepdim=True)
    for _ in range(steps):
        train(parallel, optimizer, x, y)
    torch.distributed.destroy_process_group()


def ranks(steps):
    import socket

    import torch.multiprocessing
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.spawn(rank, (steps, port), nprocs=2)


def opencl(steps):
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
    for _ in range(steps):
        for _ in range(8):
            saxpy(queue, x.shape, None, numpy.float32(1e-3), *on_device)
        pyopencl.enqueue_copy(queue, y, on_device[1])
    queue.finish()


def jax(steps):
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
    weights = [framework.random.normal(key, (128, 128)) * 0.1 for key in keys[:3]]
    x = framework.random.normal(keys[3], (128, 128))
    y = numpy.sin(x)
    for _ in range(steps):
        weights = update(weights, x, y)
        framework.block_until_ready(weights)


if __name__ == "__main__":
    globals()[sys.argv[1]](int(sys.argv[2]))
