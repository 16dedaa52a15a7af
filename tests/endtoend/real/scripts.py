"""The scripts: where each is from, what is changed in it, and which loop is its own.

Nothing is downloaded: data are made, as large as the script's own. Changes are those that this and
newer versions of libraries need.
"""

import dataclasses
import os
import pathlib
import sys
from collections.abc import Callable

import data

# Interpreters that have the libraries: REAL_PYTHON, REAL_JAX_PYTHON.
PYTHON = os.environ.get("REAL_PYTHON", sys.executable)
JAX = os.environ.get("REAL_JAX_PYTHON", PYTHON)


@dataclasses.dataclass
class Script:
    name: str
    main: str                      # its path in the repository
    loop: str                      # the header of its loop begins so; "": it has none
    repository: str = ""           # OWNER/NAME; "": in quick, as a documentation has it
    commit: str = ""               # or the version of the documented library
    modules: tuple = ()            # further files with clocks
    data: tuple = ()               # further files
    arguments: tuple = ()
    changes: tuple = ()            # (file, old, new)
    counted: tuple = ()            # statements that begin so are counted
    prepare: Callable | None = None  # makes data in a folder: where main's repository lies
    python: str = PYTHON
    env: dict = dataclasses.field(default_factory=dict)
    loop_in: str = ""
    libraries: tuple = ()          # modules of libraries that have clocks, too

    @property
    def files(self):
        return (self.main, *self.modules)

    @property
    def loop_file(self):
        return self.loop_in or self.main


CLEANRL = {"repository": "vwxyzjn/cleanrl", "commit": "fe8d8a03",
           "modules": ("cleanrl_utils/buffers.py",)}
EXAMPLES = {"repository": "pytorch/examples", "commit": "77f55b91"}
# In place of what Keras downloads.
KERAS_DATA = (("examples/demo_mnist_convnet.py", "keras.datasets.mnist.load_data()",
               "((np.random.randint(0, 255, (n, 28, 28), 'uint8'), np.random.randint(0, 10, n)) "
               "for n in (20000, 3000))"),)
# In place of TensorFlow Datasets; without the export at its end.
FLAX_DATA = tuple(("examples/mnist/train.py", old, new) for old, new in (
    ("import tensorflow_datasets as tfds", "import numpy as np"),
    ("import ml_collections", "import types as ml_collections"),
    ("ml_collections.ConfigDict", "ml_collections.SimpleNamespace"),
    ("summary_writer.hparams(dict(config))", "summary_writer.hparams(vars(config))"),
    ("tfds.load('mnist', split='train')", "made(12800)"),
    ("tfds.load('mnist', split='test')", "made(2000)"),
    ("def get_datasets(", "def made(n): return tf.data.Dataset.from_tensor_slices({'image': "
     "np.random.randint(0, 255, (n, 28, 28, 1), 'uint8'), 'label': np.random.randint(0, 10, n)})"
     "\ndef get_datasets("),
    ("  # Export the model to a SavedModel directory.", "  return"),
    ("  export_mgr.save(str(output_dir))",
     "\n\ntrain_and_evaluate(ml_collections.SimpleNamespace(learning_rate=0.1, momentum=0.9, "
     "batch_size=128, num_epochs=2), 'out')")))

