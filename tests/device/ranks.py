#!/usr/bin/env python3
"""Runs jobs of several ranks, one GPU for each. Every rank writes PyTorch's own metrics, for check_ranks.py.

    ranks.py JOB --truth FILE [--steps N] [--late RANK --late-ms MS]      (under torchrun or mpirun)

JOB: ddp        DistributedDataParallel
     fsdp2      fully_shard on each layer and on the model
     pipeline   one stage per rank, split by hand; activations and gradients by send and receive
     mesh       for an even number of ranks: pairs share each layer (tensor parallel, by hand), and ranks at the same
                position of their pairs average their gradients (DistributedDataParallel); all ranks sum the gradients'
                norm
     mesh_fsdp2 the same by torch's own parallelize_module and fully_shard
--late: this rank computes MS longer in each step, so the others wait for it.
Each rank appends a line of JSON to FILE: {"rank", "peak": torch's max_memory_allocated, "steps", "late_ms": total,
measured by CUDA events, "host_ms": the host's time for all steps but the first}.
"""
import argparse
import fcntl
import json
import os
import sys
import time

try:
    import torch
    import torch.distributed as dist
    from torch import nn
except ImportError as missing:
    print(missing, file=sys.stderr)
    sys.exit(77)

WIDTH, LAYERS, BATCH = 2048, 8, 512


def environment(*names):
    return next((int(os.environ[name]) for name in names if name in os.environ), 0)


RANK = environment("RANK", "OMPI_COMM_WORLD_RANK")
SIZE = max(1, environment("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE"))
LOCAL = environment("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK")


def layer():
    return nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.Linear(WIDTH, WIDTH))


class stopwatch:
    """Measures the host's time since the end of the first step."""

    def __init__(self):
        self.begin = self.end = None

    def step_done(self):
        self.end = time.perf_counter()
        self.begin = self.begin or self.end

    def milliseconds(self):
        return 1000 * (self.end - self.begin)


class late:
    """Extra work of this rank, and its measured duration."""

    def __init__(self, milliseconds):
        self.cycles = int(milliseconds * 1.7e6)  # 1.7 GHz is about the clock rate of these GPUs; the real duration is measured.
        self.pairs = []

    def __call__(self):
        if self.cycles == 0:
            return
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        torch.cuda._sleep(self.cycles)
        end.record()
        self.pairs.append((begin, end))

    def total(self):
        torch.cuda.synchronize()
        return sum(begin.elapsed_time(end) for begin, end in self.pairs)


def data_parallel(wrap, steps, more, host):
    model = wrap(nn.Sequential(*[layer() for _ in range(LAYERS)]).cuda())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(steps):
        x = torch.randn(BATCH, WIDTH, device="cuda")
        loss = model(x).square().mean()
        more()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        host.step_done()


def sharded(model):
    from torch.distributed.fsdp import fully_shard

    for each in model:
        fully_shard(each)
    return fully_shard(model)


