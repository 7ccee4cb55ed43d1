#!/usr/bin/env python3
"""Realistic programs, with the truth about their memory and steps in the recording.

    trainings.py PROGRAM [--steps N]        (names: `trainings.py list`)

The truth is given by marks and tags that the analysis does not interpret: a mark "truth step" where the loop's step
starts, and tags "truth weight", "truth gradient", "truth optimizer state", "truth input" on blocks. check_trainings.py
compares them with the inferred ones.
Prints one JSON line: {"program": ..., "steps": ..., "peak": bytes}. Exit status 77: a package is missing.
"""
import argparse
import json
import os
import sys
import tempfile
import threading
import warnings

warnings.filterwarnings("ignore")
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["HF_HUB_OFFLINE"] = "1"

try:
    import torch
    from torch import nn
    from torch.nn import functional
except ImportError as missing:
    print(missing, file=sys.stderr)
    sys.exit(77)
import sluice

STEPS = 12
count = 0
programs = {}


def program(function):
    programs[function.__name__] = function
    return function


# --- the truth ---------------------------------------------------------------------------------------------------------


def local(tensor):
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def say(tensor, what):
    tensor = local(tensor)
    if getattr(tensor, "is_cuda", False) and tensor.untyped_storage().data_ptr():
        sluice.tag(tensor, "truth " + what)


def step_begins():
    global count
    count += 1
    sluice.mark("truth step")


def tensors_in(thing):
    if torch.is_tensor(thing):
        yield thing
    elif isinstance(thing, dict):
        for each in thing.values():
            yield from tensors_in(each)
    elif isinstance(thing, (list, tuple)):
        for each in thing:
            yield from tensors_in(each)


def say_model(model):
    """Call it when the model is on its final device."""
    for parameter in model.parameters():
        say(parameter, "weight")
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(lambda p: p.grad is not None and say(p.grad, "gradient"))
    for buffer in model.buffers():
        say(buffer, "weight")

    def inputs(_module, args, kwargs):
        for each in tensors_in((args, kwargs)):
            if not each.requires_grad and not isinstance(each, nn.Parameter):
                say(each, "input")

    model.register_forward_pre_hook(inputs, with_kwargs=True)


def say_optimizer(optimizer):
    known = set()

    def stepped(which, *_):
        for state in which.state.values():
            for value in tensors_in(dict(state)):
                address = local(value).untyped_storage().data_ptr()
                if value.is_cuda and address not in known:
                    known.add(address)
                    say(value, "optimizer state")

    optimizer.register_step_post_hook(stepped)


# --- models and data ---------------------------------------------------------------------------------------------------


class Images(torch.utils.data.Dataset):
    def __init__(self, side=64, classes=100):
        self.side, self.classes = side, classes

    def __len__(self):
        return 4096

    def __getitem__(self, i):
        generator = torch.Generator().manual_seed(i)
        return torch.randn(3, self.side, self.side, generator=generator), i % self.classes


class Tokens(torch.utils.data.Dataset):
    def __len__(self):
        return 4096

    def __getitem__(self, i):
        generator = torch.Generator().manual_seed(i)
        x = torch.randint(0, 8000, (256,), generator=generator)
        return {"input_ids": x, "labels": x}


