#!/usr/bin/env python3
"""Streams of requests for PyTorch's caching allocator. Each stream is a separate program.

    allocator_streams.py list
    allocator_streams.py STREAM      prints one JSON line with the allocator's own metrics

A stream's requests do not depend on the clock or on addresses, so that runs under different settings of
PYTORCH_CUDA_ALLOC_CONF can be compared. A stream that runs out of memory ends there and reports {"out_of_memory":
true}. The exit status is 77 without PyTorch or without a GPU.
"""
import json
import os
import random
import sys
import warnings

warnings.filterwarnings("ignore")

try:
    import torch
    from torch import nn
    from torch.nn import functional
except ImportError as missing:
    print(missing, file=sys.stderr)
    sys.exit(77)

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
streams = {}


def stream(function):
    streams[function.__name__] = function
    return function


def take(size):
    return torch.empty(max(1, int(size)), dtype=torch.uint8, device="cuda")


def limit_to(size):
    """Sets a limit in bytes and not as a fraction, because machines differ in their memory."""
    total = torch.cuda.mem_get_info()[1]
    torch.cuda.set_per_process_memory_fraction(size / total)
    return int(size / total * total)


def churn(rng, sizes, steps, most):
    """Allocates `sizes(rng)` repeatedly, and frees blocks at random while more than `most` bytes are live."""
    live, total = [], 0
    for _ in range(steps):
        size = sizes(rng)
        while live and total + size > most:
            gone = live.pop(rng.randrange(len(live)))
            total -= gone.numel()
            del gone
        live.append(take(size))
        total += live[-1].numel()
    return live


# --- sizes and orders --------------------------------------------------------------------------------------------------


@stream
def growing():
    """Sizes that grow a little from step to step, so no free block fits the next request."""
    for step in range(40):
        kept = [take((8 + 5 * layer) * MIB + step * 640 * KIB) for layer in range(8)]
        del kept


@stream
def growing_pairs():
    """Two buffers, each repeatedly extended by a copy, like a cache of keys and values."""
    caches = [take(2 * MIB) for _ in range(12)]
    for step in range(40):
        for i in range(len(caches)):
            longer = take(caches[i].numel() + 384 * KIB)
            caches[i] = longer
            del longer


@stream
def random_sizes():
    """Sizes across five orders of magnitude, freed at random."""
    churn(random.Random(1), lambda r: int(2 ** r.uniform(9, 26)), 4000, 1 * GIB)


@stream
def odd_frees():
    """Blocks are freed in the order of allocation, in the opposite order, every other one, and at random."""
    rng = random.Random(2)
    for turn in range(8):
        blocks = [take(int(2 ** rng.uniform(18, 25))) for _ in range(120)]
        if turn % 4 == 1:
            blocks.reverse()
        elif turn % 4 == 2:
            blocks = blocks[::2] + blocks[1::2]
        elif turn % 4 == 3:
            rng.shuffle(blocks)
        half = len(blocks) // 2
        del blocks[:half]
        more = [take(int(2 ** rng.uniform(18, 25))) for _ in range(60)]
        del blocks, more


@stream
def big_and_small():
    """Large blocks between many small ones that are freed later."""
    rng = random.Random(3)
    small = []
    for _ in range(150):
        large = take(rng.choice([24, 37, 50, 75, 110]) * MIB + rng.randrange(0, 2 * MIB))
        small += [take(rng.randrange(1, 900 * KIB)) for _ in range(20)]
        middle = [take(rng.randrange(1 * MIB, 9 * MIB)) for _ in range(4)]
        del large
        small += middle[:1]
        if len(small) > 600:
            del small[: rng.randrange(100, 300)]


@stream
def small_only():
    """No size is above 1 MiB, so only the small pool is used."""
    rng = random.Random(4)
    for _ in range(6):
        live = churn(rng, lambda r: int(2 ** r.uniform(5, 20)), 3000, 160 * MIB)
        live = live[::7]
    del live


