"""Trains a small transformer to tell sounds apart, on data that is generated on the way.

A DataLoader with two worker processes makes the sounds and turns them into spectrograms; a
convolution and a transformer encoder learn which of eight pitch contours a sound has. The losses
are the same in every run.

With --augment the sounds get noise and gaps, on an OpenCL device and a batch ahead of the training.

Usage: train.py [--steps 480] [--augment] [--times FILE]    (FILE: the script's own stopwatch, JSON)
"""

import argparse

import numpy as np
import torch
from stopwatch import Stopwatch
from torch import nn
from torch.utils.data import DataLoader, Dataset

RATE, SAMPLES = 4000, 4096
WINDOW, HOP, BANDS, FRAMES = 256, 32, 64, 120
CLASSES = 8
BATCH = 32


class Sounds(Dataset):
    """Sound number `index` is always the same sound."""

    def __init__(self, count, seed):
        self.count, self.seed = count, seed
        self.hann = np.hanning(WINDOW).astype(np.float32)

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        random = np.random.default_rng((self.seed, index))
        label = int(random.integers(CLASSES))
        return torch.from_numpy(self.spectrogram(self.wave(label, random))), label

    def wave(self, label, random):
        """One second of a tone whose pitch moves as `label` says, with overtones and noise."""
        at = np.arange(SAMPLES) / SAMPLES
        wobble = np.sin(2 * np.pi * (3 + random.random()) * at)
        contour = (at, -at, wobble, -wobble * at, at ** 3, -(at ** 3), np.sign(wobble),
                   np.abs(wobble))[label]
        pitch = 200 * 2 ** (random.random() + contour * (0.5 + random.random()))
        phase = 2 * np.pi * np.cumsum(pitch) / RATE
        tone = sum(random.random() * np.sin(k * phase) / k for k in range(1, 4))
        return (tone + random.normal(scale=0.3, size=SAMPLES)).astype(np.float32)

    def spectrogram(self, wave):
        frames = np.lib.stride_tricks.sliding_window_view(wave, WINDOW)[::HOP] * self.hann
        spectrum = np.fft.rfft(frames, axis=1)[:FRAMES, :2 * BANDS]
        power = spectrum.real ** 2 + spectrum.imag ** 2
        bands = np.log(power.reshape(FRAMES, BANDS, 2).sum(2) + 1e-3)
        bands = (bands - bands.mean()) / (bands.std() + 1e-3)
        return np.ascontiguousarray(bands.T[None]).astype(np.float32)


class Listener(nn.Module):
    def __init__(self, width=64, layers=2):
        super().__init__()
        self.ears = nn.Sequential(
            nn.Conv2d(1, 16, 5, stride=(4, 2), padding=2), nn.GELU(),
            nn.Conv2d(16, width, 3, stride=(4, 2), padding=1), nn.GELU())
        # 4 bands by FRAMES / 4 places are left: FRAMES tokens.
        self.place = nn.Parameter(torch.zeros(1, FRAMES, width))
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True,
                                           norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.answer = nn.Linear(width, CLASSES)

    def forward(self, sound):
        tokens = self.ears(sound).flatten(2).transpose(1, 2)
        return self.answer(self.encoder(tokens + self.place).mean(1))


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    right = sum(int((model(sound).argmax(1) == label).sum()) for sound, label in loader)
    model.train()
    return right / len(loader.dataset)


def batches_of(loader, watch):
    """The loader's batches."""
    with watch.part("data"):
        batches = iter(loader)
    for _ in range(len(loader)):
        with watch.part("data"):
            batch = next(batches)
        yield batch


def augmented(batches):
    """The same, augmented; the device works on the next batch while one is in use."""
    from augment import Augmenter

    device = Augmenter()
    begun = None
    for batch in batches:
        following = device.begin(batch)
        if begun is not None:
            yield device.finish(begun)
        begun = following
    yield device.finish(begun)


def train(steps, watch, augment):
    loader = DataLoader(Sounds(steps * BATCH, seed=1), BATCH, num_workers=2)
    unheard = DataLoader(Sounds(4 * BATCH, seed=2), BATCH)
    model = Listener()
    loss_of = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    batches = batches_of(loader, watch)
    if augment:
        batches = augmented(batches)
    for step, (sound, label) in enumerate(batches, 1):
        optimizer.zero_grad()
        with watch.part("forward"):
            loss = loss_of(model(sound), label)
        with watch.part("backward"):
            loss.backward()
        with watch.part("optimizer"):
            optimizer.step()
        watch.step()
        if step % 20 == 0:
            print(f"step {step:4d}  loss {loss.item():.4f}", flush=True)
        if step % 80 == 0:
            with watch.part("evaluation"):
                print(f"step {step:4d}  right on unheard sounds: {accuracy(model, unheard):.1%}",
                      flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=480)
    parser.add_argument("--augment", action="store_true")
    parser.add_argument("--times", metavar="FILE")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)  # the workers need the other cores
    watch = Stopwatch()
    train(arguments.steps, watch, arguments.augment)
    if arguments.times:
        watch.write(arguments.times)


if __name__ == "__main__":
    main()
