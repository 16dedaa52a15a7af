"""A kernel of Triton's, in a file of its own, for Triton reads its source."""

import triton
import triton.language as tl


@triton.jit
def _double(pointer, size, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(pointer + at, 2 * tl.load(pointer + at, mask=at < size), mask=at < size)


def double(x):
    """Doubles the tensor in place."""
    _double[(triton.cdiv(x.numel(), 1024),)](x, x.numel(), BLOCK=1024)