@stream
def oversize():
    """Blocks above and below usual values of max_split_size_mb."""
    churn(random.Random(5), lambda r: int(r.choice([20, 60, 63, 65, 100, 127, 129, 180, 260]) * MIB * r.uniform(0.9, 1.0)), 300, 2 * GIB)


@stream
def between_one_and_ten():
    """1 to 10 MiB: each miss takes a segment of 20 MiB and splits it."""
    churn(random.Random(6), lambda r: int(r.uniform(0.9, 10.5) * MIB), 2500, 700 * MIB)


# --- streams of the GPU, graphs, limits --------------------------------------------------------------------------------


@stream
def two_streams():
    """Allocations on two streams. Neither stream can use the blocks that the other freed."""
    rng = random.Random(7)
    side = torch.cuda.Stream()
    here, there = [], []
    for step in range(600):
        size = int(2 ** rng.uniform(16, 25))
        if step % 3 == 2:
            with torch.cuda.stream(side):
                there.append(take(size))
        else:
            here.append(take(size))
        for kept in (here, there):
            while len(kept) > 24:
                kept.pop(rng.randrange(len(kept)))
    torch.cuda.synchronize()


@stream
def used_elsewhere():
    """Blocks that another stream uses. They become free only when that stream is done."""
    rng = random.Random(8)
    side = torch.cuda.Stream()
    for step in range(80):
        blocks = [take(int(rng.uniform(1, 30) * MIB)) for _ in range(6)]
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for block in blocks:
                block.zero_()
                block.record_stream(side)
        del blocks, block
        if step % 4 == 3:
            torch.cuda.synchronize()


@stream
def graph():
    """A captured graph has a private pool. The program continues in the common pool."""
    model = nn.Sequential(*[nn.Sequential(nn.Linear(1024, 1024), nn.ReLU()) for _ in range(6)]).cuda()
    x = torch.randn(512, 1024, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side), torch.no_grad():
        for _ in range(3):
            model(x)
    torch.cuda.current_stream().wait_stream(side)
    graphs = []
    for _ in range(2):
        captured = torch.cuda.CUDAGraph()
        with torch.no_grad(), torch.cuda.graph(captured):
            y = model(x)
            z = functional.softmax(y, -1)
        graphs.append((captured, y, z))
    for step in range(6):
        for captured, _, _ in graphs:
            captured.replay()
        with torch.no_grad():
            for batch in (512, 700, 300 + 40 * step):
                model(torch.randn(batch, 1024, device="cuda"))
    torch.cuda.synchronize()


@stream
def empty_cache():
    """Two phases with different sizes, with torch.cuda.empty_cache between them and in the middle of each."""
    rng = random.Random(9)
    for unit in (3, 5, 7):
        live = churn(rng, lambda r: unit * MIB * r.randrange(1, 12) + r.randrange(0, 64 * KIB), 200, 600 * MIB)
        del live[::2]
        torch.cuda.empty_cache()
        live += churn(rng, lambda r: unit * MIB * r.randrange(1, 9), 150, 400 * MIB)
        del live
    torch.cuda.empty_cache()
    churn(rng, lambda r: r.randrange(1 * MIB, 40 * MIB), 100, 300 * MIB)


@stream
def near_the_limit():
    """The program allocates as much as the process may have, so the cache is emptied repeatedly."""
    limit_to(800 * MIB)
    rng = random.Random(10)
    for step in range(30):
        kept = [take((10 + 3 * layer) * MIB + step * 900 * KIB) for layer in range(10)]
        passing = [take(rng.uniform(2, 24) * MIB) for _ in range(12)]
        del kept, passing


@stream
def near_the_limit_random():
    """Random sizes below a limit of less than twice the live bytes."""
    limit_to(1850 * MIB)
    churn(random.Random(11), lambda r: int(2 ** r.uniform(20, 27)), 1500, 1 * GIB)


@stream
def limit_not_reached():
    """The native allocator never reaches the limit, so its recording does not show the limit. Other settings depend on
    it."""
    limit_to(3 * GIB)
    churn(random.Random(11), lambda r: int(2 ** r.uniform(20, 27)), 1500, 1 * GIB)


