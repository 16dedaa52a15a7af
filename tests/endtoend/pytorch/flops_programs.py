"""FLOPs that the drop-in tells beside those that torch.utils.flop_counter counts: prints JSON,
{what: [flop_counter's, ours, ours of add and mul]}. Each is run once before, so that nothing is
made while it is counted."""

import json

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode, sdpa_backward_flop, sdpa_flop

from crosscut.torch import profile

torch.manual_seed(0)
aten = torch.ops.aten
# flop_counter has no formula for the fused attention of the CPU: it gets that of the others.
ATTENTION = {aten._scaled_dot_product_flash_attention_for_cpu: sdpa_flop.__wrapped__,
             aten._scaled_dot_product_flash_attention_for_cpu_backward:
             sdpa_backward_flop.__wrapped__}


def x(*shape, grad=False):
    return torch.randn(shape, requires_grad=grad)


def trained(module, *inputs):
    """Forward and backward; the inputs need no gradient, as those of a network's first layer."""
    def run():
        out = module(*inputs)
        (out[0] if isinstance(out, tuple) else out).sum().backward()
    return run


def conv_cases():
    for places, conv, transposed in ((1, nn.Conv1d, nn.ConvTranspose1d),
                                     (2, nn.Conv2d, nn.ConvTranspose2d),
                                     (3, nn.Conv3d, nn.ConvTranspose3d)):
        size = (9, 8, 7)[:places]
        batch, one = x(2, 4, *size), x(4, *size)
        deep = x(2, 4, *size, grad=True)
        for options in ({}, {"stride": 2}, {"padding": 1}, {"dilation": 2}, {"padding": "same"},
                        {"padding": "valid"}, {"bias": False},
                        {"stride": 2, "padding": 1, "dilation": 2}):
            yield f"conv{places}d {options}", trained(conv(4, 6, 3, **options), batch)
        yield f"conv{places}d unbatched", trained(conv(4, 6, 3), one)
        yield f"conv{places}d inside", trained(conv(4, 6, 3), deep)
        yield f"conv{places}d groups", lambda c=conv(4, 6, 3, groups=2): c(batch)
        yield f"conv{places}d depthwise", lambda c=conv(4, 8, 3, groups=4): c(batch)
        for options in ({}, {"stride": 2, "output_padding": 1}, {"padding": 1}):
            name = f"conv_transpose{places}d {options}"
            yield name, trained(transposed(4, 6, 3, **options), batch)
            yield name + " inside", trained(transposed(4, 6, 3, **options), deep)
        yield f"conv_transpose{places}d unbatched", trained(transposed(4, 6, 3), one)
        yield f"conv_transpose{places}d groups", lambda c=transposed(4, 6, 3, groups=2): c(batch)
    weights = [x(6, 4, 3, 3, grad=True), x(6, 4, 3, 3, grad=True)]
    yield "two gradients of a convolution", lambda: torch.autograd.grad(
        F.conv2d(F.conv2d(x(1, 4, 7, 7), weights[0]), x(3, 6, 3, 3)).pow(2).sum(), weights[0],
        create_graph=True)[0].sum().backward()
    yield "torch.convolution", lambda: torch.convolution(
        x(2, 4, 8, 8), weights[0], None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    yield "aten._convolution", lambda: aten._convolution(
        x(2, 4, 8, 8), weights[0], None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1, False, False,
        True, True)
    yield "convolutions under vmap", lambda: torch.vmap(F.conv2d, (0, None))(x(3, 2, 4, 8, 8),
                                                                             weights[1])
    traced = torch.jit.trace(nn.Conv2d(4, 6, 3), x(2, 4, 8, 8))
    yield "convolution of a traced program", lambda: traced(x(2, 4, 8, 8))


def product_cases():
    a, b, c = x(5, 6, grad=True), x(6, 7, grad=True), x(3, 5, 6, grad=True)
    yield "mm", lambda: (a @ b).sum().backward()
    yield "mm out", lambda: torch.mm(x(2, 3), x(3, 4), out=torch.empty(2, 4))
    yield "mm of nothing", lambda: torch.mm(x(0, 5), x(5, 6))
    yield "mm of complex numbers", lambda: torch.randn(3, 4, dtype=torch.cfloat) @ torch.randn(
        4, 5, dtype=torch.cfloat)
    yield "mm of float64", lambda: torch.randn(3, 4, dtype=torch.double) @ torch.randn(
        4, 5, dtype=torch.double)
    yield "addmm", lambda: torch.addmm(x(7), a, b, beta=2.0).sum().backward()
    yield "bmm", lambda: torch.bmm(c, c.transpose(1, 2)).sum().backward()
    yield "baddbmm", lambda: torch.baddbmm(x(1), c, c.transpose(1, 2)).sum().backward()
    yield "matmul of 4 and 2 dimensions", lambda: torch.matmul(x(2, 3, 4, 5), x(5, 6))
    yield "einsum", lambda: torch.einsum("bij,bkj->bik", c, c).sum().backward()
    yield "tensordot", lambda: torch.tensordot(x(2, 3, 4), x(3, 4, 5), dims=2)
    yield "chain_matmul", lambda: torch.linalg.multi_dot([x(3, 4), x(4, 5), x(5, 2)])
    yield "linear of one", trained(nn.Linear(5, 6), x(5))
    yield "linear of 3 dimensions", trained(nn.Linear(5, 6), x(2, 3, 5))
    yield "linear without bias", trained(nn.Linear(5, 6, bias=False), x(2, 5))
    yield "sparse mm", lambda: torch.eye(4).to_sparse() @ x(4, 5)
    yield "mm under vmap", lambda: torch.vmap(torch.mm, (0, 0))(x(5, 3, 4), x(5, 4, 2))
    yield "mv under vmap", lambda: torch.vmap(torch.mv, (None, 0))(x(3, 4), x(5, 4))
    yield "grad of a function", lambda: torch.func.grad(lambda w: (x(2, 5) @ w).sum())(x(5, 3))
    yield "per-sample gradients", lambda: torch.vmap(
        torch.func.grad(lambda w, s: (s @ w).pow(2).sum()), (None, 0))(x(5, 3), x(4, 2, 5))
    yield "jvp", lambda: torch.func.jvp(lambda w: w @ w, (x(3, 3),), (x(3, 3),))


def attention_cases():
    q, k = x(2, 4, 8, 16, grad=True), x(2, 4, 6, 16, grad=True)
    v = x(2, 4, 6, 16, grad=True)
    yield "attention", lambda: F.scaled_dot_product_attention(q, k, v).sum().backward()
    yield "causal attention", lambda: F.scaled_dot_product_attention(
        q, q, q, is_causal=True).sum().backward()
    yield "attention with dropout", lambda: F.scaled_dot_product_attention(
        q, k, v, dropout_p=0.1).sum().backward()
    yield "attention without gradients", lambda: F.scaled_dot_product_attention(
        q.detach(), k.detach(), v.detach())

    def by_parts():
        with sdpa_kernel(SDPBackend.MATH):
            F.scaled_dot_product_attention(q, k, v).sum().backward()
    yield "attention by parts", by_parts
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    yield "transformer", trained(layer, x(2, 5, 16))
    yield "transformer's decoder", trained(nn.TransformerDecoderLayer(16, 4, 32), x(5, 2, 16),
                                           x(6, 2, 16))


def model_cases():
    net = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.BatchNorm2d(8), nn.ReLU(),
                        nn.Conv2d(8, 8, 3, padding=1), nn.AdaptiveAvgPool2d(2), nn.Flatten(),
                        nn.Linear(32, 10))
    yield "convolutional network", trained(net, x(4, 3, 16, 16))
    yield "perceptron", trained(nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4)),
                                x(32, 8))
    yield "GRU", trained(nn.GRU(8, 16, 2), x(5, 2, 8))
    yield "GRU cell", trained(nn.GRUCell(8, 16), x(2, 8))
    yield "embedding", trained(nn.Sequential(nn.Embedding(10, 8), nn.Linear(8, 4)),
                               torch.arange(6))

    def autocast():
        with torch.autocast("cpu"):
            trained(net, x(4, 3, 16, 16))()
    yield "autocast", autocast

    # A block that ends in a product is computed again up to the product itself, which begins, but
    # does nothing: neither profiler sees that.
    block = nn.Sequential(nn.Linear(8, 8), nn.Tanh())
    for reentrant in (False, True):
        yield f"checkpointing, reentrant={reentrant}", lambda again=reentrant: checkpoint(
            block, x(4, 8, grad=True), use_reentrant=again).sum().backward()


def known_differences():
    """Where flop_counter is known to tell other numbers."""
    batch, groups = x(2, 4, 9, 9), nn.Conv2d(4, 8, 3, groups=4)
    yield "gradient of a weight in 4 groups", lambda: groups(batch).sum().backward()
    yield "products inside a kernel", lambda: torch.addbmm(x(3, 5), x(2, 3, 4), x(2, 4, 5))
    yield "product in place", lambda: x(3, 5).addmm_(x(3, 4), x(4, 5))


def ours(run):
    with profile(with_flops=True) as prof:
        run()
    sums = [0, 0]
    for row in prof.key_averages():
        sums[row.key in ("aten::add", "aten::mul")] += row.flops
    return sums


def main():
    found = {}
    for cases in (conv_cases, product_cases, attention_cases, model_cases, known_differences):
        for name, run in cases():
            run()
            with FlopCounterMode(display=False, custom_mapping=ATTENTION) as counter:
                run()
            found[name] = [counter.get_total_flops(), *ours(run)]
    print(json.dumps(found))


main()
