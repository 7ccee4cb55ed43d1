#!/usr/bin/env python3
"""Small trainings and evaluations in PyTorch. Usage: torch_faults_training.py NAME faulty|fixed [--passes N]"""

import functools
import gc
import io

import torch
from torch import nn
from torch.nn import functional

import measure
from measure import program

device = "cuda"


def perceptron(layers, width, dtype=torch.float32):
    parts = []
    for _ in range(layers):
        parts += [nn.Linear(width, width, bias=False, device=device, dtype=dtype), nn.GELU()]
    return nn.Sequential(*parts)


# karpathy/nanoGPT pull request 71, "Zero-grad more aggressively to save memory"
@program
def torch_zero_grad_late(timer, faulty):
    model = perceptron(4, 4096)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    x = torch.randn(4096, 4096, device=device)
    with timer:
        for _ in range(8):
            loss = model(x).square().mean()
            if faulty:
                optimizer.zero_grad()  # fault torch_zero_grad_late
            loss.backward()  # fault torch_zero_grad_late
            optimizer.step()
            if not faulty:
                optimizer.zero_grad()


# pytorch/pytorch issue 17568, "GPU memory leak on Pytorch 1.0?"; PyTorch FAQ, "My model reports cuda runtime error(2): out of memory"
@program
def torch_metric_history(timer, faulty):
    model = nn.Sequential(nn.Linear(1024, 2048), nn.ReLU(), nn.Linear(2048, 16384)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    x = torch.randn(512, 1024, device=device)
    y = torch.randint(0, 16384, (512,), device=device)
    confidence = []
    with timer:
        for _ in range(24):
            logits = model(x)
            loss = functional.cross_entropy(logits, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if faulty:
                likely = logits.softmax(-1)  # fault torch_metric_history
                confidence.append(likely.square().sum(-1).mean())  # fault torch_metric_history
            else:
                likely = logits.detach().softmax(-1)
                confidence.append(likely.square().sum(-1).mean())
    print("confidence", float(torch.stack(confidence).mean()))


# pytorch/pytorch issue 5210, "cuda runtime error (2) : out of memory when using loss function"
@program
def torch_validation_total(timer, faulty):
    model = perceptron(3, 2048)
    batches = torch.randn(4, 1024, 2048, device=device)
    total = torch.zeros((), device=device)
    with timer:
        for step in range(20):
            if faulty:
                output = model(batches[step % 4])  # fault torch_validation_total
                total = total + functional.mse_loss(output, batches[step % 4])  # fault torch_validation_total
            else:
                with torch.no_grad():
                    output = model(batches[step % 4])
                    total = total + functional.mse_loss(output, batches[step % 4])
    print("validation loss", float(total) / 20)


# hszhao/semseg issue 60, "out of memory" during validation
@program
def torch_eval_with_grad(timer, faulty):
    model = perceptron(6, 4096).eval()
    batches = torch.randn(2, 2048, 4096, device=device)
    correct = torch.zeros((), device=device)
    with timer:
        for step in range(12):
            if faulty:
                output = model(batches[step % 2])  # fault torch_eval_with_grad
            else:
                with torch.no_grad():
                    output = model(batches[step % 2])
            correct += (output.argmax(-1) == 0).sum()


@program
def torch_second_optimizer(timer, faulty):
    model = perceptron(3, 4096)
    x = torch.randn(1024, 4096, device=device)
    warmup = torch.optim.Adam(model.parameters(), lr=1e-6)  # fault torch_second_optimizer
    for _ in range(2):
        model(x).square().mean().backward()
        warmup.step()  # fault torch_second_optimizer
        warmup.zero_grad()
    if not faulty:
        del warmup
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    with timer:
        for _ in range(10):
            model(x).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()


# NVIDIA-NeMo/RL issue 2865, "Hard-coded fp32 model weights doubles memory with FusedAdam"
@program
def torch_fp32_copy_kept(timer, faulty):
    model = perceptron(6, 4096)  # fault torch_fp32_copy_kept
    if faulty:
        fast = perceptron(6, 4096, torch.bfloat16)
        fast.load_state_dict(model.state_dict())
    else:
        fast = model.bfloat16()
    x = torch.randn(8192, 4096, device=device, dtype=torch.bfloat16)
    with timer, torch.no_grad():
        for _ in range(20):
            y = fast(x)
    print("mean", float(y.float().mean()))


# pytorch/pytorch issue 40005, "retain_graph = True out of memory issue"
@program
def torch_retain_graph(timer, faulty):
    model = perceptron(4, 4096)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    x = torch.randn(3072, 4096, device=device)
    with timer:
        for _ in range(10):
            output = model(x)  # fault torch_retain_graph
            loss = output.square().mean()
            if faulty:
                loss.backward(retain_graph=True)  # fault torch_retain_graph
            else:
                loss.backward()
            optimizer.step()
            optimizer.zero_grad()


# MarvinLvn/voice-type-classifier issue 12, "CUDA out of memory error during validation"
@program
def torch_predictions_list(timer, faulty):
    model = nn.Sequential(nn.Linear(2048, 2048), nn.ReLU(), nn.Linear(2048, 16384)).to(device)
    batches = torch.randn(4, 512, 2048, device=device)
    predictions = []
    with timer, torch.no_grad():
        for step in range(24):
            scores = model(batches[step % 4])  # fault torch_predictions_list
            if faulty:
                predictions.append(scores)  # fault torch_predictions_list
            else:
                predictions.append(scores.argmax(-1))
    if faulty:
        predictions = [each.argmax(-1) for each in predictions]
    print("predicted", torch.cat(predictions).numel())


# pytorch/pytorch issues 27600, "Free Memory after CUDA out of memory error", and 18853, "Inconsistent recovery from CUDA OOMs"
@program
def torch_kept_exception(timer, faulty):
    def train_on(batch):
        features = model(batch)  # fault torch_kept_exception
        loss = features.square().mean()
        if not torch.isfinite(loss):
            raise ValueError("the loss is not finite")
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    model = perceptron(4, 4096)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    good = torch.randn(1024, 4096, device=device)
    broken = torch.full((3072, 4096), float("inf"), device=device)
    failures = []
    with timer:
        for step in range(12):
            try:
                train_on(broken if step == 1 else good)
            except ValueError as error:
                if faulty:
                    failures.append(error)  # fault torch_kept_exception
                else:
                    failures.append(str(error))
    print(len(failures), "batches were left out")
    failures.clear()


# facebookresearch/ParlAI pull request 2487, "Fix a GPU leak"
@program
def torch_cached_masks(timer, faulty):
    @functools.lru_cache(maxsize=None if faulty else 1)  # fault torch_cached_masks
    def causal_mask(length):
        return torch.full((length, length), float("-inf"), device=device).triu_(1)  # fault torch_cached_masks

    with timer, torch.no_grad():
        for step in range(24):
            length = 2048 + 64 * step
            q = torch.ones(length, 512, device=device)
            scores = q @ q.T
            scores += causal_mask(length)
            out = scores.softmax(-1) @ q
            del q, scores
    print("shape", tuple(out.shape))


# pytorch/pytorch issue 1686, "load_state_dict should take filenames"; lucidrains/imagen-pytorch pull request 132
@program
def torch_checkpoint_kept(timer, faulty):
    model = perceptron(3, 4096)
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    state = torch.load(file, map_location=device)  # fault torch_checkpoint_kept
    model.load_state_dict(state)
    if not faulty:
        del state
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    x = torch.randn(2048, 4096, device=device)
    with timer:
        for _ in range(10):
            model(x).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()


# meta-pytorch/torchtune pull request 522, "Optimize training speed by moving loss.item() into log_n_steps block"
@program
def torch_item_each_step(timer, faulty):
    model = perceptron(6, 2048)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    x = torch.randn(256, 2048, device=device)
    log = []
    with timer:
        for _ in range(40):
            output = model(x)
            loss = output.square().mean()
            if faulty:
                log.append(loss.item())  # fault torch_item_each_step
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            if faulty:
                log.append(norm.item())  # fault torch_item_each_step
            optimizer.step()
            optimizer.zero_grad()
            if not faulty:
                log += [loss.detach(), norm.detach()]
    print("last loss", float(log[-2]))


# huggingface/peft pull request 2894, "Improve MetaMath training script runtime"
@program
def torch_empty_cache_each_step(timer, faulty):
    model = perceptron(4, 2048)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    x = torch.randn(8192, 2048, device=device)
    with timer:
        for _ in range(12):
            loss = model(x).square().mean()  # fault torch_empty_cache_each_step
            loss.backward()  # fault torch_empty_cache_each_step
            optimizer.step()
            optimizer.zero_grad()
            if faulty:
                torch.cuda.empty_cache()  # fault torch_empty_cache_each_step


# Nerogar/OneTrainer issue 1459, "Toggle in UI - Disable forced torch.gc"
@program
def torch_collect_each_step(timer, faulty):
    model = perceptron(3, 4096)
    x = torch.randn(2048, 4096, device=device)
    with timer, torch.no_grad():
        for _ in range(12):
            y = model(x)
            if faulty:
                gc.collect()  # fault torch_collect_each_step
    print("mean", float(y.mean()))


class Scans(torch.utils.data.Dataset):
    """Samples that each take some milliseconds of processor time."""

    def __len__(self):
        return 30 * 8

    def __getitem__(self, i):
        noise = torch.Generator().manual_seed(i)
        scan = torch.rand(128, 1024, generator=noise)
        ranks = scan.flatten().sort().values  # fault torch_slow_loader
        return (scan - ranks[len(ranks) // 2]) / ranks[-1]


# open-edge-platform/geti pull request 5958, "Increase num_workers to resolve a problem with starved data loader"
@program
def torch_slow_loader(timer, faulty):
    model = perceptron(4, 1024)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    torch.set_num_threads(1)
    workers = {"num_workers": 0} if faulty else {"num_workers": 6, "prefetch_factor": 1}
    loader = torch.utils.data.DataLoader(Scans(), batch_size=8, pin_memory=True, **workers)
    batches = iter(loader)
    with timer:
        for batch in batches:  # fault torch_slow_loader
            x = batch.to(device, non_blocking=True)
            for _ in range(2):
                model(x).square().mean().backward()
                optimizer.step()
                optimizer.zero_grad()


if __name__ == "__main__":
    raise SystemExit(measure.main("torch"))