def mesh_of_pairs():
    from torch.distributed.device_mesh import init_device_mesh

    return init_device_mesh("cuda", (SIZE // 2, 2), mesh_dim_names=("data", "tensor"))


class shared_layer(nn.Module):
    """Two linear layers, split between the ranks of a pair. Sums their outputs, and in the backward pass the gradients
    of their input."""

    def __init__(self, pair):
        super().__init__()
        self.first, self.second = nn.Linear(WIDTH, WIDTH // 2), nn.Linear(WIDTH // 2, WIDTH)

        class sum_backward(torch.autograd.Function):
            @staticmethod
            def forward(_, x):
                return x.view_as(x)

            @staticmethod
            def backward(_, gradient):
                gradient = gradient.clone()
                dist.all_reduce(gradient, group=pair)
                return gradient

        class sum_forward(torch.autograd.Function):
            @staticmethod
            def forward(_, x):
                x = x.clone()
                dist.all_reduce(x, group=pair)
                return x

            @staticmethod
            def backward(_, gradient):
                return gradient

        self.sum_backward, self.sum_forward = sum_backward, sum_forward

    def forward(self, x):
        x = self.sum_backward.apply(x)
        return self.sum_forward.apply(self.second(nn.functional.gelu(self.first(x))))


def mesh(steps, more, host):
    ranks = mesh_of_pairs()
    model = nn.Sequential(*[shared_layer(ranks.get_group("tensor")) for _ in range(LAYERS)]).cuda()
    model = nn.parallel.DistributedDataParallel(model, device_ids=[LOCAL], process_group=ranks.get_group("data"))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(steps):
        x = torch.randn(BATCH, WIDTH, device="cuda")
        loss = model(x).square().mean()
        more()
        loss.backward()
        norm = torch.stack([each.grad.square().sum() for each in model.parameters()]).sum()
        dist.all_reduce(norm)
        optimizer.step()
        optimizer.zero_grad()
        host.step_done()


def in_mesh(model):
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    ranks = mesh_of_pairs()
    for each in model:
        parallelize_module(each, ranks["tensor"], {"0": ColwiseParallel(), "2": RowwiseParallel()})
        fully_shard(each, mesh=ranks["data"])
    return fully_shard(model, mesh=ranks["data"])


def pipeline(steps, more, host, parts=4):
    """Runs the forward pass of all parts of the batch, then the backward pass of all parts (GPipe). The last stage also
    has a large head."""
    first, last = RANK == 0, RANK == SIZE - 1
    stage = nn.Sequential(*[layer() for _ in range(LAYERS // SIZE)], *([nn.Linear(WIDTH, 8 * WIDTH)] if last else [])).cuda()
    optimizer = torch.optim.AdamW(stage.parameters(), lr=1e-4)
    for _ in range(steps):
        inputs, outputs = [], []
        for _ in range(parts):
            x = torch.randn(BATCH, WIDTH, device="cuda")
            if not first:
                dist.recv(x, RANK - 1)
                x.requires_grad_()
            y = stage(x)
            more()
            if not last:
                dist.send(y.detach(), RANK + 1)
            inputs.append(x)
            outputs.append(y)
        for x, y in zip(inputs, outputs):
            if last:
                y.square().mean().backward()
            else:
                gradient = torch.empty_like(y)
                dist.recv(gradient, RANK + 1)
                y.backward(gradient)
            if not first:
                dist.send(x.grad, RANK - 1)
        optimizer.step()
        optimizer.zero_grad()
        host.step_done()


def main():
    options = argparse.ArgumentParser()
    options.add_argument("job", choices=["ddp", "fsdp2", "pipeline", "mesh", "mesh_fsdp2"])
    options.add_argument("--truth", required=True)
    options.add_argument("--steps", type=int, default=30)
    options.add_argument("--late", type=int, default=-1)
    options.add_argument("--late-ms", type=float, default=20)
    chosen = options.parse_args()
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29517")
    torch.cuda.set_device(LOCAL)
    dist.init_process_group("nccl", rank=RANK, world_size=SIZE, device_id=torch.device("cuda", LOCAL))
    host = stopwatch()
    more = late(chosen.late_ms if chosen.late == RANK else 0)
    if chosen.job == "pipeline":
        pipeline(chosen.steps, more, host)
    elif chosen.job == "mesh":
        mesh(chosen.steps, more, host)
    else:
        wraps = {"ddp": lambda model: nn.parallel.DistributedDataParallel(model, device_ids=[LOCAL]), "fsdp2": sharded, "mesh_fsdp2": in_mesh}
        data_parallel(wraps[chosen.job], chosen.steps, more, host)
    line = json.dumps({"rank": RANK, "peak": torch.cuda.max_memory_allocated(), "steps": chosen.steps, "late_ms": more.total(), "host_ms": host.milliseconds()})
    with open(chosen.truth, "a") as out:
        fcntl.flock(out, fcntl.LOCK_EX)
        print(line, file=out, flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
