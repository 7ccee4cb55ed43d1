#!/usr/bin/env python3
"""Small PyTorch programs about device memory. Usage: torch_faults_memory.py NAME faulty|fixed [--passes N]"""

import torch
from torch import nn

import measure
from measure import program

device = "cuda"
MIB = 1 << 20


def floats(mib):
    """The number of 4-byte floats in this many MiB."""
    return mib * MIB // 4


def perceptron(layers, width, dtype=torch.float32):
    parts = []
    for _ in range(layers):
        parts += [nn.Linear(width, width, bias=False, device=device, dtype=dtype), nn.GELU()]
    return nn.Sequential(*parts)


# turboderp/exllama issue 259, "Cache size below max_seq_len?"; vllm-project/vllm issue 33263, "Prevent overallocation of kv-cache"
@program
def torch_kv_cache_slots(timer, faulty):
    most = 24 if faulty else 4
    sequences, heads, length, width = 4, 16, 4096, 128
    keys = [torch.empty(heads, length, width, device=device, dtype=torch.bfloat16) for _ in range(most)]  # fault torch_kv_cache_slots
    values = [torch.empty(heads, length, width, device=device, dtype=torch.bfloat16) for _ in range(most)]  # fault torch_kv_cache_slots
    for k, v in zip(keys[:sequences], values[:sequences]):
        k.normal_()
        v.normal_()
    with timer, torch.no_grad():
        for step in range(24):
            position = 3000 + step
            for slot in range(sequences):
                q = torch.ones(heads, 1, width, device=device, dtype=torch.bfloat16)
                keys[slot][:, position] = 0.5
                values[slot][:, position] = 0.5
                weights = (q @ keys[slot][:, :position].transpose(1, 2)).softmax(-1)
                out = weights @ values[slot][:, :position]
    print("out", tuple(out.shape))


# huggingface/transformers issues 38977, "LMHead is processing redundant tokens in prefill", and 30860
@program
def torch_all_logits(timer, faulty):
    width, vocabulary = 1024, 32768
    body = perceptron(4, width, torch.bfloat16)
    head = nn.Linear(width, vocabulary, bias=False, device=device, dtype=torch.bfloat16)
    prompts = torch.randn(4, 4, 1024, width, device=device, dtype=torch.bfloat16)
    chosen = []
    with timer, torch.no_grad():
        for step in range(16):
            hidden = body(prompts[step % 4])
            if faulty:
                logits = head(hidden)  # fault torch_all_logits
            else:
                logits = head(hidden[:, -1:])
            chosen.append(logits[:, -1].argmax(-1))
    print("tokens", torch.stack(chosen).numel())


# facebookresearch/fairscale issue 1093 (a second copy of the weights beside a training)
@program
def torch_reference_model(timer, faulty):
    reference = perceptron(6, 4096)  # fault torch_reference_model
    model = perceptron(4, 4096)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    x = torch.randn(2048, 4096, device=device)
    with torch.no_grad():
        before = float((reference(x) - model(x)).abs().mean())
    if not faulty:
        reference = reference.cpu()
    with timer:
        for _ in range(20):
            model(x).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
    reference = reference.to(device)
    with torch.no_grad():
        after = float((reference(x) - model(x)).abs().mean())
    print("distance", before, after)


# DrGPUM (ASPLOS 2023), pattern "redundant allocation"
@program
def torch_two_workspaces(timer, faulty):
    image = torch.rand(floats(64), device=device)
    blur_space = torch.empty(floats(320), device=device)  # fault torch_two_workspaces
    edge_space = torch.empty(floats(320), device=device) if faulty else blur_space  # fault torch_two_workspaces
    with timer, torch.no_grad():
        for _ in range(30):
            copies = blur_space.view(5, -1)
            torch.mul(image, torch.arange(1.0, 6.0, device=device)[:, None], out=copies)
            smooth = copies.mean(0)
            edges = edge_space.view(5, -1)
            torch.sub(smooth, torch.arange(1.0, 6.0, device=device)[:, None], out=edges)
            image = edges.amax(0).clamp_(0, 1)
    print("mean", float(image.mean()))


