#!/usr/bin/env python3
"""A two-process evaluation: torchrun --nproc-per-node 2 torch_faults_ranks.py torch_sorted_shards faulty|fixed [--passes N]

Both processes may use the same GPU. Rank 0 prints the highest peak of the two.
"""

import argparse
import json
import statistics
import time

import torch
import torch.distributed as dist
from torch import nn


# pytorch/pytorch issue 47433, "unbalanced gpu memory when using DistributedDataParallel"
def torch_sorted_shards(rank, ranks, faulty):
    """Returns the milliseconds that this rank took for its share of the sequences, which are sorted by length."""
    device = torch.device("cuda", rank % torch.cuda.device_count())
    torch.cuda.set_device(device)
    lengths = sorted(256 * (1 + i % 24) for i in range(48))
    if faulty:
        share = len(lengths) // ranks
        mine = lengths[rank * share : (rank + 1) * share]  # fault torch_sorted_shards
    else:
        mine = lengths[rank::ranks]
    sequences = [torch.ones(length, 1024, device=device) for length in mine]  # fault torch_sorted_shards
    model = nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 1024)).to(device)
    total = torch.zeros((), device=device)
    torch.cuda.synchronize()
    dist.barrier()
    start = time.perf_counter()
    with torch.no_grad():
        for _ in range(4):
            for x in sequences:
                total += model(x).mean()
    torch.cuda.synchronize()
    dist.all_reduce(total.cpu())
    return (time.perf_counter() - start) * 1e3


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=["torch_sorted_shards"])
    parser.add_argument("variant", choices=["faulty", "fixed"])
    parser.add_argument("--passes", type=int, default=3)
    arguments = parser.parse_args()
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    passes = arguments.passes + (arguments.passes > 1)
    times = [torch_sorted_shards(rank, ranks, arguments.variant == "faulty") for _ in range(passes)]
    if arguments.passes > 1:
        times = times[1:]
    figures = torch.tensor([torch.cuda.max_memory_allocated(), torch.cuda.memory_reserved(), statistics.median(times)], dtype=torch.float64)
    dist.all_reduce(figures, op=dist.ReduceOp.MAX)
    if rank == 0:
        peak, reserved, ms = figures.tolist()
        print(json.dumps({"program": arguments.name, "variant": arguments.variant, "peak_bytes": int(peak),
                          "reserved_bytes": int(reserved), "ms": round(ms, 3)}), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
