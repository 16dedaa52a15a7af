"""Small programs of many kinds, each run by torch.profiler and by crosscut.torch.profile alike.

PROGRAMS: by name what makes a program: it returns the pass that is profiled, which does the same
work each time. What they need is made before.
"""

import contextlib
import multiprocessing
import threading

import torch
from torch import nn
from torch.nn import functional as F
from torch.profiler import record_function
from torch.utils.checkpoint import checkpoint

PROGRAMS = {}


def program(make):
    PROGRAMS[make.__name__] = make
    return make


def trains(model, *inputs, optimizer=None, loss=lambda out: out.pow(2).mean()):
    """A pass of training."""
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=1e-3)

    def train():
        optimizer.zero_grad()
        out = model(*inputs)
        loss(out[0] if isinstance(out, tuple) else out).backward()
        optimizer.step()
    return train


def perceptron_model():
    return nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 8))


@program
def perceptron():
    return trains(perceptron_model(), torch.randn(16, 32))


@program
def inference():
    model, x = perceptron_model().eval(), torch.randn(16, 32)

    def run():
        with torch.no_grad():
            model(x)
        with torch.inference_mode():
            model(x)
    return run


@program
def convolutions():
    model = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.BatchNorm2d(8), nn.ReLU(),
                          nn.Conv2d(8, 8, 3, padding="same"), nn.MaxPool2d(2), nn.Flatten(),
                          nn.Linear(72, 10))
    target = torch.arange(4)
    return trains(model, torch.randn(4, 3, 16, 16), loss=lambda y: F.cross_entropy(y, target))


@program
def transposed_convolutions():
    model = nn.Sequential(nn.ConvTranspose2d(4, 6, 3, stride=2), nn.GroupNorm(2, 6), nn.GELU(),
                          nn.ConvTranspose2d(6, 2, 2))
    return trains(model, torch.randn(2, 4, 5, 5))


@program
def residual_network():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = nn.Conv2d(4, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)

        def forward(self, x):
            return x + self.two(F.relu(self.one(x)))
    return trains(nn.Sequential(Block(), Block()), torch.randn(2, 4, 8, 8))


@program
def transformer():
    return trains(nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), torch.randn(2, 5, 16))


@program
def attention():
    q = torch.randn(2, 4, 8, 16, requires_grad=True)

    def run():
        F.scaled_dot_product_attention(q, q, q, is_causal=True).sum().backward()
        q.grad = None
    return run


@program
def lstm():
    return trains(nn.LSTM(8, 16, 2, batch_first=True), torch.randn(2, 5, 8))


@program
def gru_by_hand():
    cell, x = nn.GRUCell(8, 16), torch.randn(5, 2, 8)

    def unrolled(inputs):
        state = torch.zeros(2, 16)
        for step in inputs:
            state = cell(step, state)
        return state
    unrolled.parameters = cell.parameters
    return trains(unrolled, x)


@program
def embeddings():
    model = nn.Sequential(nn.EmbeddingBag(20, 8), nn.LayerNorm(8), nn.Linear(8, 4))
    return trains(model, torch.arange(12).reshape(4, 3))


@program
def sparse_embeddings():
    model = nn.Embedding(20, 8, sparse=True)
    return trains(model, torch.tensor([1, 2, 2]),
                  optimizer=torch.optim.SparseAdam(model.parameters()))


@program
def adam():
    model = perceptron_model()
    return trains(model, torch.randn(16, 32),
                  optimizer=torch.optim.Adam(model.parameters(), foreach=False))


@program
def adam_foreach():
    model = perceptron_model()
    return trains(model, torch.randn(16, 32),
                  optimizer=torch.optim.AdamW(model.parameters(), foreach=True))


@program
def sgd_fused():
    model = perceptron_model()
    return trains(model, torch.randn(16, 32),
                  optimizer=torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, fused=True))


@program
def rmsprop_and_clipping():
    model, x = perceptron_model(), torch.randn(16, 32)
    optimizer = torch.optim.RMSprop(model.parameters())
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)

    def train():
        optimizer.zero_grad(set_to_none=False)
        model(x).sum().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return train