# --- networks ---------------------------------------------------------------------------------------------------------


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.all, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in self.all(self.before(x)).chunk(3, -1))
        x = x + self.out(functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, length, width))
        return x + self.down(functional.gelu(self.up(self.after(x))))


class Net(nn.Module):
    def __init__(self, width=512, layers=6, words=4000):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.blocks = nn.ModuleList(Block(width, width // 64) for _ in range(layers))
        self.last = nn.Linear(width, words)

    def forward(self, x):
        x = self.words(x)
        for block in self.blocks:
            x = block(x)
        return self.last(x)


def words(batch, length, seed=0):
    return torch.randint(0, 4000, (batch, length), generator=torch.Generator().manual_seed(seed)).cuda()


def train(lengths, batch=16):
    model = Net().cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for length in lengths:
        x = words(batch, length)
        loss = functional.cross_entropy(model(x).flatten(0, 1), x.flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        del loss, x
    torch.cuda.synchronize()
    return model


@stream
def training():
    """A small transformer with AdamW. All steps are the same."""
    train([256] * 8)


@stream
def training_lengths():
    """The same with a different sequence length in each step."""
    rng = random.Random(12)
    train([rng.randrange(64, 512) for _ in range(25)])


@stream
def training_and_evaluation():
    """Training, evaluation with larger batches, training again."""
    model = train([200] * 3)
    with torch.no_grad():
        for batch in (32, 24, 40):
            functional.softmax(model(words(batch, 300)), -1)
    del model
    train([220] * 3)


@stream
def batches():
    """Inference with the batch sizes and lengths of incoming requests."""
    rng = random.Random(13)
    model = Net().cuda().eval()
    with torch.inference_mode():
        for _ in range(120):
            functional.softmax(model(words(rng.randrange(1, 33), rng.randrange(16, 384))), -1)
    torch.cuda.synchronize()


@stream
def convolutions():
    """Images of varying size through convolutions."""
    rng = random.Random(14)
    torch.backends.cudnn.benchmark = False
    layers, width = [], 3
    for wider in (32, 64, 64, 128):
        layers += [nn.Conv2d(width, wider, 3, padding=1), nn.BatchNorm2d(wider), nn.ReLU(), nn.MaxPool2d(2)]
        width = wider
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for _ in range(25):
        side = rng.randrange(48, 160)
        x = torch.randn(32, 3, side, side, device="cuda")
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
    torch.cuda.synchronize()


def figures(name, out_of_memory):
    stats = torch.cuda.memory_stats()
    return {
        "stream": name,
        "setting": os.environ.get("PYTORCH_CUDA_ALLOC_CONF", ""),
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name(),
        "device_bytes": torch.cuda.mem_get_info()[1],
        "out_of_memory": out_of_memory,
        "peak_reserved_bytes": torch.cuda.max_memory_reserved(),
        "peak_allocated_bytes": torch.cuda.max_memory_allocated(),
        "peak_requested_bytes": stats.get("requested_bytes.all.peak"),
        "peak_segments": stats.get("segment.all.peak"),
        "driver_allocations": stats.get("num_device_alloc"),
        "driver_frees": stats.get("num_device_free"),
        "retries": stats.get("num_alloc_retries"),
        "allocations": stats.get("allocation.all.allocated"),
    }


def main():
    if len(sys.argv) != 2 or (sys.argv[1] != "list" and sys.argv[1] not in streams):
        print("usage: allocator_streams.py list|" + "|".join(streams), file=sys.stderr)
        sys.exit(2)
    if sys.argv[1] == "list":
        print("\n".join(streams))
        return
    if not torch.cuda.is_available():
        print("PyTorch finds no usable GPU", file=sys.stderr)
        sys.exit(77)
    torch.manual_seed(0)
    torch.cuda.init()
    out_of_memory = False
    try:
        streams[sys.argv[1]]()
    except torch.cuda.OutOfMemoryError:
        out_of_memory = True
    print(json.dumps(figures(sys.argv[1], out_of_memory)), flush=True)


main()