# DrGPUM (ASPLOS 2023), pattern "early allocation"
@program
def torch_export_buffer(timer, faulty):
    model = perceptron(3, 4096)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    x = torch.randn(3072, 4096, device=device)
    if faulty:
        table = torch.empty(floats(384), device=device)  # fault torch_export_buffer
    with timer:
        for _ in range(8):
            model(x).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
    if not faulty:
        table = torch.empty(floats(384), device=device)
    for part in table.chunk(6):
        part.copy_(model[0].weight.detach().flatten())
    print("table", float(table[-1]))


# PyTorch Performance Tuning Guide, "Preallocate memory in case of variable input length"; sgl-project/SpecForge pull request 739
@program
def torch_growing_lengths(timer, faulty):
    longest = 110
    model = perceptron(2, 1024)
    with timer, torch.no_grad():
        if not faulty:
            x = torch.ones(longest * 80, 1024, device=device)
            model(x)
            del x
        for step in range(24):
            length = 40 + 3 * step
            x = torch.ones(length * 80, 1024, device=device)  # fault torch_growing_lengths
            y = model(x)  # fault torch_growing_lengths
            total = y.sum()
            del x, y
    print("total", float(total))


# Lightning-AI and PyTorch forum threads on "reserved but unallocated" after a large first step; PyTorch docs, "Memory management"
@program
def torch_burst(timer, faulty):
    model = perceptron(2, 2048)
    table = torch.rand(2048, 2048, device=device)
    with torch.no_grad():
        pieces = 1 if faulty else 16
        moments = []
        for rows in table.chunk(pieces):
            distances = (rows[:, None, :24] - table[None, :, :24]).abs()  # fault torch_burst
            moments.append(distances.sum(-1).mean())
        del distances
    scale = torch.stack(moments).mean()
    x = torch.randn(512, 2048, device=device)
    with timer, torch.no_grad():
        for _ in range(30):
            x = model(x) * scale.clamp(0.9, 1.1)
    print("mean", float(x.mean()))


# pytorch/pytorch: num_alloc_retries in torch.cuda.memory_stats; the caches of two streams do not serve each other
@program
def torch_two_stream_caches(timer, faulty):
    limit = 1000 * MIB
    torch.cuda.set_per_process_memory_fraction(limit / torch.cuda.get_device_properties(0).total_memory)
    first = torch.cuda.Stream()
    second = torch.cuda.Stream() if faulty else first
    total = torch.zeros((), device=device)
    torch.cuda.synchronize()
    with timer, torch.no_grad():
        for _ in range(12):
            for stream in (first, second):
                stream.wait_stream(torch.cuda.current_stream())
                with torch.cuda.stream(stream):
                    field = torch.full((floats(560),), 0.5, device=device)  # fault torch_two_stream_caches
                    total += field.square_().sum()
                    del field
                torch.cuda.current_stream().wait_stream(stream)
    print("total", float(total))


# jacobgil/pytorch-grad-cam issue 71, "Will run out of memory"
@program
def torch_hooked_activations(timer, faulty):
    model = perceptron(3, 2048)
    seen = []

    def remember(module, inputs, output):
        if not faulty:
            seen.clear()
        seen.append(output.detach().clone())  # fault torch_hooked_activations

    model[2].register_forward_hook(remember)
    x = torch.randn(2048, 2048, device=device)
    with timer, torch.no_grad():
        for _ in range(24):
            heat = model(x).amax(-1) * seen[-1].mean(-1)
    print("heat", float(heat.mean()))


# openvdb/fvdb-core pull request 212 and pytorch/pytorch pull request 190953 (zeros that a kernel then overwrites)
@program
def torch_zeros_for_output(timer, faulty):
    a = torch.rand(floats(192), device=device)
    b = torch.rand(floats(192), device=device)
    with timer:
        for _ in range(60):
            if faulty:
                out = torch.zeros(floats(192), device=device)  # fault torch_zeros_for_output
            else:
                out = torch.empty(floats(192), device=device)
            torch.add(a, b, out=out)
            del out


if __name__ == "__main__":
    raise SystemExit(measure.main("torch"))
