"""PEFT's quick tour: LoRA on a causal model, here a small one without pretrained weights, in a
loop of PyTorch's."""

import torch
from peft import LoraConfig, TaskType, get_peft_model
from torch.utils.data import DataLoader
from transformers import GPT2Config, GPT2LMHeadModel, get_linear_schedule_with_warmup

torch.manual_seed(0)
model = GPT2LMHeadModel(GPT2Config(vocab_size=8000, n_positions=128, n_embd=192, n_layer=4,
                                   n_head=4))
peft_config = LoraConfig(task_type=TaskType.CAUSAL_LM, inference_mode=False, r=8, lora_alpha=32,
                         lora_dropout=0.1)
model = get_peft_model(model, peft_config)
model.print_trainable_parameters()
num_epochs = 2
train_dataloader = DataLoader(torch.randint(8000, (600, 64)), shuffle=True, batch_size=8)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
lr_scheduler = get_linear_schedule_with_warmup(
    optimizer=optimizer, num_warmup_steps=0,
    num_training_steps=len(train_dataloader) * num_epochs)

for epoch in range(num_epochs):
    model.train()
    total_loss = 0
    for step, batch in enumerate(train_dataloader):
        outputs = model(input_ids=batch, labels=batch)
        loss = outputs.loss
        total_loss += loss.detach().float()
        loss.backward()
        optimizer.step()
        lr_scheduler.step()
        optimizer.zero_grad()
    print(f"{epoch=}: {total_loss / len(train_dataloader)}")
model.save_pretrained("output_dir")
