#!/usr/bin/env python3
"""Fine-tunes a large GPT until a batch of long sequences does not fit: the bundled recording out-of-memory.sluice.

    oom.py [--width N] [--layers N] [--steps N] [--long N]

The batches have short sequences, except for the last, which is one of long ones. On a GPU of 140 GiB, the weights,
their gradients and the state of AdamW take 72 GiB, a batch of short sequences fits, and a batch of long ones does not.
"""
import argparse

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, c))
        return x + self.mlp(self.norm2(x))


class Gpt(nn.Module):
    def __init__(self, words, width, layers, heads, length):
        super().__init__()
        self.word = nn.Embedding(words, width)
        self.position = nn.Embedding(length, width)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, x):
        x = self.word(x) + self.position.weight[: x.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def make_batches(steps, long, words):
    generator = torch.Generator().manual_seed(1)
    for step in range(steps):
        length = long if step == steps - 1 else 512 + 128 * (step % 3)
        yield torch.randint(0, words, (8, length + 1), generator=generator).pin_memory()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--width", type=int, default=4096)
    parser.add_argument("--layers", type=int, default=22)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--long", type=int, default=3072)
    options = parser.parse_args()

    with torch.device("cuda"):
        model = Gpt(50304, options.width, options.layers, options.width // 128, options.long)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    for step, batch in enumerate(make_batches(options.steps, options.long, 50304)):
        batch = batch.to("cuda", non_blocking=True)
        logits = model(batch[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        print(f"step {step}: loss {loss.item():.3f}", flush=True)


main()
