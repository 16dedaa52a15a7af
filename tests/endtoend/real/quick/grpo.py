"""TRL's quick start of GRPO, with a made model, tokenizer and prompts."""

from datasets import Dataset
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import GRPOConfig, GRPOTrainer

WORDS = ["<pad>", "<s>", "</s>", *(f"w{i}" for i in range(509))]
words = Tokenizer(WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="<pad>"))
words.pre_tokenizer = Whitespace()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, pad_token="<pad>", bos_token="<s>",
                                    eos_token="</s>", padding_side="left")
model = LlamaForCausalLM(LlamaConfig(
    vocab_size=len(WORDS), hidden_size=128, intermediate_size=256, num_hidden_layers=2,
    num_attention_heads=4, pad_token_id=0, bos_token_id=1, eos_token_id=2))


def reward_num_unique_words(completions, **kwargs):
    return [float(len(set(completion.split()))) for completion in completions]


trainer = GRPOTrainer(
    model=model,
    reward_funcs=reward_num_unique_words,
    args=GRPOConfig(output_dir="grpo", per_device_train_batch_size=8, num_generations=4,
                    max_completion_length=32, max_steps=20, report_to=[], save_strategy="no",
                    use_cpu=True, bf16=False),
    train_dataset=Dataset.from_dict({"prompt": [f"w{i} w{i + 1} w{i + 2}" for i in range(200)]}),
    processing_class=tokenizer,
)
trainer.train()