SCRIPTS = [
    # As its README runs it on a CPU.
    Script("nanogpt", "train.py", "while True", "karpathy/nanoGPT", "3adf61e1",
           modules=("model.py",), data=("configurator.py", "config/train_shakespeare_char.py"),
           arguments=("config/train_shakespeare_char.py", "--device=cpu", "--compile=False",
                      "--eval_iters=5", "--log_interval=1", "--block_size=64", "--batch_size=12",
                      "--n_layer=4", "--n_head=4", "--n_embd=128", "--max_iters=60",
                      "--lr_decay_iters=80", "--dropout=0.0"),
           counted=("scaler.step(optimizer)",), prepare=data.characters),
    Script("dqn", "cleanrl/dqn.py", "for global_step in range(args.total_timesteps)", **CLEANRL,
           arguments=("--total-timesteps=20000",), counted=("optimizer.step()",),
           changes=(("cleanrl/dqn.py", 'infos["final_observation"]', 'infos["final_obs"]'),)),
    Script("ppo", "cleanrl/ppo.py", "for iteration in range(1, args.num_iterations + 1)",
           **CLEANRL, arguments=("--total-timesteps=20000",), counted=("optimizer.step()",)),
    Script("vae", "vae/main.py", "for batch_idx, (data, _) in enumerate(train_loader)", **EXAMPLES,
           arguments=("--epochs=1",), counted=("optimizer.step()",), prepare=data.mnist),
    Script("language-model", "word_language_model/main.py", "for batch, i in enumerate(range(0,",
           **EXAMPLES, modules=("word_language_model/model.py", "word_language_model/data.py"),
           arguments=("--epochs=1",), prepare=data.words),
    Script("hogwild", "mnist_hogwild/main.py", "for batch_idx, (data, target) in enumerate(data",
           **EXAMPLES, modules=("mnist_hogwild/train.py",), loop_in="mnist_hogwild/train.py",
           arguments=("--epochs=1",), counted=("optimizer.step()",), prepare=data.mnist),
    Script("gcn", "examples/gcn.py", "for epoch in range(1, args.epochs + 1)",
           "pyg-team/pytorch_geometric", "5c6461b2", counted=("optimizer.step()",),
           changes=(("examples/gcn.py", "import Planetoid", "import FakeDataset"),
                    ("examples/gcn.py",
                     "Planetoid(path, args.dataset, transform=T.NormalizeFeatures())",
                     "FakeDataset(1, 2708, 4, 1433, num_classes=7, task='node', transform="
                     "T.Compose([T.NormalizeFeatures(), T.RandomNodeSplit('random', 1, 20)]))"))),
    Script("lightgbm", "examples/python-guide/simple_example.py", "for i in range(init_iteration",
           "microsoft/LightGBM", "bae0b7ba",
           data=("examples/regression/regression.train", "examples/regression/regression.test"),
           changes=tuple(("examples/python-guide/simple_example.py", old, new) for old, new in (
               ("num_boost_round=20", "num_boost_round=1000"),
               ("stopping_rounds=5", "stopping_rounds=1000"),
               ("Path(__file__).absolute().parents[1] / ", "Path('..') / "))),
           libraries=("lightgbm.engine",), loop_in="lightgbm.engine"),
    Script("lightning", "examples/pytorch/bug_report/bug_report_model.py", "while not self.done",
           "Lightning-AI/pytorch-lightning", "7f0c3436",
           changes=tuple(("examples/pytorch/bug_report/bug_report_model.py", old, new)
                         for old, new in (("lightning.pytorch", "pytorch_lightning"),
                                          ("limit_train_batches=1,", ""),
                                          ("limit_val_batches=1,", ""),
                                          ("RandomDataset(32, 64)", "RandomDataset(32, 400)"),
                                          ("max_epochs=1,", "max_epochs=3,"))),
           libraries=("pytorch_lightning.loops.training_epoch_loop",),
           loop_in="pytorch_lightning.loops.training_epoch_loop"),
    Script("diffusers", "examples/unconditional_image_generation/train_unconditional.py",
           "for step, batch in enumerate(train_dataloader)", "huggingface/diffusers", "58eb52c0",
           arguments=("--train_data_dir=images", "--resolution=32", "--train_batch_size=4",
                      "--num_epochs=1", "--output_dir=out", "--model_config_name_or_path=unet",
                      "--ddpm_num_inference_steps=10", "--eval_batch_size=2", "--cache_dir=cache"),
           env={"HF_HUB_OFFLINE": "1"},
           counted=("optimizer.step()",), prepare=data.images),
    Script("keras-jax", "examples/demo_mnist_convnet.py", "", "keras-team/keras", "3422977a",
           python=JAX, env={"KERAS_BACKEND": "jax"}, changes=KERAS_DATA),
    Script("keras-tensorflow", "examples/demo_mnist_convnet.py", "", "keras-team/keras",
           "3422977a", python=JAX, env={"KERAS_BACKEND": "tensorflow"}, changes=KERAS_DATA),
    Script("flax", "examples/mnist/train.py", "for batch in train_ds", "google/flax", "18f8f311",
           python=JAX, counted=("train_step(",), changes=FLAX_DATA),
    Script("trainer", "quick/bert.py", "for update_step in range(num_update_steps_trained",
           commit="transformers 5.23.0", libraries=("transformers.trainer",),
           loop_in="transformers.trainer"),
    Script("sb3", "quick/sb3.py", "while self.num_timesteps < total_timesteps",
           commit="stable_baselines3 2.9.2", counted=("self.policy.optimizer.step()",),
           libraries=("stable_baselines3.common.on_policy_algorithm", "stable_baselines3.ppo.ppo"),
           loop_in="stable_baselines3.common.on_policy_algorithm"),
    Script("peft", "quick/lora.py", "for step, batch in", commit="peft 0.21.2",
           counted=("optimizer.step()",)),
    Script("trl", "quick/grpo.py", "for update_step in range(num_update_steps_trained",
           commit="trl 1.16.0", libraries=("transformers.trainer", "trl.trainer.grpo_trainer"),
           loop_in="transformers.trainer"),
    Script("joblib", "quick/grid.py", "", commit="scikit-learn 1.9.1"),
    Script("fastapi", "quick/service.py", "", commit="fastapi 0.165.0"),
]