def gpt2(layers=4, width=384):
    from transformers import GPT2Config, GPT2LMHeadModel

    return GPT2LMHeadModel(GPT2Config(vocab_size=8000, n_positions=256, n_embd=width, n_layer=layers, n_head=width // 64))


def loader_of(data, batch, **how):
    return torch.utils.data.DataLoader(data, batch_size=batch, num_workers=2, pin_memory=True, drop_last=True, **how)


class Perceptron(nn.Module):
    def __init__(self, width=1024, layers=6, classes=100):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.last = nn.Linear(width, classes)

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.last(x)


# --- trainings ---------------------------------------------------------------------------------------------------------


@program
def torchvision_loop():
    """A residual network as torchvision's reference scripts train it: SGD with momentum, a scheduler, accuracy every few steps."""
    import torchvision

    device = torch.device("cuda")
    model = torchvision.models.resnet18(num_classes=100)
    model.to(device)
    say_model(model)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    say_optimizer(optimizer)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 30)
    model.train()
    for i, (image, target) in enumerate(loader_of(Images(), 64)):
        if i == STEPS:
            break
        step_begins()
        image, target = image.to(device), target.to(device)
        say(image, "input")
        say(target, "input")
        output = model(image)
        loss = criterion(output, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if i % 5 == 4:
            with torch.inference_mode():
                _, best = output.topk(5, 1, True, True)
                best.t().eq(target[None]).float().sum().item()
    scheduler.step()


@program
def timm_amp():
    """A vision transformer of timm in mixed precision with a gradient scaler and averaged weights."""
    import timm.optim
    import timm.utils

    model = timm.create_model("vit_small_patch16_224", num_classes=100, img_size=64, patch_size=8).cuda()
    say_model(model)
    average = timm.utils.ModelEmaV2(model, decay=0.99)
    for parameter in average.module.parameters():
        say(parameter, "weight")
    optimizer = timm.optim.create_optimizer_v2(model, opt="adamw", lr=1e-3, weight_decay=0.05)
    say_optimizer(optimizer)
    scaler = torch.amp.GradScaler("cuda")
    for i, (image, target) in enumerate(loader_of(Images(), 64)):
        if i == STEPS:
            break
        step_begins()
        image, target = image.cuda(non_blocking=True), target.cuda(non_blocking=True)
        say(image, "input")
        say(target, "input")
        with torch.amp.autocast("cuda", dtype=torch.float16):
            loss = functional.cross_entropy(model(image), target)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        average.update(model)


def trainer_of(model, **how):
    from transformers import Trainer, TrainerCallback, TrainingArguments

    class Truth(TrainerCallback):
        def on_train_begin(self, *_, model=None, optimizer=None, **__):
            say_model(model)
            say_optimizer(getattr(optimizer, "optimizer", optimizer))

        def on_step_begin(self, *_, **__):
            step_begins()

    arguments = TrainingArguments(
        output_dir=tempfile.mkdtemp(), max_steps=STEPS, per_device_train_batch_size=8, dataloader_num_workers=2, report_to=[],
        save_strategy="no", logging_steps=5, disable_tqdm=True, **how)
    Trainer(model=model, args=arguments, train_dataset=Tokens(), callbacks=[Truth()]).train()


@program
def trainer():
    """Hugging Face's Trainer: bf16, checkpointing, workers."""
    trainer_of(gpt2(8, 512), bf16=True, gradient_checkpointing=True)


@program
def trainer_accumulation():
    """Hugging Face's Trainer with gradients accumulated over four batches."""
    trainer_of(gpt2(), gradient_accumulation_steps=4)


@program
def lora():
    """Adapters (peft) on a frozen model, by Hugging Face's Trainer."""
    from peft import LoraConfig, get_peft_model

    trainer_of(get_peft_model(gpt2(8, 512), LoraConfig(r=8, target_modules=["c_attn"], task_type="CAUSAL_LM")), bf16=True)


@program
def accelerate_loop():
    """A loop with accelerate."""
    from accelerate import Accelerator

    accelerator = Accelerator(mixed_precision="bf16")
    model = gpt2()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader_of(Tokens(), 8))
    say_model(model)
    say_optimizer(optimizer.optimizer)
    for i, batch in enumerate(loader):
        if i == STEPS:
            break
        step_begins()
        loss = model(**batch).loss
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()


@program
def lightning_fit():
    """Training of a LightningModule."""
    try:
        import lightning
    except ImportError:
        import pytorch_lightning as lightning

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = Perceptron(3 * 64 * 64 // 4, 4)

        def training_step(self, batch, _):
            x, y = batch
            return functional.cross_entropy(self.net(x.flatten(1)[:, ::4]), y)

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), lr=1e-3)

    class Truth(lightning.Callback):
        def on_train_start(self, trainer, module):
            say_model(module.net)
            say_optimizer(trainer.optimizers[0])

        def on_train_batch_start(self, trainer, module, batch, index):
            step_begins()
            for each in tensors_in(batch):
                say(each, "input")

    lightning.Trainer(max_steps=STEPS, callbacks=[Truth()], logger=False, enable_checkpointing=False, enable_progress_bar=False,
                      enable_model_summary=False, default_root_dir=tempfile.mkdtemp(), accelerator="gpu", devices=1).fit(Model(), loader_of(Images(), 128))


