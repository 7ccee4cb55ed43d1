#!/usr/bin/env python3
"""Small PyTorch programs without a planted fault. Usage: torch_clean.py NAME fixed [--passes N]"""

import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

import measure
from measure import program

device = "cuda"


def perceptron(layers, width, dtype=torch.float32):
    parts = []
    for _ in range(layers):
        parts += [nn.Linear(width, width, bias=False, device=device, dtype=dtype), nn.GELU()]
    return nn.Sequential(*parts)


@program
def torch_clean_amp_training(timer):
    model = perceptron(4, 4096)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    x = torch.randn(4096, 4096, device=device)
    y = torch.randn(4096, 4096, device=device)
    with timer:
        for _ in range(20):
            with torch.autocast(device, dtype=torch.bfloat16):
                loss = functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    print("loss", float(loss))


@program
def torch_clean_accumulation(timer):
    model = perceptron(3, 4096)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    parts = torch.randn(4, 1024, 4096, device=device)
    with timer:
        for _ in range(6):
            for part in parts:
                (model(part).square().mean() / len(parts)).backward()
            optimizer.step()
            optimizer.zero_grad()


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 24 * 64

    def __getitem__(self, i):
        return torch.full((4096,), i / 1024), i % 100


@program
def torch_clean_loader_training(timer):
    model = nn.Sequential(perceptron(8, 4096), nn.Linear(4096, 100, device=device))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    loader = torch.utils.data.DataLoader(Rows(), batch_size=64, num_workers=4, pin_memory=True, persistent_workers=True)
    batches = iter(loader)
    coming = next(batches)
    with timer:
        while coming is not None:
            rows, labels = (each.to(device, non_blocking=True) for each in coming)
            rows = rows.repeat(32, 1)
            loss = functional.cross_entropy(model(rows), labels.repeat(32))
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            coming = next(batches, None)
    print("loss", float(loss))


@program
def torch_clean_inference(timer):
    model = perceptron(6, 4096, torch.bfloat16).eval()
    x = torch.randn(8192, 4096, device=device, dtype=torch.bfloat16)
    best = []
    with timer, torch.inference_mode():
        for _ in range(24):
            best.append(model(x).argmax(-1))
    print("classes", torch.cat(best).numel())


@program
def torch_clean_checkpointing(timer):
    blocks = nn.ModuleList(perceptron(2, 2048) for _ in range(4))
    optimizer = torch.optim.SGD(blocks.parameters(), lr=1e-4)
    x = torch.randn(8192, 2048, device=device, requires_grad=True)
    with timer:
        for _ in range(10):
            y = x
            for block in blocks:
                y = checkpoint(block, y, use_reentrant=False)
            y.square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            x.grad = None
            del y


@program
def torch_clean_convolutions(timer):
    model = nn.Sequential(
        nn.Conv2d(3, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(64, 128, 3, padding=1), nn.BatchNorm2d(128), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(128, 100),
    ).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9)
    images = torch.randn(64, 3, 128, 128, device=device)
    labels = torch.randint(0, 100, (64,), device=device)
    with timer:
        for _ in range(16):
            loss = functional.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    print("loss", float(loss))


if __name__ == "__main__":
    raise SystemExit(measure.main("torch"))
