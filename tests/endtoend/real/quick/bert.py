"""Transformers' Trainer as its documentation begins: sequence classification, on made sentences and
a small BERT without pretrained weights."""

import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    Trainer,
    TrainingArguments,
)


class Sentences(torch.utils.data.Dataset):
    def __init__(self, count):
        self.words = torch.randint(1000, 8000, (count, 64))
        self.labels = torch.randint(2, (count,))

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return {"input_ids": self.words[i], "attention_mask": torch.ones_like(self.words[i]),
                "labels": self.labels[i]}


model = BertForSequenceClassification(BertConfig(
    vocab_size=8000, hidden_size=128, num_hidden_layers=2, num_attention_heads=2,
    intermediate_size=512))
training_args = TrainingArguments(
    output_dir="trainer", learning_rate=2e-5, per_device_train_batch_size=8,
    per_device_eval_batch_size=8, num_train_epochs=2, weight_decay=0.01, eval_strategy="epoch",
    save_strategy="epoch", load_best_model_at_end=True, report_to=[], use_cpu=True)
trainer = Trainer(model=model, args=training_args, train_dataset=Sentences(1000),
                  eval_dataset=Sentences(200))
trainer.train()
