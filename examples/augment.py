"""Augmentation of spectrograms on an OpenCL device, a batch ahead of the training."""

import numpy as np
import pyopencl as cl
import torch

# Noise by a hash, so that it is the same in every run; one stripe of bands and one of frames is
# silenced per sound.
SOURCE = """
uint hash(uint x) {
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  return x ^ (x >> 16);
}

kernel void augment(global const float* in, global float* out, uint bands, uint frames, uint seed) {
  const uint frame = get_global_id(0), band = get_global_id(1), sound = get_global_id(2);
  const uint at = (sound * bands + band) * frames + frame;
  const uint stripe = hash(seed ^ hash(sound));
  float noise = 0;
  for (uint i = 0; i < 12; ++i) noise += (hash(seed + 12 * at + i) & 0xffff) / 65536.0f;
  const uint first_band = stripe % bands, first_frame = (stripe >> 8) % frames;
  const bool silent = band - first_band < bands / 8 || frame - first_frame < frames / 8;
  out[at] = silent ? 0.0f : in[at] + 0.1f * (noise - 6.0f);
}
"""


class Augmenter:
    def __init__(self):
        self.context = cl.create_some_context(interactive=False)
        self.queue = cl.CommandQueue(self.context)
        self.kernel = cl.Kernel(cl.Program(self.context, SOURCE).build(), "augment")
        self.seed = 0

    def begin(self, batch):
        """Starts on a batch of (sound, label) and returns at once; `finish` gives it back."""
        sound, label = batch
        count, _, bands, frames = sound.shape
        host = np.ascontiguousarray(sound.numpy())
        flags = cl.mem_flags
        before = cl.Buffer(self.context, flags.READ_ONLY, host.nbytes)
        after = cl.Buffer(self.context, flags.WRITE_ONLY, host.nbytes)
        result = np.empty_like(host)
        cl.enqueue_copy(self.queue, before, host, is_blocking=False)
        self.kernel(self.queue, (frames, bands, count), None, before, after, np.uint32(bands),
                    np.uint32(frames), np.uint32(self.seed))
        done = cl.enqueue_copy(self.queue, result, after, is_blocking=False)
        self.queue.flush()
        self.seed += 1
        return done, result, label, host

    @staticmethod
    def finish(begun):
        done, result, label, _ = begun
        done.wait()
        return torch.from_numpy(result), label