@program
def lbfgs():
    model, x = nn.Linear(8, 2), torch.randn(4, 8)

    def train():  # as many evaluations each time
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.fill_(0.1)
        optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4)

        def closure():
            optimizer.zero_grad()
            loss = model(x).pow(2).sum()
            loss.backward()
            return loss
        optimizer.step(closure)
    return train


@program
def accumulated_gradients():
    model, x = perceptron_model(), torch.randn(16, 32)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def train():
        for part in x.chunk(4):
            (model(part).mean() / 4).backward()
        optimizer.step()
        optimizer.zero_grad()
    return train


@program
def two_optimizers():
    maker, critic, x = nn.Linear(4, 8), nn.Linear(8, 1), torch.randn(4, 4)
    ours = torch.optim.Adam(maker.parameters(), lr=1e-4)
    theirs = torch.optim.Adam(critic.parameters(), lr=1e-4)

    def train():
        theirs.zero_grad()
        F.softplus(critic(maker(x).detach())).mean().backward()
        theirs.step()
        ours.zero_grad()
        F.softplus(-critic(maker(x))).mean().backward()
        ours.step()
    return train


@program
def checkpointing():
    block = nn.Sequential(nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh())
    x = torch.randn(4, 16, requires_grad=True)

    def run():
        checkpoint(block, x, use_reentrant=True).sum().backward()
        checkpoint(block, x, use_reentrant=False).sum().backward()
    return run


@program
def double_backward():
    w, x = torch.randn(6, 6, requires_grad=True), torch.randn(3, 6)

    def run():
        y = torch.tanh(x @ w).sum()
        gradient, = torch.autograd.grad(y, w, create_graph=True)
        gradient.pow(2).sum().backward()
        w.grad = None
    return run


@program
def own_function():
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x ** 3

        @staticmethod
        def backward(ctx, gradient):
            x, = ctx.saved_tensors
            return 3 * x ** 2 * gradient
    x = torch.randn(8, requires_grad=True)

    def run():
        Cube.apply(x).sum().backward()
        x.grad = None
    return run


@program
def scopes():
    x = torch.randn(8, 8)

    @record_function("decorated")
    def decorated():
        return x @ x

    def run():
        with record_function("outer"):
            with record_function("inner"):
                x.sin()
            with record_function("inner"):
                decorated()
            with contextlib.suppress(ValueError), record_function("raises"):
                raise ValueError
        with record_function("forward"):
            x.cos()
    return run


@program
def recursion():
    x = torch.randn(4, 4)

    def deeper(depth):
        with record_function("deeper"):
            x.exp()
            if depth:
                deeper(depth - 1)
                deeper(depth - 1)
    return lambda: deeper(3)


@program
def redispatch():
    x, y = torch.randn(8, 8), torch.ones(3, dtype=torch.int64)

    def run():
        x.sum(), x.mean(), torch.sort(x), x.clone().div_(2.0), x.max(), x.std(), x.cumsum(0)
        y / 2, y + 1.5, x.to(torch.float64), x.half().float(), torch.zeros_like(x), x.norm()
        x.contiguous(), x.t().contiguous(), x[:, 1:3], x[y], torch.cat([x, x]), x.chunk(2)
        torch.where(x > 0, x, 0.0), torch.nan_to_num(x), torch.allclose(x, x), x.any(), x.unique()
    return run


@program
def complex_numbers():
    x = torch.randn(8, 8, dtype=torch.cfloat, requires_grad=True)

    def run():
        (torch.fft.ifft(torch.fft.fft(x)) @ x.conj()).abs().sum().backward()
        x.grad = None
    return run


@program
def linear_algebra():
    x = torch.eye(6) + 0.1

    def run():
        torch.linalg.inv(x), torch.linalg.qr(x), torch.linalg.svd(x), torch.det(x)
        torch.einsum("ij,kj->ik", x, x), torch.cdist(x, x), torch.kron(x, x)
    return run