@program
def accumulation():
    """A plain loop with gradients accumulated over four batches."""
    model = Perceptron().cuda()
    say_model(model)
    optimizer = torch.optim.AdamW(model.parameters())
    say_optimizer(optimizer)
    for _ in range(STEPS):
        step_begins()
        for _ in range(4):
            x = torch.randn(256, 1024).pin_memory().cuda(non_blocking=True)
            y = torch.randint(0, 100, (256,)).cuda()
            say(x, "input")
            say(y, "input")
            (functional.cross_entropy(model(x), y) / 4).backward()
        optimizer.step()
        optimizer.zero_grad()


@program
def kept_gradients():
    """A plain loop that zeroes its gradients in place, with plain SGD, and makes its data on the GPU."""
    model = Perceptron(layers=10).to("cuda")
    say_model(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(STEPS):
        step_begins()
        x = torch.randn(512, 1024, device="cuda")
        y = torch.randint(0, 100, (512,), device="cuda")
        loss = functional.cross_entropy(model(x), y)
        optimizer.zero_grad(set_to_none=False)
        loss.backward()
        optimizer.step()


@program
def compiled():
    """A model compiled with torch.compile."""
    model = gpt2().cuda()
    say_model(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    say_optimizer(optimizer)
    run = torch.compile(model)
    for i, batch in enumerate(loader_of(Tokens(), 8)):
        if i == STEPS:
            break
        step_begins()
        batch = {name: each.cuda(non_blocking=True) for name, each in batch.items()}
        for each in batch.values():
            say(each, "input")
        run(**batch).loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


@program
def graphed():
    """A whole training step in a CUDA graph, as in PyTorch's documentation."""
    model = Perceptron().cuda()
    say_model(model)
    optimizer = torch.optim.Adam(model.parameters(), capturable=True)
    say_optimizer(optimizer)
    x = torch.randn(256, 1024, device="cuda")
    y = torch.randint(0, 100, (256,), device="cuda")
    say(x, "input")
    say(y, "input")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            optimizer.zero_grad(set_to_none=True)
            functional.cross_entropy(model(x), y).backward()
            optimizer.step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    optimizer.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    for _ in range(STEPS):
        step_begins()
        x.copy_(torch.randn(256, 1024).pin_memory(), non_blocking=True)
        y.copy_(torch.randint(0, 100, (256,)))
        graph.replay()
    torch.cuda.synchronize()


def distributed():
    import torch.distributed

    torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)) % torch.cuda.device_count())
    torch.distributed.init_process_group("nccl")


@program
def ddp():
    """DistributedDataParallel; under torchrun."""
    distributed()
    model = gpt2().cuda()
    wrapped = nn.parallel.DistributedDataParallel(model)
    say_model(model)
    optimizer = torch.optim.AdamW(wrapped.parameters(), lr=1e-4)
    say_optimizer(optimizer)
    for i, batch in enumerate(loader_of(Tokens(), 8)):
        if i == STEPS:
            break
        step_begins()
        batch = {name: each.cuda(non_blocking=True) for name, each in batch.items()}
        for each in batch.values():
            say(each, "input")
        wrapped(**batch).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.distributed.destroy_process_group()


