"""Two GRPO steps of TRL on a tiny random model; one actor of Ray scores, another gets weights."""

import os
import tempfile
import time

os.environ.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false", CUDA_VISIBLE_DEVICES="")

import crosscut  # noqa: E402
import ray  # noqa: E402
import torch  # noqa: E402
from datasets import Dataset, disable_progress_bars  # noqa: E402
from tokenizers import Tokenizer  # noqa: E402
from tokenizers.models import WordLevel  # noqa: E402
from tokenizers.pre_tokenizers import Whitespace  # noqa: E402
from transformers import (  # noqa: E402
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    TrainerCallback,
)
from trl import GRPOConfig, GRPOTrainer  # noqa: E402

WORDS = ["<pad>", "<s>", "</s>", *(f"w{i}" for i in range(61))]


@ray.remote
class Judge:
    def score(self, completions):
        time.sleep(0.05)
        return [float(len(set(text.split()))) for text in completions]


@ray.remote
class Evaluator:
    def take(self, weights):
        return len(weights)


def tokenizer():
    words = Tokenizer(WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="<pad>"))
    words.pre_tokenizer = Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=words, pad_token="<pad>", bos_token="<s>",
                                   eos_token="</s>", padding_side="left")


class Sync(TrainerCallback):
    """After each step, the weights go to the evaluator."""

    def __init__(self, evaluator):
        self.evaluator, self.count = evaluator, 0

    def on_step_end(self, args, state, control, model=None, **_):
        with crosscut.operation("rl.sync"):
            weights = {name: value.detach().numpy() for name, value in model.state_dict().items()}
            self.count = ray.get(self.evaluator.take.remote(weights))


def main():
    torch.manual_seed(0)
    disable_progress_bars()
    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    judge, sync = Judge.options(name="judge").remote(), Sync(Evaluator.remote())
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=len(WORDS), hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=2, pad_token_id=0, bos_token_id=1, eos_token_id=2))

    def reward(completions, **_):
        return ray.get(judge.score.remote(completions))

    with tempfile.TemporaryDirectory() as folder:
        trainer = GRPOTrainer(
            model=model, reward_funcs=reward, processing_class=tokenizer(), callbacks=[sync],
            train_dataset=Dataset.from_dict({"prompt": ["w1 w2", "w3 w4", "w5 w6", "w7 w8"]}),
            args=GRPOConfig(
                output_dir=folder, per_device_train_batch_size=4, num_generations=2, max_steps=2,
                max_completion_length=8, report_to=[], save_strategy="no", use_cpu=True,
                logging_strategy="no", disable_tqdm=True, bf16=False))
        trainer.train()
    print("trained", trainer.state.global_step, sync.count)


if __name__ == "__main__":
    main()
