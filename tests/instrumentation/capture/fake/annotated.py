"""A Python program that annotates its own recording, with stand-ins for tensors."""
import sys

import sluice


class Storage:
    def __init__(self, address):
        self.address = address

    def data_ptr(self):
        return self.address


class Tensor:
    is_cuda = True
    requires_grad = True
    grad = None

    def __init__(self, address, nbytes):
        self.address = address
        self.hooks = []
        sluice.block_alloc(address, nbytes, "fake pool")

    def untyped_storage(self):
        return Storage(self.address)

    def register_post_accumulate_grad_hook(self, hook):
        self.hooks.append(hook)


class Array:
    def __init__(self, address):
        self.__cuda_array_interface__ = {"data": (address, False)}


class Model:
    def __init__(self):
        self.weight = Tensor(0x10000, 4096)

    def named_parameters(self):
        return [("weight", self.weight)]

    def named_buffers(self):
        return [("mean", Tensor(0x20000, 512))]


class Optimizer:
    def __init__(self):
        self.state = {}

    def register_step_post_hook(self, hook):
        self.hook = hook


model, optimizer = Model(), Optimizer()
sluice.tag_model(model, optimizer)
for i in range(3):
    sluice.step()
    with sluice.scope("forward"):
        sluice.tag(Array(0x20000), None, "running mean")
    if i == 0:
        model.weight.grad = Tensor(0x30000, 4096)
        for hook in model.weight.hooks:
            hook(model.weight)
        optimizer.state[model.weight] = {"step": 1, "exp_avg": Tensor(0x40000, 4096)}
        if sluice.recording():
            optimizer.hook(optimizer)
sluice.block_free(0x30000)
sys.exit(0 if sluice.recording() == (sys.argv[1] == "recorded") else 9)