@program
def fsdp2():
    """fully_shard on each layer and on the model; under torchrun."""
    distributed()
    from torch.distributed.fsdp import fully_shard

    model = gpt2().cuda()
    for block in model.transformer.h:
        fully_shard(block)
    fully_shard(model)
    say_model(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    say_optimizer(optimizer)
    for i, batch in enumerate(loader_of(Tokens(), 8)):
        if i == STEPS:
            break
        step_begins()
        batch = {name: each.cuda(non_blocking=True) for name, each in batch.items()}
        for each in batch.values():
            say(each, "input")
        model(**batch).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.distributed.destroy_process_group()


# --- programs that are not trainings ----------------------------------------------------------------------------------


@program
def server():
    """Serves requests of varying lengths one after another in a thread, greedily, with a cache of keys and values."""
    model = gpt2(8, 512).eval().half().cuda()
    say_model(model)

    def serve():
        for i in range(STEPS):
            step_begins()
            request = torch.randint(0, 8000, (1 + i % 4, 16 + 7 * (i * i % 11))).cuda()
            say(request, "input")
            with torch.no_grad():
                model.generate(request, max_new_tokens=24 + i % 5, do_sample=False, pad_token_id=0).cpu()

    worker = threading.Thread(target=serve, name="server")
    worker.start()
    worker.join()


@program
def evaluation():
    """Inference with a network, batch by batch."""
    model = Perceptron().cuda().eval()
    say_model(model)
    with torch.inference_mode():
        for i, (image, _) in enumerate(loader_of(Images(32), 128)):
            if i == STEPS:
                break
            step_begins()
            image = image.cuda()
            say(image, "input")
            model(image.flatten(1)[:, :1024]).argmax(1).cpu()


@program
def burst():
    """Numerics with tensors and no network: matrices that are created, multiplied and freed once."""
    kept = [torch.randn(512, 512, device="cuda") for _ in range(40)]
    products = []
    for a in kept:
        for b in kept[:4]:
            products.append(a @ b)
    total = torch.stack(products).sum(0)
    print(float(total.mean()), file=sys.stderr)


@program
def cupy_loop():
    """Conjugate gradients in CuPy."""
    try:
        import cupy
    except ImportError:
        sys.exit(77)
    a = cupy.random.rand(2048, 2048, dtype=cupy.float32)
    a = a @ a.T / 2048 + cupy.eye(2048, dtype=cupy.float32)
    b = cupy.random.rand(2048, dtype=cupy.float32)
    x = cupy.zeros_like(b)
    r = b - a @ x
    p = r.copy()
    rr = float(r @ r)
    for _ in range(STEPS * 2):
        step_begins()
        ap = a @ p
        alpha = rr / max(float(p @ ap), 1e-30)
        x = x + alpha * p
        r = r - alpha * ap
        fresh = float(r @ r)
        p = r + fresh / max(rr, 1e-30) * p
        rr = fresh


@program
def jax_loop():
    """A small network trained in JAX by a compiled step."""
    try:
        import jax
        import jax.numpy as jnp
    except ImportError:
        sys.exit(77)
    keys = jax.random.split(jax.random.PRNGKey(0), 4)
    weights = [jax.random.normal(key, (512, 512)) * 0.05 for key in keys]

    @jax.jit
    def step(weights, x, y):
        def loss(weights):
            h = x
            for w in weights:
                h = jnp.tanh(h @ w)
            return ((h - y) ** 2).mean()

        value, gradients = jax.value_and_grad(loss)(weights)
        return [w - 0.1 * g for w, g in zip(weights, gradients)], value

    for i in range(STEPS):
        step_begins()
        x = jax.device_put(jax.random.normal(jax.random.PRNGKey(i), (256, 512)))
        weights, value = step(weights, x, x)
        float(value)


def main():
    global STEPS
    parser = argparse.ArgumentParser()
    parser.add_argument("program", choices=[*programs, "list"])
    parser.add_argument("--steps", type=int, default=STEPS)
    arguments = parser.parse_args()
    if arguments.program == "list":
        print("\n".join(programs))
        return
    STEPS = arguments.steps
    torch.manual_seed(0)
    try:
        programs[arguments.program]()
    except ImportError as missing:
        print(missing, file=sys.stderr)
        sys.exit(77)
    print(json.dumps({"program": arguments.program, "steps": count, "peak": torch.cuda.max_memory_allocated()}))


if __name__ == "__main__":
    main()
