"""Trains, evaluates, predicts and saves with a trainer, and prints what each took by a clock in the
program, in ms: `trainers.py transformers|lightning [evaluate]` (evaluate: nothing else)."""

import json
import os
import sys
import tempfile
import time

os.environ.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false", CUDA_VISIBLE_DEVICES="")
import torch  # noqa: E402

torch.set_num_threads(1)
took = {"evaluate": 0.0, "predict": 0.0, "save": 0.0}


def timed(name, function):
    def call(*args, **kwargs):
        begin = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            took[name] += 1e3 * (time.perf_counter() - begin)
    return call


class Numbers(torch.utils.data.Dataset):
    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, i):
        return {"x": torch.full((8,), float(i)), "labels": torch.tensor([float(i)])}


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)

    def forward(self, x, labels):
        out = self.layer(x)
        return {"loss": ((out - labels) ** 2).mean(), "logits": out}


def with_transformers(folder, train):
    from transformers import Trainer, TrainingArguments

    trainer = Trainer(model=Net(), train_dataset=Numbers(256), eval_dataset=Numbers(64),
                      args=TrainingArguments(
                          output_dir=folder, per_device_train_batch_size=4, max_steps=60,
                          per_device_eval_batch_size=4, eval_strategy="steps", eval_steps=20,
                          save_strategy="steps", save_steps=30, logging_strategy="no",
                          report_to=[], use_cpu=True, disable_tqdm=True))
    for name, of in (("evaluate", "evaluate"), ("predict", "predict"),
                     ("_save_checkpoint", "save")):
        setattr(trainer, name, timed(of, getattr(trainer, name)))
    if train:
        trainer.train()
        trainer.predict(Numbers(64))
    else:
        trainer.evaluate()


def with_lightning(folder, train):
    import pytorch_lightning as lightning

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = Net()

        def training_step(self, batch, _):
            return self.net(**batch)["loss"]

        def validation_step(self, batch, _):
            self.net(**batch)

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 1e-6)

    def loader(size):
        return torch.utils.data.DataLoader(Numbers(size), batch_size=4)

    trainer = lightning.Trainer(
        max_steps=60, val_check_interval=20, default_root_dir=folder, accelerator="cpu",
        logger=False, enable_progress_bar=False, enable_model_summary=False,
        num_sanity_val_steps=0, callbacks=[lightning.callbacks.ModelCheckpoint(
            folder, every_n_train_steps=30)])
    loops = (trainer.fit_loop.epoch_loop.val_loop, trainer.validate_loop)
    for loop in loops:
        loop.run = timed("evaluate", loop.run)
    trainer.save_checkpoint = timed("save", trainer.save_checkpoint)
    if train:
        trainer.fit(Module(), loader(256), loader(64))
    else:
        trainer.validate(Module(), loader(64), verbose=False)


with tempfile.TemporaryDirectory() as place:
    which = with_transformers if sys.argv[1] == "transformers" else with_lightning
    which(place, "evaluate" not in sys.argv)
print(json.dumps(took))
