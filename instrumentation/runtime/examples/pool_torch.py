#!/usr/bin/env python3
"""Makes PyTorch allocate from Sluice's pool, runs a few training steps, and prints the pool's statistics.

    PYTHONPATH=build/release/python build/release/sluice record -o torch.sluice -- python3 instrumentation/runtime/examples/pool_torch.py
"""
import sluice_pool
import torch

sluice_pool.use_in_torch()
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 16)).cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
inputs, wanted = torch.randn(512, 256, device="cuda"), torch.randn(512, 16, device="cuda")
losses = []
side = torch.cuda.Stream()
for step in range(30):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(inputs), wanted)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    with torch.cuda.stream(side):
        apart = torch.full((1 << 18,), float(step), device="cuda").sum().item()
    assert apart == step * (1 << 18), apart
assert losses[-1] < losses[0], losses
figures = sluice_pool.stats()
assert figures.used > 0 and figures.refused_frees == 0, figures
print(f"torch: loss {losses[0]:.4f} -> {losses[-1]:.4f}; {figures}")