@program
def sparse_matrices():
    at = torch.tensor([[0, 1, 2], [1, 0, 2]])
    x = torch.randn(3, 4)

    def run():
        sparse = torch.sparse_coo_tensor(at, torch.ones(3), (3, 3), check_invariants=False)
        sparse.coalesce() @ x
        sparse.to_dense(), torch.eye(4).to_sparse().sum()
    return run


@program
def traced_script():
    model = torch.jit.trace(perceptron_model().eval(), torch.randn(16, 32))
    x = torch.randn(16, 32)
    for _ in range(3):  # until its profile is taken and it is compiled
        model(x)
    return lambda: model(x)


@program
def forked_script():
    @torch.jit.script
    def both(x: torch.Tensor) -> torch.Tensor:
        one = torch.jit.fork(torch.sin, x)
        return torch.jit.wait(one) + torch.cos(x)
    x = torch.randn(8)
    for _ in range(3):
        both(x)
    return lambda: both(x)


@program
def functional_transforms():
    x, w = torch.randn(5, 3), torch.randn(3)

    def loss(weight, row):
        return torch.tanh(row @ weight)

    def run():
        torch.func.vmap(torch.func.grad(loss), (None, 0))(w, x)
        torch.func.jacrev(torch.sin)(w)
        torch.func.jvp(torch.cos, (w,), (w,))
    return run


@program
def autocast():
    model, x = nn.Sequential(nn.Linear(16, 16), nn.LayerNorm(16), nn.Linear(16, 4)), torch.randn(
        4, 16)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def train():
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.mse_loss(model(x), torch.zeros(4, 4))
        loss.backward()
        optimizer.step()
    return train


@program
def quantized():
    import warnings
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = torch.ao.quantization.quantize_dynamic(
            nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4)), {nn.Linear})
    x = torch.randn(4, 16)
    return lambda: model(x)


@program
def compiled():
    model = torch.compile(nn.Sequential(nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 4)))
    x = torch.randn(4, 16)

    def run():
        model(x).sum().backward()
        model.zero_grad()
    return run


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 16

    def __getitem__(self, index):
        return torch.full((4,), float(index)) @ torch.ones(4, 4)


@program
def loader():
    batches, model = torch.utils.data.DataLoader(Data(), batch_size=4), nn.Linear(4, 2)

    def run():
        for batch in batches:
            model(batch)
    return run


@program
def loader_with_workers():
    batches = torch.utils.data.DataLoader(Data(), batch_size=4, num_workers=2)

    def run():
        for batch in batches:
            torch.mm(batch, batch.t())
    return run


@program
def forked_child():
    context, x = multiprocessing.get_context("fork"), torch.randn(8, 8)

    def child():
        for _ in range(5):
            x.sin()

    def run():
        process = context.Process(target=child)
        process.start()
        x.cos()
        process.join()
    return run


@program
def threads():
    x = torch.randn(8, 8)

    def work():
        for _ in range(5):
            x.sin()

    def run():
        others = [threading.Thread(target=work) for _ in range(2)]
        for other in others:
            other.start()
        for other in others:
            other.join()
        x.cos()
    return run


@program
def backward_on_a_thread():
    w = torch.randn(8, 8, requires_grad=True)

    def run():
        loss = (w @ w).sum()
        thread = threading.Thread(target=loss.backward)
        thread.start()
        thread.join()
        w.grad = None
    return run


@program
def hooks():
    model, x = nn.Linear(4, 4), torch.randn(2, 4)
    model.register_forward_hook(lambda module, inputs, out: out * 2)
    model.weight.register_hook(lambda gradient: gradient.clamp(-1, 1))
    return trains(model, x)


@program
def empty_and_large():
    x = torch.randn(0, 5)

    def run():
        torch.mm(x, torch.randn(5, 6))
        kept = [torch.empty(1 << 18) for _ in range(3)]
        del kept[1]
        torch.zeros(1 << 16).resize_(1 << 17)
    return run


@program
def nothing():
    return lambda: None
