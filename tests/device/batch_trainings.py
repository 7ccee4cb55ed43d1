"""Runs small trainings with a given batch size, and reports PyTorch's allocated and reserved bytes at the peak (for
run-batch).

    batch_trainings.py transformer|cnn|mlp BATCH [--steps N]

Prints one line of JSON.
"""
import argparse
import json
import sys

try:
    import torch
    from torch import nn
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(77)

parser = argparse.ArgumentParser()
parser.add_argument("program", choices=["transformer", "cnn", "mlp"])
parser.add_argument("batch", type=int)
parser.add_argument("--steps", type=int, default=6)
options = parser.parse_args()
torch.manual_seed(1)
LENGTH, WORDS, WIDTH = 256, 8000, 512


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(WORDS, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 8, 4 * WIDTH, batch_first=True, dropout=0.1)
        self.layers = nn.TransformerEncoder(layer, 6)
        self.out = nn.Linear(WIDTH, WORDS)

    def forward(self, words):
        return self.out(self.layers(self.embed(words)))


def cnn():
    layers, channels = [], 3
    for width in (32, 64, 128, 256):
        layers += [nn.Conv2d(channels, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2)]
        channels = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 100))


def mlp():
    return nn.Sequential(nn.Linear(2048, 4096), nn.GELU(), nn.Linear(4096, 4096), nn.GELU(), nn.Linear(4096, 100))


def batch_of():
    size = options.batch
    if options.program == "transformer":
        words = torch.randint(WORDS, (size, LENGTH))
        return words, words
    if options.program == "cnn":
        return torch.randn(size, 3, 128, 128), torch.randint(100, (size,))
    return torch.randn(size, 2048), torch.randint(100, (size,))


model = {"transformer": Transformer, "cnn": cnn, "mlp": mlp}[options.program]().cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
loss_of = nn.CrossEntropyLoss()
for _ in range(options.steps):
    inputs, wanted = (each.cuda(non_blocking=True) for each in batch_of())
    result = model(inputs)
    loss = loss_of(result.flatten(0, -2), wanted.flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    del result, loss, inputs, wanted
torch.cuda.synchronize()
print(json.dumps({"allocated": torch.cuda.max_memory_allocated(), "reserved": torch.cuda.max_memory_reserved()}))
