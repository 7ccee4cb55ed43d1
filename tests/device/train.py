#!/usr/bin/env python3
"""A small PyTorch training, for recordings and for measuring the cost of recording.

    train.py [--model mlp|gpt] [--steps N] [--seconds S] [--warmup N] [--profiler] [--json FILE]

Prints one JSON line: median, mean and quartiles of the step time in microseconds, peak bytes as counted by PyTorch.
"""
import argparse
import json
import statistics
import time

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
    def __init__(self, words=2048, width=256, layers=4, heads=8, length=128):
        super().__init__()
        self.word = nn.Embedding(words, width)
        self.position = nn.Parameter(torch.zeros(1, length, width))
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(layers)])
        self.head = nn.Linear(width, words)

    def forward(self, x):
        return self.head(self.blocks(self.word(x) + self.position[:, : x.shape[1]]))


def make(model, device):
    generator = torch.Generator().manual_seed(1)
    if model == "mlp":
        net = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10)).to(device)
        data = torch.randn(64, 512, generator=generator).pin_memory()
        target = torch.randint(0, 10, (64,), generator=generator).pin_memory()
        return net, data, target, lambda out, y: nn.functional.cross_entropy(out, y)
    net = Gpt().to(device)
    data = torch.randint(0, 2048, (16, 129), generator=generator).pin_memory()
    return net, data, None, None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=["mlp", "gpt"], default="gpt")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=0.0, help="continue until this many seconds have passed")
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--profiler", action="store_true", help="run torch.profiler during the steps, for comparison with the recorder")
    parser.add_argument("--json")
    args = parser.parse_args()
    torch.manual_seed(0)
    device = torch.device("cuda")
    net, data, target, loss_of = make(args.model, device)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)

    def step():
        if args.model == "mlp":
            x, y = data.to(device, non_blocking=True), target.to(device, non_blocking=True)
            loss = loss_of(net(x), y)
        else:
            x = data.to(device, non_blocking=True)
            out = net(x[:, :-1])
            loss = nn.functional.cross_entropy(out.reshape(-1, out.shape[-1]), x[:, 1:].reshape(-1))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return loss

    profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) if args.profiler else None
    if profiler:
        profiler.start()
    times = []
    begin = time.perf_counter()
    done = 0
    while done < args.steps or time.perf_counter() - begin < args.seconds:
        torch.cuda.synchronize()
        t = time.perf_counter()
        loss = step()
        torch.cuda.synchronize()
        if done >= args.warmup:
            times.append((time.perf_counter() - t) * 1e6)
        done += 1
    if profiler:
        profiler.stop()
    stats = torch.cuda.memory_stats()
    free, total = torch.cuda.mem_get_info()
    times = times or [0.0]
    quartiles = statistics.quantiles(times, n=4) if len(times) > 3 else [min(times), statistics.median(times), max(times)]
    line = json.dumps(
        {
            "model": args.model,
            "steps": done,
            "loss": round(loss.item(), 4),
            "step_us": {"median": round(statistics.median(times), 1), "mean": round(statistics.fmean(times), 1),
                        "q1": round(quartiles[0], 1), "q3": round(quartiles[2], 1)},
            "device_used": total - free,
            "allocated_peak": stats["allocated_bytes.all.peak"],
            "reserved_peak": stats["reserved_bytes.all.peak"],
            "segments_allocated": stats["segment.all.allocated"],
            "device_alloc": stats["num_device_alloc"],
            "device_free": stats["num_device_free"],
        }
    )
    print(line, flush=True)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as out:
            out.write(line + "\n")


if __name__ == "__main__":
    main()
