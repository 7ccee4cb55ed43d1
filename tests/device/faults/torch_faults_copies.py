#!/usr/bin/env python3
"""Small PyTorch programs about copies and waits. Usage: torch_faults_copies.py NAME faulty|fixed [--passes N]"""

import torch
from torch import nn

import measure
from measure import program

device = "cuda"
MIB = 1 << 20


def floats(mib):
    """The number of 4-byte floats in this many MiB."""
    return mib * MIB // 4


def perceptron(layers, width):
    parts = []
    for _ in range(layers):
        parts += [nn.Linear(width, width, bias=False, device=device), nn.GELU()]
    return nn.Sequential(*parts)


def host_batches(count, rows, width, pinned):
    return [torch.full((rows, width), 0.1 + i, pin_memory=pinned) for i in range(count)]


# hao-ai-lab/FastVideo pull request 1217, "Eliminate CPU-GPU synchronization bottlenecks in training pipeline"
@program
def torch_pageable_batches(timer, faulty):
    batches = host_batches(4, 8192, 2048, pinned=not faulty)
    model = perceptron(2, 2048)
    with timer, torch.no_grad():
        for step in range(20):
            x = batches[step % 4].to(device, non_blocking=True)  # fault torch_pageable_batches
            y = model(x)
    print("mean", float(y.mean()))


def stream_through(timer, upload, wait):
    """Uploads batches into two buffers in turn and computes on them; with `wait`, the host waits for each upload."""
    batches = host_batches(4, 16384, 2048, pinned=True)
    buffers = [torch.empty(16384, 2048, device=device) for _ in range(2)]
    filled = [torch.cuda.Event() for _ in buffers]
    used = [torch.cuda.Event() for _ in buffers]
    model = perceptron(2, 2048)
    results = torch.zeros((), device=device)
    compute = torch.cuda.current_stream()
    with timer, torch.no_grad():
        for step in range(20):
            i = step % 2
            with torch.cuda.stream(upload):
                upload.wait_event(used[i])
                buffers[i].copy_(batches[step % 4], non_blocking=True)  # fault torch_one_stream_uploads torch_wait_for_upload
                filled[i].record(upload)
            if wait:
                torch.cuda.synchronize()  # fault torch_wait_for_upload
            compute.wait_event(filled[i])
            results += model(buffers[i]).mean()
            used[i].record(compute)
    print("mean", float(results))


# PyTorch tutorial, "A guide on good usage of non_blocking and pin_memory()"
@program
def torch_one_stream_uploads(timer, faulty):
    stream_through(timer, torch.cuda.current_stream() if faulty else torch.cuda.Stream(), wait=False)


# discuss.pytorch.org thread 157251, "Performance optimization re: CPU-GPU synchronization"
@program
def torch_wait_for_upload(timer, faulty):
    stream_through(timer, torch.cuda.Stream(), wait=faulty)


# fatchord/WaveRNN issue 142, "Good practice on allocating large tensor on GPU"; torchsynth issue 76
@program
def torch_zeros_to_device(timer, faulty):
    x = torch.rand(floats(64), device=device)
    with timer:
        for _ in range(16):
            if faulty:
                state = torch.zeros(floats(64)).to(device)  # fault torch_zeros_to_device
            else:
                state = torch.zeros(floats(64), device=device)
            for _ in range(8):
                state = state * 0.9 + x
    print("mean", float(state.mean()))


# pytorch/pytorch issue 17854, ".cuda() cost much more time" (a grid that is uploaded for every frame)
@program
def torch_grid_each_step(timer, faulty):
    rows, columns = torch.meshgrid(torch.arange(0.0, 4096), torch.arange(0.0, 2048), indexing="ij")
    rows, columns = rows.contiguous(), columns.contiguous()
    flow = torch.rand(2, 4096, 2048, device=device)
    if not faulty:
        rows, columns = rows.to(device), columns.to(device)
    with timer:
        for _ in range(20):
            new_y = flow[0] + rows.to(device)  # fault torch_grid_each_step
            new_x = flow[1] + columns.to(device)  # fault torch_grid_each_step
            for _ in range(8):
                flow = (torch.stack([new_y, new_x]) * 1e-3).sin_()
    print("mean", float(flow.mean()))


# xarray-contrib/xarray-spatial issue 1457 (values that go to the host between two steps on the device)
@program
def torch_features_via_numpy(timer, faulty):
    body, head = perceptron(2, 2048), perceptron(1, 2048)
    x = torch.randn(8192, 2048, device=device)
    with timer, torch.no_grad():
        for _ in range(12):
            features = body(x)
            if faulty:
                features = features.cpu().numpy()  # fault torch_features_via_numpy
                features = torch.from_numpy(features).to(device)  # fault torch_features_via_numpy
            y = head(features)
    print("mean", float(y.mean()))


# Santosh-Gupta/SpeedTorch issue 6, "Fast transfer of small tensors"
@program
def torch_scalar_uploads(timer, faulty):
    samples = torch.randn(2048, 8192, device=device)
    weights = [1.0 / (i + 1) for i in range(100)]
    total = torch.zeros((), device=device)
    with timer:
        for _ in range(15):
            if faulty:
                scale = torch.stack([torch.tensor(w, device=device) for w in weights])  # fault torch_scalar_uploads
            else:
                scale = torch.tensor(weights, device=device)
            total += (samples[:100] * scale[:, None]).sum()
    print("total", float(total))


# NVIDIA TensorRT-LLM skill "perf-torch-sync-free": boolean indexing waits for the number of selected rows
@program
def torch_boolean_index(timer, faulty):
    x = torch.randn(4096, 1024, device=device)
    model = perceptron(4, 1024)
    total = torch.zeros((), device=device)
    with timer, torch.no_grad():
        for _ in range(40):
            y = model(x)
            for threshold in (0.0, 0.1, 0.2):
                keep = y[:, 0] > threshold
                if faulty:
                    total += y[keep].sum()  # fault torch_boolean_index
                else:
                    total += (y * keep[:, None]).sum()
    print("total", float(total))


if __name__ == "__main__":
    raise SystemExit(measure.main("torch"))
