"""Data as large as what the scripts download, and made of random numbers."""

import pickle
import random
import struct


def characters(folder, count=1_003_854, kinds=65):
    """What data/shakespeare_char/prepare.py of nanoGPT makes."""
    import numpy as np
    target = folder / "data" / "shakespeare_char"
    target.mkdir(parents=True)
    draw = np.random.default_rng(0)
    for name, size in (("train", count), ("val", count // 9)):
        draw.integers(kinds, size=size, dtype=np.uint16).tofile(target / f"{name}.bin")
    letters = {"vocab_size": kinds, "itos": {i: chr(33 + i) for i in range(kinds)}}
    (target / "meta.pkl").write_bytes(pickle.dumps(letters))


def mnist(folder):
    """MNIST's files: digits are noise."""
    target = folder / "data" / "MNIST" / "raw"
    target.mkdir(parents=True)
    draw = random.Random(0)
    for name, count in (("train", 60_000), ("t10k", 10_000)):
        images = struct.pack(">IIII", 0x803, count, 28, 28) + draw.randbytes(count * 784)
        labels = struct.pack(">II", 0x801, count) + bytes(draw.randrange(10) for _ in range(count))
        for kind, content in (("images-idx3-ubyte", images), ("labels-idx1-ubyte", labels)):
            (target / f"{name}-{kind}").write_bytes(content)
    (folder / "vae" / "results").mkdir(parents=True, exist_ok=True)


def words(folder, count=60_000, kinds=10_000):
    """Texts like Wikitext-2's, a tenth as long: few words are frequent, as in a language."""
    target = folder / "word_language_model" / "data" / "wikitext-2"
    target.mkdir(parents=True)
    draw = random.Random(0)
    for name, size in (("train", count), ("valid", count // 10), ("test", count // 10)):
        some = [f"w{min(int(draw.paretovariate(1)), kinds)}" for _ in range(size)]
        lines = [" ".join(some[i:i + 20]) for i in range(0, size, 20)]
        (target / f"{name}.txt").write_text("\n".join(lines) + "\n")


def images(folder, count=300):
    """Pictures of noise, and the configuration of a small U-Net."""
    import json

    import numpy as np
    from PIL import Image
    target = folder / "examples" / "unconditional_image_generation"
    (target / "images").mkdir(parents=True)
    draw = np.random.default_rng(0)
    for i in range(count):
        Image.fromarray(draw.integers(0, 255, (64, 64, 3), dtype=np.uint8)).save(
            target / "images" / f"{i}.png")
    (target / "unet").mkdir()
    (target / "unet" / "config.json").write_text(json.dumps({
        "_class_name": "UNet2DModel", "sample_size": 32, "in_channels": 3, "out_channels": 3,
        "layers_per_block": 1, "block_out_channels": [32, 64],
        "down_block_types": ["DownBlock2D", "AttnDownBlock2D"],
        "up_block_types": ["AttnUpBlock2D", "UpBlock2D"]}))
